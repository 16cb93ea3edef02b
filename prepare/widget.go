package prepare

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"countersign/prepare/pagetext"
	"countersign/seal/pdf"
)

// widget adds a widget.
func (r *formReader) widget(ref pdf.Ref, d pdf.Dict, in inherited, place Place) error {
	out := FormField{Name: in.name, Place: place, Field: in.field, Widget: ref}
	flags, err := r.integer(in.flags)
	if err != nil {
		return err
	}
	kind, err := r.f.Resolve(in.kind)
	if err != nil {
		return err
	}
	out.ReadOnly, out.Required = flags&flagReadOnly != 0, flags&flagRequired != 0
	switch name, _ := kind.Name(); name {
	case "Tx":
		err = r.textField(&out, in, flags)
	case "Btn":
		if flags&flagPushButton != 0 {
			return nil
		}
		out.Type = "checkbox"
		if flags&flagRadio != 0 {
			out.Type = "radio"
		}
		err = r.button(&out, d)
	case "Ch":
		out.Type, out.Editable = "select", flags&flagCombo != 0 && flags&flagEdit != 0
		err = r.choices(&out, in.options)
	case "Sig":
		out.Type = "signature"
	default:
		return nil
	}
	if err != nil {
		return err
	}
	return r.common(&out, d, in)
}

// common reads what fields of all types have.
func (r *formReader) common(out *FormField, d pdf.Dict, in inherited) error {
	var err error
	if out.Label, err = r.text(in.label); err != nil {
		return err
	}
	if out.Type != "signature" { // its value is a signature
		if out.Value, err = r.value(in.value); err != nil {
			return err
		}
		if out.Default, err = r.value(in.preset); err != nil {
			return err
		}
	}
	if out.Type == "checkbox" || out.Type == "radio" {
		if out.Value == "Off" {
			out.Value = ""
		}
		if out.Default == "Off" {
			out.Default = ""
		}
	}
	align, err := r.integer(in.align)
	if err != nil {
		return err
	}
	out.Align = "left"
	switch align {
	case 1:
		out.Align = "center"
	case 2:
		out.Align = "right"
	}
	appearance, err := r.text(in.appearance)
	if err != nil {
		return err
	}
	out.FontSize = fontSize(appearance)
	flags, err := r.integer(d.Get("F"))
	out.Hidden = flags&(annotHidden|annotNoView) != 0
	r.fields = append(r.fields, *out)
	return err
}

// value returns a field's value: of several, the first.
func (r *formReader) value(v pdf.Value) (string, error) {
	a, err := r.array(v)
	if err != nil {
		return "", err
	}
	if len(a) > 0 {
		v = a[0]
	}
	return r.text(v)
}

func (r *formReader) textField(out *FormField, in inherited, flags int) error {
	out.Type, out.Multiline, out.Comb = "text", flags&flagMultiline != 0, flags&flagComb != 0
	var err error
	if out.MaxLength, err = r.integer(in.maxLength); err != nil {
		return err
	}
	out.MaxLength = max(out.MaxLength, 0)
	out.Comb = out.Comb && out.MaxLength > 0
	actions, err := r.dict(in.actions)
	if err != nil {
		return err
	}
	format, err := r.dict(actions.Get("F"))
	if err != nil {
		return err
	}
	script, err := r.text(format.Get("JS"))
	if err != nil {
		return err
	}
	if m := dateFormat.FindStringSubmatch(script[:min(len(script), maxFormAction)]); m != nil {
		out.Type, out.Format = "date", m[1]
	}
	return nil
}

// dateFormat is the call that PDF programs make a date field with.
//
//nolint:gochecknoglobals // a constant pattern
var dateFormat = regexp.MustCompile(`AFDate_FormatEx\s*\(\s*["']([dmyHhMst:/. ,-]{1,40})["']\s*\)`)

// button finds the state that a checkbox or a radio button turns on: that of its
// appearances which is not Off.
func (r *formReader) button(out *FormField, d pdf.Dict) error {
	appearances, err := r.dict(d.Get("AP"))
	if err != nil {
		return err
	}
	normal, err := r.dict(appearances.Get("N"))
	if err != nil {
		return err
	}
	for _, e := range normal {
		if e.Key != "Off" {
			out.Option = e.Key
			return nil
		}
	}
	return nil
}

func (r *formReader) choices(out *FormField, options pdf.Value) error {
	list, err := r.array(options)
	if err != nil {
		return err
	}
	if len(list) > maxFormFields {
		return fmt.Errorf("%w: a form field has more than %d choices", pagetext.ErrLimit, maxFormFields)
	}
	for _, v := range list {
		pair, err := r.array(v)
		if err != nil {
			return err
		}
		var o FormOption
		if len(pair) == 2 {
			if o.Export, err = r.text(pair[0]); err != nil {
				return err
			}
			v = pair[1]
		}
		if o.Text, err = r.text(v); err != nil {
			return err
		}
		if len(pair) != 2 {
			o.Export = o.Text
		}
		out.Options = append(out.Options, o)
	}
	return nil
}

// fontSize reads the size in a default appearance: "/Helv 12 Tf 0 g". 0 means that
// the text fits its box.
func fontSize(appearance string) float64 {
	words := strings.Fields(appearance)
	for i, w := range words {
		if w == "Tf" && i >= 2 {
			if n, err := strconv.ParseFloat(words[i-1], 64); err == nil && n > 0 && n < 1000 {
				return n
			}
		}
	}
	return 0
}
