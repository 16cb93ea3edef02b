package seal

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"

	"countersign/pdf"
	"countersign/seal/verify"
)

// copier writes the original into the sealed file, reads the written bytes back, and hashes them, so that the hash
// covers the actual content of the file. It uses two goroutines. One calls copy and end, and the other calls hash.
type copier struct {
	out     *os.File
	in      io.ReaderAt
	size    int64
	pieces  chan chunk
	endings chan sealTail
	done    verify.Prefix // set when hash has returned
	marks   verify.Marks  // found in the written bytes
	// mentions is a scan of the original during the copy, or nil.
	mentions *pdf.ReferenceScan
	// marksByHash reports whether the hashing goroutine, rather than the copying one, searches for marks.
	marksByHash bool
}

// Concat returns a reader for a file followed by tail, and their combined size.
func Concat(file io.ReaderAt, size int64, tail []byte) (io.ReaderAt, int64) {
	return concatReader{file, size, tail}, size + int64(len(tail))
}

// concatReader reads the original and the additions after it as a single file.
type concatReader struct {
	original io.ReaderAt
	size     int64
	tail     []byte
}

func (j concatReader) ReadAt(b []byte, at int64) (int, error) {
	n := 0
	if at < j.size {
		var err error
		n, err = j.original.ReadAt(b[:min(int64(len(b)), j.size-at)], at)
		if at+int64(n) < j.size {
			return n, err
		}
	}
	n += copy(b[n:], j.tail[min(at+int64(n)-j.size, int64(len(j.tail))):])
	if n < len(b) {
		return n, io.EOF
	}
	return n, nil
}

// sealTail is the content that follows the original.
type sealTail struct {
	bytes     []byte
	signature int64 // offset of the signature in bytes
}

// newCopier returns a copier for the job's original. The copied bytes are passed to the scan, unless the scan is nil.
func newCopier(out *os.File, job *Job, mentions *pdf.ReferenceScan) *copier {
	return &copier{
		out: out, in: job.Original, size: job.Size, pieces: make(chan chunk, job.Size/verify.CopyBuffer+1), endings: make(chan sealTail, 1),
		mentions: mentions, marksByHash: mentions != nil || int64(job.Document.PageCount) > job.Size/fewBytes,
	}
}

// fewBytes is the average page size, in bytes, below which copying is slower than hashing, because the copying
// goroutine also rewrites the pages.
const fewBytes = 4 << 10

// chunk is the position and size of a written part of the original.
type chunk struct{ at, size int64 }

// copy writes the original, and passes each written chunk to hash.
func (c *copier) copy(ctx context.Context) error {
	defer close(c.pieces)
	// Writing into allocated space is faster. Ignore the error, because the write itself fails if there is no space.
	_ = allocate(c.out, c.size)
	buf := verify.NewBuffer()
	defer buf.Free()
	for at := int64(0); at < c.size; at += verify.CopyBuffer {
		if err := ctx.Err(); err != nil {
			return err
		}
		b := buf[:min(verify.CopyBuffer, c.size-at)]
		if err := verify.ReadFull(c.in, b, at); err != nil {
			return fmt.Errorf("reading the original: %w", err)
		}
		if _, err := c.out.WriteAt(b, at); err != nil {
			return fmt.Errorf("writing: %w", err)
		}
		c.pieces <- chunk{at, int64(len(b))} // never blocks, because the channel has capacity for all chunks
		if !c.marksByHash {
			if err := c.marks.Scan(b); err != nil {
				return err
			}
		}
		if c.mentions != nil {
			c.mentions.Scan(b)
		}
	}
	return nil
}

// hash reads back and hashes each written chunk of the original, and then the additions up to the signature.
func (c *copier) hash(ctx context.Context) error {
	file := sha256.New()
	buf := verify.NewBuffer()
	defer buf.Free()
	for p := range c.pieces {
		if err := ctx.Err(); err != nil {
			return err
		}
		b := buf[:p.size]
		if err := verify.ReadFull(c.out, b, p.at); err != nil {
			return fmt.Errorf("reading back: %w", err)
		}
		file.Write(b)
		if c.marksByHash {
			if err := c.marks.Scan(b); err != nil {
				return err
			}
		}
	}
	c.done = verify.Prefix{Size: c.size, Hash: file, Original: file.Sum(nil)}
	select {
	case e := <-c.endings:
		c.done.Hash.Write(e.bytes[:e.signature])
		c.done.Marks = c.marks // the goroutine that searched has finished
		c.done.Size += e.signature
		return c.done.Marks.Scan(e.bytes[:e.signature])
	case <-ctx.Done():
		return ctx.Err()
	}
}

// end writes the content that follows the original.
func (c *copier) end(e sealTail) error {
	c.endings <- e
	return writeBack(c.out, e.bytes, c.size)
}

// writeBack writes b at an offset, reads it back and compares the bytes.
func writeBack(out *os.File, b []byte, at int64) error {
	if _, err := out.WriteAt(b, at); err != nil {
		return fmt.Errorf("writing: %w", err)
	}
	back := verify.NewBuffer()
	defer back.Free()
	for len(b) > 0 {
		part := back[:min(len(back), len(b))]
		if err := verify.ReadFull(out, part, at); err != nil {
			return fmt.Errorf("reading back: %w", err)
		}
		if !bytes.Equal(part, b[:len(part)]) {
			return errors.New("the file differs from the written bytes")
		}
		b, at = b[len(part):], at+int64(len(part))
	}
	return nil
}
