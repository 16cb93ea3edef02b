package main

import (
	"context"
	"errors"
	"fmt"

	"countersign/config"
)

type keyRewrap struct{ database }

// Run seals all that the former master keys sealed, or that is in plain from
// before such values were sealed, with the first one of COUNTERSIGN_MASTER_KEY. It can be stopped and run again; the service may be
// running, if it has been started with both keys.
func (k keyRewrap) Run(ctx context.Context) (err error) {
	cfg, err := k.config()
	if err != nil {
		return err
	}
	if err := cfg.Require("BLOB_URL"); err != nil {
		return err
	}
	s, v, err := openStore(ctx, cfg)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	if err := s.Migrated(ctx); err != nil {
		return err
	}
	n, err := s.Rewrap(ctx)
	if err != nil {
		return err
	}
	blobs, err := openBlobs(ctx, cfg, v)
	if err != nil {
		return err
	}
	var keys []string
	for _, folder := range []string{"envelopes/", "anchors/"} {
		found, err := blobs.List(ctx, folder)
		if err != nil {
			return err
		}
		keys = append(keys, found...)
	}
	files := 0
	for _, key := range keys {
		done, err := blobs.Rewrap(ctx, key)
		if err != nil {
			return err
		}
		if done {
			files++
		}
	}
	//nolint:forbidigo // this is what the command is for
	_, err = fmt.Printf("%d secrets, %d rows with contact data and %d of %d files were sealed with the first key of %sMASTER_KEY\n",
		n.Secrets, n.Rows, files, len(keys), config.Prefix)
	return err
}
