package main

import (
	"context"
	"errors"
	"time"

	"countersign/cli/terminal"
	"countersign/operate/sweep"
	"countersign/store"
	"countersign/store/blob"
)

type filesCommand struct {
	Sweep filesSweep `cmd:"" help:"List files without a database row, such as those left by interrupted uploads."`
}

type filesSweep struct {
	database

	Delete bool `help:"Delete the listed files."`
	JSON   bool `help:"Print JSON, one line for each file." name:"json"`
}

// Run scans the file store for files without references. It can run while the service is running.
func (f filesSweep) Run(ctx context.Context) error {
	return f.withFiles(ctx, func(s *store.Store, blobs *blob.Encrypted) error {
		sum := &sweepSummary{json: f.JSON, deleting: f.Delete}
		err := sweep.Sweeper{Store: s, Blobs: blobs, Delete: f.Delete}.Run(ctx, sum.add)
		return errors.Join(err, sum.print())
	})
}

// sweepSummary prints the result of a sweep.
type sweepSummary struct {
	json, deleting bool
	files          int
	bytes          int64
}

func (s *sweepSummary) add(o sweep.Orphan) error {
	s.files++
	s.bytes += o.Size
	if s.json {
		return terminal.PrintJSON(o)
	}
	return terminal.Printf("%s  %10d  %s  %s", o.Modified.Format(time.RFC3339), o.Size, o.Key, o.Reason)
}

func (s *sweepSummary) print() error {
	if s.json {
		return nil
	}
	what := "can be deleted with --delete"
	if s.deleting {
		what = "deleted"
	}
	return terminal.Printf("%d file(s), %d bytes in total: %s", s.files, s.bytes, what)
}
