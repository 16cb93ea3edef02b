package main

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"countersign/seal/admission"
	"countersign/seal/sandbox"
	"countersign/seal/verify"
)

// TestMain lets the test program also serve as the process that examines files or renders pages.
func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == "validate-pdf" {
		os.Exit(sandbox.Serve(context.Background(), os.Stdin, os.Stdout, admission.Tasks()))
	}
	if len(os.Args) > 3 && os.Args[1] == "render-pages" {
		if err := (rendererCommand{Cache: os.Args[3], Compile: len(os.Args) > 4}).Run(context.Background()); err != nil {
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// TestVerify_IsBounded checks that a file is examined in a separate process, and that there is no verdict if the
// process exceeds its limits.
func TestVerify_IsBounded(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "plain.pdf")
	require.NoError(t, os.WriteFile(name, []byte("%PDF-1.7\nnothing in it\n"), 0o600))
	f, err := os.Open(name)
	require.NoError(t, err)
	defer func() { require.NoError(t, f.Close()) }()
	info, err := f.Stat()
	require.NoError(t, err)

	in, err := newExaminer(verify.Options{Now: now})
	require.NoError(t, err)
	defer in.close()
	got, err := in.verify(t.Context(), f, info.Size())
	require.NoError(t, err)
	want, err := verify.File(t.Context(), f, info.Size(), in.opt)
	require.NoError(t, err)
	require.Equal(t, want, got, "the same result as in this process")
	require.Equal(t, verify.VerdictNotSealed, got.Verdict)

	// Files of any size are examined.
	large := filepath.Join(t.TempDir(), "large.pdf")
	require.NoError(t, os.WriteFile(large, []byte("%PDF-1.7\nnothing in it\n"), 0o600))
	require.NoError(t, os.Truncate(large, 101<<20))
	l, err := os.Open(large)
	require.NoError(t, err)
	defer func() { require.NoError(t, l.Close()) }()
	got, err = in.verify(t.Context(), l, 101<<20)
	require.NoError(t, err)
	want, err = verify.File(t.Context(), l, 101<<20, in.opt)
	require.NoError(t, err)
	require.Equal(t, want, got)

	// Examine the file again with less memory than the process itself needs.
	small := &examiner{sandbox.New("/bin/sh", "-c", `COUNTERSIGN_ADMIT_MEMORY=8000000 exec "$0" validate-pdf`, os.Args[0]), in.opt}
	defer small.close()
	_, err = small.verify(t.Context(), f, info.Size())
	require.ErrorIs(t, err, errTooComplex)
	require.NotErrorAs(t, err, new(verdictError), "exit code 1")
}
