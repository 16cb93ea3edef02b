package seal

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"countersign/seal/pdf"
)

// Limits bound what Admit accepts and what it may cost.
type Limits struct {
	MaxBytes   int64
	MaxPages   int
	MaxObjects int
	Timeout    time.Duration // of reading a file, and of the processors' time for examining it in full
	MaxMemory  int64         // bytes that examining one file may take
	// Validators make the full examination in processes of their own, which are
	// ended when they exceed Timeout or MaxMemory. Nil: it is made in this
	// process, bounded by the limits of the parsers alone.
	Validators *Validators
}

// patience is how often Timeout may pass by the clock while a file is examined
// in full: on a busy machine much of that belongs to others.
const patience = 6

// DefaultLimits returns 25 MiB, 5,000 pages, 300,000 objects, 20 s, 512 MiB.
func DefaultLimits() Limits {
	return Limits{MaxBytes: 25 << 20, MaxPages: 5000, MaxObjects: 300_000, Timeout: 20 * time.Second, MaxMemory: 512 << 20}
}

// Info is what Admit learnt about a PDF.
type Info struct {
	Pages []PageSize `json:"pages"`
	// Signed tells that the PDF carries a signature already. It will not be
	// drawn on: it is embedded in a fresh audit PDF, which is sealed.
	Signed bool `json:"signed"`
}

// PageSize is a page's size in points as a reader shows it: CropBox within
// MediaBox, Rotate and UserUnit applied.
type PageSize struct {
	Width  float64 `json:"width"`
	Height float64 `json:"height"`
}

// Admit examines an uploaded PDF. The error is a *Refusal when the file is at
// fault: what Admit lets through can be sealed.
func Admit(ctx context.Context, r io.ReaderAt, size int64, lim Limits) (Info, error) {
	if size > lim.MaxBytes {
		return Info{}, &Refusal{PDFTooLarge, fmt.Sprintf("The PDF has more than %d MB.", lim.MaxBytes>>20)}
	}
	reading, cancel := context.WithTimeout(ctx, lim.Timeout)
	defer cancel()
	info, err := examine(reading, r, size, lim)
	if err != nil {
		return Info{}, refusalOf(err)
	}
	ctx, cancel = context.WithTimeout(ctx, patience*lim.Timeout)
	defer cancel()
	if lim.Validators != nil {
		err = lim.Validators.validate(ctx, r, size, lim)
	} else {
		err = validateHere(ctx, r, size, lim)
	}
	return info, err
}

// refusalOf turns errors of the reader into refusals; others stay as they are.
func refusalOf(err error) error {
	var r *Refusal
	switch {
	case errors.As(err, &r):
		return r
	case errors.Is(err, context.DeadlineExceeded):
		return tooLong()
	case errors.Is(err, pdf.ErrLimit):
		return &Refusal{PDFTooComplex, "The PDF is too complex."}
	case errors.Is(err, pdf.ErrDamaged), errors.Is(err, pdf.ErrFilter):
		return &Refusal{PDFNeedsRepair, "The PDF is damaged. Opening it in a PDF program and saving it anew may help."}
	}
	return err
}

func tooLong() *Refusal {
	return &Refusal{PDFTooComplex, "The PDF is too complex: examining it took too long."}
}

