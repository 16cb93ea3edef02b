package models

import (
	"math/big"
	"regexp"
	"regexp/syntax"
	"slices"
	"strconv"
)

// FieldAttributes contains the properties of a field beyond its type and position. It is the zero value for a field
// without such properties.
type FieldAttributes struct {
	Named       bool             `json:"named,omitempty"` // whether the sender chose the name
	Label       string           `json:"label,omitempty"`
	Placeholder string           `json:"placeholder,omitempty"`
	ReadOnly    bool             `json:"readOnly,omitempty"`
	FontSize    float64          `json:"fontSize,omitempty"` // points; 0 for the largest size that fits
	Align       Align            `json:"align,omitempty"`
	MaxLength   int              `json:"maxLength,omitempty"` // characters; 0 for the limit of the type
	Comb        bool             `json:"comb,omitempty"`      // whether to divide the field into MaxLength cells of one character each
	Multiline   bool             `json:"multiline,omitempty"`
	Format      string           `json:"format,omitempty"` // date pattern, or number of decimals
	Options     []string         `json:"options,omitempty"`
	Validation  *FieldValidation `json:"validation,omitempty"`
	Condition   *Condition       `json:"condition,omitempty"`
	Group       string           `json:"group,omitempty"`  // group of a radio field
	Option      string           `json:"option,omitempty"` // value of the group if this radio field is chosen
}

// FieldValidation contains the rules for a value. Min and Max are decimal numbers, or dates such as 2026-01-31.
type FieldValidation struct {
	Pattern string `json:"pattern,omitempty"` // RE2 expression that must match the complete value
	Min     string `json:"min,omitempty"`
	Max     string `json:"max,omitempty"`
	Message string `json:"message,omitempty"` // shown to the signer
}

// Align is the alignment of text within its field.
type Align string

// The alignments. The empty string is equivalent to AlignLeft.
const (
	AlignLeft   Align = "left"
	AlignCenter Align = "center"
	AlignRight  Align = "right"
)

// MaxOptions is the maximum number of options of a select field.
const MaxOptions = 200

const (
	maxLabel       = 200
	maxOption      = 200
	maxPattern     = 200
	maxPatternSize = 4000 // instructions of the compiled pattern
	minFontSize    = 4
	maxFontSize    = 72
	maxDecimals    = 10
)

