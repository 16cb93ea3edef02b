package models

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
)

// checkText returns the rules that a non-empty text violates.
func (f *Field) checkText(text string) []ruleProblem {
	p := Problems{}
	var out []ruleProblem
	add := func(rule, format string, args ...any) {
		out = append(out, ruleProblem{rule, fmt.Sprintf(format, args...)})
	}
	most := maxLineValue
	switch f.Type { //nolint:exhaustive // other types have the length limit of a single line
	case FieldText:
		most = MaxTextValue
	case FieldDate, FieldNumber, FieldSignedDate:
		most = maxDateValue
	}
	if f.Type == FieldText && !f.Attributes.Comb {
		CheckParagraph(p, "", text, 0, most)
	} else {
		CheckText(p, "", text, 0, most)
	}
	for _, problem := range p[""] {
		add(ruleType, "%s", problem)
	}
	a := f.Attributes
	if n := len([]rune(text)); a.MaxLength > 0 && n > a.MaxLength && n <= most {
		add(ruleMaxLength, "must have at most %d characters", a.MaxLength)
	}
	switch f.Type { //nolint:exhaustive // other types need no check
	case FieldCheckbox, FieldRadio:
		if _, ok := parseCheckbox(text); !ok {
			add(ruleType, "must be true or false")
		}
	case FieldEmail:
		if CheckEmail(p, "email", text); len(p["email"]) > 0 {
			add(ruleType, "must be an email address")
		}
	case FieldSelect:
		if !slices.Contains(a.Options, text) {
			add(ruleOptions, "must be one of the field's options")
		}
	case FieldDate:
		f.checkDate(text, add)
	case FieldNumber:
		f.checkNumber(text, add)
	}
	if a.Validation != nil && a.Validation.Pattern != "" && len(out) == 0 {
		re, err := compilePattern(a.Validation.Pattern)
		if err != nil || !re.MatchString(text) {
			add(rulePattern, "must match the pattern %s", a.Validation.Pattern)
		}
	}
	if a.Validation != nil && a.Validation.Message != "" && len(out) > 0 {
		out[0].text = a.Validation.Message + " (" + out[0].text + ")"
	}
	return out
}

func (f *Field) checkDate(text string, add func(rule, format string, args ...any)) {
	layout := f.dateLayout()
	if layout == "" {
		if !slices.ContainsFunc(dateLayouts, func(layout string) bool { _, ok := parseDate(text, layout); return ok }) {
			add(ruleType, "must be a date, such as 2026-01-31")
		}
		return
	}
	at, ok := parseDate(text, layout)
	if !ok {
		add(ruleFormat, "must be a date in the format %s", cmp.Or(f.Attributes.Format, "yyyy-MM-dd"))
		return
	}
	if v := f.Attributes.Validation; v != nil {
		if low, ok := parseDate(v.Min, isoDate); ok && at.Before(low) {
			add(ruleMin, "must not be before %s", v.Min)
		}
		if high, ok := parseDate(v.Max, isoDate); ok && at.After(high) {
			add(ruleMax, "must not be after %s", v.Max)
		}
	}
}

func (f *Field) checkNumber(text string, add func(rule, format string, args ...any)) {
	n, ok := parseNumber(text)
	if !ok {
		add(ruleType, "must be a number, such as 1234.5")
		return
	}
	a := f.Attributes
	if most, err := strconv.Atoi(a.Format); err == nil && decimals(text) > most {
		add(ruleFormat, "must have at most %s decimal places", a.Format)
	}
	if a.Validation != nil {
		if low, ok := parseNumber(a.Validation.Min); ok && n.Cmp(low) < 0 {
			add(ruleMin, "must be at least %s", a.Validation.Min)
		}
		if high, ok := parseNumber(a.Validation.Max); ok && n.Cmp(high) > 0 {
			add(ruleMax, "must be at most %s", a.Validation.Max)
		}
	}
}
