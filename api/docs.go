package api

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"html/template"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/gin-gonic/gin"
	"go.yaml.in/yaml/v3"
)

//go:embed openapi.yaml
var contract []byte

//go:embed docs.html
var docsTemplate string

// docsPolicy: the page is one file without scripts, and loads nothing.
const docsPolicy = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// openAPI serves the contract.
func (s *Server) openAPI(c *gin.Context) error {
	c.Data(http.StatusOK, "application/yaml; charset=utf-8", contract)
	return nil
}

// docs serves the contract for people.
func (s *Server) docs(c *gin.Context) error {
	page, err := s.docsPage()
	if err != nil {
		return err
	}
	c.Header("Content-Security-Policy", docsPolicy)
	c.Data(http.StatusOK, "text/html; charset=utf-8", page)
	return nil
}

// docsOperation is an endpoint as the page shows it.
type docsOperation struct {
	yamlOperation

	Method, Path string
}

type docsTag struct {
	Name       string
	Operations []docsOperation
}

// renderDocs turns the contract into a page.
func renderDocs() ([]byte, error) {
	var doc struct {
		Info       struct{ Title, Version, Description string }
		Tags       []struct{ Name string }
		Paths      map[string]map[string]yamlOperation
		Components struct {
			Schemas    map[string]any
			Parameters map[string]yamlParameter
			Responses  map[string]yamlResponse
		}
	}
	if err := yaml.Unmarshal(contract, &doc); err != nil {
		return nil, fmt.Errorf("read the contract: %w", err)
	}
	byTag := make(map[string][]docsOperation)
	for path, item := range doc.Paths {
		for method, op := range item {
			for i, p := range op.Parameters {
				if p.Ref != "" {
					op.Parameters[i] = doc.Components.Parameters[refName(p.Ref)]
				}
			}
			for status, r := range op.Responses {
				if r.Ref != "" {
					op.Responses[status] = doc.Components.Responses[refName(r.Ref)]
				}
			}
			byTag[op.Tags[0]] = append(byTag[op.Tags[0]], docsOperation{op, strings.ToUpper(method), path})
		}
	}
	var tags []docsTag
	for _, t := range doc.Tags {
		ops := byTag[t.Name]
		slices.SortFunc(ops, func(a, b docsOperation) int { return strings.Compare(a.Path+a.Method, b.Path+b.Method) })
		tags = append(tags, docsTag{t.Name, ops})
	}
	schemas := make(map[string]string, len(doc.Components.Schemas))
	for name, v := range doc.Components.Schemas {
		b, err := yaml.Marshal(v)
		if err != nil {
			return nil, fmt.Errorf("show schema %s: %w", name, err)
		}
		schemas[name] = strings.ReplaceAll(string(b), "#/components/schemas/", "")
	}
	t, err := template.New("docs").Funcs(template.FuncMap{"line": schemaInOneLine}).Parse(docsTemplate)
	if err != nil {
		return nil, fmt.Errorf("docs page: %w", err)
	}
	var page bytes.Buffer
	err = t.Execute(&page, map[string]any{"Info": doc.Info, "Tags": tags, "Schemas": schemas})
	if err != nil {
		return nil, fmt.Errorf("docs page: %w", err)
	}
	return page.Bytes(), nil
}

type yamlOperation struct {
	Summary, Description string
	Tags                 []string
	Security             []any
	Parameters           []yamlParameter
	RequestBody          struct{ Content map[string]yamlMedia } `yaml:"requestBody"`
	Responses            map[string]yamlResponse
}

type yamlParameter struct {
	Ref      string `yaml:"$ref"`
	Name, In string
	Required bool
	Schema   any
}

type yamlMedia struct{ Schema any }

type yamlResponse struct {
	Ref         string `yaml:"$ref"`
	Description string
	Content     map[string]yamlMedia
}

// Schema is that of the body of a success, in one line.
func (r yamlResponse) Schema() string {
	for _, t := range slices.Sorted(maps.Keys(r.Content)) {
		if t != "application/problem+json" {
			return schemaInOneLine(r.Content[t].Schema)
		}
	}
	return ""
}

func refName(ref string) string { return ref[strings.LastIndex(ref, "/")+1:] }

// schemaInOneLine shows a schema in a line: the name of one that has one.
func schemaInOneLine(schema any) string {
	if m, ok := schema.(map[string]any); ok {
		if ref, ok := m["$ref"].(string); ok {
			return refName(ref)
		}
	}
	if schema == nil {
		return ""
	}
	b, err := json.Marshal(schema)
	if err != nil {
		return ""
	}
	return strings.ReplaceAll(strings.ReplaceAll(string(b), "#/components/schemas/", ""), `"`, "")
}
