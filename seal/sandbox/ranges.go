package sandbox

import (
	"bufio"
	"encoding/binary"
	"errors"
	"io"
	"sync"
)

// For a task created by InParts, the file stays in this process. To request a part of the file, the sandboxed process
// writes one byte (requestRange), followed by the offset in eight bytes and the length in four bytes, both big-endian.
// It receives that part on standard input.
const (
	requestRange = 'r'
	maxRange     = 1 << 20 // maximum size of a part in bytes
	rangeHead    = 1 + 8 + 4
	// The size and maximum number of the blocks that the process caches.
	blockSize    = 64 << 10
	cachedBlocks = 64
)

var errRange = errors.New("seal: the validator requested bytes outside the file")

// serveRanges serves the range requests of a process until the process starts its response.
func serveRanges(out *bufio.Reader, in io.Writer, file *dataSource, r io.ReaderAt, size int64) error {
	buf := make([]byte, min(size, maxRange))
	for {
		first, err := out.Peek(1)
		if err != nil || first[0] != requestRange {
			return err
		}
		var head [rangeHead]byte
		if _, err := io.ReadFull(out, head[:]); err != nil {
			return err
		}
		offset, n := binary.BigEndian.Uint64(head[1:]), int64(binary.BigEndian.Uint32(head[9:]))
		if n > maxRange || offset > uint64(size) || n > size-int64(offset) { //nolint:gosec // a size
			return errRange
		}
		part := buf[:n]
		if _, err := r.ReadAt(part, int64(offset)); err != nil && !errors.Is(err, io.EOF) { //nolint:gosec // within the file
			file.err = err
			return err
		}
		if _, err := in.Write(part); err != nil {
			return err
		}
	}
}

// ranges gives the sandboxed process access to the file.
type ranges struct {
	in   io.Reader
	out  io.Writer
	size int64

	mu     sync.Mutex
	blocks map[int64][]byte // by block number
	order  []int64          // block numbers, oldest first
}

func (r *ranges) ReadAt(b []byte, off int64) (n int, err error) {
	if off < 0 {
		return 0, errors.New("seal: negative offset")
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for n < len(b) && off+int64(n) < r.size {
		at, rest := off+int64(n), b[n:]
		if len(rest) >= blockSize { // not worth caching
			rest = rest[:min(int64(len(rest)), r.size-at, maxRange)]
			if err := r.fetch(rest, at); err != nil {
				return n, err
			}
			n += len(rest)
			continue
		}
		block, err := r.block(at / blockSize)
		if err != nil {
			return n, err
		}
		n += copy(rest, block[at%blockSize:])
	}
	if n < len(b) {
		return n, io.EOF
	}
	return n, nil
}

// block returns one block, from the cache if possible.
func (r *ranges) block(number int64) ([]byte, error) {
	if b, ok := r.blocks[number]; ok {
		return b, nil
	}
	at := number * blockSize
	b := make([]byte, min(blockSize, r.size-at))
	if err := r.fetch(b, at); err != nil {
		return nil, err
	}
	if len(r.order) == cachedBlocks {
		delete(r.blocks, r.order[0])
		r.order = r.order[1:]
	}
	r.blocks[number] = b
	r.order = append(r.order, number)
	return b, nil
}

func (r *ranges) fetch(b []byte, at int64) error {
	head := append(make([]byte, 0, rangeHead), requestRange)
	head = binary.BigEndian.AppendUint64(head, uint64(at))     //nolint:gosec // within the file
	head = binary.BigEndian.AppendUint32(head, uint32(len(b))) //nolint:gosec // at most maxRange
	if _, err := r.out.Write(head); err != nil {
		return err
	}
	_, err := io.ReadFull(r.in, b)
	return err
}
