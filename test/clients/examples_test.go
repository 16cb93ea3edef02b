package clients_test

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/routers"
	"github.com/getkin/kin-openapi/routers/gorillamux"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"countersign/test/kit"
	"countersign/test/kit/contractcheck"
)

var contractFiles = []string{"../../api/openapi.yaml", "../../api/console.yaml"}

const (
	examplesHeading = "  # Examples, taken from a running service by TestExamples (test/clients; COUNTERSIGN_TEST_UPDATE=1 writes them).\n  examples:\n"
)

type member = map[string]any

// recorder sends requests to a running service, and records the first request and response of each operation.
type recorder struct {
	t      *testing.T
	s      *service
	token  string
	router routers.Router
	header http.Header // additional headers of the next requests
	names  []string    // in the order in which they were recorded
	values map[string]any
	accept string // Accept header of the next requests
	sink   string // base URL of the webhook receiver
}

// TestExamples runs the operations in their usual order, and compares the examples in the contract with the actual
// requests and responses. On both sides, IDs, times, hashes and tokens are replaced with fixed values.
func TestExamples(t *testing.T) {
	t.Parallel()
	var contracts []string
	for _, file := range contractFiles {
		b, err := os.ReadFile(file)
		require.NoError(t, err)
		contracts = append(contracts, string(b))
	}
	doc, err := contractcheck.Load([]byte(contracts[0]), []byte(contracts[1]))
	require.NoError(t, err)
	doc.Servers = nil
	router, err := gorillamux.NewRouter(doc)
	require.NoError(t, err)
	r := &recorder{t: t, s: start(t), router: router, values: make(map[string]any)}
	r.run()
	n := &normalizer{base: r.s.BaseURL, sink: r.sink, ids: map[string]string{}, hashes: map[string]string{}}
	normalized := make(map[string]string)
	for _, name := range r.names {
		b, err := json.MarshalIndent(n.normalize("", r.values[name]), "        ", "  ")
		require.NoError(t, err)
		normalized[name] = string(b)
	}
	for _, name := range r.names {
		require.Contains(t, contracts[0]+contracts[1], "/examples/"+name+"'", "%s is recorded, but does not appear in the contract", name)
	}
	for i, contract := range contracts {
		before, written, found := strings.Cut(contract, examplesHeading)
		var section strings.Builder
		section.WriteString(examplesHeading)
		for _, name := range r.names {
			if strings.Contains(before, "/examples/"+name+"'") {
				section.WriteString("    " + name + ":\n      value: " + normalized[name] + "\n")
			}
		}
		if os.Getenv("COUNTERSIGN_TEST_UPDATE") != "" {
			require.NoError(t, os.WriteFile(contractFiles[i], []byte(before+section.String()), 0o600))
			continue
		}
		require.True(t, found, "the contract contains no examples")
		require.Equal(t, section.String(), examplesHeading+written, "the examples in the contract differ from the service's responses: COUNTERSIGN_TEST_UPDATE=1 updates them")
	}
}

// withoutExample lists the operations for which this test lacks a prerequisite: an authenticator, a provider, a row
// that fails during sending, a file that is too large for an email, a lost workflow, or an email to a console user.
var withoutExample = map[string]bool{
	"retryBulkSend": true, "getDownload": true, "unsubscribe": true, "restartEnvelopeWorkflow": true,
	"beginPasskeyAuthentication": true, "beginPasskeyRegistration": true, "createPasskey": true, "deletePasskey": true, "beginPasskeyReauthentication": true,
	"beginProviderSignIn": true, "completeProviderSignIn": true, "connectProvider": true,
}

// TestEveryOperationHasExamples checks that each textual body of a request or successful response has an example.
func TestEveryOperationHasExamples(t *testing.T) {
	t.Parallel()
	examples := 0
	for _, file := range contractFiles {
		doc, err := openapi3.NewLoader().LoadFromFile(file)
		require.NoError(t, err)
		for path, item := range doc.Paths.Map() {
			for method, op := range item.Operations() {
				bodies := make(map[string]*openapi3.MediaType)
				if op.RequestBody != nil {
					for kind, media := range op.RequestBody.Value.Content {
						bodies["request "+kind] = media
					}
				}
				for status, response := range op.Responses.Map() {
					if status[0] == '2' {
						for kind, media := range response.Value.Content {
							bodies[status+" "+kind] = media
						}
					}
				}
				for what, media := range bodies {
					// A body without a schema consists of the bytes of a file.
					if media.Schema == nil || withoutExample[op.OperationID] {
						continue
					}
					require.NotEmpty(t, media.Examples, "%s of %s %s", what, method, path)
					examples++
				}
			}
		}
	}
	require.Greater(t, examples, 150)
}

