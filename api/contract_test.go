package api_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/getkin/kin-openapi/routers/gorillamux"
	"github.com/stretchr/testify/require"

	"countersign/internal/testkit/contractcheck"
)

// contractDocument is the OpenAPI document, checked and ready for look-ups.
var contractDocument = sync.OnceValues(func() (*openapi3.T, error) {
	doc, err := openapi3.NewLoader().LoadFromFile("openapi.yaml")
	if err != nil {
		return nil, err
	}
	return doc, doc.Validate(context.Background())
})

var contractRouter = sync.OnceValues(func() (routers.Router, error) {
	doc, err := contractDocument()
	if err != nil {
		return nil, err
	}
	return gorillamux.NewRouter(doc)
})

var contractAnswers = sync.OnceValues(func() (*contractcheck.Answers, error) {
	doc, err := contractDocument()
	if err != nil {
		return nil, err
	}
	return contractcheck.NewAnswers(doc)
})

// checkContract holds a request and its answer against the OpenAPI document:
// the route must be in it, the answer must be one it names, and a request that
// was done must be one it allows.
func checkContract(t *testing.T, req *http.Request, body []byte, res *http.Response, answer []byte) {
	t.Helper()
	switch {
	case strings.HasPrefix(req.URL.Path, "/v1/"), strings.HasPrefix(req.URL.Path, "/.well-known/"):
	case req.URL.Path == "/oauth/token", req.URL.Path == "/healthz", req.URL.Path == "/readyz":
	default:
		return // pages
	}
	router, err := contractRouter()
	require.NoError(t, err)
	known := req.Clone(t.Context())
	known.URL = &url.URL{Path: req.URL.Path, RawQuery: req.URL.RawQuery}
	known.Host, known.Body = "", io.NopCloser(bytes.NewReader(body))
	if known.Method == http.MethodHead { // as GET, without the body
		known.Method, answer = http.MethodGet, nil
	}
	route, params, err := router.FindRoute(known)
	if err != nil {
		require.Contains(t, []int{http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusTooManyRequests}, res.StatusCode, "%s %s is not in the contract", req.Method, req.URL.Path)
		return
	}
	if of := route.Operation.RequestBody; of != nil && !of.Value.Required && strings.TrimSpace(string(body)) == "null" {
		known.Body = http.NoBody // as the contract's introduction says
	}
	in := &openapi3filter.RequestValidationInput{
		Request: known, PathParams: params, Route: route,
		Options: &openapi3filter.Options{
			MultiError:         true,
			AuthenticationFunc: openapi3filter.NoopAuthenticationFunc,
			// Multipart and forms are read differently by every library; JSON is the contract.
			ExcludeRequestBody: !strings.HasPrefix(req.Header.Get("Content-Type"), "application/json"),
		},
	}
	if res.StatusCode < 300 {
		require.NoError(t, openapi3filter.ValidateRequest(t.Context(), in), "%s %s was done, but the contract forbids it", req.Method, req.URL.Path)
	}
	for _, h := range []string{"X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset"} {
		require.NotEmpty(t, res.Header.Get(h), "%s of %s %s", h, req.Method, req.URL.Path)
	}
	if req.Method == http.MethodHead {
		require.NotNil(t, route.Operation.Responses.Status(res.StatusCode), "%s %s: %d", req.Method, req.URL.Path, res.StatusCode)
		return
	}
	answers, err := contractAnswers()
	require.NoError(t, err)
	require.NoError(t, answers.Validate(route.Operation, res.StatusCode, res.Header, answer), "answer to %s %s: %s", req.Method, req.URL.Path, answer)
	coverageOf.note(t, route, req.Header.Get("Content-Type"), body, res, answer)
}

// TestContractIsComplete: every route of the API is in the document and the
// other way round.
func TestContractIsComplete(t *testing.T) {
	t.Parallel()
	doc, err := contractDocument()
	require.NoError(t, err)
	written := map[string]bool{}
	for path, item := range doc.Paths.Map() {
		for method := range item.Operations() {
			written[method+" "+path] = true
		}
	}
	s := onSQLite(t, nil)
	for _, r := range s.api.Routes() {
		require.True(t, written[r], "%s is not in openapi.yaml", r)
		delete(written, r)
	}
	require.Empty(t, written, "openapi.yaml has more than the API")
}

func TestContractIsServed(t *testing.T) {
	t.Parallel()
	s := onSQLite(t, nil)
	c := &client{t: t, s: s}
	want, err := os.ReadFile("openapi.yaml")
	require.NoError(t, err)
	require.Equal(t, string(want), string(c.get("/openapi.yaml").want(200).raw))
}
