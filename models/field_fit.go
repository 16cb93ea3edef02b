package models

import (
	"unicode/utf8"

	"github.com/google/uuid"
)

// maxMisfits is the maximum number of texts for which the fitting length is computed.
const maxMisfits = 10

// checkFit rejects a text that would fit into its field only at an illegible size. It does not check prefilled text,
// which only the sender can correct.
func (c *valueCheck) checkFit(v *entry) {
	if c.fit == nil || c.misfits == maxMisfits || !v.field.requiresFit() || v.text == v.field.Prefilled(c.signer) {
		return
	}
	if length, fits := c.fit(v.field, v.text); !fits {
		c.misfits++
		c.add(v, ruleFit, "does not fit in the field at a legible size: it has %d characters, of which the first %d fit", utf8.RuneCountInString(v.text), length)
	}
}

// requiresFit reports whether a text must fit into the field.
func (f *Field) requiresFit() bool {
	return !f.Attributes.ReadOnly && (f.Type.written() || f.Type == FieldNumber || f.Type == FieldDate)
}

// CheckFit checks texts that a signer is about to enter, by field. It returns the fields whose texts do not fit, each
// with the number of characters that fit.
func (e *Envelope) CheckFit(s *Signer, texts map[uuid.UUID]string, fit func(f *Field, text string) (int, bool)) map[uuid.UUID]int {
	misfits := make(map[uuid.UUID]int)
	for _, f := range e.Fields {
		text, ok := texts[f.ID]
		if !ok || f.SignerID != s.ID || !f.requiresFit() || text == f.Prefilled(s) {
			continue
		}
		if length, fits := fit(f, text); !fits {
			misfits[f.ID] = length
		}
	}
	return misfits
}
