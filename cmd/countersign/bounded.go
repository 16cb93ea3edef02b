package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"countersign/seal/refusal"
	"countersign/seal/sandbox"
	"countersign/seal/verify"
)

// examiner verifies files in a process of its own, as the API does: a hostile file
// can end that one, or use up what it may take, and nothing else.
type examiner struct {
	validators *sandbox.Pool
	opt        verify.Options
}

func newExaminer(opt verify.Options) (*examiner, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find the program that examines PDFs: %w", err)
	}
	return &examiner{sandbox.New(self, "validate-pdf"), opt}, nil
}

func (b *examiner) close() { b.validators.Close() }

// verify is verify.File. What takes more than the process may has no verdict.
func (b *examiner) verify(ctx context.Context, f *os.File, size int64) (verify.Report, error) {
	x, err := verify.ExamineIn(ctx, b.validators, f, size)
	var refused *refusal.Error
	if errors.As(err, &refused) {
		return verify.Report{}, errTooComplex
	}
	if err != nil {
		return verify.Report{}, err
	}
	return x.Report(b.opt), nil
}

// errTooComplex is what the API calls file_too_complex.
var errTooComplex = errors.New("the file was not examined: it is too complex, so that examining it takes too much time or memory")
