package api_test

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/routers"

	"countersign/seal/admission"
	"countersign/seal/sandbox"
)

// untested lists the statuses and fields of the contract that do not appear in any response in the tests of this
// package.
var untested = map[string]bool{
	"VerifyReport.stampedAt":          true, // requires a time-stamp authority; tested in test/conformance
	"VerifiedRecord.attachments":      true, // tested in package seal
	"VerifiedRecord.signers.previous": true, // tested in package seal
	"PreparedFile.changes.detail":     true, // tested in package prepare

	// These require a busy renderer and sealed files. They are tested in test/conformance and seal/appearance.
	"POST /v1/verify/pages/{page} 409": true, "POST /v1/verify/pages/{page} 413": true,
	"POST /v1/verify/pages/{page} 503": true,

	// These require a running service that creates finished pages. They are tested in test/conformance.
	"VerifiedRecord.appearance.finished": true, "VerifiedRecord.appearance.finished.documentId": true, "VerifiedRecord.appearance.finished.level": true,
	"VerifiedRecord.appearance.finished.page": true, "VerifiedRecord.appearance.finished.sha256": true, "VerifiedRecord.appearance.finished.signerId": true,

	// these lists are never divided into pages
	"ClientSecretList.nextCursor": true, "ConsoleSessionList.nextCursor": true, "ConsoleWebhookList.nextCursor": true, "PasskeyList.nextCursor": true,
	"RecipientSuggestions.nextCursor": true, "UserList.nextCursor": true,
}

// coverageOf records the statuses and fields that appear in test responses.
var coverageOf = &coverage{seen: make(map[string]bool)}

type coverage struct {
	mu   sync.Mutex
	seen map[string]bool // such as "GET /v1/envelopes 200" or "Envelope.id"
}

// note records a request and its response.
func (s *coverage) note(t *testing.T, route *routers.Route, contentType string, body []byte, res *http.Response, answer []byte) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen[route.Method+" "+route.Path+" "+strconv.Itoa(res.StatusCode)] = true
	if r := route.Operation.Responses.Status(res.StatusCode); r != nil {
		if m := r.Value.Content.Get(res.Header.Get("Content-Type")); m != nil && m.Schema != nil {
			var v any
			_ = json.Unmarshal(answer, &v)
			s.walk("", m.Schema, v)
		}
	}
	if op := route.Operation.RequestBody; op != nil && res.StatusCode < 300 {
		t, params, _ := mime.ParseMediaType(contentType)
		m := op.Value.Content.Get(t)
		if m == nil || m.Schema == nil {
			return
		}
		var v any
		switch t {
		case "application/json":
			_ = json.Unmarshal(body, &v)
		case "application/x-www-form-urlencoded":
			form, _ := url.ParseQuery(string(body))
			members := object{}
			for name := range form {
				members[name] = true
			}
			v = members
		case "multipart/form-data":
			members := object{}
			for mr := multipart.NewReader(bytes.NewReader(body), params["boundary"]); ; {
				p, err := mr.NextPart()
				if err != nil {
					break
				}
				members[p.FormName()] = true
				if p.FormName() == "data" {
					b, _ := io.ReadAll(p)
					var request any
					_ = json.Unmarshal(b, &request)
					name := dataSchemas[m.Schema.Ref[strings.LastIndex(m.Schema.Ref, "/")+1:]]
					s.walk("", &openapi3.SchemaRef{Ref: "/" + name, Value: schemaNamed(name)}, request)
				}
			}
			v = members
		}
		s.walk("", m.Schema, v)
	}
}

// dataSchemas maps the schema of each form to the schema of its part "data".
var dataSchemas = map[string]string{"EnvelopeForm": "EnvelopeRequest", "TemplateForm": "TemplateRequest", "TemplateEditForm": "TemplateEdit"}

func schemaNamed(name string) *openapi3.Schema {
	doc, err := contractDocument()
	if err != nil {
		return &openapi3.Schema{}
	}
	return doc.Components.Schemas[name].Value
}

// walk records each member that is present and not null, in the form schema.member.
func (s *coverage) walk(name string, ref *openapi3.SchemaRef, v any) {
	if ref.Ref != "" {
		name = ref.Ref[strings.LastIndex(ref.Ref, "/")+1:]
	}
	for _, alt := range slices.Concat(ref.Value.OneOf, ref.Value.AnyOf, ref.Value.AllOf) {
		if alt.Value.VisitJSON(v, openapi3.EnableJSONSchema2020()) == nil {
			s.walk(name, alt, v)
		}
	}
	switch v := v.(type) {
	case object:
		for member, value := range v {
			if sub := ref.Value.Properties[member]; sub != nil && value != nil {
				s.seen[name+"."+member] = true
				s.walk(name+"."+member, sub, value)
			}
		}
	case []any:
		for _, item := range v {
			if ref.Value.Items != nil {
				s.walk(name, ref.Value.Items, item)
			}
		}
	}
}

// interfacePromises returns the statuses and fields that the contract defines.
func interfacePromises(doc *openapi3.T) (statuses, fields []string) {
	for path, item := range doc.Paths.Map() {
		for method, op := range item.Operations() {
			for status := range op.Responses.Map() {
				if what := method + " " + path + " " + status; !untested[what] {
					statuses = append(statuses, what)
				}
			}
		}
	}
	var members func(name string, s *openapi3.Schema)
	members = func(name string, s *openapi3.Schema) {
		for member, ref := range s.Properties {
			if untested[name+"."+member] {
				continue
			}
			fields = append(fields, name+"."+member)
			sub := ref.Value
			if sub.Items != nil && ref.Ref == "" {
				ref = sub.Items
				sub = ref.Value
			}
			if ref.Ref == "" {
				members(name+"."+member, sub)
			}
		}
	}
	for name, ref := range doc.Components.Schemas {
		members(name, ref.Value)
	}
	slices.Sort(statuses)
	slices.Sort(fields)
	return statuses, fields
}

// TestMain checks, after all tests have run, that every status and field of the contract appeared in a response.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "validate-pdf" { // this process is a child of BenchmarkUpload
		os.Exit(sandbox.Serve(context.Background(), os.Stdin, os.Stdout, admission.Tasks()))
	}
	code := m.Run()
	whole := flag.Lookup("test.run").Value.String() == "" && flag.Lookup("test.skip").Value.String() == "" && flag.Lookup("test.list").Value.String() == ""
	if code == 0 && whole {
		if problems := coverageOf.missing(); len(problems) > 0 {
			fmt.Fprintf(os.Stderr, "--- FAIL: parts of the contract that no test covers\n    %s\nFAIL\n", strings.Join(problems, "\n    "))
			code = 1
		}
	}
	os.Exit(code)
}

// missing returns the statuses and fields of the contract that did not appear in any response.
func (s *coverage) missing() (problems []string) {
	doc, err := contractDocument()
	if err != nil {
		return []string{err.Error()}
	}
	statuses, fields := interfacePromises(doc)
	for _, what := range slices.Concat(statuses, fields) {
		if !s.seen[what] && !untested[what] {
			problems = append(problems, "no test receives "+what)
		}
	}
	return problems
}
