package models

import "slices"

// FieldType is the kind of entry that a field holds.
type FieldType string

// The types.
const (
	FieldSignature  FieldType = "signature"
	FieldInitial    FieldType = "initial"
	FieldDate       FieldType = "date"
	FieldText       FieldType = "text"
	FieldCheckbox   FieldType = "checkbox"
	FieldName       FieldType = "name"        // the signer's name, unless prefilled
	FieldEmail      FieldType = "email"       // the signer's address, unless prefilled
	FieldCompany    FieldType = "company"     //
	FieldTitle      FieldType = "title"       // the signer's position
	FieldSignedDate FieldType = "signed_date" // set by the service when the signer signs
	FieldNumber     FieldType = "number"      //
	FieldSelect     FieldType = "select"      // one of the field's options
	FieldRadio      FieldType = "radio"       // one choice of a group of fields
	FieldAttachment FieldType = "attachment"  // a file
	FieldStamp      FieldType = "stamp"       // a picture, such as a company's stamp
)

// FieldTypes lists every type.
var FieldTypes = []FieldType{
	FieldSignature, FieldInitial, FieldDate, FieldText, FieldCheckbox, FieldName, FieldEmail, FieldCompany, FieldTitle,
	FieldSignedDate, FieldNumber, FieldSelect, FieldRadio, FieldAttachment, FieldStamp,
}

const fieldTypeNames = "must be signature, initial, date, text, checkbox, name, email, company, title, signed_date, number, select, radio, attachment or stamp"

// Valid reports whether t is one of FieldTypes.
func (t FieldType) Valid() bool { return slices.Contains(FieldTypes, t) }

// Image reports whether the field holds a picture rather than text.
func (t FieldType) Image() bool { return t == FieldSignature || t == FieldInitial || t == FieldStamp }

// File reports whether the field holds a picture or another file.
func (t FieldType) File() bool { return t.Image() || t == FieldAttachment }

// choice reports whether the field is a mark that is set or not.
func (t FieldType) choice() bool { return t == FieldCheckbox || t == FieldRadio }

// written reports whether signers type the field's text.
func (t FieldType) written() bool {
	return t == FieldText || t == FieldName || t == FieldEmail || t == FieldCompany || t == FieldTitle
}

// beyondInterface reports whether the type is not one of the first five.
func (t FieldType) beyondInterface() bool { return slices.Index(FieldTypes, t) > 4 }

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
