// Package contractcheck compares responses with the OpenAPI document of the service. It compiles each schema only once.
// The kin-openapi filter, which validates the requests, would compile the schemas and headers again for each response,
// and use a third of the CPU time of the API tests.
package contractcheck

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// resource is the document's name in references to its schemas.
const resource = "contract.json"

// Answers validates responses. It is safe for concurrent use.
type Answers struct {
	mu       sync.Mutex
	compiler *jsonschema.Compiler
	compiled map[*openapi3.SchemaRef]*jsonschema.Schema
}

// NewAnswers returns a validator for the responses that a document describes.
func NewAnswers(doc *openapi3.T) (*Answers, error) {
	document, err := unmarshalled(doc)
	if err != nil {
		return nil, err
	}
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.AssertFormat()
	c.RegisterFormat(&jsonschema.Format{Name: "byte", Validate: func(v any) error {
		text, ok := v.(string)
		if !ok {
			return nil
		}
		return json.Unmarshal([]byte(strconv.Quote(text)), new([]byte))
	}})
	if err := c.AddResource(resource, document); err != nil {
		return nil, err
	}
	return &Answers{compiler: c, compiled: make(map[*openapi3.SchemaRef]*jsonschema.Schema)}, nil
}

func unmarshalled(v any) (any, error) {
	b, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	return jsonschema.UnmarshalJSON(bytes.NewReader(b))
}

// Validate returns an error if the status, headers, content type or body of an operation's response differs from the
// contract.
func (a *Answers) Validate(operation *openapi3.Operation, status int, header http.Header, body []byte) error {
	ref := operation.Responses.Status(status)
	if ref == nil {
		ref = operation.Responses.Default()
	}
	if ref == nil || ref.Value == nil {
		return fmt.Errorf("the contract does not define the status %d", status)
	}
	for name, h := range ref.Value.Headers {
		if err := a.header(h.Value, header.Get(name)); err != nil {
			return fmt.Errorf("header %s: %w", name, err)
		}
	}
	if len(ref.Value.Content) == 0 {
		return nil
	}
	kind := header.Get("Content-Type")
	media := ref.Value.Content.Get(kind)
	if media == nil {
		return fmt.Errorf("the contract does not define the content type %q", kind)
	}
	if media.Schema == nil {
		return nil
	}
	var value any = string(body)
	if base, _, _ := strings.Cut(kind, ";"); base == "application/json" || strings.HasSuffix(base, "+json") {
		var err error
		if value, err = jsonschema.UnmarshalJSON(bytes.NewReader(body)); err != nil {
			return fmt.Errorf("the body is not valid JSON: %w", err)
		}
	} else if !utf8.Valid(body) {
		value = "" // bytes of a file, whose schema has no further constraints
	}
	return a.value(media.Schema, value)
}

func (a *Answers) header(h *openapi3.Header, text string) error {
	switch {
	case text == "" && h.Required:
		return errors.New("is missing")
	case text == "" || h.Schema == nil:
		return nil
	}
	var value any = text
	if kind := h.Schema.Value.Type; kind != nil && !kind.Is(openapi3.TypeString) {
		if err := json.Unmarshal([]byte(text), &value); err != nil {
			return fmt.Errorf("%q is not of type %v", text, *kind)
		}
	}
	return a.value(h.Schema, value)
}

func (a *Answers) value(schema *openapi3.SchemaRef, value any) error {
	compiled, err := a.compile(schema)
	if err != nil {
		return err
	}
	return compiled.Validate(value)
}

func (a *Answers) compile(schema *openapi3.SchemaRef) (*jsonschema.Schema, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if compiled := a.compiled[schema]; compiled != nil {
		return compiled, nil
	}
	address := resource + schema.Ref
	if schema.Ref == "" {
		b, err := json.Marshal(schema.Value)
		if err != nil {
			return nil, err
		}
		b = bytes.ReplaceAll(b, []byte(`"$ref":"#/`), []byte(`"$ref":"`+resource+`#/`))
		document, err := jsonschema.UnmarshalJSON(bytes.NewReader(b))
		if err != nil {
			return nil, err
		}
		address = fmt.Sprintf("inline-%d.json", len(a.compiled))
		if err := a.compiler.AddResource(address, document); err != nil {
			return nil, err
		}
	}
	compiled, err := a.compiler.Compile(address)
	if err != nil {
		return nil, err
	}
	a.compiled[schema] = compiled
	return compiled, nil
}
