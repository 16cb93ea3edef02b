package api

import (
	"fmt"

	"github.com/google/uuid"

	"countersign/models"
)

// warningView represents a warning about a document for its sender.
type warningView struct {
	Code    string     `json:"code"`
	Message string     `json:"message"`
	Page    int        `json:"page,omitempty"`
	Field   *uuid.UUID `json:"field,omitempty"`
}

// documentWarnings maps warning codes to messages about content that programs may display differently.
//
//nolint:gochecknoglobals // a constant table
var documentWarnings = map[string]string{
	"font_not_embedded":             "A font is not embedded, so programs may display the text in a different font.",
	"annotation_without_appearance": "An annotation has no appearance stream, so programs may draw it differently.",
	"overprint":                     "Some content is overprinted, which not all programs display.",
	"hybrid_file":                   "The file has two cross-reference tables, so older programs may display different content.",
	"shows_and_hides":               "The file has actions that show and hide content.",
	"object_stream_extends":         "The file has object streams that extend others, which not all programs support.",
	"layers_by_use":                 "Some layers are visible on screen but not in print, or vice versa.",
	"fields_redrawn":                "The file instructs programs to redraw its form fields, which may change their appearance.",
	"portfolio":                     "The file is a portfolio, so some programs display its list of files instead of its pages.",
	"repaired":                      "The file was damaged. Signers sign a repaired copy that looks the same; the original is attached to the sealed file.",
	"signatures_removed":            "The file has digital signatures. Signers sign a copy without them; the signed original is attached to the sealed file.",
	"pdfa_claim_removed":            "The file states that it conforms to PDF/A. The sealed file does not conform, so the statement is removed from its metadata.",
}

// viewNotes returns the warnings about an uploaded original.
func viewNotes(d *models.Document) (out []warningView) {
	for _, code := range d.Notes {
		if message, ok := documentWarnings[code]; ok {
			out = append(out, warningView{Code: code, Message: message})
		}
	}
	return out
}

// maxFittings is the maximum number of text layouts that are computed to determine the warnings in one response. The
// same text in fields of the same size is laid out once.
const maxFittings = 200

// showFieldWarnings adds warnings about the fields of a draft to the warnings of their documents. The parameter
// covering contains the fields that cover text in the original, or is nil if this is unknown.
func showFieldWarnings(v *envelopeView, e *models.Envelope, covering map[uuid.UUID]bool) {
	if e.Status != models.StatusDraft {
		return
	}
	type fitting struct {
		w, h  float64
		cells int
		text  string
	}
	fits := make(map[fitting]bool)
	fit := func(f *models.Field, text string) (int, bool) {
		key := fitting{f.W, f.H, f.Cells(), text}
		known, ok := fits[key]
		if !ok && len(fits) < maxFittings {
			known = fitsText(f, text)
			fits[key] = known
			ok = true
		}
		return 0, known || !ok
	}
	for _, f := range e.Fields {
		for _, code := range e.Warnings(f, fit, covering[f.ID]) {
			for i := range v.Documents {
				if v.Documents[i].ID == f.DocumentID {
					v.Documents[i].Warnings = append(v.Documents[i].Warnings, warningView{Code: string(code), Message: fieldWarning(f, code), Page: f.Page, Field: &f.ID})
				}
			}
		}
	}
}

func fieldWarning(f *models.Field, code models.FieldWarning) string {
	switch code {
	case models.FieldTooLarge:
		return fmt.Sprintf("The %s field %s covers more than a quarter of page %d.", f.Type, f.Name, f.Page)
	case models.FieldCoversText:
		return fmt.Sprintf("The %s field %s covers text on page %d.", f.Type, f.Name, f.Page)
	case models.FieldTooSmall:
	}
	return fmt.Sprintf("The %s field %s on page %d is too small to display its longest value at a legible size.", f.Type, f.Name, f.Page)
}
