package models

// FieldWarning is an aspect of a draft's field that its sender should review before sending.
type FieldWarning string

// The warnings.
const (
	FieldTooSmall FieldWarning = "field_too_small" // the longest allowed entry does not fit legibly
	FieldTooLarge FieldWarning = "field_too_large" // it covers more than a quarter of its page
	// FieldCoversText reports that the field's picture would cover text of the page.
	FieldCoversText FieldWarning = "field_covers_text"
)

// expectedText is the length, in characters, that a field should have space for unless the sender sets one.
const expectedText = 10

// sampleText is repeated to see how much fits.
const sampleText = "average length of words "

// Warnings returns the warnings about a field in its current position. fit reports how many characters of a text fit
// legibly, and whether all do. covers reports whether the field is for a picture that would cover text of its page.
func (e *Envelope) Warnings(f *Field, fit func(f *Field, text string) (int, bool), covers bool) (out []FieldWarning) {
	if d := e.Document(f.DocumentID); d != nil {
		if w, h, ok := d.PageSize(f.Page); ok && f.W*f.H > w*h/4 {
			out, covers = append(out, FieldTooLarge), false // one warning is enough
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

// expected returns texts for which a field should have room.
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
	if f.judgesFit() {
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