// json sends a request with a JSON body, unless body is nil, and returns the response body.
func (r *recorder) json(method, path string, body any) member {
	r.t.Helper()
	if body == nil {
		return r.send(method, path, "", nil, nil)
	}
	b, err := json.Marshal(body)
	require.NoError(r.t, err)
	return r.send(method, path, "application/json", b, body)
}

// send sends a request and records the response. If example is not nil, it is recorded as the example of the request.
func (r *recorder) send(method, path, contentType string, body []byte, example any) member {
	r.t.Helper()
	res, answer := r.do(method, path, contentType, body)
	require.Less(r.t, res.StatusCode, 300, "%s %s: %s", method, path, answer)
	req, err := http.NewRequestWithContext(r.t.Context(), method, "http://service"+path, nil)
	require.NoError(r.t, err)
	route, _, err := r.router.FindRoute(req)
	require.NoError(r.t, err, path)
	id := route.Operation.OperationID
	if example != nil {
		kind := map[string]string{"application/json": "Request", "text/csv": "Table"}[contentType]
		r.keep(id+cmp.Or(kind, "Form"), example)
	}
	var v any
	if kind := res.Header.Get("Content-Type"); strings.HasPrefix(kind, "text/csv") {
		r.keep(id+"Table", string(answer))
		return nil
	} else if !strings.Contains(kind, "json") {
		return nil
	}
	require.NoError(r.t, json.Unmarshal(answer, &v), "%s %s", method, path)
	r.keep(id+"Response"+otherStatus(route.Operation, res.StatusCode), v)
	if list, ok := v.([]any); ok {
		return member{"list": list}
	}
	return v.(member)
}

// otherStatus returns the status of a response as text, or an empty string for the operation's first successful
// status.
func otherStatus(op *openapi3.Operation, status int) string {
	for first := 200; first < status; first++ {
		if op.Responses.Status(first) != nil {
			return strconv.Itoa(status)
		}
	}
	return ""
}

// keep records an example, unless one with this name exists.
func (r *recorder) keep(name string, v any) {
	if _, there := r.values[name]; !there {
		r.names = append(r.names, name)
		r.values[name] = v
	}
}

func (r *recorder) do(method, path, contentType string, body []byte) (*http.Response, []byte) {
	r.t.Helper()
	req, err := http.NewRequestWithContext(r.t.Context(), method, r.s.BaseURL+path, bytes.NewReader(body))
	require.NoError(r.t, err)
	if contentType != "" {
		req.Header.Set("Content-Type", contentType)
	}
	if r.token != "" {
		req.Header.Set("Authorization", "Bearer "+r.token)
	}
	for name, values := range r.header {
		req.Header[name] = values
	}
	if r.accept != "" {
		req.Header.Set("Accept", r.accept)
	}
	req.Header.Set("User-Agent", "example/1.0")
	res, err := http.DefaultTransport.RoundTrip(req)
	require.NoError(r.t, err)
	defer func() { _ = res.Body.Close() }()
	b, err := io.ReadAll(res.Body)
	require.NoError(r.t, err)
	return res, b
}

// draft creates a draft with a document and a field, and returns its ID and its signer's ID.
func (r *recorder) draft(email string) (envelope, signer string) {
	r.t.Helper()
	e := r.json(http.MethodPost, "/v1/envelopes", member{
		"tenantId": "acme", "subject": "Lease for flat 7", "message": "Sign by Friday.", "metadata": member{"leaseId": "1041"},
		"signers": []member{{"name": "Ada Lovelace", "email": email, "authMethod": "email_otp", "role": "tenant"}},
	})
	envelope = e["id"].(string)
	pdf, err := os.ReadFile("../../docs/contract.pdf")
	require.NoError(r.t, err)
	r.send(http.MethodPost, "/v1/envelopes/"+envelope+"/document", "application/octet-stream", pdf, nil)
	signer = e["signers"].([]any)[0].(member)["id"].(string)
	r.json(http.MethodPost, "/v1/envelopes/"+envelope+"/fields", member{"signerId": signer, "type": "signature", "page": 1, "x": 72, "y": 600, "w": 200, "h": 48})
	return envelope, signer
}

// sent creates and sends an envelope. It returns the ID of the envelope, the ID of its signer, and the token of the
// signing link.
func (r *recorder) sent(email string) (envelope, signer, token string) {
	r.t.Helper()
	envelope, signer = r.draft(email)
	e := r.json(http.MethodPost, "/v1/envelopes/"+envelope+"/send", member{"message": "Sign by Friday."})
	link := e["signers"].([]any)[0].(member)["signingUrl"].(string)
	// Wait until the invitation is in the audit trail, so that it precedes the signer's events.
	r.audits(envelope, "invitation.sent", 1)
	return envelope, signer, link[strings.LastIndexByte(link, '/')+1:]
}

