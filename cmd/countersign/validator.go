package main

import (
	"context"
	"os"

	"countersign/seal/admission"
	"countersign/seal/sandbox"
)

type validatorCommand struct{}

// Run examines an uploaded PDF on behalf of the API, in a process of its own: a
// hostile file can end this one, and nothing else.
func (validatorCommand) Run(ctx context.Context) error {
	os.Exit(sandbox.Serve(ctx, os.Stdin, os.Stdout, admission.Tasks()))
	return nil
}
