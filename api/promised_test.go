package api_test

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"maps"
	"mime"
	"mime/multipart"
	"net/http"
	"net/url"
	"os"
	"regexp"
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

// coveragePage lists what a client can rely on, with the tests that prove it. Two of
// its tables are written by these tests, from what they saw:
//
//	COUNTERSIGN_TEST_UPDATE=1 go test ./api
//
// and every later run checks that each test named there still shows it, and
// that nothing of the contract is missing.
const coveragePage = "../docs/interface.md"

// undocumented is what no test of this package can bring about in its time; the page
// says who does.
var undocumented = func() map[string]bool {
	return map[string]bool{
		"VerifyReport.stampedAt": true, // by a time-stamp authority

		"VerifiedRecord.attachments":      true, // package seal shows them
		"VerifiedRecord.signers.previous": true, // and these
		"PreparedFile.changes.detail":     true, // no kind of change has one yet
	}
}()

// coverageOf notes which test was answered with which status and which fields.
var coverageOf = &coverage{by: make(map[string]map[string]bool)}

type coverage struct {
	mu sync.Mutex
	by map[string]map[string]bool // "GET /v1/envelopes 200" or "Envelope.id" → tests
}

func (s *coverage) add(what, test string) {
	if s.by[what] == nil {
		s.by[what] = make(map[string]bool)
	}
	s.by[what][test] = true
}

// note takes down a request and its answer.
func (s *coverage) note(t *testing.T, route *routers.Route, contentType string, body []byte, res *http.Response, answer []byte) {
	t.Helper()
	test, _, _ := strings.Cut(t.Name(), "/")
	s.mu.Lock()
	defer s.mu.Unlock()
	s.add(route.Method+" "+route.Path+" "+strconv.Itoa(res.StatusCode), test)
	if r := route.Operation.Responses.Status(res.StatusCode); r != nil {
		if m := r.Value.Content.Get(res.Header.Get("Content-Type")); m != nil && m.Schema != nil {
			var v any
			_ = json.Unmarshal(answer, &v)
			s.walk(test, "", m.Schema, v)
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
					s.walk(test, "", &openapi3.SchemaRef{Ref: "/" + name, Value: schemaNamed(name)}, request)
				}
			}
			v = members
		}
		s.walk(test, "", m.Schema, v)
	}
}

// dataSchemas are what the part "data" of each form holds.
var dataSchemas = map[string]string{"EnvelopeForm": "EnvelopeRequest", "TemplateForm": "TemplateRequest", "TemplateEditForm": "TemplateEdit"}

func schemaNamed(name string) *openapi3.Schema {
	doc, err := contractDocument()
	if err != nil {
		return &openapi3.Schema{}
	}
	return doc.Components.Schemas[name].Value
}

// walk notes the members that are there and not null, as schema.member.
func (s *coverage) walk(test, name string, ref *openapi3.SchemaRef, v any) {
	if ref.Ref != "" {
		name = ref.Ref[strings.LastIndex(ref.Ref, "/")+1:]
	}
	for _, alt := range slices.Concat(ref.Value.OneOf, ref.Value.AnyOf) {
		if alt.Value.VisitJSON(v, openapi3.EnableJSONSchema2020()) == nil {
			s.walk(test, name, alt, v)
		}
	}
	switch v := v.(type) {
	case object:
		for member, value := range v {
			if sub := ref.Value.Properties[member]; sub != nil && value != nil {
				s.add(name+"."+member, test)
				s.walk(test, name+"."+member, sub, value)
			}
		}
	case []any:
		for _, item := range v {
			if ref.Value.Items != nil {
				s.walk(test, name, ref.Value.Items, item)
			}
		}
	}
}

