package api

import (
	"encoding/json"
	"fmt"

	"github.com/google/uuid"

	"countersign/models"
	"countersign/seal"
)

// This file reads fields from requests and renders them in responses.

// fieldInput reads a field from a request. The parameter origin is the default for the field's origin.
func fieldInput(o *object, origin models.Origin) models.FieldInput {
	in := models.FieldInput{
		DocumentID: o.optID("documentId"), Type: models.FieldType(o.str("type")), Required: o.flag("required", true), Origin: origin,
		Role: o.text("role"), Name: o.text("name"), DefaultValue: defaultValue(o), Attributes: fieldAttributes(o), Anchor: anchor(o),
	}
	in.W, in.H = in.Type.DefaultSize()
	if in.Anchor == nil {
		in.Page, in.X, in.Y, in.W, in.H = o.int("page"), o.num("x"), o.num("y"), o.num("w"), o.num("h")
	} else {
		o.reject("cannot be combined with anchor, whose text determines the position", "page", "x", "y")
		in.W, in.H = o.numOr("w", in.W), o.numOr("h", in.H)
	}
	if n, ok := o.get("signerId").(jsonNumber); ok {
		in.SignerRef = n.String() // accepts an index that is a JSON number
	} else if in.Role == "" || o.get("signerId") != nil {
		in.SignerRef = o.str("signerId")
	}
	if own := o.optStr("origin"); own != nil {
		in.Origin = models.Origin(*own)
	}
	return in
}

func fieldAttributes(o *object) models.FieldAttributes {
	a := models.FieldAttributes{
		Label: o.text("label"), Placeholder: o.text("placeholder"), ReadOnly: o.flag("readOnly", false), Align: models.Align(o.text("align")),
		Comb: o.flag("comb", false), Multiline: o.flag("multiline", false), Format: o.textOrNumber("format"),
		Group: o.text("group"), Option: o.text("option"), Options: o.texts("options"), Validation: fieldValidation(o.sub("validation")),
		Condition: condition(o.sub("condition")),
	}
	if o.get("fontSize") != nil {
		a.FontSize = o.num("fontSize")
		if a.FontSize == 0 {
			o.bad("fontSize", "must be between 4 and 72 points")
		}
	}
	if n := o.optInt("maxLength"); n != nil {
		if a.MaxLength = *n; *n == 0 {
			o.bad("maxLength", "must be 1 or more")
		}
	}
	o.checkDrawable("option", a.Option)
	for i, text := range a.Options {
		o.checkDrawable(indexedPath("options", i), text)
	}
	return a
}

// defaultValue reads the default value, which is a string or a number. The value of a checkbox can also be a Boolean.
func defaultValue(o *object) string {
	if b, ok := o.get("defaultValue").(bool); ok {
		return fmt.Sprint(b)
	}
	text := lineEnds.Replace(o.textOrNumber("defaultValue"))
	o.checkDrawable("defaultValue", text)
	return text
}

func fieldValidation(o *object) *models.FieldValidation {
	if o == nil {
		return nil
	}
	v := models.FieldValidation{Pattern: o.text("pattern"), Min: o.textOrNumber("min"), Max: o.textOrNumber("max"), Message: o.text("message")}
	if v == (models.FieldValidation{}) {
		return nil
	}
	return &v
}

func condition(o *object) *models.Condition {
	if o == nil {
		return nil
	}
	read := func(name string) []models.Clause {
		var out []models.Clause
		for _, c := range o.objects(name, 0, models.MaxClauses) {
			clause := models.Clause{Field: c.text("field"), Is: c.optStr("is"), IsNot: c.optStr("isNot")}
			if c.get("filled") != nil {
				clause.Filled = new(c.flag("filled", true))
			}
			out = append(out, clause)
		}
		return out
	}
	return &models.Condition{All: read("all"), Any: read("any")}
}

// textOrNumber reads an optional string or number. It returns a number in its original notation.
func (o *object) textOrNumber(name string) string {
	if n, ok := o.get(name).(jsonNumber); ok {
		return n.String()
	}
	return o.text(name)
}

func (o *object) texts(name string) []string {
	var out []string
	for i, v := range o.list(name, 0, models.MaxOptions) {
		text, ok := v.(string)
		if !ok {
			o.bad(indexedPath(name, i), "must be a string")
		}
		out = append(out, text)
	}
	return out
}

