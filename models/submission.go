package models

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
)

// Submission is what a signer sends when signing. Images are PNG, already
// checked and re-encoded.
type Submission struct {
	Fields    []FieldSubmission
	FontLabel *string
	Shown     *string // the digest of what was shown of others' values; nil: the client names none
}

// FieldSubmission is the value of one field. Nil means that nothing was given.
type FieldSubmission struct {
	FieldID uuid.UUID
	Image   []byte
	Text    *string
}

// FieldValue is a value that was signed for. It is written once, with the
// signature, and never changed.
type FieldValue struct {
	FieldID    uuid.UUID `gorm:"primaryKey"`
	EnvelopeID uuid.UUID
	SignerID   uuid.UUID
	Text       string
	Image      []byte // PNG; nil for text, date and checkbox
	// ImageSHA256 is the hash of Image, which names it where the picture itself is not loaded; "" without one.
	ImageSHA256 string `gorm:"column:image_sha256"`
	CreatedAt   time.Time
}

// SavedSignature is the signature a person last adopted, offered to them again.
//
// It belongs to one tenant and one authentication method: who proves
// it in another way is not offered it.
type SavedSignature struct {
	AppID      uuid.UUID `gorm:"primaryKey"`
	EmailKey   string    `gorm:"primaryKey"` // keyed hash of TenantID, AuthMethod and Email
	TenantID   string
	AuthMethod AuthMethod
	Email      string // lower case
	Image      []byte // PNG
	FontLabel  *string
	UpdatedAt  time.Time
}

const (
	maxTextValue = 2000
	maxDateValue = 64
	maxFontLabel = 100
)

// values checks a submission against the signer's fields.
func (e *Envelope) values(s *Signer, sub Submission) ([]FieldValue, error) {
	p := Problems{}
	if sub.FontLabel != nil {
		CheckText(p, "fontLabel", *sub.FontLabel, 0, maxFontLabel)
	}
	mine := make(map[uuid.UUID]*Field)
	for _, f := range e.Fields {
		if f.SignerID == s.ID {
			mine[f.ID] = f
		}
	}
	seen := make(map[uuid.UUID]bool, len(sub.Fields))
	filled := make(map[uuid.UUID]FieldValue, len(sub.Fields))
	for i, in := range sub.Fields {
		path := fieldPath(i)
		f := mine[in.FieldID]
		switch {
		case f == nil:
			p.Add(path+"fieldId", "names no field of this signer")
			continue
		case seen[f.ID]:
			p.Add(path+"fieldId", "names a field that was given before")
			continue
		}
		seen[f.ID] = true
		if text, ok := f.value(p, path, in); ok {
			filled[f.ID] = FieldValue{FieldID: f.ID, EnvelopeID: e.ID, SignerID: s.ID, Text: text, Image: in.Image, ImageSHA256: pictureHash(in.Image)}
		}
	}
	var out []FieldValue
	for _, f := range e.Fields {
		if f.SignerID != s.ID {
			continue
		}
		v, ok := filled[f.ID]
		if ok {
			out = append(out, v)
		} else if f.Required && !seen[f.ID] {
			p.Add("fields", "the required %s field %s on page %d is missing", f.Type, f.ID, f.Page)
		}
	}
	return out, p.Err()
}

// value checks what was submitted for f. It returns the text to keep, and false
// if the field stays empty.
func (f *Field) value(p Problems, path string, in FieldSubmission) (string, bool) {
	if f.Type.Image() {
		switch {
		case in.Text != nil && *in.Text != "":
			p.Add(path+"textValue", "is for date, text and checkbox fields; a %s field takes signatureImageBase64", f.Type)
		case len(in.Image) == 0 && f.Required:
			p.Add(path+"signatureImageBase64", "is required for a %s field", f.Type)
		}
		return "", len(in.Image) > 0
	}
	if len(in.Image) > 0 {
		p.Add(path+"signatureImageBase64", "is for signature and initial fields; a %s field takes textValue", f.Type)
		return "", false
	}
	text := ""
	if in.Text != nil {
		text = *in.Text
	}
	path += "textValue"
	switch f.Type {
	case FieldCheckbox:
		checked, ok := parseCheckbox(text)
		switch {
		case !ok:
			p.Add(path, "must be true or false")
		case f.Required && !checked:
			p.Add(path, "this box must be checked")
		}
		if checked {
			return "true", true
		}
		return "false", text != ""
	case FieldDate:
		CheckText(p, path, text, 0, maxDateValue)
		if text != "" && !isDate(text) {
			p.Add(path, "must be a date, such as 2026-01-31")
		}
	case FieldText:
		CheckParagraph(p, path, text, 0, maxTextValue)
	case FieldSignature, FieldInitial:
	}
	empty := strings.TrimSpace(text) == ""
	if empty && f.Required {
		p.Add(path, "is required")
	}
	return text, !empty
}

func parseCheckbox(s string) (checked, ok bool) {
	switch strings.ToLower(strings.TrimSpace(s)) {
	case "true", "1", "yes", "on", "checked", "x", "✓":
		return true, true
	case "", "false", "0", "no", "off", "unchecked":
		return false, true
	}
	return false, false
}

// dateLayouts are the ways to write a date that a signer's page may send. The
// text is kept as it was written.
var dateLayouts = []string{
	time.DateOnly, time.RFC3339, "2006/01/02", "01/02/2006", "1/2/2006", "02/01/2006", "2/1/2006", "02.01.2006", "2.1.2006",
	"02-01-2006", "January 2, 2006", "Jan 2, 2006", "2 January 2006", "2 Jan 2006", "2006年1月2日",
}

func isDate(s string) bool {
	return slices.ContainsFunc(dateLayouts, func(layout string) bool {
		_, err := time.Parse(layout, strings.TrimSpace(s))
		return err == nil
	})
}

// rememberSignature remembers the signature for the person's next envelope.
func (e *Envelope) rememberSignature(s *Signer, values []FieldValue, fontLabel *string, at time.Time) {
	if s.AuthMethod == AuthNone {
		return
	}
	for _, f := range e.Fields {
		if f.Type != FieldSignature {
			continue
		}
		for _, v := range values {
			if v.FieldID == f.ID {
				e.Adopted = &SavedSignature{
					AppID: e.AppID, TenantID: e.TenantID, AuthMethod: s.AuthMethod, Email: EmailKey(s.Email),
					Image: v.Image, FontLabel: fontLabel, UpdatedAt: at,
				}
				return
			}
		}
	}
}

func pictureHash(png []byte) string {
	if len(png) == 0 {
		return ""
	}
	sum := sha256.Sum256(png)
	return hex.EncodeToString(sum[:])
}

// valuesHash binds the audit trail to what was signed for: SHA-256 over
// "<field id> <SHA-256 of the value>\n" of each value in field order.
func valuesHash(values []FieldValue) string {
	h := sha256.New()
	for _, v := range values {
		b := v.Image
		if b == nil {
			b = []byte(v.Text)
		}
		sum := sha256.Sum256(b)
		fmt.Fprintf(h, "%s %s\n", v.FieldID, hex.EncodeToString(sum[:]))
	}
	return hex.EncodeToString(h.Sum(nil))
}
