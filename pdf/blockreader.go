package pdf

import (
	"errors"
	"fmt"
	"io"
	"slices"
)

// blockReader reads a file through a small cache of blocks.
type blockReader struct {
	r       io.ReaderAt
	size    int64
	blocks  [16]block
	clock   uint64
	recent  int    // index of the most recently used block
	buf     []byte // buffer for reads larger than one block
	ahead   []byte // bytes at aheadAt read by readAhead, outside the block cache
	aheadAt int64
}

const blockSize = 4096

type block struct {
	at   int64 // -1 if unused
	n    int
	used uint64
	data []byte
}

func newBlockReader(r io.ReaderAt, size int64) *blockReader {
	w := &blockReader{r: r, size: size}
	for i := range w.blocks {
		w.blocks[i].at = -1
	}
	return w
}

// read returns n bytes at off. They are valid until the next call.
func (w *blockReader) read(off, n int64) ([]byte, error) {
	if off < 0 || n < 0 || off+n > w.size {
		return nil, damaged("read past the end of the file")
	}
	if n > blockSize {
		if int64(cap(w.buf)) < n {
			w.buf = make([]byte, n)
		}
		b := w.buf[:n]
		if n > 1<<20 {
			w.buf = nil // too large to reuse
		}
		return b, readFull(w.r, b, off)
	}
	first := off / blockSize * blockSize
	b, err := w.block(first)
	if err != nil {
		return nil, err
	}
	if off+n <= first+int64(len(b)) {
		return b[off-first : off-first+n : off-first+n], nil
	}
	if cap(w.buf) < int(n) {
		w.buf = make([]byte, blockSize)
	}
	out := append(w.buf[:0], b[off-first:]...)
	next, err := w.block(first + blockSize)
	if err != nil {
		return nil, err
	}
	return append(out, next[:int(n)-len(out)]...), nil
}

// readAhead returns n bytes at off without caching a block. It is for bytes that are probably far from everything read
// before, such as the pages of a document. If successive requests are close to each other, it reads more bytes than
// requested.
func (w *blockReader) readAhead(off, n int64) ([]byte, error) {
	if off < 0 || n < 0 || off+n > w.size {
		return nil, damaged("read past the end of the file")
	}
	if d := off - w.aheadAt; d >= 0 && d+n <= int64(len(w.ahead)) {
		return w.ahead[d:][:n:n], nil
	}
	end := w.aheadAt + int64(len(w.ahead))
	switch {
	case n > blockSize || w.cached(off/blockSize*blockSize) != nil:
		w.aheadAt, w.ahead = off, w.ahead[:0]
		return w.read(off, n)
	case off > w.aheadAt && off < end+aheadStep:
		w.ahead = slices.Grow(w.ahead[:0], aheadSize)[:max(n, min(aheadSize, w.size-off))]
	default:
		w.ahead = slices.Grow(w.ahead[:0], blockSize)[:n]
	}
	w.aheadAt = off
	if err := readFull(w.r, w.ahead, off); err != nil {
		w.ahead = w.ahead[:0]
		return nil, err
	}
	return w.ahead[:n:n], nil
}

const (
	aheadStep = 8 << 10  // maximum distance in bytes between requests that count as close
	aheadSize = 64 << 10 // number of bytes read at a time
)

// copyAhead fills b with the bytes at off, using the buffer of readAhead if possible.
func (w *blockReader) copyAhead(b []byte, off int64) error {
	if d := off - w.aheadAt; d >= 0 && d+int64(len(b)) <= int64(len(w.ahead)) {
		copy(b, w.ahead[d:])
		return nil
	}
	return readFull(w.r, b, off)
}

// cached returns the cached block that begins at a position, or nil if there is none.
func (w *blockReader) cached(at int64) *block {
	if w.blocks[w.recent].at == at {
		return &w.blocks[w.recent]
	}
	for i := range w.blocks {
		if w.blocks[i].at == at {
			w.recent = i
			return &w.blocks[i]
		}
	}
	return nil
}

func (w *blockReader) block(at int64) ([]byte, error) {
	w.clock++
	if bl := w.cached(at); bl != nil {
		bl.used = w.clock
		return bl.data[:bl.n], nil
	}
	oldest := &w.blocks[0]
	for i := range w.blocks {
		if w.blocks[i].used < oldest.used {
			oldest = &w.blocks[i]
		}
	}
	if oldest.data == nil {
		oldest.data = make([]byte, blockSize)
	}
	oldest.at = -1
	n := min(blockSize, w.size-at)
	if err := readFull(w.r, oldest.data[:n], at); err != nil {
		return nil, err
	}
	oldest.at, oldest.n, oldest.used = at, int(n), w.clock
	return oldest.data[:n], nil
}

func readFull(r io.ReaderAt, b []byte, off int64) error {
	n, err := r.ReadAt(b, off)
	if n == len(b) {
		return nil
	}
	if err == nil || errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return fmt.Errorf("pdf: reading at %d: %w", off, err)
}
