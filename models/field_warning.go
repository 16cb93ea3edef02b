package models

// FieldWarning is an issue with a draft's field that the sender should review before sending.
type FieldWarning string

// The field warnings.
const (
	FieldTooSmall FieldWarning = "field_too_small" // the longest permitted value would not fit legibly
	FieldTooLarge FieldWarning = "field_too_large" // the field covers more than a quarter of its page
	// FieldCoversText warns that the field's picture would cover text on the page.
	FieldCoversText FieldWarning = "field_covers_text"
)

// expectedText is the number of characters that should fit into a field if the sender does not specify a length.
const expectedText = 10

// sampleText is repeated to determine how much text fits.
const sampleText = "average length of words "

// Warnings returns the warnings about a field in its current position. The fit function returns the number of
// characters of a text that fit legibly, and reports whether all of them do. If covers is set, the field's picture
// would cover text on the page.
func (e *Envelope) Warnings(f *Field, fit func(f *Field, text string) (int, bool), covers bool) (out []FieldWarning) {
	if d := e.Document(f.DocumentID); d != nil {
		if w, h, ok := d.PageSize(f.Page); ok && f.W*f.H > w*h/4 {
			out, covers = append(out, FieldTooLarge), false // report only one warning
		}
	}
	if covers {
		out = append(out, FieldCoversText)
	}
	for _, text := range f.expected(e.Signer(f.SignerID)) {
		if _, fits := fit(f, text); !fits {
			return append(out, FieldTooSmall)
		}
	}
	return out
}

// expected returns the texts that should fit into the field.
func (f *Field) expected(s *Signer) (texts []string) {
	if f.Type.File() || f.Type.choice() {
		return nil
	}
	if f.Type == FieldSelect {
		return f.Attributes.Options
	}
	if prefilled := f.Prefilled(s); prefilled != "" {
		texts = append(texts, prefilled)
	}
	if f.requiresFit() {
		n := f.Attributes.MaxLength
		if n == 0 {
			n = expectedText
		}
		sample := make([]byte, n)
		for i := range sample {
			sample[i] = sampleText[i%len(sampleText)]
		}
		texts = append(texts, string(sample))
	}
	return texts
}