// fieldExtras contains the members of a field that are not part of the original API. Responses contain them only for
// envelopes in which at least one is used.
type fieldExtras struct {
	Name         string            `json:"name,omitempty"`
	Label        string            `json:"label,omitempty"`
	Placeholder  string            `json:"placeholder,omitempty"`
	DefaultValue string            `json:"defaultValue,omitempty"`
	ReadOnly     bool              `json:"readOnly,omitempty"`
	FontSize     float64           `json:"fontSize,omitempty"`
	Align        models.Align      `json:"align,omitempty"`
	MaxLength    int               `json:"maxLength,omitempty"`
	Comb         bool              `json:"comb,omitempty"`
	Multiline    bool              `json:"multiline,omitempty"`
	Format       string            `json:"format,omitempty"`
	Options      []string          `json:"options,omitempty"`
	Validation   *validationView   `json:"validation,omitempty"`
	Condition    *models.Condition `json:"condition,omitempty"`
	Group        string            `json:"group,omitempty"`
	Option       string            `json:"option,omitempty"`
}

type validationView struct {
	Pattern string `json:"pattern,omitempty"`
	Min     any    `json:"min,omitempty"`
	Max     any    `json:"max,omitempty"`
	Message string `json:"message,omitempty"`
}

func viewExtras(f *models.Field) fieldExtras {
	a := f.Attributes
	v := fieldExtras{
		Name: f.Name, Label: a.Label, Placeholder: a.Placeholder, DefaultValue: f.DefaultValue, ReadOnly: a.ReadOnly, FontSize: a.FontSize,
		Align: a.Align, MaxLength: a.MaxLength, Comb: a.Comb, Multiline: a.Multiline, Format: a.Format, Options: a.Options,
		Condition: a.Condition, Group: a.Group, Option: a.Option,
	}
	if a.Validation != nil {
		bound := func(text string) any {
			switch {
			case text == "":
				return nil
			case f.Type == models.FieldNumber:
				return json.Number(text)
			}
			return text
		}
		v.Validation = &validationView{a.Validation.Pattern, bound(a.Validation.Min), bound(a.Validation.Max), a.Validation.Message}
	}
	return v
}

type fieldView struct {
	ID         uuid.UUID        `json:"id"`
	DocumentID uuid.UUID        `json:"documentId"`
	SignerID   uuid.UUID        `json:"signerId"`
	Type       models.FieldType `json:"type"`
	positionView
	Required bool          `json:"required"`
	Origin   models.Origin `json:"origin"`
	// Value appears only in the response to a GET request for a single envelope, where it may be null.
	Value *models.EnteredValue `json:"value,omitempty"`
	fieldExtras
}

// viewField returns the view of a field. If the parameter extended is set, the view includes the members that are not
// part of the original API.
func viewField(f *models.Field, extended bool) fieldView {
	v := fieldView{
		ID: f.ID, DocumentID: f.DocumentID, SignerID: f.SignerID, Type: f.Type, positionView: viewPosition(f), Required: f.Required, Origin: f.Origin,
	}
	if extended {
		v.fieldExtras = viewExtras(f)
	}
	return v
}

// viewOneField is like viewField, but for a response that contains only one field of the envelope.
func viewOneField(f *models.Field) fieldView { return viewField(f, f.Extended()) }

func viewPosition(f *models.Field) positionView { return positionView{f.Page, f.X, f.Y, f.W, f.H} }

// fitText reports whether the seal can draw the text in the field at a legible size. If not, it also returns the number
// of characters that fit. Text that cannot be drawn at all is considered to fit, because other checks reject it.
func fitText(f *models.Field, text string) (length int, fits bool) {
	if fitsText(f, text) {
		return 0, true
	}
	length, err := textBox(f).Length(text)
	return length, err != nil
}

func textBox(f *models.Field) seal.TextBox { return seal.TextBox{W: f.W, H: f.H, Cells: f.Cells()} }

// fitsText reports whether the seal can draw the text in the field at a legible size.
func fitsText(f *models.Field, text string) bool {
	fits, err := textBox(f).Fits(text)
	return fits || err != nil
}
