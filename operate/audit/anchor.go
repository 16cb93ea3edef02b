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

// Authority puts the time on digests (RFC 3161).
type Authority interface {
	// Stamp returns a token over a SHA-256 digest that it has checked.
	Stamp(ctx context.Context, digest []byte) ([]byte, error)
}

// Anchorer has lists of the heads of audit chains time-stamped. Any later change to a listed chain, sealed or not, can
// be detected.
type Anchorer struct {
	Store     *store.Store
	Blobs     blob.Store
	Authority Authority
	Now       func() time.Time
}

// An anchor's list is text: three lines that begin it, and one for each envelope,
// by id, with the number and the hash of the event that its chain ends with.
//
//	countersign-anchor 2
//	former 5c1b…   (SHA-256 of the list before, zeros for the first)
//	at 2026-11-21T03:00:00.000000Z
//	0198c5a2-… 12 9f3e…
const (
	listHeader = "countersign-anchor %d\nformer %s\nat %s\n"
	listEntry  = "%s %d %s\n"
)

// listOverlap is the overlap of a list with the time before the previous anchor. It is longer than clocks differ and
// than a transaction takes to commit.
const listOverlap = 2 * time.Hour

// Run creates the next anchor, over every chain with a new event since the last one. It can be interrupted at any
// point, repeated, and run concurrently: a list counts when its row is written.
func (a Anchorer) Run(ctx context.Context) (*store.Anchor, error) {
	last, err := a.Store.LastAnchor(ctx)
	if err != nil {
		return nil, err
	}
	next := store.Anchor{Number: 1, At: a.Now().UTC().Truncate(time.Microsecond)}
	former, since := models.ChainStart, time.Time{}
	if last != nil {
		if err := a.keepToken(ctx, last); err != nil { // the run before was cut off
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
	if err := a.Blobs.Keep(ctx, list, next.BlobKey); err != nil {
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

// write writes the list and returns its SHA-256.
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

// keepToken stores the token of a recorded anchor next to its list. A list with a token therefore once had a row; the
// list of an interrupted run has none.
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
	return a.Blobs.Keep(ctx, f, key)
}
