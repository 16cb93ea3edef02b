package clients_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"path"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// rejected sends a request that the service must reject with the given code. It records the response as the example of
// the corresponding shared response in the contract. A body of type []byte is sent as a file.
func (r *recorder) rejected(code, method, to string, body any, header ...string) {
	r.t.Helper()
	contentType, content := "application/json", []byte(nil)
	switch body := body.(type) {
	case nil:
		contentType = ""
	case []byte:
		contentType, content = "application/octet-stream", body
	case url.Values:
		contentType, content = "application/x-www-form-urlencoded", []byte(body.Encode())
	default:
		content = r.marshal(body)
	}
	r.header = http.Header{}
	for i := 0; i < len(header); i += 2 {
		r.header.Set(header[i], header[i+1])
	}
	res, answer := r.do(method, to, contentType, content)
	r.header = nil
	var problem member
	require.NoError(r.t, json.Unmarshal(answer, &problem), "%s %s: %s", method, to, answer)
	if !assert.Equal(r.t, code, problem["error"], "%s %s: %s", method, to, answer) {
		return
	}
	req, err := http.NewRequestWithContext(r.t.Context(), method, "http://service"+to, nil)
	require.NoError(r.t, err)
	route, _, err := r.router.FindRoute(req)
	require.NoError(r.t, err, to)
	response := route.Operation.Responses.Status(res.StatusCode)
	require.NotNil(r.t, response, "%s %s: the contract does not define %d", method, to, res.StatusCode)
	name := path.Base(response.Ref)
	r.keep(strings.ToLower(name[:1])+name[1:]+"Problem", problem)
}

func (r *recorder) marshal(body any) []byte {
	r.t.Helper()
	content, err := json.Marshal(body)
	require.NoError(r.t, err)
	return content
}

// rejections records one rejection for each shared response in the contract that this test can easily trigger.
func (r *recorder) rejections(completed, voided, used string) {
	const unknown = "0197a1c2-0000-7000-8000-00000000ffff"
	e := r.json(get, "/v1/envelopes/"+completed, nil)
	file := "/v1/envelopes/" + completed + "/documents/" + e["documents"].([]any)[0].(member)["id"].(string)
	signer := e["signers"].([]any)[0].(member)["id"].(string)
	draft, _ := r.draft("ada-rejected@example.com")
	at := "/v1/envelopes/" + draft
	d := r.json(get, at, nil)
	document := at + "/documents/" + d["documents"].([]any)[0].(member)["id"].(string)
	field := at + "/fields/" + d["fields"].([]any)[0].(member)["id"].(string)
	ada := []member{{"name": "Ada Lovelace", "email": "ada@example.com"}}

	// Record rejections caused by invalid requests.
	r.rejected("validation_error", post, "/oauth/token", url.Values{"grant_type": {"password"}, "client_id": {r.s.ClientID}, "client_secret": {r.s.ClientSecret}})
	r.rejected("validation_error", post, "/v1/envelopes", member{"tenantId": "acme"})
	r.rejected("validation_error", get, "/v1/envelopes?limit=0", nil)
	r.rejected("validation_error", patch, at, member{"expiresInDays": -1})
	r.rejected("validation_error", post, at+"/signers", member{"name": "Ada Lovelace", "email": "ada"})
	r.rejected("validation_error", post, "/v1/envelopes/"+voided+"/void", member{"reason": 7})
	r.rejected("validation_error", post, at+"/fields", member{"signerId": "0", "type": "signature", "page": 0, "x": 72, "y": 600, "w": 200, "h": 48})
	r.rejected("not_a_pdf", post, at+"/document", []byte("a letter"))
	r.rejected("validation_error", post, document+"/prepare", member{"tags": "guess"})
	r.rejected("validation_error", patch, field, member{"w": -200})
	r.rejected("validation_error", post, "/v1/bulk-sends", member{"tenantId": "acme"})
	r.rejected("validation_error", post, "/v1/templates", member{"tenantId": "acme"})
	r.rejected("content_type", post, "/v1/verify", member{})

	// Record rejections caused by missing permissions.
	r.rejected("invalid_client", post, "/oauth/token", url.Values{"grant_type": {"client_credentials"}, "client_id": {r.s.ClientID}, "client_secret": {"csk_wrong"}})
	r.rejected("user_required", get, "/v1/console/passkeys", nil)
	r.rejected("user_required", post, "/v1/console/client-secrets", member{"password": "correct horse battery"})
	r.rejected("user_required", post, "/v1/console/sessions/end", member{"password": "correct horse battery"})
	r.as("", func() {
		const no = "/v1/signing/eyJhbGciOiJFUzI1NiJ9"
		r.rejected("unauthorized", get, "/v1/envelopes", nil)
		r.rejected("unauthorized", get, at, nil)
		r.rejected("invalid_credentials", post, "/v1/console/login", member{"email": "nobody@example.com", "password": "correct horse battery"})
		r.rejected("session_invalid", get, "/v1/embedded/builders/eyJhbGciOiJFUzI1NiJ9", nil)
		r.rejected("session_invalid", get, "/v1/embedded/sessions/eyJhbGciOiJFUzI1NiJ9", nil)
		r.rejected("signing_link_invalid", get, no, nil)
		r.rejected("signing_link_invalid", get, no+"/documents", nil)
		r.rejected("signing_link_invalid", post, no+"/consent", nil)
		r.rejected("signing_link_invalid", post, no+"/sign", member{"fields": []member{}})
		r.rejected("signing_link_invalid", get, no+"/document", nil)
		r.rejected("signing_link_invalid", get, no+"/outcome", nil)
		r.rejected("receipt_invalid", get, "/v1/receipts/eyJhbGciOiJFUzI1NiJ9", nil)
		r.rejected("download_link_invalid", get, "/v1/download/eyJhbGciOiJFUzI1NiJ9", nil)
		r.rejected("signing_link_used", get, used, nil)
		r.rejected("unsubscribe_link_invalid", post, "/unsubscribe/eyJhbGciOiJFUzI1NiJ9", nil)
	})

	// Record rejections caused by the current state.
	r.rejected("not_found", get, "/v1/envelopes/"+unknown, nil)
	r.rejected("envelope_not_draft", patch, "/v1/envelopes/"+voided, member{"subject": "Lease for flat 8"})
	r.rejected("envelope_not_draft", del, "/v1/envelopes/"+completed, nil)
	r.rejected("envelope_draft", get, at+"/progress", nil)
	r.rejected("envelope_not_completed", get, at+"/document?kind=sealed", nil)
	r.rejected("envelope_not_completed", post, at+"/copies", member{"email": "ada@example.com"})
	r.rejected("envelope_not_draft", post, file+"/prepare", member{"tags": "detect"})
	r.rejected("envelope_terminal", post, "/v1/envelopes/"+completed+"/signers/"+signer+"/replace", member{"name": "Charles Babbage", "email": "charles@example.com"})
	r.rejected("envelope_terminal", post, "/v1/envelopes/"+completed+"/signers/"+signer+"/remind", nil)
	r.rejected("envelope_terminal", post, "/v1/envelopes/"+completed+"/signers/"+signer+"/resend", nil)
	r.rejected("envelope_terminal", post, "/v1/envelopes/"+completed+"/signers/"+signer+"/signing-link", member{})
	r.rejected("envelope_not_draft", post, "/v1/embedded/builder-sessions", member{"tenantId": "acme", "envelopeId": completed, "allowedOrigin": "https://app.example.com"})
	r.rejected("envelope_closed", post, "/v1/embedded/signing-sessions", member{"tenantId": "acme", "envelopeId": completed, "signerId": signer, "allowedOrigin": "https://app.example.com"})
	taken := member{"tenantId": "acme", "subject": "Lease for flat 7", "signers": ada, "externalId": "lease-" + uuid.NewString()}
	r.json(post, "/v1/envelopes", taken)
	r.rejected("external_id_taken", post, "/v1/envelopes", taken)
	user := member{"email": "sam-" + uuid.NewString() + "@example.com", "name": "Sam", "password": "correct horse battery", "role": "support"}
	r.json(post, "/v1/console/users", user)
	r.rejected("user_exists", post, "/v1/console/users", user)
	support := r.json(post, "/v1/console/login", member{"email": user["email"], "password": user["password"]})["access_token"].(string)
	r.as(support, func() { r.rejected("role_forbidden", post, "/v1/console/users", user) })

	r.signingRejections(completed)
	r.stateRejections(voided, draft)
	r.accountRejections(draft)

	// Record rejections caused by HTTP headers or limits.
	r.rejected("precondition_failed", patch, at, member{"subject": "Lease for flat 8"}, "If-Match", `"1"`)
	r.rejected("range_not_satisfiable", get, at+"/document?kind=original", nil, "Range", "bytes=900000000-")
	r.rejected("request_too_large", patch, at, member{"message": strings.Repeat("a", 2<<20)})
	key := uuid.NewString()
	r.header = http.Header{"Idempotency-Key": {key}}
	r.json(post, "/v1/envelopes", member{"tenantId": "acme", "subject": "Lease for flat 7", "signers": ada})
	r.rejected("idempotency_key_reused", post, "/v1/envelopes", member{"tenantId": "acme", "subject": "Lease for flat 8", "signers": ada}, "Idempotency-Key", key)
}