// showPicture loads the image of a page as soon as the renderer is ready.
func (r *recorder) showPicture(picture string) {
	r.t.Helper()
	require.Eventually(r.t, func() bool {
		res, b := r.do(get, picture, "", nil)
		require.Contains(r.t, []int{http.StatusOK, http.StatusServiceUnavailable}, res.StatusCode, "%s", b)
		return res.StatusCode == http.StatusOK
	}, time.Minute, 200*time.Millisecond)
}

// audits waits until an event occurs the given number of times in the audit trail.
func (r *recorder) audits(envelope, event string, times int) {
	r.t.Helper()
	require.Eventually(r.t, func() bool {
		_, b := r.do(http.MethodGet, "/v1/envelopes/"+envelope, "", nil)
		return bytes.Count(b, []byte(`"event":"`+event+`"`)) == times
	}, time.Minute, 50*time.Millisecond, "%d times %s", times, event)
}

func (r *recorder) run() {
	t := r.t
	form := url.Values{"grant_type": {"client_credentials"}, "client_id": {r.s.ClientID}, "client_secret": {r.s.ClientSecret}}
	r.token = r.send(post, "/oauth/token", "application/x-www-form-urlencoded", []byte(form.Encode()), member{
		"grant_type": "client_credentials", "client_id": r.s.ClientID, "client_secret": "csk_secret",
	})["access_token"].(string)
	r.json(get, "/healthz", nil)
	r.json(get, "/readyz", nil)
	r.json(get, "/.well-known/jwks.json", nil)

	hook := r.json(post, "/v1/webhooks", member{"url": "http://127.0.0.1:9/hooks", "events": []string{"envelope.completed", "envelope.declined"}, "secret": "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"})["id"].(string)
	r.json(get, "/v1/webhooks", nil)
	r.json(get, "/v1/webhooks/"+hook, nil)
	r.json(patch, "/v1/webhooks/"+hook, member{"events": []string{"envelope.completed"}})

	// Create and edit a draft.
	draft, signer := r.draft("ada-draft@example.com")
	at := "/v1/envelopes/" + draft
	field := r.json(post, at+"/fields", member{"signerId": signer, "type": "text", "name": "city", "page": 1, "x": 72, "y": 500, "w": 200, "h": 20})["id"].(string)
	r.json(patch, at+"/fields/"+field, member{"x": 90, "required": false})
	second := r.json(post, at+"/signers", member{"name": "Grace Hopper", "email": "grace@example.com", "routingOrder": 2})["id"].(string)
	r.json(patch, at+"/signers/"+second, member{"name": "Grace B. Hopper"})
	r.json(patch, at, member{"subject": "Lease for flat 8", "expiresInDays": 14})
	e := r.json(get, "/v1/envelopes?tenantId=acme", nil)["data"].([]any)[0].(member)
	document := e["documents"].([]any)[0].(member)["id"].(string)
	r.json(get, at+"/documents/"+document+"/suggestions", nil)
	r.json(patch, at+"/documents/"+document, member{"name": "lease.pdf"})
	r.json(post, "/v1/embedded/builder-sessions", member{"tenantId": "acme", "envelopeId": draft, "allowedOrigin": "https://app.example.com"})
	r.json(del, at, nil)

	// Send, sign, seal and verify.
	email := "ada-examples@example.com"
	envelope, signer, link := r.sent(email)
	at = "/v1/envelopes/" + envelope
	r.json(get, at+"/progress", nil)
	r.json(get, "/v1/console/envelopes/"+envelope, nil)
	r.json(post, at+"/signers/"+signer+"/signing-link", member{})
	r.json(post, "/v1/embedded/signing-sessions", member{"tenantId": "acme", "envelopeId": envelope, "signerId": signer, "allowedOrigin": "https://app.example.com", "returnUrl": "https://app.example.com/done"})
	token := r.token
	r.token = ""
	signing := "/v1/signing/" + link
	context := r.json(get, signing, nil)
	r.json(get, signing+"/documents", nil)
	r.json(post, signing+"/page-view", member{"documentId": context["documents"].([]any)[0].(member)["documentId"], "page": 1, "dwellMs": 2500})
	r.json(post, signing+"/otp/request", nil)
	var codes []string
	require.Eventually(t, func() bool { codes = mailedCodes(t, r.s, email); return len(codes) > 0 }, time.Minute, 50*time.Millisecond)
	r.json(post, signing+"/otp/verify", member{"code": codes[0]})
	r.json(post, signing+"/consent", member{"version": context["consent"].(member)["version"]})
	r.showPicture(signing + "/documents/" + context["documents"].([]any)[0].(member)["documentId"].(string) + "/pages/1?level=1")
	r.json(get, signing+"/shown", nil)
	signed := r.json(post, signing+"/sign", member{"fields": []member{{
		"fieldId": context["fields"].([]any)[0].(member)["id"], "signatureImageBase64": base64.StdEncoding.EncodeToString(kit.Signature()),
	}}})
	r.json(get, signing+"/outcome", nil)
	r.token = token
	r.audits(envelope, "envelope.completed", 1)
	r.json(get, at, nil)
	r.json(get, at+"/values", nil)
	r.token = ""
	r.json(get, "/v1/receipts/"+signed["receiptToken"].(string), nil)
	r.token = token
	_, sealed := r.do(get, at+"/document?kind=sealed", "", nil)
	r.send(post, "/v1/verify", "application/pdf", sealed, nil)
	r.send(post, "/v1/verify/pages/1?level=1", "application/pdf", sealed, nil)
	r.json(post, at+"/copies", member{"email": email})

	// End envelopes in other ways.
	voided, signer, _ := r.sent("ada-void@example.com")
	r.json(post, "/v1/envelopes/"+voided+"/signers/"+signer+"/replace", member{"name": "Charles Babbage", "email": "charles@example.com", "reason": "Wrong person"})
	r.json(post, "/v1/envelopes/"+voided+"/void", member{"reason": "Sent by mistake"})
	_, _, link = r.sent("ada-decline@example.com")
	r.token = ""
	r.json(post, "/v1/signing/"+link+"/decline", member{"reason": "The rent is too high."})
	r.token = token

	// Use templates and bulk sends.
	template := r.json(post, "/v1/templates", member{"tenantId": "acme", "name": "Lease", "subject": "Lease for {{street}}", "fromEnvelope": voided})["id"].(string)
	r.json(get, "/v1/templates?tenantId=acme", nil)
	r.json(get, "/v1/templates/"+template, nil)
	rows := []member{{"externalId": "lease-1041", "signers": []member{{"role": "tenant", "name": "Ada Lovelace", "email": "ada-bulk@example.com"}}, "variables": member{"street": "High Street"}}}
	bulk := r.json(post, "/v1/bulk-sends", member{"templateId": template, "tenantId": "acme", "name": "Leases of May", "rows": rows})["id"].(string)
	require.Eventually(t, func() bool {
		_, b := r.do(get, "/v1/bulk-sends/"+bulk, "", nil)
		return bytes.Contains(b, []byte(`"status":"completed"`))
	}, time.Minute, 50*time.Millisecond)
	r.json(get, "/v1/bulk-sends?tenantId=acme", nil)
	r.json(get, "/v1/bulk-sends/"+bulk, nil)
	r.json(get, "/v1/bulk-sends/"+bulk+"/rows", nil)
	r.json(patch, "/v1/templates/"+template, member{"message": "Sign by Friday."})
	r.bulkSends(template)
	r.texts(envelope, bulk)

	// Use events, branding and the console.
	r.json(get, "/v1/events?limit=2", nil)
	r.json(put, "/v1/tenants/acme/branding", member{"primaryColor": "#0f5570", "footer": "Acme Ltd"})
	r.json(get, "/v1/tenants/acme/branding", nil)
	r.json(get, "/v1/console/me", nil)
	r.json(get, "/v1/console/app", nil)
	r.json(patch, "/v1/console/app", member{"contact": "ops@example.com"})
	r.json(put, "/v1/console/settings?tenantId=acme", member{"defaultExpiryDays": 14, "reminderIntervalHours": 48})
	r.json(get, "/v1/console/settings?tenantId=acme", nil)
	r.json(get, "/v1/console/usage", nil)
	r.json(post, "/v1/console/contacts", member{"name": "Ada Lovelace", "email": "ada@example.com"})
	r.json(get, "/v1/console/contacts", nil)
	r.json(get, "/v1/console/client-secrets", nil)
	r.json(get, "/v1/console/webhooks", nil)
	r.json(post, "/v1/console/webhooks", member{"url": "http://127.0.0.1:9/other", "events": []string{"signer.signed"}})
	r.json(post, "/v1/console/users", member{"email": "sam-" + uuid.NewString() + "@example.com", "name": "Sam", "password": "correct horse battery", "role": "support"})
	r.json(get, "/v1/console/users", nil)
	r.json(del, "/v1/webhooks/"+hook, nil)

	r.documents()
	r.signers()
	r.deliveries()
	r.account()
	r.rejections(envelope, voided, signing)
	r.limitRejections()
	r.pageRejections()
	r.strictRejections()
}
