package models

import (
	"fmt"
	"strings"
)

// Condition makes a field visible if all, or any, of its clauses are true. Exactly one of the two lists contains
// clauses.
type Condition struct {
	All []Clause `json:"all,omitempty"`
	Any []Clause `json:"any,omitempty"`
}

// Clause compares the value of a field or of a group of radio fields, whose name is Field. Exactly one of the other
// fields is not nil.
type Clause struct {
	Field  string  `json:"field"`
	Is     *string `json:"is,omitempty"`
	IsNot  *string `json:"isNot,omitempty"`
	Filled *bool   `json:"filled,omitempty"`
}

// MaxClauses is the maximum number of comparisons in a condition.
const MaxClauses = 20

// clauses returns the clauses of the condition, and the name of the member that contains them.
func (c *Condition) clauses() ([]Clause, string) {
	if len(c.All) > 0 {
		return c.All, "all"
	}
	return c.Any, "any"
}

// check records the problems of a condition without considering the fields to which the condition refers.
func (c *Condition) check(p Problems, path string) {
	list, name := c.clauses()
	switch {
	case len(c.All) > 0 && len(c.Any) > 0:
		p.addFirst(path, "must have either all or any, not both")
	case len(list) == 0:
		p.addFirst(path, "requires all or any, with at least one comparison")
	case len(list) > MaxClauses:
		p.addFirst(path, fmt.Sprintf("must have at most %d comparisons", MaxClauses))
	}
	for i, clause := range list {
		at := fmt.Sprintf("%s.%s[%d]", path, name, i)
		if clause.Field == "" {
			p.addFirst(at+".field", "is required: the name of a field")
		}
		n := 0
		for _, text := range []*string{clause.Is, clause.IsNot} {
			if text != nil {
				n++
				CheckParagraph(p, at, *text, 0, MaxTextValue)
			}
		}
		if clause.Filled != nil {
			n++
		}
		if n != 1 {
			p.addFirst(at, "requires one of is, isNot and filled")
		}
	}
}

// ConditionField contains the part of a field that conditions use. ID is any unique key chosen by the caller.
type ConditionField struct {
	ID        string     `json:"id"`
	Name      string     `json:"name"`
	Type      FieldType  `json:"type"`
	Group     string     `json:"group,omitempty"`
	Option    string     `json:"option,omitempty"`
	Condition *Condition `json:"condition,omitempty"`
}

// VisibleFields returns the IDs of the visible fields of one signer. The map entered contains the content of fields by
// ID: the text, "true" for a selected checkbox or option, or any non-empty string for a picture or file. The map earlier
// contains the values of earlier signers by field name.
//
// A hidden field counts as empty. The value of a radio group is the chosen option, and the value of a checkbox is
// "true" or "false". The signing page implements the same function, and both implementations are tested with
// testdata/conditions.json.
func VisibleFields(fields []ConditionField, entered, earlier map[string]string) map[string]bool {
	v := visibility{entered: entered, earlier: earlier, byName: make(map[string][]int), fields: fields, known: make([]bool, len(fields)), shown: make([]bool, len(fields))}
	for i, f := range fields {
		name := f.Name
		if f.Type == FieldRadio {
			name = f.Group
		}
		v.byName[name] = append(v.byName[name], i)
	}
	out := make(map[string]bool)
	for i, f := range fields {
		if v.visible(i) {
			out[f.ID] = true
		}
	}
	return out
}

type visibility struct {
	fields           []ConditionField
	entered, earlier map[string]string
	byName           map[string][]int // by the name of a field or a group
	known, shown     []bool
}

func (v *visibility) visible(i int) bool {
	if v.known[i] {
		return v.shown[i]
	}
	v.known[i] = true // in a cycle, which no draft contains, the field counts as hidden
	v.shown[i] = v.satisfied(v.fields[i].Condition)
	return v.shown[i]
}

func (v *visibility) satisfied(c *Condition) bool {
	if c == nil {
		return true
	}
	list, _ := c.clauses()
	all := len(c.All) > 0
	for _, clause := range list {
		if v.compare(clause) != all {
			return !all
		}
	}
	return all
}

func (v *visibility) compare(c Clause) bool {
	value, filled := v.value(c.Field)
	switch {
	case c.Is != nil:
		return value == *c.Is
	case c.IsNot != nil:
		return value != *c.IsNot
	case c.Filled != nil:
		return filled == *c.Filled
	}
	return false
}

// value returns the value of the field or group with the given name, and reports whether it is filled.
func (v *visibility) value(name string) (string, bool) {
	own := v.byName[name]
	if len(own) == 0 {
		value := v.earlier[name]
		return value, strings.TrimSpace(value) != "" && value != "false"
	}
	empty := ""
	for _, i := range own {
		f := v.fields[i]
		if f.Type == FieldCheckbox {
			empty = "false"
		}
		text := v.entered[f.ID]
		if f.Type.choice() && text != "true" || strings.TrimSpace(text) == "" || !v.visible(i) {
			continue
		}
		if f.Type == FieldRadio {
			return f.Option, true
		}
		return text, true
	}
	return empty, false
}