// responsesWithoutExample lists the shared responses without an example, with the reason.
var responsesWithoutExample = map[string][]string{
	"needs an identity provider, and an account of one": {
		"CompleteProviderSignInConflict", "CompleteProviderSignInForbidden", "ConnectProviderConflict", "UpdateConsoleUserConflict", "UpdatePasswordConflict",
	},
	"needs a service that is overloaded or faulty, or without its mail server or files": {
		"Busy", "DocumentsUnavailable", "FilesUnavailable", "InternalError", "PageUnavailable", "RequestCodeUnavailable", "Unavailable",
		"TemporalUnavailable", "UploadUnavailable",
	},
	"needs a second request while the first is answered": {
		"Conflict", "CreateBulkSendConflict",
	},
	"needs the 50,000 contacts that an app may have": {
		"SaveContactConflict",
	},
	"needs the removal of data after months": {
		"Purged", "ResendDeliveryGone",
	},
}

// TestSharedRejectionsHaveExamples checks that each shared error response has an example, or a reason why it has none.
func TestSharedRejectionsHaveExamples(t *testing.T) {
	t.Parallel()
	without := make(map[string]string)
	for reason, names := range responsesWithoutExample {
		for _, name := range names {
			without[name] = reason
		}
	}
	examples, seen := 0, make(map[string]bool)
	for _, file := range contractFiles {
		doc, err := openapi3.NewLoader().LoadFromFile(file)
		require.NoError(t, err)
		for name, response := range doc.Components.Responses {
			if response.Value.Content["application/problem+json"] == nil { // not an error: a part of a file, or no body
				continue
			}
			if len(response.Value.Content["application/json"].Examples) > 0 {
				require.Empty(t, without[name], "%s must have an example", name)
				examples++
				continue
			}
			require.NotEmpty(t, without[name], "%s of %s has no example, and no reason", name, file)
			seen[name] = true
		}
	}
	for name := range without {
		require.True(t, seen[name], "%s is not a shared response", name)
	}
	require.Greater(t, examples, 75)
}
