package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/google/uuid"

	"countersign/internal/audit"
	"countersign/internal/vault"
	"countersign/store"
)

type auditCommand struct {
	Verify auditVerify `cmd:"" help:"Compute audit chains again and compare them with the sealed files."`
}

type auditVerify struct {
	database

	All      bool      `help:"Every envelope, and files without a record." xor:"which" required:""`
	Envelope uuid.UUID `help:"One envelope." xor:"which" required:""`
	JSON     bool      `help:"Print JSON, one line for each envelope." name:"json"`
}

// errTampered makes the exit code tell what the report says.
var errTampered = errors.New("the audit trail is not what was recorded")

// Run verifies. It only reads, and the service may be running.
func (v auditVerify) Run(ctx context.Context) error {
	cfg, err := v.config()
	if err != nil {
		return err
	}
	if err := cfg.Require("BLOB_URL"); err != nil {
		return err
	}
	keys, err := vault.New(string(cfg.MasterKey))
	if err != nil {
		return err
	}
	blobs, err := openBlobs(ctx, cfg, keys)
	if err != nil {
		return err
	}
	return v.with(ctx, func(s *store.Store) error {
		sum := &auditSummary{out: os.Stdout, json: v.JSON}
		verifier := audit.Verifier{Store: s, Blobs: blobs, Now: now}
		if v.All {
			err = verifier.All(ctx, sum.tell)
		} else {
			var r *audit.Report
			if r, err = verifier.One(ctx, v.Envelope); err == nil {
				err = sum.tell(r)
			}
		}
		return errors.Join(err, sum.end())
	})
}

// auditSummary prints reports: all of them as JSON, or those with problems for people.
type auditSummary struct {
	out                              io.Writer
	json                             bool
	envelopes, events, sealed, wrong int
}

func (a *auditSummary) tell(r *audit.Report) error {
	a.envelopes++
	a.events += r.Events
	a.sealed += r.Sealed
	if !r.OK() {
		a.wrong++
	}
	if a.json {
		return json.NewEncoder(a.out).Encode(r)
	}
	for _, p := range r.Problems {
		if _, err := fmt.Fprintf(a.out, "✗ %s  %s\n", r.EnvelopeID, p); err != nil {
			return err
		}
	}
	return nil
}

func (a *auditSummary) end() error {
	if !a.json {
		_, err := fmt.Fprintf(a.out, "%d envelope(s), %d events, %d sealed file(s): %d with problems\n", a.envelopes, a.events, a.sealed, a.wrong)
		if err != nil {
			return err
		}
	}
	if a.wrong > 0 {
		return errTampered
	}
	return nil
}
