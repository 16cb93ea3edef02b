package seal

import (
	"context"
	"crypto"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
)

// sums are the digests that a verification needs.
type sums struct{ covered, original, whole []byte }

// hashAll reads the file once. The three digests begin alike, so that their
// common beginning is hashed once, too.
func (v *verifier) hashAll(ctx context.Context, from, to int64) (sums, error) {
	gap, after, end := v.rng[1], v.rng[2], v.rng[2]+v.rng[3]
	if v.signed.Hash() != crypto.SHA256 || from > 0 && v.done == nil {
		covered, original, whole := v.signed.NewHash(), sha256.New(), sha256.New()
		err := hashSpans(ctx, v.r, v.size, []span{{0, gap, covered}, {after, end, covered}, {from, to, original}, {0, v.size, whole}})
		return sums{covered.Sum(nil), original.Sum(nil), whole.Sum(nil)}, err
	}
	var out sums
	whole, pos := sha256.New(), int64(0)
	if v.done != nil {
		var err error
		if whole, err = cloneHash(v.done.hash); err != nil {
			return out, err
		}
		out.original, pos = v.done.original, v.done.size
	}
	if out.original == nil {
		if err := hashSpans(ctx, v.r, to, []span{{pos, to, whole}}); err != nil {
			return out, err
		}
		out.original, pos = whole.Sum(nil), to
	}
	if err := hashRange(ctx, v.r, pos, gap, whole); err != nil {
		return out, err
	}
	covered, err := cloneHash(whole)
	if err != nil {
		return out, err
	}
	if err := hashRange(ctx, v.r, gap, v.size, whole); err != nil {
		return out, err
	}
	err = hashRange(ctx, v.r, after, end, covered)
	out.covered, out.whole = covered.Sum(nil), whole.Sum(nil)
	return out, err
}

// span is a part of the file that goes into a hash.
type span struct {
	from, to int64
	h        hash.Hash
}

// hashSpans reads the first size bytes once and feeds each span's hash.
func hashSpans(ctx context.Context, r io.ReaderAt, size int64, spans []span) error {
	return readRange(ctx, r, 0, size, func(at int64, b []byte) error {
		for _, s := range spans {
			lo, hi := max(s.from, at), min(s.to, at+int64(len(b)))
			if lo < hi {
				s.h.Write(b[lo-at : hi-at])
			}
		}
		return nil
	})
}

func hashRange(ctx context.Context, r io.ReaderAt, from, to int64, h hash.Hash) error {
	return readRange(ctx, r, from, to, func(_ int64, b []byte) error {
		h.Write(b)
		return nil
	})
}

// readRange reads bytes from … to in pieces.
func readRange(ctx context.Context, r io.ReaderAt, from, to int64, visit func(at int64, b []byte) error) error {
	if to <= from {
		return nil
	}
	buf := make([]byte, min(copyBuffer, to-from))
	for at := from; at < to; {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		b := buf[:min(int64(len(buf)), to-at)]
		if err := readFull(r, b, at); err != nil {
			return fmt.Errorf("seal: reading: %w", err)
		}
		if err := visit(at, b); err != nil {
			return err
		}
		at += int64(len(b))
	}
	return nil
}

func cloneHash(h hash.Hash) (hash.Hash, error) {
	c, ok := h.(hash.Cloner)
	if !ok {
		return nil, errors.New("seal: the hash cannot be cloned")
	}
	return c.Clone()
}
