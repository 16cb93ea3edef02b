package models

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"
)

// newFieldNames returns the names of new fields in a draft. By default, a name consists of the type and a number, such
// as text_2.
func (e *Envelope) newFieldNames(ins []FieldInput) []string {
	taken := make(map[string]bool)
	for _, f := range e.Fields {
		taken[f.Name], taken[f.Attributes.Group] = true, true
	}
	for _, in := range ins {
		taken[in.Name], taken[in.Attributes.Group] = true, true
	}
	next := make(map[FieldType]int)
	names := make([]string, 0, len(ins))
	for _, in := range ins {
		name := in.Name
		for name == "" {
			next[in.Type]++
			if made := string(in.Type) + "_" + strconv.Itoa(next[in.Type]); !taken[made] {
				name = made
			}
		}
		names = append(names, name)
	}
	return names
}

func (e *Envelope) nextFieldPosition() int {
	next := 0
	for _, f := range e.Fields {
		next = max(next, f.Position+1)
	}
	return next
}

// CheckFields records the problems of a draft's fields as a set. The problems concern names, groups and conditions.
func (e *Envelope) CheckFields(p Problems) {
	checkFieldSet(p, e.Signers, e.Fields, func(*Field) string { return "" })
	for _, f := range e.Fields {
		if f.Required && f.Attributes.ReadOnly && f.Prefilled(e.Signer(f.SignerID)) == "" && f.Type != FieldSignedDate && f.Type != FieldRadio {
			p.Add("fields", "the field %s is required and read-only, and has no value", f.Name)
		}
	}
	e.checkFixedGroups(p)
}

// checkFixedGroups records a problem for each required group of radio fields in which no option can be chosen.
func (e *Envelope) checkFixedGroups(p Problems) {
	required, open := make(map[string]bool), make(map[string]bool)
	for _, f := range e.Fields {
		if f.Type != FieldRadio {
			continue
		}
		if f.Required {
			required[f.Attributes.Group] = true
		}
		if !f.Attributes.ReadOnly || f.Prefilled(nil) == "true" {
			open[f.Attributes.Group] = true
		}
	}
	for _, group := range slices.Sorted(maps.Keys(required)) {
		if !open[group] {
			p.Add("fields", "a choice in the group %s is required, but all its fields are read-only and have no value", group)
		}
	}
}

// fieldSet indexes all fields of an envelope by name.
type fieldSet struct {
	p      Problems
	path   func(*Field) string
	names  map[string][]*Field // by name of a field or a group
	order  map[uuid.UUID]int   // routing order by signer
	fields []*Field
}

// checkFieldSet records the problems of a set of fields. The path function returns the path prefix for a field's
// problems. If the prefix is empty, the problems are recorded under "fields".
func checkFieldSet(p Problems, signers []*Signer, fields []*Field, path func(*Field) string) {
	s := fieldSet{p: p, path: path, names: make(map[string][]*Field), order: make(map[uuid.UUID]int), fields: fields}
	for _, signer := range signers {
		s.order[signer.ID] = signer.RoutingOrder
	}
	for _, f := range fields {
		s.names[f.Name] = append(s.names[f.Name], f)
		if f.Type == FieldRadio {
			s.names[f.Attributes.Group] = append(s.names[f.Attributes.Group], f)
		}
	}
	for _, f := range fields {
		s.checkName(f)
		s.checkGroup(f)
		s.checkClauses(f)
	}
	if len(p) == 0 {
		s.checkCycles()
	}
}

func (s *fieldSet) add(f *Field, member, format string, args ...any) {
	path, text := s.path(f), fmt.Sprintf(format, args...)
	if path == "" {
		s.p.addFirst("fields", fmt.Sprintf("the %s of field %s %s", member, f.Name, text))
		return
	}
	s.p.addFirst(path+member, text)
}

// checkName compares a field with the first field that has the same name.
func (s *fieldSet) checkName(f *Field) {
	first := s.names[f.Name][0]
	if first == f {
		return
	}
	a, b := f.Attributes, first.Attributes
	for _, is := range []struct {
		same bool
		what string
	}{
		{first.SignerID == f.SignerID, "is the name of a field of another signer"},
		{first.Type != FieldRadio || first.Attributes.Group != f.Name, "is the name of a radio group"},
		{a.Named && b.Named, "is the name of another field"},
		{f.Type != FieldRadio && f.Type != FieldAttachment, "is the name of another field: radio and attachment fields must have unique names"},
		{first.Type == f.Type, "is the name of a field of a different type"},
		{first.DefaultValue == f.DefaultValue && a.ReadOnly == b.ReadOnly, "is the name of a field with a different defaultValue or readOnly: fields with the same name share one value"},
		{
			a.MaxLength == b.MaxLength && a.Format == b.Format && slices.Equal(a.Options, b.Options) && reflect.DeepEqual(a.Validation, b.Validation),
			"is the name of a field with a different maxLength, format, options or validation: fields with the same name share one value",
		},
		{reflect.DeepEqual(a.Condition, b.Condition), "is the name of a field with a different condition: fields with the same name share one value"},
	} {
		if !is.same {
			s.add(f, "name", "%s (%s)", is.what, f.Name)
			return
		}
	}
}

