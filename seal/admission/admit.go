// Package admission decides which uploaded PDFs are accepted. It accepts only files that can be sealed and that all
// programs interpret in the same way.
package admission

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"countersign/pdf"
	"countersign/pdf/pagetext"
	"countersign/prepare"
	"countersign/seal"
	"countersign/seal/budget"
	"countersign/seal/rejection"
	"countersign/seal/sandbox"
	"countersign/seal/verify"
)

// Limits restricts the files that Admit accepts, and the cost of examining them.
type Limits struct {
	MaxBytes   int64
	MaxPages   int
	MaxObjects int
	Timeout    time.Duration // CPU time for examining one file
	MaxMemory  int64         // memory for examining one file, in bytes
	// Renderer interprets uploads as signers will see them, and repairs them. If it is nil, uploads are neither
	// compared nor repaired.
	Renderer Renderer
	// Validators decrypts files in separate processes, which are killed if they exceed Timeout or MaxMemory. If it is
	// nil, files are decrypted in this process, subject only to the limits of the parsers.
	Validators *sandbox.Pool
}

// wallClockFactor is the ratio of an examination's elapsed-time limit to Timeout. On a busy machine, most of the
// elapsed time can be used by other processes.
const wallClockFactor = 6

// Reading returns a context for reading a file in the calling goroutine. If a file requires more CPU time than Timeout,
// the error of the context means that the file is too complex. If the machine is too busy to read the file within a
// multiple of Timeout, the error is context.DeadlineExceeded. The latter error is not a rejection, and the caller can
// retry later.
func (l Limits) Reading(ctx context.Context) (_ context.Context, release func()) {
	return budget.WithProcessorTime(ctx, l.Timeout, wallClockFactor*l.Timeout)
}

// DefaultLimits returns the default limits, which are 25 MiB, 5,000 pages, 300,000 objects, 20 seconds and 512 MiB of
// memory.
func DefaultLimits() Limits {
	return Limits{MaxBytes: 25 << 20, MaxPages: 5000, MaxObjects: 300_000, Timeout: 20 * time.Second, MaxMemory: 512 << 20}
}

// Info describes an admitted PDF.
type Info struct {
	Pages []PageSize `json:"pages"`
	// Warnings lists features that programs may render differently, sorted by code.
	Warnings []Warning `json:"warnings,omitempty"`
	// Facts contains data that speeds up sealing the PDF. It is nil for attachments.
	Facts *seal.Facts `json:"-"`
}

// PageSize is the displayed size of a page in points, with CropBox, Rotate and UserUnit applied.
type PageSize struct {
	Width  float64 `json:"width"`
	Height float64 `json:"height"`

	unit float64 // points per user space unit
}

// Admit examines an uploaded PDF that needs no preparation. It returns a *rejection.Error if the file is rejected. An
// admitted file can be sealed.
func Admit(ctx context.Context, r io.ReaderAt, size int64, lim Limits) (Info, error) {
	info, err := admit(ctx, r, size, lim, false)
	return info, RejectionOf(err)
}

// AdmitAttachment examines a PDF attached by a signer. The PDF may be signed, because the sealed file embeds it
// unchanged.
func AdmitAttachment(ctx context.Context, r io.ReaderAt, size int64, lim Limits) (Info, error) {
	info, err := admit(ctx, r, size, lim, true)
	return info, RejectionOf(err)
}

// admit implements Admit and AdmitAttachment. It fails with *activeError if preparing the PDF would remove content.
func admit(ctx context.Context, r io.ReaderAt, size int64, lim Limits, attached bool) (Info, error) {
	if size > lim.MaxBytes {
		return Info{}, rejection.New(rejection.PDFTooLarge, fmt.Sprintf("The PDF is larger than %d MiB.", lim.MaxBytes>>20))
	}
	reading, release := lim.Reading(ctx)
	info, err := examine(reading, r, size, lim, attached)
	release()
	if err != nil {
		return Info{}, err
	}
	if attached || lim.Renderer == nil {
		return info, nil
	}
	return info, checkRendering(ctx, r, size, lim, info)
}

// RejectionOf converts an error from reading a file, a tag or a form to a *rejection.Error. It returns other errors
// unchanged.
func RejectionOf(err error) error {
	var r *rejection.Error
	var tag *prepare.TagError
	var active *activeError
	var pages *pdf.TooManyPagesError
	switch {
	case errors.As(err, &active):
		return active.rejection()
	case errors.As(err, &tag):
		return rejection.New(rejection.TextTag, "The"+strings.TrimPrefix(tag.Error(), "the")+".")
	case errors.As(err, &r):
		return r
	case errors.As(err, &pages):
		return rejection.New(rejection.PDFTooManyPages, fmt.Sprintf("The PDF has more than %d pages.", pages.Max))
	case errors.Is(err, budget.ErrSpent):
		return rejection.TooLong()
	case errors.Is(err, pdf.ErrLimit), errors.Is(err, pagetext.ErrLimit):
		return rejection.New(rejection.PDFTooComplex, "The PDF is too complex"+reason(err)+".")
	case errors.Is(err, pdf.ErrDamaged), errors.Is(err, pdf.ErrFilter):
		return rejection.New(rejection.PDFNeedsRepair, "The PDF is damaged"+reason(err)+".")
	}
	return err
}

