package appearance

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"

	"countersign/seal/rejection"
)

const (
	// maxCopiedPages is the maximum number of pages in a document that is saved again. It is limited because each page
	// is rendered twice.
	maxCopiedPages = 2000
	// comparedPages is the maximum number of pages that one task compares.
	comparedPages = 200
	// maxCopy is the maximum size of a saved document, in bytes.
	maxCopy = 32 << 20
	// pagesPerInstance is the maximum number of pages that one instance renders, because its memory never shrinks.
	pagesPerInstance = 20

	withoutSecurity = 3 // FPDF_REMOVE_SECURITY (fpdf_save.h)
)

// errCopyTooLarge reports that a saved document would exceed maxCopy.
var errCopyTooLarge = rejection.New(rejection.PDFTooComplex, fmt.Sprintf("The PDF cannot be repaired: the new file would exceed %d MiB.", maxCopy>>20))

// output receives a document saved by PDFium.
type output struct {
	bytes.Buffer

	full bool
}

// write implements FPDF_FILEWRITE.
func (o *output) write(b []byte) bool {
	if o.Len()+len(b) > maxCopy {
		o.full = true
		return false
	}
	_, _ = o.Write(b) // never fails
	return true
}

// Save writes the document to a new, unencrypted file with a single revision and the same objects.
func (d *Document) Save() ([]byte, error) {
	if d.pages > maxCopiedPages {
		return nil, rejection.New(rejection.PDFTooManyPages, fmt.Sprintf("Only PDFs with up to %d pages can be repaired; this PDF has %d.", maxCopiedPages, d.pages))
	}
	for page := 1; page <= d.pages; page++ {
		_, closePage, err := d.page(page)
		if err != nil {
			return nil, err
		}
		closePage()
	}
	writer := d.call("FPDF_FILEWRITE_Create")
	saved := d.call("FPDF_SaveAsCopy", d.handle, writer, withoutSecurity)
	out := &d.source.out
	if out.full {
		return nil, errCopyTooLarge
	}
	if err := d.fault(nil); err != nil {
		return nil, err
	}
	if saved == 0 || out.Len() == 0 {
		return nil, rejection.New(rejection.DocumentNotRendered, "The PDF cannot be re-saved.")
	}
	return out.Bytes(), nil
}

// SameAppearance reports whether two documents have the same number of pages and each page has the same appearance.
func (e *Engine) SameAppearance(ctx context.Context, a io.ReaderAt, sizeA int64, b io.ReaderAt, sizeB int64) (bool, error) {
	return allSame(func(from int) (bool, int, error) { return e.samePages(ctx, a, sizeA, b, sizeB, from) })
}

// allSame compares pages in batches of comparedPages, until a batch differs or all pages have been compared. The
// argument compare is a function that compares one batch, and also returns the number of pages.
func allSame(compare func(from int) (same bool, pages int, err error)) (bool, error) {
	for from := 1; ; from += comparedPages {
		same, pages, err := compare(from)
		if err != nil || !same || from+comparedPages > pages {
			return same, err
		}
	}
}

// samePages compares up to comparedPages pages, starting with the given page.
func (e *Engine) samePages(ctx context.Context, a io.ReaderAt, sizeA int64, b io.ReaderAt, sizeB int64, first int) (same bool, pages int, err error) {
	for from := first; from < first+comparedPages; from += pagesPerInstance {
		one, inOne, err := e.hashes(ctx, a, sizeA, from)
		if err != nil {
			return false, 0, err
		}
		other, inOther, err := e.hashes(ctx, b, sizeB, from)
		if err != nil {
			return false, 0, err
		}
		pages = inOne
		if inOne != inOther || !slices.Equal(one, other) {
			return false, pages, nil
		}
		if from+pagesPerInstance > pages {
			break
		}
	}
	return true, pages, nil
}

// hashes renders up to pagesPerInstance pages, starting with the given page. It returns their hashes and the document's
// number of pages.
func (e *Engine) hashes(ctx context.Context, file io.ReaderAt, size int64, from int) (out []Hash, pages int, err error) {
	d, err := e.Open(ctx, file, size)
	if err != nil {
		return nil, 0, err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	if d.pages > maxCopiedPages {
		return nil, d.pages, rejection.New(rejection.PDFTooManyPages, fmt.Sprintf("Only PDFs with up to %d pages can be repaired; this PDF has %d.", maxCopiedPages, d.pages))
	}
	for page := from; page <= min(d.pages, from+pagesPerInstance-1); page++ {
		p, err := d.Render(page, 1)
		if err != nil {
			return nil, d.pages, err
		}
		out = append(out, p.Hash())
	}
	return out, d.pages, nil
}

// pair is the input of a task that compares two files. It contains the size of the first file in eight bytes and the
// first page to compare in four bytes, both big-endian, followed by the two files.
type pair struct {
	head [12]byte
	a, b io.ReaderAt
	size int64 // size of a
}

func newPair(a io.ReaderAt, size int64, b io.ReaderAt, from int) *pair {
	p := &pair{a: a, b: b, size: size}
	binary.BigEndian.PutUint32(p.head[8:], uint32(from)) //nolint:gosec // at most maxCopiedPages
	binary.BigEndian.PutUint64(p.head[:], uint64(size))  //nolint:gosec // a size
	return p
}

// ReadAt implements io.ReaderAt.
func (p *pair) ReadAt(b []byte, off int64) (n int, err error) {
	head := int64(len(p.head))
	if off < head {
		n = copy(b, p.head[off:])
	}
	if at := off + int64(n) - head; n < len(b) && at < p.size {
		m, err := p.a.ReadAt(b[n:n+int(min(int64(len(b)-n), p.size-at))], at)
		if n += m; err != nil && (!errors.Is(err, io.EOF) || at+int64(m) < p.size) {
			return n, err
		}
	}
	if n < len(b) {
		var m int
		m, err = p.b.ReadAt(b[n:], off+int64(n)-head-p.size)
		n += m
	}
	return n, err
}
