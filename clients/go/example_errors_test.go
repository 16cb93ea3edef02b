package countersign_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/google/uuid"

	countersign "countersign/clients/go"
)

// An API error has a stable code, and lists the invalid members.
func ExampleError() {
	request := lease("acme")
	request.Signers[0].Email = "nobody"
	_, err := connect().Create(context.Background(), request)
	var apiErr *countersign.Error
	if errors.As(err, &apiErr) {
		fmt.Println(apiErr.Status, apiErr.Code, slices.Collect(maps.Keys(apiErr.Fields)))
	}
	// Output: 400 validation_error [signers[0].email]
}

// The envelope does not exist, or belongs to another application.
func ExampleIsNotFound() {
	_, err := connect().Envelope(context.Background(), uuid.New())
	fmt.Println(countersign.IsNotFound(err))
	// Output: true
}
