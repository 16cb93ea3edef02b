package verify

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"maps"
	"slices"
	"sync"
)

// CopyBuffer is the number of bytes of a file that are read at a time.
const CopyBuffer = 256 << 10

// Buffer is memory for reading a file.
type Buffer [CopyBuffer]byte

var buffers = sync.Pool{New: func() any { return new(Buffer) }}

// NewBuffer returns a buffer with arbitrary content. The caller should release it with Free.
func NewBuffer() *Buffer {
	b, _ := buffers.Get().(*Buffer) // the pool contains only buffers
	return b
}

// Free returns the buffer for reuse.
func (b *Buffer) Free() { buffers.Put(b) }

// Prefix is the beginning of a file that has been read back and hashed.
type Prefix struct {
	Size     int64
	Hash     hash.Hash
	Original []byte              // hash of the original, which is contained in the prefix
	Marks    Marks               // marks in the prefix
	Begun    map[int64]hash.Hash // hashes of the bytes before each signature, by the signature's position
	// Record is the opened seal record, or nil if it has not been opened.
	Record *OpenedRecord
	// Found is the result of the search for the seal, or nil if there has been no search.
	Found *Found
}

// byteRangeGap is the gap in a signature's byte range. The byte range ends at end.
type byteRangeGap struct{ from, to, end int64 }

// digests contains the digests required for a verification.
type digests struct {
	original []byte
	covered  [][]byte  // digests of the bytes covered by each signature
	whole    hash.Hash // hash of the complete file
	marks    Marks
	begun    map[int64]hash.Hash // hashes of the bytes before each gap, by the gap's start
}

// hashFile reads the file only once, regardless of the number of signatures. The ranges covered by signatures have
// common prefixes, each of which is also hashed only once. The argument named to is the size of the original, which is
// at the beginning of the file. If done is not nil, it is a prefix that has already been read.
func hashFile(ctx context.Context, r io.ReaderAt, size, to int64, gaps []byteRangeGap, done *Prefix) (digests, error) {
	s := digests{whole: sha256.New(), covered: make([][]byte, len(gaps)), begun: map[int64]hash.Hash{}}
	pos := int64(0)
	if done != nil {
		var err error
		if s.whole, err = CloneHash(done.Hash); err != nil {
			return s, err
		}
		s.original, pos, s.marks = done.Original, done.Size, done.Marks
		s.marks.at = slices.Clone(s.marks.at)
		maps.Copy(s.begun, done.Begun)
	}
	taps := s.taps(to, gaps, s.original == nil)
	err := ReadRange(ctx, r, pos, size, func(at int64, b []byte) error {
		if err := s.marks.Scan(b); err != nil {
			return err
		}
		for len(taps) > 0 && taps[0].at < at+int64(len(b)) {
			n := taps[0].at - at
			s.whole.Write(b[:n])
			b, at = b[n:], at+n
			if err := taps[0].take(s.whole); err != nil {
				return err
			}
			taps = taps[1:]
		}
		s.whole.Write(b)
		return nil
	})
	if err != nil {
		return s, err
	}
	if len(taps) > 0 {
		return s, errors.New("seal: a signature extends beyond the end of the file")
	}
	for i, h := range gaps {
		covered, err := CloneHash(s.begun[h.from])
		if err != nil {
			return s, err
		}
		if err := hashRange(ctx, r, h.to, h.end, covered); err != nil {
			return s, err
		}
		s.covered[i] = covered.Sum(nil)
	}
	return s, nil
}

// digestPoint is a callback that receives the hash state at a position.
type digestPoint struct {
	at   int64
	take func(hash.Hash) error
}

func (s *digests) taps(to int64, gaps []byteRangeGap, original bool) []digestPoint {
	var out []digestPoint
	for _, h := range gaps {
		if s.begun[h.from] != nil {
			continue
		}
		out = append(out, digestPoint{h.from, func(so hash.Hash) (err error) {
			s.begun[h.from], err = CloneHash(so)
			return err
		}})
	}
	if original {
		out = append(out, digestPoint{to, func(h hash.Hash) error {
			s.original = h.Sum(nil)
			return nil
		}})
	}
	slices.SortStableFunc(out, func(a, b digestPoint) int { return int(min(1, max(-1, a.at-b.at))) })
	return out
}

func hashRange(ctx context.Context, r io.ReaderAt, from, to int64, h hash.Hash) error {
	return ReadRange(ctx, r, from, to, func(_ int64, b []byte) error {
		h.Write(b)
		return nil
	})
}

// ReadRange reads a range of bytes in pieces, and calls visit with the offset and the content of each piece. The range
// excludes its end.
func ReadRange(ctx context.Context, r io.ReaderAt, from, to int64, visit func(at int64, b []byte) error) error {
	buf := NewBuffer()
	defer buf.Free()
	for at := from; at < to; {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		b := buf[:min(CopyBuffer, to-at)]
		if err := ReadFull(r, b, at); err != nil {
			return fmt.Errorf("seal: reading: %w", err)
		}
		if err := visit(at, b); err != nil {
			return err
		}
		at += int64(len(b))
	}
	return nil
}

// CloneHash returns a copy of a hash, including its state.
func CloneHash(h hash.Hash) (hash.Hash, error) {
	c, ok := h.(hash.Cloner)
	if !ok {
		return nil, errors.New("seal: the hash cannot be cloned")
	}
	return c.Clone()
}

// ReadFull fills b from r, starting at the given offset.
func ReadFull(r io.ReaderAt, b []byte, at int64) error {
	if n, err := r.ReadAt(b, at); n < len(b) {
		return errors.Join(err, io.ErrUnexpectedEOF)
	}
	return nil
}
