package appearance

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"

	"countersign/pdf"
	"countersign/seal/rejection"
)

// ErrNoPage reports that the document has no page with the given number.
var ErrNoPage = errors.New("appearance: page not found in the document")

// errStopped reports that a call to PDFium ended in a trap.
var errStopped = errors.New("appearance: PDFium stopped")

// maxFile is the maximum size of a document, in bytes, because PDFium uses 32-bit offsets.
const maxFile = math.MaxInt32

// Document is a PDF in its own instance of the module, so that a malicious file cannot alter the rendering of another
// file.
type Document struct {
	ctx    context.Context //nolint:containedctx // passes the document's file to the host functions
	module api.Module
	memory *linearMemory
	source *source
	calls  map[string]api.Function
	err    error // error of the first failed call

	handle, form uint64
	pages        int
	units        func(page int) float64
}

// Open starts an instance for a PDF. The caller must close the document.
func (e *Engine) Open(ctx context.Context, file io.ReaderAt, size int64) (_ *Document, err error) {
	if size <= 0 || size > maxFile {
		return nil, rejection.New(rejection.PDFTooLarge, "The PDF is too large to display.")
	}
	d := &Document{memory: &linearMemory{limit: e.limit}, source: &source{file: file}, calls: make(map[string]api.Function)}
	if err := d.memory.reserve(); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(d.fault(err), d.Close())
		}
	}()
	d.ctx = context.WithValue(experimental.WithMemoryAllocator(ctx, experimental.MemoryAllocatorFunc(func(_, _ uint64) experimental.LinearMemory { return d.memory })), documentKey{}, d.source)
	if d.module, err = e.runtime.InstantiateModule(d.ctx, e.compiled, e.config); err != nil { //nolint:contextcheck // derived from ctx
		return nil, fmt.Errorf("appearance: start an instance: %w", err)
	}
	d.call("FPDF_InitLibrary")
	access := d.call("FPDF_FILEACCESS_Create", uint64(size), 0)
	d.handle = d.call("FPDF_LoadCustomDocument", access, 0)
	if d.err == nil && d.handle == 0 {
		return nil, d.fault(rejection.New(rejection.DocumentNotRendered, "The PDF cannot be opened for display."))
	}
	d.form = d.call("FPDFDOC_InitFormFillEnvironment", d.handle, d.call("FPDF_FORMFILLINFO_Create"))
	d.call("FPDF_SetFormFieldHighlightAlpha", d.form, 0)
	d.pages = int(int32(d.call("FPDF_GetPageCount", d.handle))) //nolint:gosec // an int
	if d.err == nil && (d.form == 0 || d.pages <= 0) {
		return nil, d.fault(rejection.New(rejection.DocumentNotRendered, "The PDF has no displayable pages."))
	}
	d.units = func(page int) float64 { return userUnit(file, size, page) }
	return d, d.fault(nil)
}

// Close closes the instance.
func (d *Document) Close() error {
	if d.module == nil {
		d.memory.Free()
		return nil
	}
	return d.module.Close(d.ctx)
}

// call calls a PDFium function. It does nothing after an error.
func (d *Document) call(name string, args ...uint64) uint64 {
	if d.err != nil {
		return 0
	}
	f := d.calls[name]
	if f == nil {
		if f = d.module.ExportedFunction(name); f == nil {
			d.err = fmt.Errorf("appearance: the module has no function %s", name)
			return 0
		}
		d.calls[name] = f
	}
	var stack [16]uint64
	copy(stack[:], args)
	if d.err = f.CallWithStack(d.ctx, stack[:]); d.err != nil {
		return 0
	}
	return stack[0]
}

// fault returns the cause of a failure, which can be exhausted memory, an unreadable file or a call that ended in a
// trap. If there is no such cause, it returns err.
func (d *Document) fault(err error) error {
	switch {
	case d.memory.failed:
		return ErrMemory
	case d.source.err != nil:
		return fmt.Errorf("appearance: read the document: %w", d.source.err)
	case d.err != nil:
		return fmt.Errorf("%w: %w", errStopped, d.err)
	}
	return err
}

// page loads a page by its number, starting at 1, and returns a function that closes it.
func (d *Document) page(number int) (handle uint64, closePage func(), err error) {
	if number < 1 || number > d.pages {
		return 0, nil, ErrNoPage
	}
	handle = d.call("FPDF_LoadPage", d.handle, uint64(number-1))
	if handle == 0 {
		return 0, nil, d.fault(rejection.New(rejection.PageNotRendered, fmt.Sprintf("Page %d cannot be displayed.", number)))
	}
	d.call("FORM_OnAfterLoadPage", handle, d.form)
	return handle, func() {
		d.call("FORM_OnBeforeClosePage", handle, d.form)
		d.call("FPDF_ClosePage", handle)
	}, d.fault(nil)
}

// size returns the size of a displayed page, in points.
func (d *Document) size(handle uint64, number int) (width, height float64) {
	unit := d.units(number)
	width = float64(api.DecodeF32(d.call("FPDF_GetPageWidthF", handle))) * unit
	height = float64(api.DecodeF32(d.call("FPDF_GetPageHeightF", handle))) * unit
	return width, height
}

var errFound = errors.New("found")

// userUnit returns the number of points per unit of a page's user space (UserUnit, 7.7.3.3), which PDFium does not
// apply. It returns 1 if the page has no UserUnit or the structure cannot be read.
func userUnit(file io.ReaderAt, size int64, number int) float64 {
	unit := 1.0
	f, err := pdf.Open(file, size, pdf.DefaultLimits())
	if err != nil {
		return unit
	}
	n := 0
	_, err = f.Walk(func(p *pdf.Page) error {
		if n++; n < number {
			return nil
		}
		g, err := f.Geometry(p)
		if err == nil {
			unit = g.UserUnit
		}
		return errors.Join(err, errFound)
	})
	if !errors.Is(err, errFound) {
		return 1
	}
	return unit
}
