// Package rewrap encrypts again, with the master key of today, all that a former
// master key encrypted, so that the former one can be removed.
package rewrap

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"countersign/store"
	"countersign/store/blob"
)

// Rewrapper changes the key of the database's secrets and of the stored files.
type Rewrapper struct {
	Store *store.Store
	Blobs *blob.Encrypted
}

// Result counts the re-encrypted values.
type Result struct {
	Secrets, Rows, Files int
	// AllFiles is the number of files in the store.
	AllFiles int
	// Unreadable names the rows that were encrypted with a master key that is not configured. They stay unchanged.
	Unreadable []string
}

// Run re-encrypts everything with the current master key. After an error, the completed part remains, and Run can be
// repeated at any time. The service can run meanwhile if it was started with both keys.
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

// file re-encrypts one file, unless the file was removed after it was listed. It updates the record of a document whose
// file is now encrypted. mark reports whether records without that update exist, for example because a run was
// interrupted between the two steps.
func (r Rewrapper) file(ctx context.Context, key string, mark bool) (there, changed bool, err error) {
	changed, encrypted, err := r.Blobs.Rewrap(ctx, key)
	if errors.Is(err, fs.ErrNotExist) {
		return false, false, nil
	}
	if err == nil && encrypted && mark {
		err = r.Store.MarkEncrypted(ctx, key)
	}
	if err != nil {
		return true, changed, fmt.Errorf("change the key of %s: %w", key, err)
	}
	return true, changed, nil
}
