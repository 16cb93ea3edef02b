package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"countersign/clients/go/api"
)

// A template is stored in a directory that contains the template's document and templateFile, which describes the
// template.
const (
	templateFile    = "template.yaml"
	maxTemplateFile = 4 << 20
)

// templateOrder is the order in which members are written to a file.
var templateOrder = []string{
	"name", "externalId", "document", "subject", "message", "expiresInDays", "reminderHours", "metadata", "origin", "roles", "fields",
	"role", "kind", "routingOrder", "authMethod", "type", "page", "x", "y", "w", "h",
}

type templateSource struct {
	data     map[string]any // a TemplateRequest without tenantId
	document string         // path of the PDF
}

// readTemplateDir reads the directory of a template. The file may contain the members of POST /v1/templates except
// tenantId, and the member "document", which is the name of the PDF.
func readTemplateDir(dir string) (*templateSource, error) {
	path := filepath.Join(dir, templateFile)
	b, err := readFile(path, maxTemplateFile)
	if err != nil {
		return nil, err
	}
	var data map[string]any
	if err := yaml.Unmarshal(b, &data); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if data == nil {
		return nil, fmt.Errorf("%s is empty", path)
	}
	for _, name := range []string{"tenantId", "fromEnvelope"} {
		if _, there := data[name]; there {
			return nil, fmt.Errorf("%s: %s is not allowed in a file: use --tenant", path, name)
		}
	}
	s := &templateSource{data: plainDates(data).(map[string]any)} //nolint:forcetypeassert // the result for a map is always a map
	document, err := s.findDocument(dir)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	s.document = document
	if err := checkTemplateMembers(s.data); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if _, there := s.data["externalId"]; !there { // otherwise each push would create another template
		abs, err := filepath.Abs(dir)
		if err != nil {
			return nil, err
		}
		s.data["externalId"] = filepath.Base(abs)
	}
	return s, nil
}

// findDocument removes the member "document" from the data, and returns the path of the PDF. The default is the only
// PDF in the directory.
func (s *templateSource) findDocument(dir string) (string, error) {
	named, there := s.data["document"]
	delete(s.data, "document")
	if there {
		name, ok := named.(string)
		if !ok || name == "" || !filepath.IsLocal(name) {
			return "", errors.New("document must be the name of a PDF in the folder")
		}
		return filepath.Join(dir, name), nil
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return "", err
	}
	var found []string
	for _, e := range entries {
		if strings.EqualFold(filepath.Ext(e.Name()), ".pdf") {
			found = append(found, filepath.Join(dir, e.Name()))
		}
	}
	if len(found) != 1 {
		return "", fmt.Errorf("the folder has %d PDFs: set document to one of them", len(found))
	}
	return found[0], nil
}

// checkTemplateMembers returns an error if there are unknown members, because the service would ignore them.
func checkTemplateMembers(data map[string]any) error {
	b, err := json.Marshal(data)
	if err != nil {
		return err
	}
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.DisallowUnknownFields()
	var req api.TemplateRequest
	if err := dec.Decode(&req); err != nil {
		return errors.New(strings.TrimPrefix(err.Error(), "json: "))
	}
	return nil
}

// plainDates converts times back to dates, because the YAML parser returns dates as times.
func plainDates(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for k, e := range v {
			v[k] = plainDates(e)
		}
	case []any:
		for i, e := range v {
			v[i] = plainDates(e)
		}
	case time.Time:
		return v.Format(time.DateOnly)
	}
	return v
}

// templateYAML returns a template in the format that `template push` accepts. The parameter answer is the service's raw
// response, and document is the name of the PDF.
func templateYAML(t *api.Template, answer []byte, document string) ([]byte, error) {
	b, err := json.Marshal(t)
	if err != nil {
		return nil, err
	}
	var data map[string]any
	if err := json.Unmarshal(b, &data); err != nil {
		return nil, err
	}
	for _, name := range []string{"id", "tenantId", "version", "versions", "createdAt", "createdBy", "updatedAt", "archivedAt", "documents", "variables"} {
		delete(data, name)
	}
	data["document"] = document
	data["origin"] = api.TemplateRequestOriginTopLeft // the service always responds with this origin, regardless of the tenant's default
	for _, list := range []string{"fields", "roles"} {
		members, _ := data[list].([]any)
		for _, m := range members {
			if m, ok := m.(map[string]any); ok {
				delete(m, "documentId")
				dropDefaults(m)
			}
		}
	}
	dropDefaults(data)
	// For this member, null means no deadline, and an absent member means the tenant's default. The client decodes both
	// in the same way, so read the raw response.
	var raw map[string]json.RawMessage
	if err := json.Unmarshal(answer, &raw); err != nil {
		return nil, err
	}
	if string(raw["expiresInDays"]) == "null" {
		data["expiresInDays"] = nil
	}
	if b, err = json.Marshal(data); err != nil {
		return nil, err
	}
	var node yaml.Node // JSON is valid YAML
	if err := yaml.Unmarshal(b, &node); err != nil {
		return nil, err
	}
	tidyYAML(&node, 0)
	var out bytes.Buffer
	enc := yaml.NewEncoder(&out)
	enc.SetIndent(2)
	if err := errors.Join(enc.Encode(&node), enc.Close()); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

func dropDefaults(m map[string]any) {
	for name, v := range m {
		switch list := v.(type) {
		case nil:
			delete(m, name)
		case map[string]any:
			if len(list) == 0 {
				delete(m, name)
			}
		}
	}
	for name, usual := range map[string]any{"notify": true, "allowDelegation": false, "kind": "signer"} {
		if m[name] == usual {
			delete(m, name)
		}
	}
}

// tidyYAML sorts members by templateOrder, and formats each role and field on a single line.
func tidyYAML(n *yaml.Node, depth int) {
	n.Style = 0
	if n.Kind == yaml.MappingNode {
		type member struct{ key, value *yaml.Node }
		members := make([]member, 0, len(n.Content)/2)
		for i := 0; i+1 < len(n.Content); i += 2 {
			members = append(members, member{n.Content[i], n.Content[i+1]})
		}
		rank := func(m member) int {
			if i := slices.Index(templateOrder, m.key.Value); i >= 0 {
				return i
			}
			return len(templateOrder)
		}
		slices.SortStableFunc(members, func(a, b member) int { return rank(a) - rank(b) })
		n.Content = n.Content[:0]
		for _, m := range members {
			n.Content = append(n.Content, m.key, m.value)
		}
		if depth >= 3 { // a role or field
			n.Style = yaml.FlowStyle
		}
	}
	for _, c := range n.Content {
		tidyYAML(c, depth+1)
	}
}
