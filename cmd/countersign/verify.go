package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"countersign/cli/terminal"
	"countersign/seal/verify"
)

type verifyCommand struct {
	trustOptions

	File string `arg:"" help:"Sealed PDF." type:"existingfile"`
	JSON bool   `help:"Print JSON." name:"json"`

	Appearance bool   `help:"Render the pages that signers were shown and compare them with the record. Exit code 1 if a page differs."`
	Pages      string `help:"Write the pages that signers were shown to this folder as pictures." placeholder:"DIR" type:"path"`

	Extract string `help:"Write the sealed document, with its time-stamps and without other additions, to this new file, and verify it." placeholder:"FILE" type:"path"`
}

// Help returns the additional help text of the command.
func (verifyCommand) Help() string {
	return "Exit codes: 0 valid, 2 altered, 3 not trusted here, 4 broken, 5 not sealed; 1 if the file could not be examined, for example because that takes more than 256 MiB or 10 s of CPU time (plus 1 s for each 32 MiB of files above 64 MiB). docs/learn/verify.md explains the verdicts."
}

// Run verifies a file based only on its content.
func (v verifyCommand) Run(ctx context.Context) error {
	policy, err := v.policy()
	if err != nil {
		return err
	}
	in, err := newExaminer(verify.Options{Trust: policy, Now: now})
	if err != nil {
		return err
	}
	defer in.close()
	f, err := os.Open(v.File)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // opened only for reading
	st, err := f.Stat()
	if err != nil {
		return err
	}
	report, err := in.verify(ctx, f, st.Size())
	if err != nil {
		return err
	}
	if v.Extract != "" {
		if report, err = extract(ctx, f, st.Size(), report, v.Extract, in); err != nil {
			return err
		}
	}
	if v.JSON {
		err = terminal.PrintJSON(report)
	} else {
		err = report.WriteText(os.Stdout)
	}
	if err == nil && (v.Appearance || v.Pages != "") {
		err = verifyAppearance(ctx, io.NewSectionReader(f, 0, st.Size()), report, v.Pages, v.JSON)
	}
	if err == nil {
		err = exitError(report)
	}
	return err
}

// verdictError sets the exit code according to the verdict in the report.
type verdictError verify.Verdict

func (e verdictError) Error() string { return "the document is " + string(e) }

// ExitCode returns a distinct exit code for each verdict. Exit code 1 is reserved for other errors.
func (e verdictError) ExitCode() int {
	return map[verdictError]int{
		verdictError(verify.VerdictAltered): 2, verdictError(verify.VerdictUntrusted): 3, verdictError(verify.VerdictBroken): 4, verdictError(verify.VerdictNotSealed): 5,
	}[e]
}

// exitError returns nil if the document is valid, and otherwise a verdictError.
func exitError(r verify.Report) error {
	if r.OK() {
		return nil
	}
	return verdictError(r.Verdict)
}

// extract finds the longest prefix written by the service that sealed the file. This prefix ends with the seal and any
// time-stamps added later. extract copies it to a new file, and verifies that file.
func extract(ctx context.Context, in *os.File, size int64, r verify.Report, to string, again *examiner) (verify.Report, error) {
	if r.Verdict == verify.VerdictBroken || r.Verdict == verify.VerdictNotSealed {
		return r, fmt.Errorf("nothing to extract: %w", verdictError(r.Verdict))
	}
	if r.Additions != nil {
		size = r.Additions.From
	}
	out, err := os.OpenFile(to, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600) //nolint:gosec // specified by the user
	if err != nil {
		return r, err
	}
	_, err = io.Copy(out, io.NewSectionReader(in, 0, size))
	if err == nil {
		r, err = again.verify(ctx, out, size)
	}
	err = errors.Join(err, out.Close())
	if err == nil && !r.OK() && r.Verdict != verify.VerdictUntrusted {
		err = fmt.Errorf("the extracted document does not verify: %s", r.Summary)
	}
	if err != nil {
		err = errors.Join(err, os.Remove(to))
	}
	return r, err
}
