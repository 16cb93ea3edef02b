package models

import (
	"errors"
	"fmt"
)

// ruleProblem is a rule that a value violates, with its message.
type ruleProblem struct{ rule, text string }

// add records that the text of an entry violates a rule.
func (c *valueCheck) add(v *entry, rule, format string, args ...any) {
	member := "textValue"
	if v.field.Type.Image() && rule != ruleType {
		member = "signatureImageBase64"
	}
	c.addAt(v, member, rule, fmt.Sprintf(format, args...))
}

func (c *valueCheck) addAt(v *entry, member, rule, text string) {
	c.note(v, rule, text)
	if v.field.Attributes.Named {
		text = "field " + v.field.Name + ": " + text
	}
	path := "fields"
	if v.at >= 0 {
		path = IndexedPath(v.at) + member
	}
	c.p.Add(path, "%s", text)
}

// require records that a required field has no value.
func (c *valueCheck) require(v *entry, member, text string) {
	if v.at >= 0 {
		c.addAt(v, member, ruleRequired, text)
		return
	}
	c.note(v, ruleRequired, "is required")
	name := v.field.ID.String()
	if v.field.Attributes.Named {
		name = v.field.Name
	}
	c.p.Add("fields", "the required %s field %s on page %d is missing", v.field.Type, name, v.field.Page)
}

func (c *valueCheck) note(v *entry, rule, text string) {
	c.broken = append(c.broken, map[string]any{"fieldId": v.field.ID, "name": v.field.Name, "rule": rule, "message": text})
}

// err returns an error with all recorded problems. If the envelope uses features beyond the original API, the error
// details contain the fields and the violated rules.
func (c *valueCheck) err(extended bool) error {
	err := c.p.Err()
	if rejected, ok := errors.AsType[*Error](err); ok && extended && len(c.broken) > 0 {
		rejected.Details = map[string]any{"fields": c.broken}
	}
	return err
}
