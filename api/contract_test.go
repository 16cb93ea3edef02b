package api_test

import (
	"bytes"
	"io"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/getkin/kin-openapi/routers/gorillamux"
	"github.com/stretchr/testify/require"

	"countersign/test/kit/contractcheck"
)

// contractDocument is the validated contract, indexed for lookups.
var contractDocument = sync.OnceValues(func() (*openapi3.T, error) {
	main, err := os.ReadFile("openapi.yaml")
	if err != nil {
		return nil, err
	}
	console, err := os.ReadFile("console.yaml")
	if err != nil {
		return nil, err
	}
	return contractcheck.Load(main, console)
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

// checkContract validates a request and its response against the OpenAPI document, which must contain the route and the
// status. An invalid request is an error only if the service accepted it.
func checkContract(t *testing.T, req *http.Request, body []byte, res *http.Response, answer []byte) {
	t.Helper()
	switch {
	case strings.HasPrefix(req.URL.Path, "/v1/"), strings.HasPrefix(req.URL.Path, "/.well-known/"):
	case req.Method == http.MethodPost && strings.HasPrefix(req.URL.Path, "/unsubscribe/"):
	case req.URL.Path == "/oauth/token", req.URL.Path == "/healthz", req.URL.Path == "/readyz":
	default:
		return // the path belongs to a page
	}
	router, err := contractRouter()
	require.NoError(t, err)
	known := req.Clone(t.Context())
	known.URL = &url.URL{Path: req.URL.Path, RawQuery: req.URL.RawQuery}
	known.Host, known.Body = "", io.NopCloser(bytes.NewReader(body))
	if known.Method == http.MethodHead { // like GET, but without a body
		known.Method, answer = http.MethodGet, nil
	}
	route, params, err := router.FindRoute(known)
	if err != nil {
		require.Contains(t, []int{http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusTooManyRequests}, res.StatusCode, "%s %s is not in the contract", req.Method, req.URL.Path)
		return
	}
	if of := route.Operation.RequestBody; of != nil && !of.Value.Required && strings.TrimSpace(string(body)) == "null" {
		known.Body = http.NoBody // as specified in the contract's introduction
	}
	in := &openapi3filter.RequestValidationInput{
		Request: known, PathParams: params, Route: route,
		Options: &openapi3filter.Options{
			MultiError:         true,
			AuthenticationFunc: openapi3filter.NoopAuthenticationFunc,
			// Validate only JSON, because libraries parse multipart bodies and forms in different ways.
			ExcludeRequestBody: !strings.HasPrefix(req.Header.Get("Content-Type"), "application/json"),
		},
	}
	if res.StatusCode < 300 {
		require.NoError(t, openapi3filter.ValidateRequest(t.Context(), in), "%s %s was accepted, but the contract forbids it", req.Method, req.URL.Path)
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

// TestContractIsComplete checks that the document contains exactly the routes of the API.
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
		require.True(t, written[r], "%s is not in the contract", r)
		delete(written, r)
	}
	require.Empty(t, written, "the contract contains operations that the API lacks")
}

func TestContractIsServed(t *testing.T) {
	t.Parallel()
	s := onSQLite(t, nil)
	c := &client{t: t, s: s}
	for _, name := range []string{"openapi.yaml", "console.yaml"} {
		want, err := os.ReadFile(name)
		require.NoError(t, err)
		require.Equal(t, string(want), string(c.get("/"+name).want(200).raw))
	}
}

// TestContractIsDescribed checks that every tag, operation, parameter, schema and member has a description.
func TestContractIsDescribed(t *testing.T) {
	t.Parallel()
	doc, err := contractDocument()
	require.NoError(t, err)
	known := make(map[string]bool)
	for _, tag := range doc.Tags {
		require.NotEmpty(t, tag.Description, tag.Name)
		known[tag.Name] = true
	}
	for path, item := range doc.Paths.Map() {
		for method, op := range item.Operations() {
			require.NotEmpty(t, op.Summary, "%s %s", method, path)
			require.Len(t, op.Tags, 1, "%s %s", method, path)
			require.True(t, known[op.Tags[0]], "%s %s has an unknown tag", method, path)
			for _, p := range op.Parameters {
				require.NotEmpty(t, p.Value.Description, "%s of %s %s", p.Value.Name, method, path)
			}
		}
	}
	members := 0
	for name, s := range doc.Components.Schemas {
		require.NotEmpty(t, s.Value.Description, name)
		members += requireDescribed(t, name, s.Value)
	}
	require.Greater(t, members, 800)
}

// TestOriginalAPIClient_CompletesAnEnvelope processes an envelope from creation to completion with a client that knows
// only the original API. The client does not use sessions or the values of other signers.
func TestOriginalAPIClient_CompletesAnEnvelope(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, s *service) {
		c, signer := s.client(t), &client{t: t, s: s} // no cookies or additional headers
		data := twoSigners()
		data["signers"].([]object)[2]["routingOrder"] = 3
		rich := c.create(everyKind()).want(201) // other envelopes of the same app use newer features
		c.post("/v1/envelopes/"+rich.str("id")+"/send", nil).want(200)
		e, _ := c.sent(data)
		for i := range 3 {
			at := s.link(t, e, i)
			ctx := signer.get(at).want(200)
			for name, want := range map[string]any{
				"envelopeId": e.str("id"), "signerId": e.signer(i)["id"], "signerName": e.signer(i)["name"], "signerEmail": e.signer(i)["email"],
				"requiresOtpVerification": true, "otpVerified": false, "savedSignatureB64": nil, "savedSignatureFontLabel": nil,
			} {
				require.Equal(t, want, ctx.body[name], name)
			}
			for _, f := range ctx.body["fields"].([]any) {
				for _, name := range []string{"id", "type", "page", "x", "y", "w", "h", "required"} {
					require.Contains(t, f, name)
				}
			}
			require.Equal(t, "application/pdf", signer.get(at+"/document").want(200).header.Get("Content-Type"), "before the code is verified")
			docs := signer.get(at + "/documents").want(200)
			require.Contains(t, string(docs.raw), `"pageCount":1,"order":1`)
			signer.post(at+"/consent", nil).want(401)
			code := signer.code(at)
			signer.post(at+"/otp/verify", object{"code": "------"}).want(400)
			verified := signer.post(at+"/otp/verify", object{"code": code}).want(200)
			require.JSONEq(t, `{"verified": true}`, string(verified.raw))
			require.Equal(t, true, signer.get(at).want(200).body["otpVerified"])
			signer.post(at+"/consent", nil).want(200)
			signer.post(at+"/consent", nil).want(409)
			fields := []object{}
			for _, f := range ctx.body["fields"].([]any) {
				if f := f.(object); f["type"] == "text" {
					fields = append(fields, object{"fieldId": f["id"], "textValue": "yes", "signatureImageBase64": nil})
				}
			}
			signer.post(at+"/sign", object{"fields": fields, "fontLabel": nil}).want(200)
			signer.post(at+"/sign", object{"fields": fields}).want(409)
			signer.get(at).want(410)
			signer.get(at + "/document").want(401)
		}
		require.Equal(t, "in_progress", c.get("/v1/envelopes/"+e.str("id")).want(200).str("status"), "being sealed")

		statuses := []any{"pending", "sent", "viewed", "signed", "declined"}
		listed := c.get("/v1/envelopes?tenantId=acme").want(200).body["data"].([]any)
		require.Len(t, listed, 2)
		for _, v := range listed {
			v := v.(object)
			for _, signer := range v["signers"].([]any) {
				signer := signer.(object)
				require.Contains(t, statuses, signer["status"])
				require.Contains(t, []any{"email_otp", "sms_otp", "none"}, signer["authMethod"])
				require.NotEqual(t, "copy", signer["kind"], "a client that waits for all signatures would wait forever")
				if v["id"] == e.str("id") {
					for _, name := range []string{"kind", "role", "language", "notify", "host", "witnessFor"} {
						require.NotContains(t, signer, name)
					}
				}
			}
			if v["id"] == e.str("id") {
				require.NotContains(t, v, "copies")
			}
		}

		other, _ := c.sent(twoSigners())
		at := s.link(t, other, 0)
		signer.post(at+"/decline", object{"reason": nil}).want(200) // without a one-time code
		signer.post(at+"/decline", nil).want(409)
		require.Equal(t, "declined", c.get("/v1/envelopes/"+other.str("id")).want(200).str("status"))
	})
}

// TestAPINotes_NameEveryEvent checks that docs/build/api.md lists every audit trail event and webhook event.
func TestAPINotes_NameEveryEvent(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../docs/build/api.md")
	require.NoError(t, err)
	events, err := os.ReadFile("../models/envelope_event.go")
	require.NoError(t, err)
	found := regexp.MustCompile(`EventName = "([a-z_.]+)"`).FindAllStringSubmatch(string(events), -1)
	require.Greater(t, len(found), 20)
	for _, m := range found {
		require.Contains(t, string(text), "`"+m[1]+"`")
	}
}

// requireDescribed requires a description for every member below a schema. It returns the number of members.
func requireDescribed(t *testing.T, at string, s *openapi3.Schema) int {
	t.Helper()
	members := 0
	for name, p := range s.Properties {
		if p.Ref == "" {
			require.NotEmpty(t, p.Value.Description, "%s.%s", at, name)
			members += 1 + requireDescribed(t, at+"."+name, p.Value)
		}
	}
	if s.Items != nil && s.Items.Ref == "" {
		members += requireDescribed(t, at+"[]", s.Items.Value)
	}
	return members
}
