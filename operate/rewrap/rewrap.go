// Package rewrap re-encrypts all data that was encrypted with a former master key, so that the former key can be
// removed.
package rewrap

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"countersign/store"
	"countersign/store/blob"
)

// Rewrapper re-encrypts the secrets in the database and the stored files.
type Rewrapper struct {
	Store *store.Store
	Blobs *blob.Encrypted
}

// Result counts the re-encrypted values.
type Result struct {
	Secrets, Rows, Files int
	// AllFiles is the number of files in the store.
	AllFiles int
	// Unreadable lists the rows that were encrypted with a master key that is not configured. These rows are unchanged.
	Unreadable []string
}

// Run re-encrypts everything with the current master key. If it returns an error, the values that it already
// re-encrypted remain re-encrypted, and Run can be repeated at any time. The service can run at the same time if it is
// configured with both keys.
func (r Rewrapper) Run(ctx context.Context) (Result, error) {
	rows, err := r.Store.Rewrap(ctx)
	if err != nil {
		return Result{}, err
	}
	out := Result{Secrets: rows.Secrets, Rows: rows.Rows, Unreadable: rows.Unreadable}
	unmarked, err := r.Store.HasUnmarkedFiles(ctx)
	if err != nil {
		return out, err
	}
	for _, folder := range []string{blob.Envelopes, blob.Templates, blob.Pages, blob.Anchors, blob.Archives} {
		err := r.Blobs.Walk(ctx, folder, func(e blob.Entry) error {
			there, changed, err := r.file(ctx, e.Key, unmarked)
			if there {
				out.AllFiles++
			}
			if changed {
				out.Files++
			}
			return err
		})
		if err != nil {
			return out, err
		}
	}
	return out, nil
}

// file re-encrypts one file, unless the file was deleted after it was listed. If the parameter mark is set and the file
// is encrypted, it also updates the record of the file's document. An earlier run may have been interrupted before this
// update.
func (r Rewrapper) file(ctx context.Context, key string, mark bool) (there, changed bool, err error) {
	changed, encrypted, err := r.Blobs.Rewrap(ctx, key)
	if errors.Is(err, fs.ErrNotExist) {
		return false, false, nil
	}
	if err == nil && encrypted && mark {
		err = r.Store.MarkEncrypted(ctx, key)
	}
	if err != nil {
		return true, changed, fmt.Errorf("re-encrypt %s: %w", key, err)
	}
	return true, changed, nil
}
