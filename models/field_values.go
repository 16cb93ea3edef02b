package models

import (
	"bytes"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"
)

// MaxTextValue is the maximum length of a field's text, in characters.
const MaxTextValue = 2000

const (
	maxLineValue = 255 // for a name, an address, a company or a title
	maxDateValue = 64
	maxFontLabel = 100
)

// The rules that a value can violate, as named in error details.
const (
	ruleRequired  = "required"
	ruleType      = "type"
	ruleReadOnly  = "readOnly"
	ruleCondition = "condition"
	ruleMaxLength = "maxLength"
	ruleFormat    = "format"
	ruleOptions   = "options"
	rulePattern   = "pattern"
	ruleMin       = "min"
	ruleMax       = "max"
	ruleGroup     = "group"
	ruleFit       = "fit"
)

// entry is the value submitted for a signer's field.
type entry struct {
	field *Field
	at    int // index in the submission; -1 if absent
	text  string
	image []byte
	// attachmentID identifies a file. The field attachment is that file, or nil if it does not exist.
	attachmentID *uuid.UUID
	attachment   *Attachment
}

// empty reports whether the entry has no value. An unselected checkbox has no value.
func (v *entry) empty() bool {
	if v.field.Type.Image() {
		return len(v.image) == 0
	}
	if v.field.Type == FieldAttachment {
		return v.attachmentID == nil
	}
	if v.field.Type.choice() {
		checked, ok := parseCheckbox(v.text)
		return ok && !checked
	}
	return strings.TrimSpace(v.text) == ""
}

// valueCheck checks the values that a signer submits.
type valueCheck struct {
	p       Problems
	broken  []map[string]any // violated rules, for the error details
	entries []*entry         // entries of all fields of the signer, in order
	byID    map[uuid.UUID]*entry
	signer  *Signer
	fit     func(f *Field, text string) (int, bool)
	misfits int
}

// values checks a submission against the signer's fields, and returns the values to store. The given time is the time
// of signing.
func (e *Envelope) values(s *Signer, sub Submission, at time.Time) ([]FieldValue, error) {
	c := &valueCheck{p: Problems{}, byID: make(map[uuid.UUID]*entry), signer: s, fit: sub.Fit}
	CheckText(c.p, "fontLabel", Deref(sub.FontLabel, ""), 0, maxFontLabel)
	zone := timeZone(c.p, "timeZone", sub.TimeZone)
	extended := false
	for _, f := range e.Fields {
		if f.SignerID == s.ID {
			v := &entry{field: f, at: -1}
			c.entries, c.byID[f.ID] = append(c.entries, v), v
			extended = extended || f.Extended()
		}
	}
	c.read(sub.Fields)
	var visible map[string]bool
	if extended {
		c.shareNames()
		c.fill(s, at, zone)
		visible = c.visible(sub.Earlier)
	}
	var out []FieldValue
	for _, v := range c.entries {
		if extended && !visible[v.field.ID.String()] {
			if v.at >= 0 && !v.empty() {
				c.add(v, ruleCondition, "is hidden because its condition is not met: it must have no value")
			}
			continue
		}
		if text, ok := c.value(v); ok {
			value := FieldValue{FieldID: v.field.ID, EnvelopeID: e.ID, SignerID: s.ID, Text: text, Image: v.image}
			if len(v.image) > 0 {
				value.ImageSHA256 = hexDigest(v.image)
			}
			if v.attachment != nil {
				used := *v.attachment
				used.Used = true
				e.Attached = append(e.Attached, &used)
				value.Text, value.ImageSHA256 = used.Name, used.SHA256
			}
			out = append(out, value)
		}
	}
	if extended {
		c.checkGroups(visible)
	}
	return out, c.err(extended)
}

// read assigns the submitted values to the fields.
func (c *valueCheck) read(fields []FieldSubmission) {
	for i, in := range fields {
		v := c.byID[in.FieldID]
		switch {
		case v == nil:
			c.p.Add(IndexedPath(i)+"fieldId", "must be the id of a field of this signer")
			continue
		case v.at >= 0:
			c.p.Add(IndexedPath(i)+"fieldId", "must not repeat a field")
			continue
		}
		v.at, v.text, v.image, v.attachmentID, v.attachment = i, Deref(in.Text, ""), in.Image, in.AttachmentID, in.Attachment
	}
}

// shareNames copies the value submitted for a field to the other fields with the same name.
func (c *valueCheck) shareNames() {
	byName := make(map[string]*entry)
	for _, v := range c.entries {
		if first := byName[v.field.Name]; v.at >= 0 && (first == nil || first.empty()) {
			byName[v.field.Name] = v
		}
	}
	for _, v := range c.entries {
		first := byName[v.field.Name]
		switch {
		case first == nil:
		case v.at < 0 || v.empty():
			v.text, v.image = first.text, first.image
			if v.at < 0 {
				v.at = first.at
			}
		case v.field.Type.choice() && !first.empty(): // both are selected
		case v.text != first.text || !bytes.Equal(v.image, first.image):
			c.add(v, ruleType, "differs from the value of the previous field with the same name: fields with the same name share one value")
		}
	}
}

// fill adds the values that the service knows: prefilled values of omitted fields, read-only values, and the time of
// signing.
func (c *valueCheck) fill(s *Signer, at time.Time, zone *time.Location) {
	for _, v := range c.entries {
		f := v.field
		fixed, set := f.Prefilled(s), f.Attributes.ReadOnly
		if f.Type == FieldSignedDate {
			fixed, set = f.signedDate(at, zone), true
		}
		switch {
		case set && v.at >= 0 && !v.empty() && !v.equals(fixed):
			c.add(v, ruleReadOnly, "is read-only: omit its value")
		case set || v.at < 0:
			v.text = fixed
		}
	}
}

