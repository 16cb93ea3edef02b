package main

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"time"

	"countersign/seal"
	"countersign/seal/verify"
)

// measureVerify compares verifying a sealed file with hashing it, which is the minimum work for detecting a change.
func measureVerify(ctx context.Context, w io.Writer, dir string, s *sealer, job seal.Job, rounds int) error {
	out, err := os.CreateTemp(dir, "sealed")
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(out.Name()) }()
	defer func() { _ = out.Close() }()
	res, err := s.Seal(ctx, out, job)
	if err != nil {
		return err
	}
	figures := []figure{
		{name: "hashing the sealed file", run: func(*os.File) error {
			h := sha256.New()
			_, err := io.CopyBuffer(struct{ io.Writer }{h}, io.NewSectionReader(out, 0, res.Size), make([]byte, 256<<10))
			return err
		}},
		{name: "Countersign verify", run: func(*os.File) error {
			report, err := verify.File(ctx, out, res.Size, verify.Options{Now: time.Now})
			if err == nil && report.Verdict != verify.VerdictUntrusted { // the options trust no sealer, so a valid file is reported as untrusted
				err = fmt.Errorf("the sealed file is %s", report.Verdict)
			}
			return err
		}},
	}
	for range rounds {
		for i := range figures {
			if err := figures[i].take(dir); err != nil {
				return err
			}
		}
	}
	for i := range figures {
		f := &figures[i]
		fmt.Fprintf(w, "  %-24s %9.2f ms  %7.2f × hashing  best %.2f ms, %.2f × hashing, CPU %.2f ms\n", f.name, ms(f.median()),
			float64(f.median())/float64(figures[0].median()), ms(f.best()), float64(f.best())/float64(figures[0].best()), ms(f.cpu)/float64(rounds))
	}
	return nil
}
