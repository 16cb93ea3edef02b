package seal

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
)

const copyBuffer = 256 << 10

// copier writes the original into the sealed file while hashing it once, and
// reads back what it wrote, on a second thread, to compare it with what was
// hashed.
type copier struct {
	out  *os.File
	in   io.ReaderAt
	size int64
	head []byte // what precedes the original in the file

	file     hash.Hash // of head and original
	original []byte    // hash of the original alone
}

// prefix is the beginning of a file that is known to hold what was hashed.
type prefix struct {
	size     int64
	hash     hash.Hash
	original []byte // hash of the original in it
}

func (c *copier) written() prefix {
	return prefix{size: int64(len(c.head)) + c.size, hash: c.file, original: c.original}
}

type chunk struct {
	at   int64
	data []byte
}

func (c *copier) run(ctx context.Context) error {
	c.file = sha256.New()
	c.file.Write(c.head)
	if _, err := c.out.WriteAt(c.head, 0); err != nil {
		return fmt.Errorf("seal: writing: %w", err)
	}
	own := c.file // of the original alone
	if len(c.head) > 0 {
		own = sha256.New()
	}
	const buffers = 3
	free, written := make(chan []byte, buffers), make(chan chunk, buffers)
	for range buffers {
		free <- make([]byte, min(copyBuffer, c.size))
	}
	compared := make(chan error, 1)
	go func() { compared <- c.compare(written, free) }()
	err := c.copyChunks(ctx, own, free, written)
	close(written)
	if err := errors.Join(err, <-compared); err != nil {
		return err
	}
	c.original = own.Sum(nil)
	return nil
}

func (c *copier) copyChunks(ctx context.Context, own hash.Hash, free chan []byte, written chan<- chunk) error {
	for at := int64(0); at < c.size; {
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("seal: %w", err)
		}
		buf := <-free
		b := buf[:min(int64(len(buf)), c.size-at)]
		if n, err := c.in.ReadAt(b, at); n < len(b) {
			return fmt.Errorf("seal: reading the original: %w", errors.Join(err, io.ErrUnexpectedEOF))
		}
		c.file.Write(b)
		if own != c.file {
			own.Write(b)
		}
		to := int64(len(c.head)) + at
		if _, err := c.out.WriteAt(b, to); err != nil {
			return fmt.Errorf("seal: writing: %w", err)
		}
		written <- chunk{to, b}
		at += int64(len(b))
	}
	return nil
}

// compare reads back each chunk and hands its buffer on. It goes on after an
// error, so that the writer never waits for a buffer.
func (c *copier) compare(written <-chan chunk, free chan<- []byte) error {
	var failed error
	back := make([]byte, min(copyBuffer, c.size))
	for w := range written {
		b := back[:len(w.data)]
		if n, err := c.out.ReadAt(b, w.at); n < len(b) {
			failed = fmt.Errorf("seal: reading back: %w", errors.Join(err, io.ErrUnexpectedEOF))
		} else if !bytes.Equal(b, w.data) {
			failed = errors.New("seal: the file does not hold what was written")
		}
		free <- w.data[:cap(w.data)]
	}
	return failed
}
