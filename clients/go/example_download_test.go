package countersign_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log"
	"os"

	countersign "countersign/clients/go"
)

// Downloads a document. Use Sealed instead of Original for the file that everyone has signed.
func ExampleClient_Download() {
	ctx, c := context.Background(), connect()
	e, err := c.Create(ctx, lease("acme"))
	if err != nil {
		log.Fatal(err)
	}
	pdf, err := os.ReadFile("testdata/contract.pdf")
	if err != nil {
		log.Fatal(err)
	}
	if _, err = c.Upload(ctx, e.ID, bytes.NewReader(pdf)); err != nil {
		log.Fatal(err)
	}
	file, err := c.Download(ctx, e.ID, countersign.Original)
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	got, err := io.ReadAll(file)
	fmt.Println(bytes.Equal(got, pdf), err)
	// Output: true <nil>
}
