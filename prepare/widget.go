package prepare

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"countersign/pdf"
	"countersign/pdf/pagetext"
)

func (r *formReader) widget(ref pdf.Ref, d pdf.Dict, in inherited, place Position) {
	out := FormField{Name: in.name, Place: place, Widget: ref}
	flags := r.integer(in.flags)
	out.ReadOnly, out.Required = flags&flagReadOnly != 0, flags&flagRequired != 0
	switch name, _ := r.Value(in.kind).Name(); name {
	case "Tx":
		r.textField(&out, in, flags)
	case "Btn":
		if flags&flagPushButton != 0 {
			return
		}
		out.Type = "checkbox"
		if flags&flagRadio != 0 {
			out.Type = "radio"
		}
		r.button(&out, d)
	case "Ch":
		out.Type = "select"
		out.Options = r.choices(in.options)
	case "Sig":
		out.Type = "signature"
	default:
		return
	}
	r.common(&out, d, in)
	r.fields = append(r.fields, out)
}

// common reads the attributes common to all field types.
func (r *formReader) common(out *FormField, d pdf.Dict, in inherited) {
	out.Label = r.text(in.label)
	if out.Type != "signature" { // its value is a signature
		out.Value, out.Default = r.value(in.value), r.value(in.preset)
	}
	if out.Type == "checkbox" || out.Type == "radio" {
		if out.Value == "Off" {
			out.Value = ""
		}
		if out.Default == "Off" {
			out.Default = ""
		}
		r.setDisplayedState(out, d)
	}
	switch r.integer(in.align) {
	case 1:
		out.Align = "center"
	case 2:
		out.Align = "right"
	default:
		out.Align = "left"
	}
	out.FontSize = fontSize(r.text(in.appearance))
	out.Hidden = r.integer(d.Get("F"))&(annotHidden|annotNoView) != 0
}

// value returns the value of a field, or the first of several values.
func (r *formReader) value(v pdf.Value) string {
	if a := r.array(v); len(a) > 0 {
		v = a[0]
	}
	return r.text(v)
}

func (r *formReader) textField(out *FormField, in inherited, flags int) {
	out.Type, out.Multiline = "text", flags&flagMultiline != 0
	out.MaxLength = max(r.integer(in.maxLength), 0)
	out.Comb = flags&flagComb != 0 && out.MaxLength > 0
	format := r.Dict(r.Dict(in.actions).Get("F"))
	script := r.text(format.Get("JS"))
	if m := dateFormat.FindStringSubmatch(script[:min(len(script), maxFormAction)]); m != nil {
		out.Type, out.Format = "date", m[1]
	}
}

// dateFormat matches the function call with which PDF programs format a date field.
//
//nolint:gochecknoglobals // a constant pattern
var dateFormat = regexp.MustCompile(`AFDate_FormatEx\s*\(\s*["']([dmyHhMst:/. ,-]{1,40})["']\s*\)`)

// button sets the state that a checkbox or radio button selects, which is the appearance state other than Off.
func (r *formReader) button(out *FormField, d pdf.Dict) {
	normal := r.Dict(r.Dict(d.Get("AP")).Get("N"))
	if i := slices.IndexFunc(normal, func(e pdf.Entry) bool { return e.Key != "Off" }); i >= 0 {
		out.Option = normal[i].Key
	}
}

// setDisplayedState sets the value of a checkbox or radio button to the state that programs display. That state is the
// widget's appearance state (AS), even if the field has another value or the state has no appearance.
func (r *formReader) setDisplayedState(out *FormField, d pdf.Dict) {
	state, _ := r.Value(d.Get("AS")).Name()
	switch {
	case state == "": // the field's value applies
	case state == "Off":
		if out.Value == out.Option {
			out.Value = ""
		}
		if out.Value == "" {
			out.Default = ""
		}
	case out.Option == "" || out.Option == state:
		out.Option, out.Value = state, state
	}
}

func (r *formReader) choices(options pdf.Value) (out []FormOption) {
	ref, isRef := options.Ref()
	if known, ok := r.options[ref]; ok && isRef {
		return known
	}
	list := r.array(options)
	if len(list) > maxFormFields {
		r.Err = fmt.Errorf("%w: a form field has more than %d choices", pagetext.ErrLimit, maxFormFields)
		return nil
	}
	for _, v := range list {
		pair := r.array(v)
		if len(pair) != 2 {
			text := r.text(v)
			out = append(out, FormOption{text, text})
		} else {
			out = append(out, FormOption{Export: r.text(pair[0]), Text: r.text(pair[1])})
		}
		if r.Err != nil {
			return nil
		}
	}
	if isRef {
		r.options[ref] = out
	}
	return out
}

// fontSize returns the font size in a default appearance such as "/Helv 12 Tf 0 g". Zero means that the text is sized
// to fit its box.
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
