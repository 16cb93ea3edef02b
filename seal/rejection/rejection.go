// Package rejection defines the reasons for rejecting a PDF, a picture or text.
package rejection

import "fmt"

// Error reports that a PDF, a picture or text was rejected, and contains the reason. Because the caller's input is
// invalid, a retry cannot succeed.
type Error struct {
	// Code is stable and machine-readable, such as not_a_pdf or pdf_encrypted.
	Code string
	// Message is human-readable and safe to show to clients.
	Message string
}

// New returns an Error.
func New(code, message string) *Error { return &Error{code, message} }

// Error returns the message.
func (r *Error) Error() string { return r.Message }

// Values of Error.Code.
const (
	NotAPDF          = "not_a_pdf"
	PDFTooLarge      = "pdf_too_large"
	PDFTruncated     = "pdf_truncated"
	PDFNeedsRepair   = "pdf_needs_repair"
	PDFEncrypted     = "pdf_encrypted"
	PDFXFA           = "pdf_xfa"
	PDFJavaScript    = "pdf_javascript"
	PDFLaunch        = "pdf_launch"
	PDFActiveContent = "pdf_active_content"
	PDFNoPages       = "pdf_no_pages"
	PDFTooManyPages  = "pdf_too_many_pages"
	PDFTooComplex    = "pdf_too_complex"
	PDFAmbiguous     = "pdf_ambiguous"
	PDFPassword      = "pdf_password_wrong"
	DocumentSigned   = "document_signed"
	TextTag          = "text_tag_invalid"
	PDFAttachment    = "pdf_attachment_name"
	GlyphMissing     = "glyph_missing"
	TextTooLong      = "text_too_long"
	PNGInvalid       = "png_invalid"
	PNGTooLarge      = "png_too_large"
	PictureInvalid   = "picture_invalid"
	PictureTooLarge  = "picture_too_large"
	FieldOffPage     = "field_off_page"
	OriginalChanged  = "original_changed"

	DocumentNotRendered = "document_not_rendered"
	PageNotRendered     = "page_not_rendered"
	PageTooLarge        = "page_too_large"
)

// Ambiguous returns the error for a PDF whose structure can be interpreted in several ways.
func Ambiguous(format string, args ...any) *Error {
	return &Error{PDFAmbiguous, "Programs interpret the structure of this PDF differently: " + fmt.Sprintf(format, args...) + "."}
}

// TooLong returns the error for a PDF whose examination exceeded the time limit.
func TooLong() *Error {
	return &Error{PDFTooComplex, "The PDF is too complex: processing it took too long."}
}
