package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"countersign/seal"
)

// verdictError makes the exit code tell what the report says.
type verdictError seal.Verdict

func (e verdictError) Error() string { return "the document is " + string(e) }

// ExitCode is a number of its own for each verdict; 1 means that there is none.
func (e verdictError) ExitCode() int {
	return map[verdictError]int{
		verdictError(seal.VerdictAltered): 2, verdictError(seal.VerdictUntrusted): 3, verdictError(seal.VerdictBroken): 4, verdictError(seal.VerdictNotSealed): 5,
	}[e]
}

// errOf returns nil if the document is valid.
func errOf(r seal.Report) error {
	if r.OK() {
		return nil
	}
	return verdictError(r.Verdict)
}

// extract writes the longest beginning of a file that its service wrote, the
// seal and the time-stamps after it, into a new file, and verifies that.
func extract(ctx context.Context, in *os.File, size int64, r seal.Report, to string, again *bounded) (seal.Report, error) {
	if r.Verdict == seal.VerdictBroken || r.Verdict == seal.VerdictNotSealed {
		return r, fmt.Errorf("there is nothing to extract: %w", verdictError(r.Verdict))
	}
	if r.Additions != nil {
		size = r.Additions.From
	}
	out, err := os.OpenFile(to, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600) //nolint:gosec // the user names it
	if err != nil {
		return r, err
	}
	_, err = io.Copy(out, io.NewSectionReader(in, 0, size))
	if err == nil {
		r, err = again.verify(ctx, out, size)
	}
	err = errors.Join(err, out.Close())
	if err == nil && !r.OK() && r.Verdict != seal.VerdictUntrusted {
		err = fmt.Errorf("what was extracted does not verify: %s", r.Summary)
	}
	if err != nil {
		err = errors.Join(err, os.Remove(to))
	}
	return r, err
}
