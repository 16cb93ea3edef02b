package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"

	"countersign/seal/admission"
	"countersign/seal/picture"
	"countersign/seal/rejection"
	"countersign/seal/sandbox"
	"countersign/seal/verify"
)

type validatorCommand struct{}

// newValidators returns a pool of child processes that run validatorCommand.
func newValidators() (*sandbox.Pool, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find the executable of the PDF validator: %w", err)
	}
	return sandbox.New(self, "validate-pdf"), nil
}

// Run examines uploaded PDFs and images for the API in a separate process, so that a malicious file can crash only that
// process.
func (validatorCommand) Run(ctx context.Context) error {
	tasks := admission.Tasks()
	maps.Copy(tasks, picture.Tasks())
	os.Exit(sandbox.Serve(ctx, os.Stdin, os.Stdout, tasks))
	return nil
}

// examiner verifies files in a separate process, as the API does, so that a malicious file can crash or exhaust only
// that process.
type examiner struct {
	validators *sandbox.Pool
	opt        verify.Options
}

func newExaminer(opt verify.Options) (*examiner, error) {
	validators, err := newValidators()
	return &examiner{validators, opt}, err
}

func (e *examiner) close() { e.validators.Close() }

// verify is like verify.File, but runs in a separate process. If a file exceeds that process's limits, there is no
// verdict.
func (e *examiner) verify(ctx context.Context, f *os.File, size int64) (verify.Report, error) {
	x, err := verify.ExamineIn(ctx, e.validators, f, size)
	if _, rejected := errors.AsType[*rejection.Error](err); rejected {
		return verify.Report{}, errTooComplex
	}
	if err != nil {
		return verify.Report{}, err
	}
	return x.Report(e.opt), nil
}

// errTooComplex corresponds to the API's file_too_complex.
var errTooComplex = errors.New("the file was not examined: the examination would take too much time or memory")
