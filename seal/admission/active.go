package admission

import (
	"context"
	"errors"
	"fmt"

	"countersign/pdf"
	"countersign/prepare/revision1"
	"countersign/seal/rejection"
)

// activeError reports that preparing the PDF would remove active content.
type activeError struct {
	kind string // kind of the first change
}

func (e *activeError) Error() string { return "seal: active content: " + e.kind }

func isActive(err error) bool {
	_, ok := errors.AsType[*activeError](err)
	return ok
}

// activeContents describes the content removed by each kind of change.
//
//nolint:gochecknoglobals // a constant table
var activeContents = map[string]string{
	revision1.JavaScriptRemoved: "JavaScript",
	revision1.LaunchRemoved:     "an action that starts a program",
	revision1.SubmitRemoved:     "an action that sends data",
	revision1.ImportRemoved:     "an action that imports data",
	revision1.ActionsRemoved:    "actions that run without a click",
	revision1.XFARemoved:        "an XFA form",
	revision1.FileLinkRemoved:   "a link to another file",
	revision1.LinkRemoved:       "a link whose target is not a web, email or telephone address",
	revision1.NamedRemoved:      "a menu command of the viewer",
	revision1.MediaRemoved:      "sound, video, 3D or rich media",
	revision1.ProgramRemoved:    "an attached program",
	revision1.RightsRemoved:     "usage rights",
}

// rejection returns the error for clients.
func (e *activeError) rejection() *rejection.Error {
	code := rejection.PDFActiveContent
	switch e.kind {
	case revision1.JavaScriptRemoved:
		code = rejection.PDFJavaScript
	case revision1.LaunchRemoved:
		code = rejection.PDFLaunch
	case revision1.XFARemoved:
		code = rejection.PDFXFA
	}
	return rejection.New(code, fmt.Sprintf("The PDF contains %s. Remove it first.", activeContents[e.kind]))
}

func errXFA() *rejection.Error {
	return rejection.New(rejection.PDFXFA, "The PDF is a dynamic XFA form, whose pages exist only in programs that run XFA. Upload a PDF whose pages are part of the file.")
}

// checkCatalog rejects XFA forms whose content is not in the pages. It returns *activeError if the catalog contains
// active content. The usage rights of an attachment are permitted.
func checkCatalog(ctx context.Context, f *pdf.File, finder *revision1.Finder, attached bool) error {
	cat, _, err := f.Catalog()
	if err != nil {
		return err
	}
	if err := checkXFA(f, cat); err != nil {
		return err
	}
	kind, err := finder.ActiveCatalog(ctx, cat)
	if err == nil && kind != "" && (!attached || kind != revision1.RightsRemoved) {
		err = &activeError{kind}
	}
	return err
}

// checkXFA rejects an XFA form that would be incomplete without its XFA content. This is the case if the file says so,
// or if it has neither fields nor a second page: the only page of such a form asks the reader to wait.
func checkXFA(f *pdf.File, cat pdf.Dict) error {
	form, err := pdf.OptionalDict(f, cat.Get("AcroForm"))
	if err != nil {
		return fmt.Errorf("%w: %w", pdf.ErrDamaged, err)
	}
	if form.Get("XFA").IsNull() {
		return nil
	}
	fields, err := pdf.ArrayIn(f, form.Get("Fields"))
	if err != nil {
		return fmt.Errorf("%w: %w", pdf.ErrDamaged, err)
	}
	rendered, err := f.Resolve(cat.Get("NeedsRendering"))
	if err != nil {
		return err
	}
	tree, err := pdf.OptionalDict(f, cat.Get("Pages"))
	if err != nil {
		return err
	}
	pages, err := f.Resolve(tree.Get("Count")) // checked with the page tree
	if err != nil {
		return err
	}
	if count, _ := pages.Int(); rendered.Bool() || len(fields) == 0 && count < 2 {
		return errXFA()
	}
	return nil
}
