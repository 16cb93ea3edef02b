package models

import (
	"bytes"
	"encoding/json"
	"slices"

	"github.com/google/uuid"
)

// EnteredValue is the value of a field in responses: a string, the hash of a picture, or null.
type EnteredValue struct {
	Text    *string
	Picture string // SHA-256 hash in lowercase hexadecimal
}

// MarshalJSON encodes the value as null, as a string, or as {"sha256": …} for a picture.
func (v EnteredValue) MarshalJSON() ([]byte, error) {
	if v.Picture != "" {
		return json.Marshal(map[string]string{"sha256": v.Picture})
	}
	return json.Marshal(v.Text)
}

// EnteredValues returns the values of all signers who have signed, by field ID. Dates without a prescribed format are
// converted to ISO 8601, although the document shows them as entered.
func (e *Envelope) EnteredValues(values []FieldValue) map[uuid.UUID]EnteredValue {
	signed, dates := make(map[uuid.UUID]bool), make(map[uuid.UUID]string) // dates maps fields to the languages of their values
	for _, s := range e.Signers {
		if signed[s.ID] = s.Status == SignerSigned; !signed[s.ID] {
			continue
		}
		for _, f := range e.Fields {
			if f.SignerID == s.ID && f.Type == FieldDate && f.dateLayout() == "" {
				dates[f.ID] = s.writtenLanguage()
			}
		}
	}
	out := make(map[uuid.UUID]EnteredValue, len(values))
	for _, v := range values {
		switch {
		case !signed[v.SignerID]:
		case v.ImageSHA256 != "":
			out[v.FieldID] = EnteredValue{Picture: v.ImageSHA256}
		default:
			text := v.Text
			if language, ok := dates[v.FieldID]; ok {
				text = isoDay(text, language)
			}
			out[v.FieldID] = EnteredValue{Text: &text}
		}
	}
	return out
}

// NamedValue is the value of all fields with the same name, or of a group of radio fields.
type NamedValue struct {
	Name string
	EnteredValue
}

// NamedValues is encoded as a JSON object whose members are in the order of the fields.
type NamedValues []NamedValue

// MarshalJSON encodes the values as {name: value, …}.
func (n NamedValues) MarshalJSON() ([]byte, error) {
	members := make([][]byte, 0, len(n))
	for _, v := range n {
		object, err := json.Marshal(map[string]EnteredValue{v.Name: v.EnteredValue})
		if err != nil {
			return nil, err
		}
		members = append(members, object[1:len(object)-1])
	}
	return slices.Concat([]byte("{"), bytes.Join(members, []byte(",")), []byte("}")), nil
}

// NamedValues returns the values of all fields by name. Fields with the same name share one entry. A group of radio
// fields has one entry with the chosen option.
func (e *Envelope) NamedValues(values []FieldValue) NamedValues {
	entered := e.EnteredValues(values)
	at := make(map[string]int)
	out := NamedValues{}
	for _, f := range e.Fields {
		name, v := f.Name, entered[f.ID]
		if f.Type == FieldRadio {
			name = f.Attributes.Group
			if v.Text != nil {
				v.Text = &f.Attributes.Option
			}
		}
		i, ok := at[name]
		if !ok {
			at[name], i = len(out), len(out)
			out = append(out, NamedValue{Name: name})
		}
		if out[i].Text == nil && out[i].Picture == "" {
			out[i].EnteredValue = v
		}
	}
	return out
}

// writtenLanguage returns the language in which the signer read the page. This is the language of the disclosure or, by
// default, the signer's own language.
func (s *Signer) writtenLanguage() string {
	if d, ok := DisclosureOf(s.ConsentVersion); ok {
		return d.Language
	}
	return s.Language
}
