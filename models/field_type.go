package models

import "slices"

// FieldType is the type of a field.
type FieldType string

// The field types.
const (
	FieldSignature  FieldType = "signature"
	FieldInitial    FieldType = "initial"
	FieldDate       FieldType = "date"
	FieldText       FieldType = "text"
	FieldCheckbox   FieldType = "checkbox"
	FieldName       FieldType = "name"  // the signer's name by default
	FieldEmail      FieldType = "email" // the signer's address by default
	FieldCompany    FieldType = "company"
	FieldTitle      FieldType = "title"       // the signer's job title
	FieldSignedDate FieldType = "signed_date" // set by the service at signing
	FieldNumber     FieldType = "number"
	FieldSelect     FieldType = "select"     // one of the field's options
	FieldRadio      FieldType = "radio"      // one choice in a group of fields
	FieldAttachment FieldType = "attachment" // a file
	FieldStamp      FieldType = "stamp"      // a picture, such as a company's stamp
)

// FieldTypes lists all field types.
var FieldTypes = []FieldType{
	FieldSignature, FieldInitial, FieldDate, FieldText, FieldCheckbox, FieldName, FieldEmail, FieldCompany, FieldTitle,
	FieldSignedDate, FieldNumber, FieldSelect, FieldRadio, FieldAttachment, FieldStamp,
}

const fieldTypeNames = "must be signature, initial, date, text, checkbox, name, email, company, title, signed_date, number, select, radio, attachment or stamp"

// Valid reports whether t is one of FieldTypes.
func (t FieldType) Valid() bool { return slices.Contains(FieldTypes, t) }

// Image reports whether the field contains a picture rather than text.
func (t FieldType) Image() bool { return t == FieldSignature || t == FieldInitial || t == FieldStamp }

// File reports whether the field contains a picture or another file.
func (t FieldType) File() bool { return t.Image() || t == FieldAttachment }

// choice reports whether the field is a checkbox or a radio button.
func (t FieldType) choice() bool { return t == FieldCheckbox || t == FieldRadio }

// written reports whether signers type the field's text.
func (t FieldType) written() bool {
	return t == FieldText || t == FieldName || t == FieldEmail || t == FieldCompany || t == FieldTitle
}

// isExtension reports whether the type is not among the five types of the original API.
func (t FieldType) isExtension() bool { return slices.Index(FieldTypes, t) > 4 }

// DefaultSize returns the default width and height of a field, in points.
func (t FieldType) DefaultSize() (w, h float64) {
	switch t { //nolint:exhaustive // all others are as wide as a line of text
	case FieldSignature:
		return 160, 40
	case FieldInitial:
		return 60, 30
	case FieldCheckbox, FieldRadio:
		return 14, 14
	case FieldDate, FieldNumber:
		return 100, 18
	case FieldStamp:
		return 100, 100
	case FieldAttachment:
		return 160, 24
	}
	return 160, 18
}