var fieldName = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,64}$`)

// checkAttributes records the problems with the type, name and attributes of a single field.
func (in FieldInput) checkAttributes(p Problems, path string) {
	if !in.Type.Valid() {
		p.addFirst(path+"type", fieldTypeNames)
		return
	}
	if in.Name != "" && !fieldName.MatchString(in.Name) {
		p.addFirst(path+"name", "must be 1 to 64 of the characters A-Z a-z 0-9 _ . -")
	}
	if in.Role != "" && in.SignerRef != "" {
		p.addFirst(path+"role", "cannot be combined with signerId")
	}
	a, t := in.Attributes, in.Type
	CheckText(p, path+"label", a.Label, 0, maxLabel)
	CheckText(p, path+"placeholder", a.Placeholder, 0, maxLabel)
	for _, rule := range []struct {
		name        string
		given, fits bool
		only        string
	}{
		{"placeholder", a.Placeholder != "", !t.File() && !t.choice() && t != FieldSignedDate, "fields with a typed or selected value"},
		{"defaultValue", in.DefaultValue != "", !t.File() && t != FieldSignedDate, "fields whose value is neither an image, nor a file, nor set by the service"},
		{"readOnly", a.ReadOnly, !t.File(), "fields whose value is neither an image nor a file"},
		{"fontSize", a.FontSize != 0, !t.File() && !t.choice(), "fields with a text value"},
		{"align", a.Align != "", !t.File() && !t.choice(), "fields with a text value"},
		{"maxLength", a.MaxLength != 0, t.written() || t == FieldNumber, "text, name, email, company, title and number fields"},
		{"comb", a.Comb, t == FieldText || t == FieldNumber, "text and number fields"},
		{"multiline", a.Multiline, t == FieldText, "text fields"},
		{"format", a.Format != "", t == FieldDate || t == FieldSignedDate || t == FieldNumber, "date, signed_date and number fields"},
		{"options", a.Options != nil, t == FieldSelect, "select fields"},
		{"group", a.Group != "", t == FieldRadio, "radio fields"},
		{"option", a.Option != "", t == FieldRadio, "radio fields"},
		{"validation", a.Validation != nil, t.written() || t == FieldNumber || t == FieldDate, "text, name, email, company, title, number and date fields"},
	} {
		if rule.given && !rule.fits {
			p.addFirst(path+rule.name, "is supported only for "+rule.only)
		}
	}
	a.checkFormatting(p, path)
	a.checkFormat(p, path, t)
	a.checkChoices(p, path, t)
	if a.Validation != nil {
		a.Validation.check(p, path+"validation.", t)
	}
	if a.Condition != nil {
		a.Condition.check(p, path+"condition")
	}
	if in.DefaultValue != "" && len(p) == 0 {
		f := Field{Type: t, Name: in.Name, Attributes: a}
		for _, problem := range f.checkText(in.DefaultValue) {
			p.Add(path+"defaultValue", "%s", problem.text)
		}
	}
}

func (a FieldAttributes) checkFormatting(p Problems, path string) {
	if a.FontSize != 0 && !(a.FontSize >= minFontSize && a.FontSize <= maxFontSize) {
		p.addFirst(path+"fontSize", "must be between 4 and 72 points")
	}
	switch a.Align {
	case "", AlignLeft, AlignCenter, AlignRight:
	default:
		p.addFirst(path+"align", "must be left, center or right")
	}
	if a.MaxLength < 0 || a.MaxLength > MaxTextValue {
		p.addFirst(path+"maxLength", "must be between 1 and "+strconv.Itoa(MaxTextValue))
	}
	if a.Comb && a.MaxLength == 0 {
		p.addFirst(path+"comb", "requires maxLength, which is the number of cells")
	}
	if a.Comb && a.Multiline {
		p.addFirst(path+"comb", "cannot be combined with multiline")
	}
}

func (a FieldAttributes) checkFormat(p Problems, path string, t FieldType) {
	if a.Format == "" {
		return
	}
	switch t { //nolint:exhaustive // other types need no check
	case FieldNumber:
		if n, err := strconv.Atoi(a.Format); err != nil || n < 0 || n > maxDecimals || strconv.Itoa(n) != a.Format {
			p.addFirst(path+"format", "of a number field must be the maximum number of decimal places, 0 to 10")
		}
	case FieldDate, FieldSignedDate:
		if _, err := dateLayout(a.Format, t == FieldSignedDate); err != nil {
			p.addFirst(path+"format", err.Error())
		}
	}
}

func (a FieldAttributes) checkChoices(p Problems, path string, t FieldType) {
	switch t { //nolint:exhaustive // other types need no check
	case FieldSelect:
		switch {
		case len(a.Options) == 0:
			p.addFirst(path+"options", "is required for a select field")
		case len(a.Options) > MaxOptions:
			p.addFirst(path+"options", "must have at most "+strconv.Itoa(MaxOptions)+" items")
		}
		for i, option := range a.Options {
			at := path + "options[" + strconv.Itoa(i) + "]"
			CheckText(p, at, option, 1, maxOption)
			if slices.Index(a.Options, option) < i {
				p.addFirst(at, "must not repeat")
			}
		}
	case FieldRadio:
		if !fieldName.MatchString(a.Group) {
			p.addFirst(path+"group", "is required for a radio field: 1 to 64 of the characters A-Z a-z 0-9 _ . -")
		}
		CheckText(p, path+"option", a.Option, 1, maxOption)
	}
}

func (v FieldValidation) check(p Problems, path string, t FieldType) {
	CheckText(p, path+"message", v.Message, 0, maxLabel)
	if v.Pattern != "" {
		if len([]rune(v.Pattern)) > maxPattern {
			p.addFirst(path+"pattern", "must have at most "+strconv.Itoa(maxPattern)+" characters")
		} else if _, err := compilePattern(v.Pattern); err != nil {
			p.addFirst(path+"pattern", "must be an RE2 regular expression: "+err.Error())
		}
	}
	low, okLow := v.bound(p, path+"min", v.Min, t)
	high, okHigh := v.bound(p, path+"max", v.Max, t)
	if okLow && okHigh && low.Cmp(high) > 0 {
		p.addFirst(path+"max", "must not be less than min")
	}
}

// bound parses the minimum or maximum of a number or date field as a comparable number.
func (v FieldValidation) bound(p Problems, path, text string, t FieldType) (*big.Rat, bool) {
	if text == "" {
		return nil, false
	}
	switch t { //nolint:exhaustive // other types need no check
	case FieldNumber:
		if n, ok := parseNumber(text); ok {
			return n, true
		}
		p.addFirst(path, "must be a number, such as 12.5")
	case FieldDate:
		if at, ok := parseDate(text, isoDate); ok {
			return new(big.Rat).SetInt64(at.Unix()), true
		}
		p.addFirst(path, "must be a date, such as 2026-01-31")
	default:
		p.addFirst(path, "is supported only for number and date fields")
	}
	return nil, false
}

// compilePattern compiles a pattern that must match complete values. It limits the size of the pattern, so that
// matching a value takes at most a few milliseconds.
func compilePattern(pattern string) (*regexp.Regexp, error) {
	if _, err := regexp.Compile(pattern); err != nil { // an unbalanced ")" must not close the group below
		return nil, err
	}
	whole := `^(?:` + pattern + `)$`
	tree, err := syntax.Parse(whole, syntax.Perl)
	if err != nil {
		return nil, err
	}
	program, err := syntax.Compile(tree.Simplify())
	if err != nil {
		return nil, err
	}
	if len(program.Inst) > maxPatternSize {
		return nil, &syntax.Error{Code: syntax.ErrLarge, Expr: pattern}
	}
	return regexp.Compile(whole)
}

// Extended reports whether the field has properties that the original API does not support.
func (f *Field) Extended() bool {
	a := f.Attributes
	return f.Type.isExtension() || f.DefaultValue != "" || a.Named || a.Label != "" || a.Placeholder != "" || a.ReadOnly ||
		a.FontSize != 0 || a.Align != "" || a.MaxLength != 0 || a.Comb || a.Multiline || a.Validation != nil || a.Format != "" || a.Condition != nil
}
