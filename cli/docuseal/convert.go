package docuseal

import (
	"cmp"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	countersign "countersign/clients/go"
	"countersign/clients/go/api"
)

// Role is a role of a converted template. Roles with a lower order fill in their fields first.
type Role struct {
	Name  string
	Order int
}

// Placed is a field with the index of its document.
type Placed struct {
	countersign.FieldRequest

	Document int
}

// Result is a converted template.
type Result struct {
	Roles  []Role
	Fields []Placed
	Notes  []string // readable descriptions of the differences from the original
}

// PageSize is a function that returns the displayed size of a page in points. Indices of documents and pages start at
// 0.
type PageSize func(document, page int) (w, h float64, ok bool)

// Convert converts a template. It calls size for the sizes of the pages in the template's documents.
func (t *Template) Convert(size PageSize) *Result {
	c := &conversion{template: t, size: size, names: make(map[string]string), taken: make(map[string]bool)}
	for i, s := range t.Submitters {
		order := i
		if s.Order != nil && *s.Order >= 0 {
			order = *s.Order
		}
		c.Roles = append(c.Roles, Role{Name: truncate(cmp.Or(strings.TrimSpace(s.Name), "Party "+strconv.Itoa(i+1)), maxName), Order: order + 1})
	}
	for i, f := range t.Fields {
		c.names[f.UUID] = c.freeName(cmp.Or(f.Name, f.Title, f.Type+"_"+strconv.Itoa(i+1)))
	}
	for i := range t.Fields {
		c.field(&t.Fields[i])
	}
	return &c.Result
}

const (
	maxName    = 64
	maxLabel   = 200
	maxPattern = 200
	maxCells   = 200
	minFont    = 4
	maxFont    = 72
	minSide    = 1 // points
)

type conversion struct {
	Result

	template *Template
	size     PageSize
	names    map[string]string // field names by UUID
	taken    map[string]bool
}

func (c *conversion) note(f *Field, format string, args ...any) {
	c.Notes = append(c.Notes, fmt.Sprintf("field %q: ", cmp.Or(f.Name, f.Title, f.Type))+fmt.Sprintf(format, args...))
}

var notInName = regexp.MustCompile(`[^A-Za-z0-9_.-]+`)

// freeName returns a unique field name derived from text.
func (c *conversion) freeName(text string) string {
	base := truncate(cmp.Or(strings.Trim(notInName.ReplaceAllString(text, "_"), "_"), "field"), maxName-5)
	name := base
	for n := 2; c.taken[name]; n++ {
		name = base + "_" + strconv.Itoa(n)
	}
	c.taken[name] = true
	return name
}

// types maps DocuSeal field types to Countersign field types. Each area of a field with one of these types becomes a
// separate field.
var types = map[string]api.FieldType{
	"text": "text", "signature": "signature", "initials": "initial", "date": "date", "number": "number", "checkbox": "checkbox",
	"select": "select", "cells": "text", "stamp": "stamp", "image": "attachment", "file": "attachment", "phone": "text", "heading": "text",
}

func (c *conversion) field(f *Field) {
	role := slices.IndexFunc(c.template.Submitters, func(s Submitter) bool { return s.UUID == f.Submitter })
	kind, known := types[f.Type]
	choice := f.Type == "radio" || f.Type == "multiple"
	switch {
	case len(f.Areas) == 0:
		c.note(f, "has no position on a page; omitted")
		return
	case role < 0:
		c.note(f, "is not assigned to a submitter; omitted")
		return
	case !known && !choice:
		c.note(f, "the type %s is not supported; omitted", f.Type)
		return
	}
	base := c.common(f, c.Roles[role].Name)
	switch {
	case choice && slices.ContainsFunc(f.Areas, func(a Area) bool { return a.Option != "" }):
		c.choices(f, base)
		return
	case choice: // all options share one area, so the field becomes a list
		if f.Type == "multiple" {
			c.note(f, "a multiple-choice field with a single position becomes a list that allows one choice")
		}
		kind = "select"
	}
	base.Type = kind
	c.typed(f, &base)
	if first := f.Areas[0]; f.Type == "cells" && first.CellWidth > 0 && first.W/first.CellWidth < maxCells {
		base.Comb, base.MaxLength = countersign.Ptr(true), countersign.Ptr(int(math.Max(1, math.Round(first.W/first.CellWidth))))
	}
	for i, a := range f.Areas {
		if i > 0 && kind == "attachment" {
			c.note(f, "a file field can have only one position; the others are omitted")
			return
		}
		c.place(f, a, base)
	}
}