// interfacePromises lists the statuses and the fields of the contract.
func interfacePromises(doc *openapi3.T) (statuses, fields []string) {
	for path, item := range doc.Paths.Map() {
		for method, op := range item.Operations() {
			for status := range op.Responses.Map() {
				if what := method + " " + path + " " + status; !undocumented[what] {
					statuses = append(statuses, what)
				}
			}
		}
	}
	var members func(name string, s *openapi3.Schema)
	members = func(name string, s *openapi3.Schema) {
		for member, ref := range s.Properties {
			if undocumented[name+"."+member] {
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

// TestMain checks, after all tests have run, that they showed what the page
// says that they show.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "validate-pdf" { // a process of BenchmarkUpload
		os.Exit(sandbox.Serve(context.Background(), os.Stdin, os.Stdout, admission.Tasks()))
	}
	code := m.Run()
	whole := flag.Lookup("test.run").Value.String() == "" && flag.Lookup("test.skip").Value.String() == "" && flag.Lookup("test.list").Value.String() == ""
	if code == 0 && whole {
		if problems := coverageOf.check(os.Getenv("COUNTERSIGN_TEST_UPDATE") != ""); len(problems) > 0 {
			fmt.Fprintf(os.Stderr, "--- FAIL: %s (COUNTERSIGN_TEST_UPDATE=1 writes its tables anew)\n    %s\nFAIL\n", coveragePage, strings.Join(problems, "\n    "))
			code = 1
		}
	}
	os.Exit(code)
}

// check compares the page with what was shown, or writes it.
func (s *coverage) check(update bool) (problems []string) {
	doc, err := contractDocument()
	if err != nil {
		return []string{err.Error()}
	}
	text, err := os.ReadFile(coveragePage)
	if err != nil {
		return []string{err.Error()}
	}
	statuses, fields := interfacePromises(doc)
	for _, what := range slices.Concat(statuses, fields) {
		if len(s.by[what]) == 0 {
			problems = append(problems, "no test shows "+what)
		}
	}
	if update {
		text = replaceTable(text, "statuses", s.table(statuses, " "))
		text = replaceTable(text, "fields", s.table(fields, "."))
		if err := os.WriteFile(coveragePage, text, 0o600); err != nil {
			problems = append(problems, err.Error())
		}
		return problems
	}
	written := rows(string(text))
	for _, what := range slices.Concat(statuses, fields) {
		if test, ok := written[what]; !ok {
			problems = append(problems, "the page does not list "+what)
		} else if !s.by[what][test] {
			problems = append(problems, test+" does not show "+what)
		}
		delete(written, what)
	}
	for what := range written {
		problems = append(problems, "the contract does not know "+what)
	}
	slices.Sort(problems)
	return problems
}

// table writes a row for everything that has the same beginning, with as few
// tests as show all of it.
func (s *coverage) table(all []string, sep string) string {
	rest := make(map[string][]string)
	for _, what := range all {
		if len(s.by[what]) > 0 {
			head, tail := cut(what, sep)
			rest[head] = append(rest[head], tail)
		}
	}
	var out strings.Builder
	for _, head := range slices.Sorted(maps.Keys(rest)) {
		var cells []string
		for left := rest[head]; len(left) > 0; {
			shows := make(map[string][]string)
			for _, tail := range left {
				for test := range s.by[head+sep+tail] {
					shows[test] = append(shows[test], tail)
				}
			}
			best := slices.MinFunc(slices.Collect(maps.Keys(shows)), func(a, b string) int {
				if n := len(shows[b]) - len(shows[a]); n != 0 {
					return n
				}
				return strings.Compare(a, b)
			})
			cells = append(cells, strings.Join(shows[best], ", ")+": "+best)
			left = slices.DeleteFunc(left, func(tail string) bool { return s.by[head+sep+tail][best] })
		}
		fmt.Fprintf(&out, "| `%s` | %s |\n", head, strings.Join(cells, "; "))
	}
	return out.String()
}

// cut splits "GET /v1/x 200" before the status and "Envelope.a.b" after the schema.
func cut(what, sep string) (head, tail string) {
	i := strings.Index(what, sep)
	if sep == " " {
		i = strings.LastIndex(what, sep)
	}
	return what[:i], what[i+1:]
}

func replaceTable(text []byte, name, table string) []byte {
	begin, end := "<!-- "+name+" -->\n", "<!-- end of "+name+" -->"
	re := regexp.MustCompile("(?s)" + begin + "(\\|[^\n]*\n\\|[-|]*\n).*?" + end)
	return re.ReplaceAll(text, []byte(begin+"${1}"+strings.ReplaceAll(table, "$", "$$")+end))
}

// rows reads both tables: what is shown, and by which test.
func rows(text string) map[string]string {
	out := make(map[string]string)
	for _, name := range []string{"statuses", "fields"} {
		_, table, _ := strings.Cut(text, "<!-- "+name+" -->")
		table, _, _ = strings.Cut(table, "<!-- end of "+name+" -->")
		sep := map[string]string{"statuses": " ", "fields": "."}[name]
		for line := range strings.Lines(table) {
			head, cells, ok := strings.Cut(strings.TrimPrefix(line, "| `"), "` | ")
			if !ok {
				continue
			}
			for cell := range strings.SplitSeq(strings.TrimSuffix(strings.TrimSpace(cells), " |"), "; ") {
				tails, test, _ := strings.Cut(cell, ": ")
				for tail := range strings.SplitSeq(tails, ", ") {
					out[head+sep+tail] = test
				}
			}
		}
	}
	return out
}
