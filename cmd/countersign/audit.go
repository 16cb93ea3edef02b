package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/google/uuid"

	"countersign/operate/audit"
	"countersign/seal/trust"
	"countersign/store"
	"countersign/store/blob"
)

type auditCommand struct {
	Verify auditVerify `cmd:"" help:"Compute audit chains again and compare them with the sealed files."`
}

type auditVerify struct {
	database

	All      bool      `help:"Every envelope and anchor, and files without a record." xor:"which" required:""`
	Envelope uuid.UUID `help:"One envelope." xor:"which" required:""`
	Trust    []string  `help:"PEM file with certificates of the time-stamp authorities that anchors are to be of; may be repeated." sep:"none" placeholder:"FILE"`
	CRL      []string  `help:"File with revocation lists (PEM or DER) of the authorities under --trust, for anchors: tokens bring none; may be repeated." name:"crl" sep:"none" placeholder:"FILE"`
	JSON     bool      `help:"Print JSON, one line for each envelope." name:"json"`
}

// errTampered makes the exit code tell what the report says.
var errTampered = errors.New("the audit trail is not what was recorded")

// Run verifies. It only reads, and the service may be running.
func (v auditVerify) Run(ctx context.Context) error {
	anchors, err := trustOptions{TSATrust: v.Trust, names: []string{"", "", "--trust", ""}}.policy()
	if err != nil {
		return err
	}
	lists, err := v.revocationLists()
	if err != nil {
		return err
	}
	return v.withFiles(ctx, func(s *store.Store, blobs *blob.Encrypted) (err error) {
		sum := &auditSummary{out: os.Stdout, json: v.JSON}
		verifier := audit.Verifier{Store: s, Blobs: blobs, Now: now, TSARoots: anchors.Stampers, Revocation: trust.Evidence{CRLs: lists}}
		if v.All {
			err = verifier.All(ctx, sum.add)
		} else {
			err = verifier.One(ctx, v.Envelope, sum.add)
		}
		return errors.Join(err, sum.print())
	})
}

// revocationLists reads the files of --crl.
func (v auditVerify) revocationLists() (lists [][]byte, err error) {
	if len(v.CRL) > 0 && len(v.Trust) == 0 {
		return nil, errors.New("--crl needs --trust, the authorities that the revocation lists are of")
	}
	err = eachFile(v.CRL, "--crl", func(b []byte) error {
		more, err := trust.RevocationLists(b)
		lists = append(lists, more...)
		return err
	})
	return lists, err
}

// auditSummary prints reports: all of them as JSON, or those with problems for people.
type auditSummary struct {
	out                              io.Writer
	json                             bool
	envelopes, events, sealed, wrong int
	anchors                          int
	last                             *audit.AnchorReport // the newest that holds
}

func (a *auditSummary) add(r *audit.Report) error {
	subject := r.EnvelopeID.String()
	if r.Anchor != nil {
		subject = fmt.Sprintf("anchor %d", r.Anchor.Number)
		a.anchors++
		if r.Anchor.StampedAt != nil {
			a.last = r.Anchor
		}
	} else {
		a.envelopes++
	}
	a.events += r.Events
	a.sealed += r.Sealed
	if !r.OK() {
		a.wrong++
	}
	if a.json {
		return json.NewEncoder(a.out).Encode(r)
	}
	for _, p := range r.Problems {
		if _, err := fmt.Fprintf(a.out, "✗ %s  %s\n", subject, p); err != nil {
			return err
		}
	}
	return nil
}

func (a *auditSummary) print() error {
	if !a.json {
		if err := a.total(); err != nil {
			return err
		}
	}
	if a.wrong > 0 {
		return errTampered
	}
	return nil
}

func (a *auditSummary) total() error {
	if l := a.last; l != nil {
		trust := "; name its root by --trust to have that checked"
		if l.Trusted {
			trust = ", which is trusted"
		}
		_, err := fmt.Fprintf(a.out, "%d anchor(s), the last of %s by %s%s\n", a.anchors, l.StampedAt.UTC().Format(time.RFC3339), l.Authority, trust)
		if err != nil {
			return err
		}
	}
	_, err := fmt.Fprintf(a.out, "%d envelope(s), %d events, %d sealed file(s): %d with problems\n", a.envelopes, a.events, a.sealed, a.wrong)
	return err
}
