package api

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"countersign/models"
	"countersign/store/blob"
)

// request returns a gin context for a request.
func request(method, target, contentType, body string) (*gin.Context, *httptest.ResponseRecorder) {
	gin.SetMode(gin.ReleaseMode)
	w := httptest.NewRecorder()
	c, _ := gin.CreateTestContext(w)
	c.Request = httptest.NewRequest(method, target, strings.NewReader(body)) //nolint:noctx // the server creates requests in the same way
	if contentType != "" {
		c.Request.Header.Set("Content-Type", contentType)
	}
	return c, w
}

func codeOf(t *testing.T, err error) string {
	t.Helper()
	var rejected *models.Error
	require.ErrorAs(t, err, &rejected)
	return rejected.Code
}

// objectOf parses an object that must be valid.
func objectOf(t *testing.T, text string) *object {
	t.Helper()
	o, err := parseObject([]byte(text), "")
	require.NoError(t, err)
	return o
}

// TestBodies_WithoutAnObject_AreRejected checks that the error describes why the body is not a valid JSON object.
func TestBodies_WithoutAnObject_AreRejected(t *testing.T) {
	t.Parallel()
	deep := func(n int) string { return `{"a":` + strings.Repeat("[", n-1) + strings.Repeat("]", n-1) + "}" }
	for body, says := range map[string]string{
		"": "not valid JSON (at byte 0)", "[]": "must be a JSON object", "null": "must be a JSON object", `"x"`: "must be a JSON object", "{": "not valid JSON (at byte 1)",
		`{"a":1 "b":2}`: "not valid JSON (at byte 8)", "{'a':1}": "not valid JSON (at byte 2)", `{"a":[1,2}`: "not valid JSON (at byte 10)", `{"a":1,`: "not valid JSON (at byte 7)",
		"{} {}": "more than one", "{}]": "more than one", "{\"a\":\"\xff\"}": "not valid UTF-8", deep(33): "nested more than 32 levels",
	} {
		for name, what := range map[string]string{"": "The body", "data": "The part data"} {
			_, err := parseObject([]byte(body), name)
			require.Equal(t, "invalid_json", codeOf(t, err))
			require.ErrorContains(t, err, says, "%q", body)
			require.ErrorContains(t, err, what)
		}
	}
	for _, body := range []string{"{}", " {} \n", deep(32), `{"a":"[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[["}`, `{"a":"\"[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[["}`, `{"a":"\\","b":[]}`} {
		_, err := parseObject([]byte(body), "")
		require.NoError(t, err, body)
	}
}

// TestReadingBodies checks the handling of a body's declared type and size, and of an optional body that is absent.
func TestReadingBodies(t *testing.T) {
	t.Parallel()
	blobs, err := blob.OpenDir(t.TempDir())
	require.NoError(t, err)
	for _, tt := range []struct {
		contentType, body string
		optional          bool
		code              string
	}{
		{"application/json", "{}", false, ""},
		{"application/json; charset=utf-8", "{}", false, ""},
		{"application/problem+json", "{}", false, ""},
		{"application/merge-patch+json", "{}", false, ""},
		{"", "{}", false, ""},
		{"text/plain", "{}", false, "content_type"},
		{"text/plain", "{}", true, "content_type"},
		{"text/plain", "", true, ""},
		{"text/plain", " \n", true, ""},
		{"application/json", " null ", true, ""},
		{"application/json", "null", false, "invalid_json"},
		{"text/plain", "null", true, "content_type"},
		{"", "", true, ""},
		{"", "", false, "invalid_json"},
		{"application/json", " ", false, "invalid_json"},
		{"application/json", `{"a":1}` + strings.Repeat(" ", 93), false, ""},
		{"application/json", `{"a":1}` + strings.Repeat(" ", 94), false, "request_too_large"},
		{"application/json", strings.Repeat(" ", 101), true, "request_too_large"},
	} {
		c, _ := request(http.MethodPost, "/", tt.contentType, tt.body)
		server := &shared{blobs: blobs, bodyMemory: newBodyMemory(0)}
		held := server.newRequestBody(c, route{body: bodyLimit{all: 100}})
		o, err := readObject(c, tt.optional)
		held.release()
		if tt.code == "" {
			require.NoError(t, err, "%+v", tt)
			require.NotNil(t, o.p)
			continue
		}
		require.Equal(t, tt.code, codeOf(t, err), "%+v", tt)
	}
}

