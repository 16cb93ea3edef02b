package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"text/tabwriter"

	"countersign/cli/terminal"
	countersign "countersign/clients/go"
	"countersign/clients/go/api"
)

type statusCommand struct{ remoteEnvelope }

// Run prints an envelope with its signers and events.
func (s statusCommand) Run(ctx context.Context) error {
	c, _, err := s.client()
	if err != nil {
		return err
	}
	e, err := c.Envelope(ctx, s.ID)
	if err != nil {
		return coded(err)
	}
	if s.JSON {
		return terminal.PrintJSON(e)
	}
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintf(w, "%s\t%s\t%s\n\n", e.ID, e.Status, plain(e.Subject))
	for _, v := range e.Signers {
		_, _ = fmt.Fprintf(w, "%s\t%s\t%s\n", v.Status, plain(&v.Name), plain(&v.Email))
	}
	_, _ = fmt.Fprintln(w)
	for _, ev := range e.AuditLog {
		_, _ = fmt.Fprintf(w, "%s\t%s\t%s\n", inUTC(ev.Timestamp), plain(&ev.Event), plain(&ev.Actor))
	}
	return w.Flush()
}

type listCommand struct {
	remote

	Status string `help:"draft, sent, in_progress, completed, declined, voided or expired." placeholder:"STATUS"`
	Limit  int    `help:"Maximum number of results." default:"50"`
}

// Run prints envelopes, newest first.
func (l listCommand) Run(ctx context.Context) error {
	c, tenant, err := l.clientAndTenant()
	if err != nil {
		return err
	}
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	n := 0
	for e, err := range c.Envelopes(ctx, countersign.ListOptions{TenantID: tenant, Status: api.EnvelopeStatus(l.Status)}) {
		if err != nil {
			return coded(err)
		}
		if n++; n > l.Limit {
			break
		}
		if l.JSON {
			err = terminal.PrintJSON(e)
		} else {
			_, err = fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", e.ID, e.Status, inUTC(e.CreatedAt), plain(e.Subject))
		}
		if err != nil {
			return err
		}
	}
	return w.Flush()
}

type remindCommand struct{ remoteEnvelope }

// Run sends a reminder to every awaited signer.
func (r remindCommand) Run(ctx context.Context) error {
	c, _, err := r.client()
	if err != nil {
		return err
	}
	e, err := c.Envelope(ctx, r.ID)
	if err != nil {
		return coded(err)
	}
	var reminded []string
	for _, v := range e.Signers {
		if v.Status != api.SignerStatusSent && v.Status != api.SignerStatusViewed {
			continue
		}
		if err := c.Remind(ctx, e.ID, v.ID); err != nil {
			return coded(err)
		}
		reminded = append(reminded, v.ID.String())
		if !r.JSON {
			if err := terminal.Printf("reminded  %s  %s", plain(&v.Name), plain(&v.Email)); err != nil {
				return err
			}
		}
	}
	if len(reminded) == 0 {
		return codedError{fmt.Errorf("no signer can sign now: the envelope is %s", e.Status), exitRejected}
	}
	if r.JSON {
		return terminal.PrintJSON(map[string]any{"envelopeId": e.ID, "signerIds": reminded})
	}
	return nil
}

type voidCommand struct {
	remoteEnvelope

	Reason string `help:"Reason, shown to signers."`
	Yes    bool   `help:"Skip the confirmation prompt."`
}

// Run voids an envelope. This cannot be undone.
func (v voidCommand) Run(ctx context.Context) error {
	c, _, err := v.client()
	if err != nil {
		return err
	}
	if !v.Yes {
		if !terminal.Is(os.Stdin) {
			return errors.New("voiding cannot be undone: confirm with --yes")
		}
		_, _ = fmt.Fprintf(os.Stderr, "Void %s? It cannot be undone. Type yes: ", v.ID)
		var answer string
		if _, err := fmt.Scanln(&answer); err != nil || answer != "yes" {
			return errors.New("not voided")
		}
	}
	e, err := c.Void(ctx, v.ID, v.Reason)
	if err != nil {
		return coded(err)
	}
	return v.print(e, "%s  %s", e.ID, e.Status)
}

type downloadCommand struct {
	remoteEnvelope

	Original bool   `help:"Download the original instead of the sealed document."`
	Out      string `help:"New file; - writes to standard output. Default: the id with .pdf." type:"path" placeholder:"FILE"`
}

// Run downloads the first document of an envelope.
func (d downloadCommand) Run(ctx context.Context) error {
	c, _, err := d.client()
	if err != nil {
		return err
	}
	kind := countersign.Sealed
	if d.Original {
		kind = countersign.Original
	}
	path := cmp.Or(d.Out, d.ID.String()+".pdf")
	if err := save(ctx, c, d.ID, kind, path); err != nil || path == "-" {
		return err
	}
	return d.print(map[string]any{"envelopeId": d.ID, "file": path}, "%s", path)
}
