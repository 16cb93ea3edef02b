package audit

import (
	"bufio"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"time"

	"countersign/internal/failpoint"
	"countersign/internal/pulse"
	"countersign/models"
	"countersign/store"
	"countersign/store/blob"
)

// Authority is a time-stamp authority (RFC 3161).
type Authority interface {
	// Stamp returns a time-stamp token for a SHA-256 digest. Stamp verifies that the token applies to this digest.
	Stamp(ctx context.Context, digest []byte) ([]byte, error)
}

// Anchorer obtains time-stamps for lists of audit chain heads. Any later change to a listed chain can then be
// detected, whether or not its envelope is sealed.
type Anchorer struct {
	Store     *store.Store
	Blobs     blob.Store
	Authority Authority
	Now       func() time.Time
}

// An anchor's list is a text file. It has three header lines, followed by one line for each envelope, in ID order. Each
// of these lines contains the number and the hash of the last event in the chain.
//
//	countersign-anchor 2
//	former 5c1b…   (SHA-256 of the previous list, or zeros for the first list)
//	at 2026-11-21T03:00:00.000000Z
//	0198c5a2-… 12 9f3e…
const (
	listHeader = "countersign-anchor %d\nformer %s\nat %s\n"
	listEntry  = "%s %d %s\n"
)

// listOverlap is the time by which the period of a list overlaps the period of the previous one. It exceeds both the
// difference between clocks and the time that a transaction takes to commit.
const listOverlap = 2 * time.Hour

// Run creates the next anchor, which covers every chain with a new event since the last anchor. It can be interrupted
// at any point, repeated, and run concurrently, because a list takes effect only when its row is written.
func (a Anchorer) Run(ctx context.Context) (*store.Anchor, error) {
	last, err := a.Store.LastAnchor(ctx)
	if err != nil {
		return nil, err
	}
	next := store.Anchor{Number: 1, At: a.Now().UTC().Truncate(time.Microsecond)}
	former, since := models.ChainStart, time.Time{}
	if last != nil {
		if err := a.keepToken(ctx, last); err != nil { // the previous run was interrupted
			return nil, err
		}
		next.Number, former, since = last.Number+1, last.Digest, last.At.Add(-listOverlap)
	}
	list, err := a.Blobs.Temp()
	if err != nil {
		return nil, err
	}
	defer blob.Discard(list)
	digest, err := a.write(ctx, list, &next, former, since)
	if err != nil {
		return nil, err
	}
	if next.Token, err = a.Authority.Stamp(ctx, digest); err != nil {
		return nil, fmt.Errorf("time-stamp anchor %d: %w", next.Number, err)
	}
	next.Digest = hex.EncodeToString(digest)
	next.BlobKey = fmt.Sprintf("%s%08d-%s.txt", blob.Anchors, next.Number, next.Digest[:16])
	if err := a.Blobs.Put(ctx, list, next.BlobKey); err != nil {
		return nil, err
	}
	failpoint.Inject("anchor.kept")
	err = a.Store.AddAnchor(ctx, next)
	if errors.Is(err, store.ErrAnchored) {
		return a.Store.LastAnchor(ctx) // another run was first
	}
	if err != nil {
		return nil, err
	}
	failpoint.Inject("anchor.recorded")
	return &next, a.keepToken(ctx, &next)
}

// write writes the list and returns its SHA-256 hash.
func (a Anchorer) write(ctx context.Context, list io.Writer, next *store.Anchor, former string, since time.Time) ([]byte, error) {
	h := sha256.New()
	w := bufio.NewWriter(io.MultiWriter(list, h))
	_, err := fmt.Fprintf(w, listHeader, next.Number, former, models.FormatTime(next.At))
	if err == nil {
		err = a.Store.EachChainHead(ctx, since, func(head store.ChainHead) error {
			next.Entries++
			pulse.Beat(ctx)
			_, err := fmt.Fprintf(w, listEntry, head.EnvelopeID, head.Seq, head.Hash)
			return err
		})
	}
	if err := cmp.Or(err, w.Flush()); err != nil {
		return nil, fmt.Errorf("write anchor %d: %w", next.Number, err)
	}
	return h.Sum(nil), nil
}

// keepToken stores the token of a recorded anchor beside its list. A stored token therefore proves that the list was
// recorded. The list of an interrupted run has no token.
func (a Anchorer) keepToken(ctx context.Context, anchor *store.Anchor) error {
	key := anchor.BlobKey + blob.TokenSuffix
	have, err := a.Blobs.List(ctx, key)
	if err != nil || len(have) > 0 {
		return err
	}
	f, err := a.Blobs.Temp()
	if err != nil {
		return err
	}
	defer blob.Discard(f)
	if _, err := f.Write(anchor.Token); err != nil {
		return fmt.Errorf("write %s: %w", key, err)
	}
	return a.Blobs.Put(ctx, f, key)
}