// reason returns the parser's message in parentheses, without its general prefixes.
func reason(err error) string {
	s := safeText(err.Error())
	for _, prefix := range []error{pdf.ErrDamaged, pdf.ErrLimit, pdf.ErrFilter} {
		s = strings.ReplaceAll(s, prefix.Error()+": ", "")
	}
	s = strings.ReplaceAll(strings.ReplaceAll(s, "pdf: ", ""), "seal: ", "")
	if s == "" {
		return ""
	}
	return " (" + s + ")"
}

// safeText returns text from a file as short ASCII text for a message.
func safeText(s string) string {
	const most = 200
	s = strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' {
			return -1
		}
		return r
	}, s)
	return s[:min(len(s), most)]
}

// examine reads the file with the same parser that is later used for sealing.
func examine(ctx context.Context, r io.ReaderAt, size int64, lim Limits, attached bool) (Info, error) {
	f, err := open(r, size, lim)
	if err != nil {
		return Info{}, err
	}
	if err := checkEncryption(f); err != nil {
		return Info{}, err
	}
	if !attached {
		if err := checkSigned(ctx, f); err != nil {
			return Info{}, err
		}
	}
	n := newInspector(f, lim, attached)
	if err := checkCatalog(ctx, f, n.finder, attached); err != nil {
		return Info{}, err
	}
	if resembles, err := verify.ResemblesSeal(ctx, r, size, attached); err != nil || resembles {
		return Info{}, cmp.Or(err, error(errResemblesSeal()))
	}
	if err := n.checkDocument(ctx); err != nil {
		return Info{}, err
	}
	pages, err := n.pages(ctx)
	if err != nil {
		return Info{}, err
	}
	if len(pages) == 0 {
		return Info{}, rejection.New(rejection.PDFNoPages, "The PDF has no pages.")
	}
	if err := n.objects(ctx); err != nil {
		return Info{}, err
	}
	info := Info{Pages: pages, Warnings: n.warningList()}
	if attached { // the seal does not draw on attachments
		return info, nil
	}
	info.Facts, err = seal.DryRun(ctx, f, r, size, len(pages))
	return info, err
}

func errResemblesSeal() *rejection.Error {
	return rejection.New(rejection.DocumentSigned, "The PDF contains a seal of this service, or content that resembles one. Upload the document without it.")
}

// open opens a file after checking that it begins and ends like a PDF.
func open(r io.ReaderAt, size int64, lim Limits) (*pdf.File, error) {
	if err := checkEnds(r, size); err != nil {
		return nil, err
	}
	limits := pdf.DefaultLimits()
	limits.MaxObjects, limits.MaxPages = lim.MaxObjects, lim.MaxPages
	limits.MaxParsed /= 2 // reserve capacity, so that an admitted file can be sealed
	return pdf.Open(r, size, limits)
}

// checkEnds distinguishes a file that is not a PDF from a truncated PDF.
func checkEnds(r io.ReaderAt, size int64) error {
	const near = 1024
	head := make([]byte, min(size, near))
	tail := make([]byte, min(size, near))
	if _, err := io.ReadFull(io.NewSectionReader(r, 0, size), head); err != nil {
		return fmt.Errorf("seal: reading: %w", err)
	}
	if _, err := io.ReadFull(io.NewSectionReader(r, size-int64(len(tail)), size), tail); err != nil {
		return fmt.Errorf("seal: reading: %w", err)
	}
	switch {
	case !bytes.Contains(head, []byte("%PDF-")):
		return rejection.New(rejection.NotAPDF, "The file is not a PDF, PNG or JPEG.")
	case !bytes.HasPrefix(head, []byte("%PDF-")):
		return rejection.New(rejection.PDFNeedsRepair, "The PDF is preceded by bytes that do not belong to it.")
	case !bytes.Contains(tail, []byte("%%EOF")):
		return errNoEnd(r, size)
	}
	return nil
}

// errNoEnd returns an error that states whether the end of a PDF is missing or is followed by other bytes. Bytes after
// the last end marker are part of the PDF if they contain an object.
func errNoEnd(r io.ReaderAt, size int64) error {
	const step, overlap = 1 << 20, int64(len("%%EOF") - 1)
	object := false
	for end := size; end > 0; {
		from := max(0, end-step)
		b := make([]byte, min(size, end+overlap)-from)
		if _, err := io.ReadFull(io.NewSectionReader(r, from, int64(len(b))), b); err != nil {
			return fmt.Errorf("seal: reading: %w", err)
		}
		at := bytes.LastIndex(b, []byte("%%EOF"))
		object = object || bytes.Contains(b[max(0, at):], []byte(" obj"))
		if object {
			break
		}
		if at >= 0 {
			after := size - from - int64(at) - int64(len("%%EOF"))
			return rejection.New(rejection.PDFNeedsRepair, fmt.Sprintf("The PDF is followed by %d bytes that do not belong to it.", after))
		}
		end = from
	}
	return rejection.New(rejection.PDFTruncated, "The PDF is truncated: its end is missing.")
}

func checkEncryption(f *pdf.File) error {
	if f.Trailer().Get("Encrypt").IsNull() {
		return nil
	}
	return errEncrypted()
}

func errEncrypted() *rejection.Error {
	return rejection.New(rejection.PDFEncrypted, "The PDF is encrypted. Send its password with the upload.")
}

// checkSigned rejects a PDF that contains signatures, because drawing on it would invalidate them.
func checkSigned(ctx context.Context, f *pdf.File) error {
	signed, err := verify.IsSigned(f)
	if err == nil && !signed {
		signed, err = verify.HasSignedWidget(ctx, f)
	}
	if err == nil && signed {
		err = rejection.New(rejection.DocumentSigned, "The PDF has a digital signature, which sealing would invalidate.")
	}
	return err
}
