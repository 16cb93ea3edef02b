package countersign_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	countersign "countersign/clients/go"
)

// Waits until all signers have signed. The wait also ends if the envelope is declined, voided or expires.
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