// common returns a field with the properties that all types have.
func (c *conversion) common(f *Field, role string) countersign.FieldRequest {
	out := countersign.FieldRequest{
		Role: &role, Name: countersign.Ptr(c.names[f.UUID]), Required: countersign.Ptr(f.Required == nil || *f.Required),
		Label: countersign.Optional(truncate(cmp.Or(f.Title, f.Name), maxLabel)), ReadOnly: countersign.Optional(f.ReadOnly),
	}
	if n, err := strconv.ParseFloat(text(f.Preferences.FontSize), 64); err == nil && n >= minFont && n <= maxFont {
		out.FontSize = &n
	}
	if align := api.FieldRequestAlign(f.Preferences.Align); slices.Contains([]api.FieldRequestAlign{"left", "center", "right"}, align) {
		out.Align = &align
	}
	if len(f.Conditions) > 0 {
		out.Condition = c.condition(f)
		if out.Condition == nil && *out.Required {
			out.Required = countersign.Ptr(false)
		}
	}
	return out
}

// typed sets the properties that depend on the type of the field.
func (c *conversion) typed(f *Field, out *countersign.FieldRequest) {
	if f.Type == "date" {
		c.dateFormat(f, out)
	}
	switch value := text(f.Default); {
	case value == "" || value == "{{date}}":
	case out.Type == "date":
		if at, err := time.Parse(time.DateOnly, value); err != nil {
			c.note(f, "%q is not a date; not prefilled", value)
		} else {
			out.DefaultValue = at.Format(layouts.Replace(cmp.Or(text(out.Format), "yyyy-MM-dd")))
		}
	case out.Type == "signature" || out.Type == "initial" || out.Type == "stamp" || out.Type == "attachment":
		c.note(f, "an image or file cannot be prefilled")
		out.ReadOnly = nil
	default:
		out.DefaultValue = value
	}
	switch f.Type {
	case "heading":
		out.ReadOnly, out.Required = countersign.Ptr(true), countersign.Ptr(false)
		if out.DefaultValue == nil {
			out.DefaultValue = cmp.Or(f.Title, f.Name)
		}
	case "phone":
		c.note(f, "a phone number becomes a text field: no code is sent to it")
	case "select", "radio", "multiple":
		out.Options = make([]string, 0, len(f.Options))
		for _, o := range f.Options {
			out.Options = append(out.Options, o.Value)
		}
	}
	if v := f.Validation; v != nil {
		c.validation(f, v, out)
	}
}

func (c *conversion) validation(f *Field, v *Validation, out *countersign.FieldRequest) {
	rules := api.FieldValidation{}
	if v.Pattern != "" {
		if _, err := regexp.Compile(v.Pattern); err != nil || len(v.Pattern) > maxPattern {
			c.note(f, "the pattern is omitted: it must be valid RE2 with at most %d characters", maxPattern)
		} else {
			rules.Pattern = &v.Pattern
		}
	}
	if out.Type == "number" || out.Type == "date" {
		if low := text(v.Min); low != "" {
			rules.Min = low
		}
		if high := text(v.Max); high != "" {
			rules.Max = high
		}
	}
	if rules.Pattern == nil && rules.Min == nil && rules.Max == nil {
		return
	}
	rules.Message = countersign.Optional(truncate(v.Message, maxLabel))
	out.Validation = &rules
}

var layouts = strings.NewReplacer("yyyy", "2006", "MM", "01", "M", "1", "dd", "02", "d", "2")