// checkGroup compares a radio field with the others in its group.
func (s *fieldSet) checkGroup(f *Field) {
	if f.Type != FieldRadio {
		return
	}
	chosen := 0
	for _, other := range s.names[f.Attributes.Group] {
		switch {
		case other.Attributes.Group != f.Attributes.Group: // a field of another type, which has no group
			s.add(f, "group", "is the name of another field (%s)", f.Attributes.Group)
		case other.SignerID != f.SignerID:
			s.add(f, "group", "contains a field of another signer (%s)", f.Attributes.Group)
		case other != f && other.Attributes.Option == f.Attributes.Option:
			s.add(f, "option", "occurs twice in the group %s", f.Attributes.Group)
		case other.Prefilled(nil) == "true":
			chosen++
		}
	}
	if chosen > 1 && f.Prefilled(nil) == "true" {
		s.add(f, "defaultValue", "is true for several fields of the group %s", f.Attributes.Group)
	}
}

// checkClauses resolves the field names in a field's condition.
func (s *fieldSet) checkClauses(f *Field) {
	if f.Attributes.Condition == nil {
		return
	}
	clauses, list := f.Attributes.Condition.clauses()
	for i, c := range clauses {
		at := fmt.Sprintf("condition.%s[%d]", list, i)
		named := s.names[c.Field]
		if len(named) == 0 {
			s.add(f, at+".field", "is not the name of a field of this envelope (%s)", c.Field)
			continue
		}
		to := named[0]
		switch {
		case to.Type == FieldRadio && to.Attributes.Group != c.Field:
			s.add(f, at+".field", "is the name of a single radio field (%s): use the name of its group, %s", c.Field, to.Attributes.Group)
		case to.SignerID != f.SignerID && s.order[to.SignerID] >= s.order[f.SignerID]:
			s.add(f, at+".field", "is a field of another signer who is not in an earlier routing group (%s)", c.Field)
		case to.Type.File() && c.Filled == nil:
			s.add(f, at, "compares the %s field %s with text: use filled instead", to.Type, c.Field)
		}
	}
}

// checkCycles follows the conditions from field to field, and records a problem for each cycle.
func (s *fieldSet) checkCycles() {
	const open, done = 1, 2
	state := make(map[string]int)
	var path []string
	var visit func(name string) bool
	visit = func(name string) bool {
		switch state[name] {
		case done:
			return true
		case open:
			cycle := append(slices.Clone(path[slices.Index(path, name):]), name)
			s.add(s.names[name][0], "condition", "depends on itself: %s", strings.Join(cycle, " → "))
			return false
		}
		state[name] = open
		path = append(path, name)
		for _, f := range s.names[name] {
			if f.Attributes.Condition == nil || f.Type == FieldRadio && f.Attributes.Group != name {
				continue
			}
			clauses, _ := f.Attributes.Condition.clauses()
			for _, c := range clauses {
				if !visit(c.Field) {
					return false
				}
			}
		}
		state[name] = done
		path = path[:len(path)-1]
		return true
	}
	for _, f := range s.fields {
		name := f.Name
		if f.Type == FieldRadio {
			name = f.Attributes.Group
		}
		if !visit(name) {
			return
		}
	}
}

// Extended reports whether any field of the envelope has properties that the original API does not support.
func (e *Envelope) Extended() bool { return slices.ContainsFunc(e.Fields, (*Field).Extended) }

// EarlierNames returns the names of other signers' fields and groups to which a signer's conditions refer.
func (e *Envelope) EarlierNames(signer uuid.UUID) []string {
	own := make(map[string]bool)
	var names []string
	for _, f := range e.Fields {
		if f.SignerID == signer {
			own[f.Name], own[f.Attributes.Group] = true, true
		}
	}
	for _, f := range e.Fields {
		if f.SignerID != signer || f.Attributes.Condition == nil {
			continue
		}
		clauses, _ := f.Attributes.Condition.clauses()
		for _, c := range clauses {
			if !own[c.Field] && !slices.Contains(names, c.Field) {
				names = append(names, c.Field)
			}
		}
	}
	return names
}

// ConditionValues returns the signed values that conditions refer to, by name.
func (e *Envelope) ConditionValues(names []string, values []FieldValue) map[string]string {
	byField := make(map[uuid.UUID]FieldValue, len(values))
	for _, v := range values {
		byField[v.FieldID] = v
	}
	out := make(map[string]string, len(names))
	for _, name := range names {
		out[name] = ""
		for _, f := range e.Fields {
			v, ok := byField[f.ID]
			switch {
			case f.Type == FieldRadio && f.Attributes.Group == name:
				if ok && v.Text == "true" {
					out[name] = f.Attributes.Option
				}
			case f.Name != name || f.Type == FieldRadio:
			case f.Type == FieldCheckbox:
				out[name] = strconv.FormatBool(ok && v.Text == "true" || out[name] == "true")
			case ok && f.Type.File():
				out[name] = "picture"
			case ok && v.Text != "":
				out[name] = v.Text
			}
		}
	}
	return out
}