// TestMembers reads members of each type from each kind of JSON value.
func TestMembers(t *testing.T) {
	t.Parallel()
	id := uuid.New()
	values := map[string]string{
		"absent": "", "null": "null", "text": `"x"`, "empty": `""`, "number": "7", "half": "1.5", "huge": "1e999", "big": "2147483648", "least": "-2147483647", "negative": "-3",
		"true": "true", "list": "[]", "object": "{}", "id": `"` + id.String() + `"`, "bare": `"` + strings.ReplaceAll(id.String(), "-", "") + `"`, "urn": `"urn:uuid:` + id.String() + `"`,
	}
	problems := func(read func(o *object)) map[string]string {
		out := map[string]string{}
		for name, v := range values {
			text := `{"other":1}`
			if v != "" {
				text = `{"m":` + v + `}`
			}
			o := objectOf(t, text)
			o.path = "at."
			read(o)
			for path, all := range o.p {
				require.Equal(t, "at.m", path)
				require.Len(t, all, 1)
				out[name] = all[0]
			}
		}
		return out
	}
	but := func(what string, good ...string) map[string]string {
		out := map[string]string{}
		for name := range values {
			out[name] = what
		}
		for _, g := range good {
			delete(out, g)
		}
		return out
	}
	texts := []string{"text", "empty", "id", "bare", "urn"}
	with := func(m map[string]string, what string, names ...string) map[string]string {
		for _, n := range names {
			m[n] = what
		}
		return m
	}
	nothing := []string{"absent", "null"}
	require.Equal(t, with(but("must be a string", texts...), "is required", nothing...), problems(func(o *object) { o.str("m") }))
	require.Equal(t, but("must be a string", append(texts, nothing...)...), problems(func(o *object) { o.optStr("m") }))
	numbers := []string{"number", "half", "big", "least", "negative"}
	require.Equal(t, with(with(but("must be a number", numbers...), "is required", nothing...), "must be a number within the range of a 64-bit float", "huge"), problems(func(o *object) { o.num("m") }))
	whole := []string{"number", "least", "negative"}
	require.Equal(t, but("must be a whole number", append(whole, nothing...)...), problems(func(o *object) { o.optInt("m") }))
	require.Equal(t, with(but("must be a whole number", whole...), "is required", nothing...), problems(func(o *object) { o.int("m") }))
	require.Equal(t, but("must be true or false", append(nothing, "true")...), problems(func(o *object) { o.flag("m", false) }))
	ids := with(with(but("must be a UUID", "id"), "must be a string", "number", "half", "huge", "big", "least", "negative", "true", "list", "object"), "is required", nothing...)
	require.Equal(t, ids, problems(func(o *object) { o.id("m") }))
	for _, n := range nothing {
		delete(ids, n)
	}
	require.Equal(t, ids, problems(func(o *object) { o.optID("m") }))
	require.Equal(t, but("must be an object", append(nothing, "object")...), problems(func(o *object) { o.sub("m") }))

	o := objectOf(t, `{"s":"x","e":"","n":7,"f":1.5,"max":2147483647,"t":true,"u":false,"id":"`+id.String()+`","null":null,"sub":{"a":1}}`)
	require.Equal(t, []any{"x", "", 7, 7.0, 1.5, 2147483647}, []any{o.str("s"), o.str("e"), o.int("n"), o.num("n"), o.num("f"), o.int("max")})
	require.Equal(t, []bool{true, false, true, false}, []bool{o.flag("t", false), o.flag("u", true), o.flag("none", true), o.flag("null", false)})
	require.Equal(t, id, o.id("id"))
	require.Equal(t, id, *o.optID("id"))
	require.Nil(t, o.optID("null"))
	require.Nil(t, o.optInt("null"))
	require.True(t, o.has("null"))
	require.False(t, o.has("none"))
	require.Equal(t, "sub.", o.sub("sub").path)
	require.Empty(t, o.p)
	require.Nil(t, o.strippedText("none"))
	require.Equal(t, "ab", *objectOf(t, `{"m":"a\u200bb"}`).strippedText("m"))
}

