package main

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"

	"countersign/cli/terminal"
	"countersign/operate/renewal"
	"countersign/store"
	"countersign/store/blob"
)

type renewCommand struct {
	Envelope uuid.UUID `help:"Only this envelope."`
	Days     int       `help:"Renew time-stamps that expire within this many days." default:"90"`
	DryRun   bool      `help:"List the documents that would be renewed, without renewing them."`
	JSON     bool      `help:"Print JSON, one line for each document." name:"json"`
}

// errNotRenewed sets the exit code if some documents could not be renewed.
var errNotRenewed = errors.New("not every document could be renewed")

// Run adds document time-stamps to stored files. It can run while the service is running. Files that were already
// renewed remain valid, so the command can be repeated at any time.
func (r renewCommand) Run(ctx context.Context) error {
	cfg, err := productionConfig("DATABASE_URL", "MASTER_KEY", "BLOB_URL", "SEAL_KEY", "TSA_URL")
	if err != nil {
		return err
	}
	return withFiles(ctx, cfg, func(s *store.Store, blobs *blob.Encrypted) error {
		sealer, err := newReloadingSealer(ctx, cfg, s)
		if err != nil {
			return err
		}
		renewer := renewal.Renewer{Store: s, Blobs: blobs, Sealer: sealer, Now: now, NewID: newID, DryRun: r.DryRun}
		before := now().Add(time.Duration(r.Days) * 24 * time.Hour)
		sum := &renewals{json: r.JSON, dry: r.DryRun}
		if r.Envelope == uuid.Nil {
			err = renewer.All(ctx, before, sum.add)
		} else if ref, e := s.FindEnvelope(ctx, r.Envelope); e != nil {
			err = e
		} else {
			err = renewer.Envelope(ctx, ref, before, sum.add)
		}
		return errors.Join(err, sum.print())
	})
}

// renewals prints the results of the renewals.
type renewals struct {
	json, dry     bool
	done, problem int
}

func (r *renewals) add(one renewal.Report) error {
	line := "to be renewed"
	if one.Until != nil {
		line = "time-stamped until " + one.Until.UTC().Format(time.DateOnly)
	}
	if one.Problem == "" {
		r.done++
	} else {
		r.problem++
		line = "NOT renewed: " + one.Problem
	}
	if r.json {
		return terminal.PrintJSON(one)
	}
	return terminal.Printf("%s  document %s  %s", one.EnvelopeID, one.DocumentID, line)
}

func (r *renewals) print() error {
	if !r.json {
		verb := "renewed"
		if r.dry {
			verb = "to be renewed"
		}
		if err := terminal.Printf("%d document(s) %s, %d with problems", r.done, verb, r.problem); err != nil {
			return err
		}
	}
	if r.problem > 0 {
		return errNotRenewed
	}
	return nil
}
