// Package docuseal parses DocuSeal templates, as returned by DocuSeal's API (GET /templates/{id}), and converts them to
// Countersign templates.
package docuseal

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// Template contains the parts of a DocuSeal template that are imported.
type Template struct {
	Name       string      `json:"name"`
	ExternalID string      `json:"external_id"`
	Schema     []Document  `json:"schema"` // the documents, in order
	Documents  []File      `json:"documents"`
	Submitters []Submitter `json:"submitters"`
	Fields     []Field     `json:"fields"`
}

// Document is a document of a template. The areas of fields refer to its UUID.
type Document struct {
	UUID string `json:"attachment_uuid"`
	Name string `json:"name"`
}

// File is the file name of a document.
type File struct {
	UUID     string `json:"uuid"`
	Filename string `json:"filename"`
}

// Submitter is a role that fills in fields.
type Submitter struct {
	UUID  string `json:"uuid"`
	Name  string `json:"name"`
	Order *int   `json:"order"` // starts at 0; nil means the index in the list
}

// Field is a field with one or more areas.
type Field struct {
	UUID        string      `json:"uuid"`
	Submitter   string      `json:"submitter_uuid"`
	Name        string      `json:"name"`
	Title       string      `json:"title"`
	Type        string      `json:"type"`
	Required    *bool       `json:"required"` // nil means true
	ReadOnly    bool        `json:"readonly"`
	Default     any         `json:"default_value"`
	Options     []Option    `json:"options"`
	Areas       []Area      `json:"areas"`
	Preferences Preferences `json:"preferences"`
	Validation  *Validation `json:"validation"`
	Conditions  []Condition `json:"conditions"`
}

// Option is an option of a choice field.
type Option struct {
	UUID  string `json:"uuid"`
	Value string `json:"value"`
}

// Area is an area on a page. Lengths are fractions of the displayed page, measured from its top left corner. Page
// indices start at 0.
type Area struct {
	Document  string  `json:"attachment_uuid"`
	Page      int     `json:"page"`
	X         float64 `json:"x"`
	Y         float64 `json:"y"`
	W         float64 `json:"w"`
	H         float64 `json:"h"`
	CellWidth float64 `json:"cell_w"`
	Option    string  `json:"option_uuid"`
}

// Preferences contains the appearance and formats of a field.
type Preferences struct {
	FontSize any    `json:"font_size"` // a number, or text that contains a number
	Align    string `json:"align"`
	Format   string `json:"format"`
}

// Validation is a constraint on the value of a field.
type Validation struct {
	Pattern string `json:"pattern"`
	Message string `json:"message"`
	Min     any    `json:"min"`
	Max     any    `json:"max"`
}

// Condition is a comparison with another field. All conditions of a field must be true, unless they are joined by the
// operation "or".
type Condition struct {
	Field     string `json:"field_uuid"`
	Action    string `json:"action"`
	Value     any    `json:"value"`
	Operation string `json:"operation"`
}

// maxTemplate is the maximum size of a template's JSON, in bytes, and maxFields is the maximum number of its fields.
const (
	maxTemplate = 8 << 20
	maxFields   = 2000
)

// Read parses a template.
func Read(r io.Reader) (*Template, error) {
	b, err := io.ReadAll(io.LimitReader(r, maxTemplate+1))
	switch {
	case err != nil:
		return nil, err
	case len(b) > maxTemplate:
		return nil, fmt.Errorf("the template is larger than %d MiB", maxTemplate>>20)
	}
	var t Template
	if err := json.Unmarshal(b, &t); err != nil {
		return nil, fmt.Errorf("the file is not a DocuSeal template as returned by GET /templates/{id}: %w", err)
	}
	switch {
	case len(t.Submitters) == 0:
		return nil, errors.New("the file is not a DocuSeal template: there are no submitters")
	case len(t.Schema) == 0:
		return nil, errors.New("the file is not a DocuSeal template: the schema lists no documents")
	case len(t.Fields) > maxFields:
		return nil, fmt.Errorf("the template has more than %d fields", maxFields)
	}
	return &t, nil
}

// FileNames returns the file names of the documents, in order.
func (t *Template) FileNames() []string {
	names := make([]string, len(t.Schema))
	for i, d := range t.Schema {
		names[i] = d.Name
		for _, f := range t.Documents {
			if f.UUID == d.UUID && f.Filename != "" {
				names[i] = f.Filename
			}
		}
		if !strings.HasSuffix(strings.ToLower(names[i]), ".pdf") {
			names[i] += ".pdf"
		}
	}
	return names
}
