package countersign_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	countersign "countersign/clients/go"
)

// Wait until all have signed. An envelope that ends otherwise ends the wait.
func ExampleClient_WaitUntilCompleted() {
	ctx, c := context.Background(), connect()
	e, err := c.Create(ctx, lease("acme"))
	if err != nil {
		log.Fatal(err)
	}
	if _, err = c.Void(ctx, e.ID, "A mistake"); err != nil {
		log.Fatal(err)
	}
	_, err = c.WaitUntilCompleted(ctx, e.ID)
	var ended *countersign.EndedError
	if errors.As(err, &ended) {
		fmt.Println(ended.Envelope.Status)
	}
	// Output: voided
}
