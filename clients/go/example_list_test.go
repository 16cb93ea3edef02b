package countersign_test

import (
	"context"
	"fmt"
	"log"

	countersign "countersign/clients/go"
)

// Lists all envelopes of a tenant. Pages are requested as needed.
func ExampleClient_Envelopes() {
	ctx, c := context.Background(), connect()
	for range 2 {
		if _, err := c.Create(ctx, lease("of-the-list")); err != nil {
			log.Fatal(err)
		}
	}
	n := 0
	for e, err := range c.Envelopes(ctx, countersign.ListOptions{TenantID: "of-the-list"}) {
		if err != nil {
			log.Fatal(err)
		}
		if e.Status == "draft" {
			n++
		}
	}
	fmt.Println(n, "drafts")
	// Output: 2 drafts
}