// TestLists checks the length limits of arrays and the types of their items.
func TestLists(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		text           string
		minLen, maxLen int
		want           int
		problem        string
	}{
		{`{}`, 0, 2, 0, ""},
		{`{}`, 1, 2, 0, "is required"},
		{`{"m":null}`, 1, 2, 0, "is required"},
		{`{"m":null}`, 0, 2, 0, ""},
		{`{"m":7}`, 0, 2, 0, "must be an array"},
		{`{"m":[]}`, 1, 2, 0, "must have at least 1 item(s)"},
		{`{"m":[]}`, 0, 2, 0, ""},
		{`{"m":[{}]}`, 1, 2, 1, ""},
		{`{"m":[{},{}]}`, 1, 2, 2, ""},
		{`{"m":[{},{},{}]}`, 1, 2, 0, "must have at most 2 items"},
	} {
		o := objectOf(t, tt.text)
		require.Len(t, o.list("m", tt.minLen, tt.maxLen), tt.want, tt.text)
		if tt.problem == "" {
			require.Empty(t, o.p, tt.text)
		} else {
			require.Equal(t, models.Problems{"m": {tt.problem}}, o.p, tt.text)
		}
	}
	o := objectOf(t, `{"m":[{"a":1},7,{"a":"x"}]}`)
	items := o.objects("m", 0, 9)
	require.Len(t, items, 2)
	require.Equal(t, 1, items[0].int("a"))
	items[1].int("a")
	require.Equal(t, models.Problems{"m[1]": {"must be an object"}, "m[2].a": {"must be a whole number"}}, o.p)
	require.True(t, o.badUnder("m"))
	require.Error(t, o.err())
	for path, want := range map[string]bool{"m": true, "m[0]": true, "m.a": true, "many": false, "x.m": false, "a": false} {
		p := &object{p: models.Problems{path: {"is bad"}}}
		require.Equal(t, want, p.badUnder("m"), path)
	}
	inner := &object{path: "at.", p: models.Problems{"at.m[1]": {"x"}}}
	require.True(t, inner.badUnder("m"))
	require.False(t, (&object{path: "at.", p: models.Problems{"m": {"x"}}}).badUnder("m"))
}

// TestQueries checks integers, IDs, times, flags and strings in the query string.
func TestQueries(t *testing.T) {
	t.Parallel()
	id := uuid.New()
	ask := func(value string, read func(c *gin.Context, p models.Problems)) bool {
		c, _ := request(http.MethodGet, "/?m="+url.QueryEscape(value), "", "")
		p := models.Problems{}
		read(c, p)
		return len(p) == 0
	}
	for value, want := range map[string]int{"1": 1, "20": 20, "100": 100} {
		require.True(t, ask(value, func(c *gin.Context, p models.Problems) { require.Equal(t, want, query(c, p, "m", 5, 100)) }), value)
	}
	for _, value := range []string{"", "0", "-1", "101", "+7", "07", "1.0", " 1", "x"} {
		require.False(t, ask(value, func(c *gin.Context, p models.Problems) { require.Equal(t, 5, query(c, p, "m", 5, 100)) }), value)
	}
	require.True(t, ask("x", func(c *gin.Context, p models.Problems) { require.Equal(t, 5, query(c, p, "other", 5, 100)) }))
	require.True(t, ask(id.String(), func(c *gin.Context, p models.Problems) { require.Equal(t, id, queryID(c, p, "m")) }))
	require.True(t, ask("x", func(c *gin.Context, p models.Problems) { require.Equal(t, uuid.Nil, queryID(c, p, "other")) }))
	for _, value := range []string{"", "x", uuid.Nil.String(), strings.ReplaceAll(id.String(), "-", ""), "urn:uuid:" + id.String(), id.String() + "0"} {
		require.False(t, ask(value, func(c *gin.Context, p models.Problems) { queryID(c, p, "m") }), value)
	}
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	require.True(t, ask("2026-01-02T03:04:05Z", func(c *gin.Context, p models.Problems) { require.Equal(t, at, queryTime(c, p, "m")) }))
	require.True(t, ask("x", func(c *gin.Context, p models.Problems) { require.Zero(t, queryTime(c, p, "other")) }))
	require.False(t, ask("2026-01-02", func(c *gin.Context, p models.Problems) { queryTime(c, p, "m") }))
	for value, want := range map[string]bool{"true": true, "false": false} {
		require.True(t, ask(value, func(c *gin.Context, p models.Problems) { require.Equal(t, want, queryFlag(c, p, "m")) }))
	}
	require.True(t, ask("true", func(c *gin.Context, p models.Problems) { require.False(t, queryFlag(c, p, "other")) }))
	for _, value := range []string{"", "1", "True"} {
		require.False(t, ask(value, func(c *gin.Context, p models.Problems) { require.False(t, queryFlag(c, p, "m")) }), value)
	}
	search := func(value string) bool {
		c, _ := request(http.MethodGet, "/?search="+url.QueryEscape(value), "", "")
		p := models.Problems{}
		require.Equal(t, value, searchText(c, p))
		return len(p) == 0
	}
	require.True(t, search("") && search(strings.Repeat("ä", 200)))
	require.False(t, search(strings.Repeat("ä", 201)))
	require.False(t, search("a\x00"))
	for status, ok := range map[string]bool{"draft": true, "sent": true, "completed": true, "": false, "sealing": false, "nope": false} {
		c, _ := request(http.MethodGet, "/?status="+status, "", "")
		p := models.Problems{}
		require.Equal(t, models.Status(status), statusQuery(c, p))
		require.Equal(t, ok, len(p) == 0, status)
	}
	c, _ := request(http.MethodGet, "/", "", "")
	p := models.Problems{}
	require.Empty(t, statusQuery(c, p))
	require.Empty(t, p)
	for raw, want := range map[string]any{"": false, "?entries=false": false, "?entries=true": true, "?entries=": nil, "?entries=1": nil} {
		c, _ := request(http.MethodGet, "/"+raw, "", "")
		got, err := readingCopyRequested(c)
		if want == nil {
			require.Error(t, err, raw)
			continue
		}
		require.NoError(t, err)
		require.Equal(t, want, got, raw)
	}
}

