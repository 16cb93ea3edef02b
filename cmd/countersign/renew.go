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

	"countersign/operate/renewal"
)

type renewCommand struct {
	Envelope uuid.UUID `help:"Only this envelope."`
	Days     int       `help:"Renew what ends within so many days." default:"90"`
	DryRun   bool      `help:"Only tell what would be renewed."`
	JSON     bool      `help:"Print JSON, one line for each document." name:"json"`
}

// errNotRenewed makes the exit code tell that something is left to do.
var errNotRenewed = errors.New("not every document could be renewed")

// Run adds document time-stamps to stored files. The service may be running, and
// what was done stays done: it can be run again at any time.
func (r renewCommand) Run(ctx context.Context) (err error) {
	cfg, err := productionConfig("DATABASE_URL", "MASTER_KEY", "BLOB_URL", "SEAL_KEY", "TSA_URL")
	if err != nil {
		return err
	}
	s, keys, err := openStore(ctx, cfg)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	if err := s.Migrated(ctx); err != nil {
		return err
	}
	blobs, err := openBlobs(ctx, cfg, keys)
	if err != nil {
		return err
	}
	s.UseArchives(blobs)
	sealer, err := newReloadingSealer(ctx, cfg, s)
	if err != nil {
		return err
	}
	renewer := renewal.Renewer{Store: s, Blobs: blobs, Sealer: sealer, Now: now, NewID: newID, DryRun: r.DryRun}
	before := now().Add(time.Duration(r.Days) * 24 * time.Hour)
	sum := &renewals{out: os.Stdout, json: r.JSON, dry: r.DryRun}
	if r.Envelope == uuid.Nil {
		err = renewer.All(ctx, before, sum.add)
	} else if ref, e := s.FindEnvelope(ctx, r.Envelope); e != nil {
		err = e
	} else {
		err = renewer.Envelope(ctx, ref, before, sum.add)
	}
	return errors.Join(err, sum.print())
}

// renewals prints what was done.
type renewals struct {
	out           io.Writer
	json, dry     bool
	done, problem int
}

func (r *renewals) add(one renewal.Report) error {
	line := "to be renewed"
	switch {
	case one.Problem != "":
		r.problem++
		line = "NOT renewed: " + one.Problem
	case one.Until != nil:
		line = "time-stamped until " + one.Until.UTC().Format(time.DateOnly)
	}
	if one.Problem == "" {
		r.done++
	}
	if r.json {
		return json.NewEncoder(r.out).Encode(one)
	}
	_, err := fmt.Fprintf(r.out, "%s  document %s  %s\n", one.EnvelopeID, one.DocumentID, line)
	return err
}

func (r *renewals) print() error {
	if !r.json {
		verb := "renewed"
		if r.dry {
			verb = "to be renewed"
		}
		if _, err := fmt.Fprintf(r.out, "%d document(s) %s, %d with problems\n", r.done, verb, r.problem); err != nil {
			return err
		}
	}
	if r.problem > 0 {
		return errNotRenewed
	}
	return nil
}
