package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"countersign/cli/terminal"
	"countersign/operate/audit"
	"countersign/seal/trust"
	"countersign/store"
	"countersign/store/blob"
)

type auditCommand struct {
	Verify auditVerify `cmd:"" help:"Recompute audit chains and compare them with the sealed files."`
}

type auditVerify struct {
	database

	All      bool      `help:"Verify every envelope and anchor, and look for files without a record." xor:"which" required:""`
	Envelope uuid.UUID `help:"Verify one envelope." xor:"which" required:""`
	Trust    []string  `help:"PEM file with certificates of the authorities trusted for anchors; may be repeated." sep:"none" placeholder:"FILE"`
	CRL      []string  `help:"File with revocation lists (PEM or DER) of the authorities under --trust, because the tokens of anchors contain no revocation data; may be repeated." name:"crl" sep:"none" placeholder:"FILE"`
	JSON     bool      `help:"Print JSON, one line for each envelope." name:"json"`
}

// errTampered sets the exit code if the report shows tampering.
var errTampered = errors.New("the audit trail does not match the records")

// Run verifies the audit trail. It only reads data, and can run while the service is running.
func (v auditVerify) Run(ctx context.Context) error {
	roots, err := readPool(v.Trust, "--trust")
	if err != nil {
		return err
	}
	if len(v.CRL) > 0 && roots == nil {
		return errors.New("--crl requires --trust with the authorities of the revocation lists")
	}
	lists, err := readEach(v.CRL, "--crl", trust.RevocationLists)
	if err != nil {
		return err
	}
	return v.withFiles(ctx, func(s *store.Store, blobs *blob.Encrypted) (err error) {
		sum := &auditSummary{json: v.JSON}
		verifier := audit.Verifier{Store: s, Blobs: blobs, Now: now, TSARoots: roots, Revocation: trust.Evidence{CRLs: lists}}
		if v.All {
			err = verifier.All(ctx, sum.add)
		} else {
			err = verifier.One(ctx, v.Envelope, sum.add)
		}
		return errors.Join(err, sum.print())
	})
}

// auditSummary prints all reports as JSON, or the reports with problems as text.
type auditSummary struct {
	json                             bool
	envelopes, events, sealed, wrong int
	anchors                          int
	last                             *audit.AnchorReport // the newest valid anchor
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
		return terminal.PrintJSON(r)
	}
	for _, p := range r.Problems {
		if err := terminal.Printf("✗ %s  %s", subject, p); err != nil {
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
		trust := "; pass its root with --trust to check this"
		if l.Trusted {
			trust = ", which is trusted"
		}
		if err := terminal.Printf("%d anchor(s), the latest from %s by %s%s", a.anchors, l.StampedAt.UTC().Format(time.RFC3339), l.Authority, trust); err != nil {
			return err
		}
	}
	return terminal.Printf("%d envelope(s), %d events, %d sealed file(s): %d with problems", a.envelopes, a.events, a.sealed, a.wrong)
}
