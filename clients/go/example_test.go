package countersign_test

import (
	"context"
	"fmt"
	"log"
	"os"

	countersign "countersign/clients/go"
)

// connect returns a client for the application specified by the environment variables.
func connect() *countersign.Client {
	c, err := countersign.New(os.Getenv("COUNTERSIGN_URL"), os.Getenv("COUNTERSIGN_CLIENT_ID"), os.Getenv("COUNTERSIGN_CLIENT_SECRET"))
	if err != nil {
		log.Fatal(err)
	}
	return c
}

// lease returns a request for an envelope with one signer and a signature field on the first page.
func lease(tenant string) countersign.EnvelopeRequest {
	return countersign.EnvelopeRequest{
		TenantID: tenant,
		Subject:  countersign.Ptr("Lease for flat 7"),
		Signers:  []countersign.SignerRequest{{Name: "Ada Lovelace", Email: "ada@example.com"}},
		Fields:   []countersign.FieldRequest{countersign.NewField("signature", "0", 1, 72, 600, 180, 50)},
	}
}

// Creates a draft, uploads its PDF, and sends it.
func Example() {
	ctx, c := context.Background(), connect()
	e, err := c.Create(ctx, lease("acme"))
	if err != nil {
		log.Fatal(err)
	}
	file, err := os.Open("testdata/contract.pdf")
	if err != nil {
		log.Fatal(err)
	}
	if _, err = c.Upload(ctx, e.ID, file); err != nil {
		log.Fatal(err)
	}
	e, err = c.Send(ctx, e.ID, "Please sign.")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(e.Status, e.Signers[0].Name)
	// Output: sent Ada Lovelace
}
