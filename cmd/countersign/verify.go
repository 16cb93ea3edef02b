package main

import (
	"context"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"os"

	"countersign/seal"
)

type verifyCommand struct {
	File  string   `arg:"" help:"Sealed PDF." type:"existingfile"`
	Trust []string `help:"PEM file with certificates of authorities to trust; may be repeated." type:"existingfile"`
	JSON  bool     `help:"Print JSON." name:"json"`

	Extract string `help:"Write the document as it was sealed, with its time-stamps and without what others added, to this new file, and verify that." placeholder:"FILE" type:"path"`
}

// Help is shown with the command.
func (verifyCommand) Help() string {
	return "Exit codes: 0 valid, 2 altered, 3 not trusted here, 4 broken, 5 not sealed; 1 if the file could not be examined. docs/verify.md explains the verdicts."
}

// Run checks the file from its bytes alone.
func (v verifyCommand) Run(ctx context.Context) error {
	roots, err := trusted(v.Trust)
	if err != nil {
		return err
	}
	opt := seal.VerifyOptions{Roots: roots, Now: now}
	f, err := os.Open(v.File)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // read only
	st, err := f.Stat()
	if err != nil {
		return err
	}
	report, err := seal.Verify(ctx, f, st.Size(), opt)
	if err != nil {
		return err
	}
	if v.Extract != "" {
		if report, err = extract(ctx, f, st.Size(), report, v.Extract, opt); err != nil {
			return err
		}
	}
	if v.JSON {
		err = json.NewEncoder(os.Stdout).Encode(report)
	} else {
		err = report.WriteText(os.Stdout)
	}
	if err == nil {
		err = errOf(report)
	}
	return err
}

// trusted reads files with certificates of authorities; nil if none is named.
func trusted(files []string) (*x509.CertPool, error) {
	var pool *x509.CertPool
	for _, name := range files {
		pem, err := os.ReadFile(name) //nolint:gosec // the user names it
		if err != nil {
			return nil, err
		}
		if pool == nil {
			pool = x509.NewCertPool()
		}
		if !pool.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("%s holds no certificate", name)
		}
	}
	return pool, nil
}
