package main

import (
	"context"
	"os"

	"countersign/seal"
)

type validatorCommand struct{}

// Run examines an uploaded PDF on behalf of the API, in a process of its own: a
// hostile file can end this one, and nothing else.
func (validatorCommand) Run(ctx context.Context) error {
	os.Exit(seal.RunValidator(ctx, os.Stdin, os.Stdout))
	return nil
}
