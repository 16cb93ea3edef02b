package main

import (
	"context"
	"os"

	"countersign/seal/verify"
)

type verifyCommand struct {
	trustOptions

	File string `arg:"" help:"Sealed PDF." type:"existingfile"`
	JSON bool   `help:"Print JSON." name:"json"`

	Extract string `help:"Write the document as it was sealed, with its time-stamps and without what others added, to this new file, and verify that." placeholder:"FILE" type:"path"`
}

// Help is shown with the command.
func (verifyCommand) Help() string {
	return "Exit codes: 0 valid, 2 altered, 3 not trusted here, 4 broken, 5 not sealed; 1 if the file could not be examined, as when that takes more than 10 s of the processor (for files of more than 64 MB, one more for each 32 MB) or 256 MB. docs/verify.md explains the verdicts."
}

// Run checks the file from its bytes alone.
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
	defer func() { _ = f.Close() }() // read only
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
		err = printJSON(report)
	} else {
		err = report.WriteText(os.Stdout)
	}
	if err == nil {
		err = exitError(report)
	}
	return err
}
