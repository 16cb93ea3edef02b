package models

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"countersign/internal/plaintext"
)

// variable matches a variable in a template's text, which has the form {{name}} with optional spaces inside the braces.
var variable = regexp.MustCompile(`\{\{ *([A-Za-z0-9_.-]{1,64}) *\}\}`)

// maxVariable is the maximum length of a variable's value, in characters.
const maxVariable = 2000

// variablesIn returns the names of the variables in a text, in order and with repetitions.
func variablesIn(text *string) []string {
	return mapSlice(variable.FindAllStringSubmatch(Deref(text, ""), -1), func(found []string) string { return found[1] })
}

// Variables returns the distinct names of the variables in the texts of a template.
func (c *TemplateContent) Variables() []string {
	names := []string{}
	for _, name := range append(variablesIn(c.Subject), variablesIn(c.Message)...) {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// checkTemplateText records the problems with a template's text. A text without variables must be valid for an
// envelope.
func checkTemplateText(p Problems, path string, text *string, check func(Problems, *string)) {
	switch {
	case text == nil:
	case hasBraces(variable.ReplaceAllString(*text, "")):
		p.Add(path, "has {{ or }} without a variable: use {{name}}, where the name is 1 to 64 of the characters A-Z a-z 0-9 _ . -")
	case len(variablesIn(text)) == 0:
		check(p, text)
	default:
		CheckParagraph(p, path, *text, 0, maxTemplateText)
	}
}

func hasBraces(text string) bool { return strings.Contains(text, "{{") || strings.Contains(text, "}}") }

// substitution replaces variables in texts with their values, and records a problem for each variable without a value.
type substitution struct {
	p      Problems
	values map[string]string
}

// text returns a string of the template with its variables replaced by their values. Braces in values are not replaced.
func (s substitution) text(of string, text *string) *string {
	if text == nil {
		return nil
	}
	out := variable.ReplaceAllStringFunc(*text, func(found string) string {
		name := variable.FindStringSubmatch(found)[1]
		value, ok := s.values[name]
		if !ok {
			s.p.addFirst("variables."+name, fmt.Sprintf("is required: the template's %s has {{%s}}", of, name))
		}
		return value
	})
	return new(plaintext.Visible(out))
}

// check records the problems with the values, regardless of the texts that contain their variables.
func (s substitution) check(known []string) {
	names := make(map[string]bool, len(known))
	for _, name := range known {
		names[name] = true
	}
	for name, value := range s.values {
		if !names[name] {
			s.p.addFirst("variables."+plaintext.Strip(name), "is not a variable of the template")
			continue
		}
		CheckParagraph(s.p, "variables."+name, value, 0, maxVariable)
	}
}
