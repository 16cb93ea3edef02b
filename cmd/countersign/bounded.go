package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"countersign/seal"
)

// bounded verifies files in a process of its own, as the API does: a hostile file
// can end that one, or use up what it may take, and nothing else.
type bounded struct {
	validators *seal.Validators
	opt        seal.VerifyOptions
}

func newBounded(opt seal.VerifyOptions) (*bounded, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find the program that examines PDFs: %w", err)
	}
	return &bounded{seal.NewValidators(self, "validate-pdf"), opt}, nil
}

func (b *bounded) close() { b.validators.Close() }

// verify is seal.Verify. What takes more than the process may has no verdict.
func (b *bounded) verify(ctx context.Context, f *os.File, size int64) (seal.Report, error) {
	x, err := b.validators.Examine(ctx, f, size)
	var refusal *seal.Refusal
	if errors.As(err, &refusal) {
		return seal.Report{}, errTooComplex
	}
	if err != nil {
		return seal.Report{}, err
	}
	return x.Report(b.opt), nil
}

// errTooComplex is what the API calls file_too_complex.
var errTooComplex = errors.New("the file was not examined: it is too complex, so that examining it takes too much time or memory")
