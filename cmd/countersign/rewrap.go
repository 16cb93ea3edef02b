package main

import (
	"context"
	"fmt"

	"countersign/config"
	"countersign/operate/rewrap"
	"countersign/store"
	"countersign/store/blob"
)

type keyRewrap struct{ database }

// Run encrypts all that the former master keys encrypted, or that is in plain from
// before such values were encrypted, with the first one of COUNTERSIGN_MASTER_KEY.
// It can be stopped and run again; the service may be running, if it has been
// started with both keys.
func (k keyRewrap) Run(ctx context.Context) error {
	return k.withFiles(ctx, func(s *store.Store, blobs *blob.Encrypted) error {
		n, err := rewrap.Rewrapper{Store: s, Blobs: blobs}.Run(ctx)
		if err != nil {
			return err
		}
		//nolint:forbidigo // this is what the command is for
		_, err = fmt.Printf("%d secrets, %d rows with contact data and %d of %d files were encrypted with the first key of %sMASTER_KEY\n",
			n.Secrets, n.Rows, n.Files, n.AllFiles, config.Prefix)
		return err
	})
}