// equals reports whether the entry's value is equivalent to text.
func (v *entry) equals(text string) bool {
	if v.field.Type.choice() {
		checked, ok := parseCheckbox(v.text)
		return ok && checked == (text == "true")
	}
	return v.field.Type != FieldSignedDate && v.text == text
}

// Prefilled returns the content of the field before the signer enters a value.
func (f *Field) Prefilled(s *Signer) string {
	switch {
	case f.DefaultValue != "":
		if f.Type.choice() {
			if checked, _ := parseCheckbox(f.DefaultValue); !checked {
				return ""
			}
			return "true"
		}
		return f.DefaultValue
	case s == nil:
	case f.Type == FieldName:
		return s.Name
	case f.Type == FieldEmail:
		return s.Email
	}
	return ""
}

// visible returns the IDs of the fields whose conditions are true.
func (c *valueCheck) visible(earlier map[string]string) map[string]bool {
	fields, entered := make([]ConditionField, 0, len(c.entries)), make(map[string]string, len(c.entries))
	for _, v := range c.entries {
		f, id := v.field, v.field.ID.String()
		fields = append(fields, ConditionField{
			ID: id, Name: f.Name, Type: f.Type, Group: f.Attributes.Group, Option: f.Attributes.Option, Condition: f.Attributes.Condition,
		})
		switch {
		case v.empty():
		case f.Type.choice():
			entered[id] = "true"
		case f.Type.File():
			entered[id] = "picture" // also used for a file, because conditions only distinguish filled from empty
		default:
			entered[id] = v.text
		}
	}
	return VisibleFields(fields, entered, earlier)
}

// value checks the value of a visible field. It returns the value to store, and false if the field remains empty.
func (c *valueCheck) value(v *entry) (string, bool) {
	f := v.field
	switch {
	case f.Type == FieldAttachment:
		return "", c.attachment(v)
	case v.attachmentID != nil:
		c.addAt(v, "attachmentId", ruleType, fmt.Sprintf("is only for attachment fields; this is a %s field", f.Type))
		return "", false
	case f.Type.Image():
		if strings.TrimSpace(v.text) != "" {
			c.add(v, ruleType, "is only for text fields; a %s field takes signatureImageBase64", f.Type)
		}
		if len(v.image) == 0 && f.Required {
			c.require(v, "signatureImageBase64", fmt.Sprintf("is required for a %s field", f.Type))
		}
		return "", len(v.image) > 0
	case len(v.image) > 0:
		c.addAt(v, "signatureImageBase64", ruleType, fmt.Sprintf("is only for signature, initial and stamp fields; a %s field takes textValue", f.Type))
		return "", false
	case f.Type == FieldCheckbox:
		checked, ok := parseCheckbox(v.text)
		switch {
		case !ok:
			c.add(v, ruleType, "must be true or false")
		case f.Required && !checked && v.at < 0:
			c.require(v, "", "")
		case f.Required && !checked:
			c.add(v, ruleRequired, "this box must be checked")
		}
		if checked {
			return "true", true
		}
		return "false", ok && v.text != ""
	case f.Type == FieldRadio:
		checked, ok := parseCheckbox(v.text)
		if !ok {
			c.add(v, ruleType, `must be "true" if this option is selected; otherwise it must be "false" or empty`)
		}
		return "true", checked
	case v.empty():
		if f.Required {
			c.require(v, "textValue", "is required")
		}
		return "", false
	}
	problems := f.checkText(v.text)
	for _, problem := range problems {
		c.add(v, problem.rule, "%s", problem.text)
	}
	if len(problems) == 0 {
		c.checkFit(v)
	}
	return v.text, true
}

// checkGroups checks that each required group of radio fields has exactly one choice, and every other group at most
// one.
func (c *valueCheck) checkGroups(visible map[string]bool) {
	type group struct {
		first    *entry
		required bool
		chosen   int
	}
	groups := make(map[string]*group)
	var names []string
	for _, v := range c.entries {
		if v.field.Type != FieldRadio || !visible[v.field.ID.String()] {
			continue
		}
		name := v.field.Attributes.Group
		g := groups[name]
		if g == nil {
			g = &group{first: v}
			groups[name], names = g, append(names, name)
		}
		g.required = g.required || v.field.Required
		if !v.empty() {
			g.chosen++
		}
	}
	for _, name := range names {
		switch g := groups[name]; {
		case g.chosen > 1:
			c.add(g.first, ruleGroup, "only one option in the group %s can be selected", name)
		case g.chosen == 0 && g.required:
			c.note(g.first, ruleRequired, "a choice in the group "+name+" is required")
			c.p.Add("fields", "a choice in the group %s is required", name)
		}
	}
}

func parseCheckbox(s string) (checked, ok bool) {
	switch strings.ToLower(strings.TrimSpace(s)) {
	case "true", "1", "yes", "on", "checked", "x", "✓":
		return true, true
	case "", "false", "0", "no", "off", "unchecked":
		return false, true
	}
	return false, false
}

// Checked reports whether a value means that the checkbox or radio field is selected.
func (f *Field) Checked(value string) bool { return f.Type.choice() && value == "true" }

// ChosenName returns the name that the sender assigned to the field, or "" if there is none.
func (f *Field) ChosenName() string {
	if !f.Attributes.Named {
		return ""
	}
	return f.Name
}

// Cells returns the number of one-character cells of the field, or zero if the field is not divided into cells.
func (f *Field) Cells() int {
	if !f.Attributes.Comb {
		return 0
	}
	return f.Attributes.MaxLength
}
