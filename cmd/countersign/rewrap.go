package main

import (
	"context"
	"fmt"

	"countersign/config"
	"countersign/store"
	"countersign/store/blob"
)

type keyRewrap struct{ database }

// Run seals all that the former master keys sealed, or that is in plain from
// before such values were sealed, with the first one of COUNTERSIGN_MASTER_KEY.
// It can be stopped and run again; the service may be running, if it has been
// started with both keys.
func (k keyRewrap) Run(ctx context.Context) error {
	return k.withFiles(ctx, func(s *store.Store, blobs *blob.Encrypted) error {
		n, err := s.Rewrap(ctx)
		if err != nil {
			return err
		}
		done, files, err := rewrapFiles(ctx, s, blobs)
		if err != nil {
			return err
		}
		//nolint:forbidigo // this is what the command is for
		_, err = fmt.Printf("%d secrets, %d rows with contact data and %d of %d files were sealed with the first key of %sMASTER_KEY\n",
			n.Secrets, n.Rows, done, files, config.Prefix)
		return err
	})
}

// rewrapFiles returns how many files were sealed anew, and how many there are. The
// documents whose files are encrypted by now are marked so.
func rewrapFiles(ctx context.Context, s *store.Store, blobs *blob.Encrypted) (done, files int, err error) {
	for _, folder := range []string{blob.Envelopes, blob.Anchors} {
		keys, err := blobs.List(ctx, folder)
		if err != nil {
			return done, files, err
		}
		files += len(keys)
		for _, key := range keys {
			anew, encrypted, err := blobs.RewrapFile(ctx, key)
			if err == nil && encrypted {
				err = s.MarkEncrypted(ctx, key)
			}
			if err != nil {
				return done, files, err
			}
			if anew {
				done++
			}
		}
	}
	return done, files, nil
}