// TestQueryStrings checks that names in a query string must not be repeated, and that values must be text.
func TestQueryStrings(t *testing.T) {
	t.Parallel()
	for raw, names := range map[string][]string{
		"": nil, "a=1&b=": nil, "a=%C3%A4": nil, "a=1&a=1": {"a"}, "a=%00": {"a"}, "a=%FF": {"a"}, "a=%EF%BF%BD": {"a"}, "a=%zz": {"query"}, "a;b": {"query"}, "a=%7F&b=%1B": {"a", "b"},
	} {
		c, _ := request(http.MethodGet, "/", "", "")
		c.Request.URL.RawQuery = raw
		err := checkQuery(c)
		if names == nil {
			require.NoError(t, err, raw)
			continue
		}
		var rejected *models.Error
		require.ErrorAs(t, err, &rejected, raw)
		var got []string
		for name := range rejected.Fields {
			got = append(got, name)
		}
		require.ElementsMatch(t, names, got, raw)
	}
	for text, want := range map[string]bool{"": true, "ä": true, "\x1f": false, "\x7f": false, "\u0085": false, "\xff": false, "\ufffd": false, "\u00a0": true} {
		require.Equal(t, want, isText(text), "%q", text)
	}
}

// TestPathIDs checks that an ID that is not in canonical form is not found.
func TestPathIDs(t *testing.T) {
	t.Parallel()
	id := uuid.New()
	for text, ok := range map[string]bool{id.String(): true, strings.ToUpper(id.String()): true, "": false, "x": false, strings.ReplaceAll(id.String(), "-", ""): false, "{" + id.String() + "}": false} {
		c, _ := request(http.MethodGet, "/", "", "")
		c.Params = gin.Params{{Key: "id", Value: text}}
		got, err := pathID(c, "id")
		if ok {
			require.NoError(t, err)
			require.Equal(t, id, got)
		} else {
			require.ErrorIs(t, err, models.ErrNotFound, text)
		}
	}
}

// TestFormFields checks that form fields result in the same object as equivalent JSON.
func TestFormFields(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		text     map[string][]string
		want     string // expected object
		problems models.Problems
	}{
		"texts":                 {map[string][]string{"subject": {"7"}, "expiresInDays": {"7"}}, `{"subject":"7","expiresInDays":7}`, nil},
		"data alone counts":     {map[string][]string{"data": {`{"a":1}`}, "subject": {"x"}}, `{"a":1}`, nil},
		"one list":              {map[string][]string{"signers": {`[{"a":1},{"b":2}]`}}, `{"signers":[{"a":1},{"b":2}]}`, nil},
		"one element":           {map[string][]string{"signers": {`{"a":1}`}}, `{"signers":[{"a":1}]}`, nil},
		"elements and lists":    {map[string][]string{"fields": {`{"a":1}`, `[{"b":2}]`, `[]`}}, `{"fields":[{"a":1},{"b":2}]}`, nil},
		"null":                  {map[string][]string{"fields": {`null`}}, `{"fields":null}`, nil},
		"another type":          {map[string][]string{"signers": {`7`}}, `{"signers":7}`, nil},
		"another type of two":   {map[string][]string{"signers": {`7`, `{}`}}, `{"signers":null}`, models.Problems{"signers": {"must be JSON objects or arrays of JSON objects"}}},
		"no JSON":               {map[string][]string{"signers": {`{`}}, `{"signers":null}`, models.Problems{"signers": {"must be JSON"}}},
		"days that are no JSON": {map[string][]string{"expiresInDays": {`x`}}, `{}`, models.Problems{"expiresInDays": {"must be JSON"}}},
	} {
		o, err := (&parts{text: tt.text}).object()
		require.NoError(t, err, name)
		got, err := json.Marshal(o.m)
		require.NoError(t, err)
		require.JSONEq(t, tt.want, string(got), name)
		if tt.problems == nil {
			tt.problems = models.Problems{}
		}
		require.Equal(t, tt.problems, o.p, name)
	}
	_, err := (&parts{text: map[string][]string{"data": {"x"}}}).object()
	require.ErrorContains(t, err, "The part data")
}