// examine reads the file with our own reader, which later writes the seal.
func examine(ctx context.Context, r io.ReaderAt, size int64, lim Limits) (Info, error) {
	if err := checkEnds(r, size); err != nil {
		return Info{}, err
	}
	limits := pdf.DefaultLimits()
	limits.MaxObjects, limits.MaxPages = lim.MaxObjects, lim.MaxPages
	f, err := pdf.Open(r, size, limits)
	if err != nil {
		return Info{}, err
	}
	if !f.Trailer().Get("Encrypt").IsNull() {
		return Info{}, &Refusal{PDFEncrypted, "The PDF is encrypted or protected by a password. Remove the protection first."}
	}
	if err := checkForm(f); err != nil {
		return Info{}, err
	}
	if err := checkObjects(ctx, f, lim); err != nil {
		return Info{}, err
	}
	info, err := pageSizes(ctx, f)
	if errors.Is(err, pdf.ErrLimit) && len(info.Pages) >= lim.MaxPages {
		return Info{}, &Refusal{PDFTooManyPages, fmt.Sprintf("The PDF has more than %d pages.", lim.MaxPages)}
	}
	if err != nil {
		return Info{}, err
	}
	if len(info.Pages) == 0 {
		return Info{}, &Refusal{PDFNoPages, "The PDF has no pages."}
	}
	if info.Signed, err = isSigned(f); err != nil || info.Signed {
		return info, err
	}
	return info, rehearse(ctx, f, r, size, len(info.Pages))
}

// checkEnds tells what is no PDF at all from a PDF that is cut off.
func checkEnds(r io.ReaderAt, size int64) error {
	const near = 1024
	head := make([]byte, min(size, near))
	tail := make([]byte, min(size, near))
	if _, err := r.ReadAt(head, 0); err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("seal: reading: %w", err)
	}
	if _, err := r.ReadAt(tail, size-int64(len(tail))); err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("seal: reading: %w", err)
	}
	switch {
	case !bytes.Contains(head, []byte("%PDF-")):
		return &Refusal{NotAPDF, "The file is not a PDF."}
	case !bytes.HasPrefix(head, []byte("%PDF-")):
		return &Refusal{PDFNeedsRepair, "The PDF begins with bytes that do not belong to it. Opening it in a PDF program and saving it anew may help."}
	case !bytes.Contains(tail, []byte("%%EOF")):
		return &Refusal{PDFTruncated, "The PDF is incomplete: its end is missing."}
	}
	return nil
}

// checkForm refuses XFA forms: their content is not in the pages.
func checkForm(f *pdf.File) error {
	cat, _, err := f.Catalog()
	if err != nil {
		return err
	}
	form, err := f.Resolve(cat.Get("AcroForm"))
	if err != nil {
		return err
	}
	if form.IsDict() {
		d, err := form.Dict()
		if err != nil {
			return fmt.Errorf("%w: %w", pdf.ErrDamaged, err)
		}
		if !d.Get("XFA").IsNull() {
			return &Refusal{PDFXFA, "The PDF holds an XFA form. Print it into a new PDF first."}
		}
	}
	return nil
}

// checkObjects looks at every object for actions that would run something.
func checkObjects(ctx context.Context, f *pdf.File, lim Limits) error {
	count := 0
	return f.Objects(func(o pdf.Object) error {
		if count++; count > lim.MaxObjects {
			return &Refusal{PDFTooComplex, fmt.Sprintf("The PDF has more than %d objects.", lim.MaxObjects)}
		}
		if count%64 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		var refusal error
		err := o.Value.Names(func(name string) {
			switch name { // values of an action's S (ISO 32000-2, 12.6.2)
			case "JavaScript":
				refusal = &Refusal{PDFJavaScript, "The PDF holds JavaScript. Remove it first."}
			case "Launch":
				refusal = &Refusal{PDFLaunch, "The PDF holds an action that starts a program. Remove it first."}
			}
		})
		if err != nil {
			return fmt.Errorf("%w: %w", pdf.ErrDamaged, err)
		}
		return refusal
	})
}

func pageSizes(ctx context.Context, f *pdf.File) (Info, error) {
	var info Info
	_, err := f.Walk(func(p *pdf.Page) error {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		g, err := f.Geometry(p)
		if err != nil {
			return err
		}
		if _, err := f.Contents(p.Dict); err != nil {
			return err
		}
		w, h := g.Size()
		info.Pages = append(info.Pages, PageSize{w, h})
		return nil
	})
	return info, err
}