var dateParts = strings.NewReplacer("YYYY", "yyyy", "DD", "dd", "D", "d")

// dateFormat converts a date format if it contains only supported parts: year, month and day as digits.
func (c *conversion) dateFormat(f *Field, out *countersign.FieldRequest) {
	if f.Preferences.Format == "" {
		return
	}
	format := dateParts.Replace(f.Preferences.Format)
	if regexp.MustCompile(`^(yyyy|MM?|dd?)([-./ ]+(yyyy|MM?|dd?)){2}$`).MatchString(format) {
		out.Format = format
		return
	}
	c.note(f, "the date format %s is not supported", f.Preferences.Format)
}

// choices adds a field for each option that has its own area.
func (c *conversion) choices(f *Field, base countersign.FieldRequest) {
	name := *base.Name
	for i, a := range f.Areas {
		at := slices.IndexFunc(f.Options, func(o Option) bool { return o.UUID == a.Option })
		if at < 0 {
			c.note(f, "a position has no option; the position is omitted")
			continue
		}
		option := cmp.Or(f.Options[at].Value, "Option "+strconv.Itoa(at+1))
		next := base
		next.Label = countersign.Ptr(truncate(option, maxLabel))
		chosen := slices.Contains(texts(f.Default), f.Options[at].Value) && f.Options[at].Value != ""
		if f.Type == "radio" {
			next.Type, next.Group, next.Option = "radio", &name, countersign.Ptr(truncate(option, maxLabel))
			next.Name = countersign.Ptr(c.freeName(name + "_" + strconv.Itoa(at+1)))
		} else {
			next.Type, next.Required = "checkbox", countersign.Ptr(false)
			next.Name = countersign.Ptr(c.freeName(name + "_" + option))
			if i == 0 && *base.Required {
				c.note(f, "each choice becomes a checkbox; checking at least one is not enforced")
			}
		}
		if chosen {
			next.DefaultValue = "true"
		}
		c.place(f, a, next)
	}
}

// place adds a field with the position and size of an area, clipped to the page.
func (c *conversion) place(f *Field, a Area, out countersign.FieldRequest) {
	doc := slices.IndexFunc(c.template.Schema, func(d Document) bool { return d.UUID == a.Document })
	if doc < 0 {
		c.note(f, "is in a document that the template does not contain")
		return
	}
	w, h, ok := c.size(doc, a.Page)
	if !ok {
		c.note(f, "is on page %d, which the document does not contain", a.Page+1)
		return
	}
	x, width := within(a.X*w, a.W*w, w)
	y, height := within(a.Y*h, a.H*h, h)
	if math.IsNaN(x+y+width+height) || width < minSide || height < minSide {
		c.note(f, "has no position on its page")
		return
	}
	out.Page, out.X, out.Y, out.W, out.H = countersign.Ptr(a.Page+1), &x, &y, &width, &height
	out.Origin = countersign.Ptr(api.FieldRequestOriginTopLeft)
	c.Fields = append(c.Fields, Placed{FieldRequest: out, Document: doc})
}

// within clips one side of an area to the page, and rounds it to hundredths. The parameter page is the length of that
// side of the page.
func within(at, length, page float64) (start, side float64) {
	end := math.Min(at+length, page)
	start = math.Max(at, 0)
	start, end = math.Ceil(start*100)/100, math.Floor(end*100)/100
	return start, math.Round((end-start)*100) / 100
}

func truncate(s string, most int) string {
	if r := []rune(s); len(r) > most {
		return string(r[:most])
	}
	return s
}

// text converts a value to a string. It returns "" for nil and for lists.
func text(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	case bool:
		return strconv.FormatBool(v)
	}
	return ""
}

// texts converts a value, which may be a list, to a list of strings.
func texts(v any) []string {
	list, ok := v.([]any)
	if !ok {
		return []string{text(v)}
	}
	var out []string
	for _, e := range list {
		out = append(out, text(e))
	}
	return out
}
