package clients_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os/exec"
	"strings"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"countersign/test/kit"
	"countersign/test/kit/sealkit"
)

// login returns an access token of an app.
func (r *recorder) login(id, secret string) string {
	r.t.Helper()
	form := url.Values{"grant_type": {"client_credentials"}, "client_id": {id}, "client_secret": {secret}}
	_, b := r.do(post, "/oauth/token", "application/x-www-form-urlencoded", []byte(form.Encode()))
	var answer struct {
		AccessToken string `json:"access_token"`
	}
	require.NoError(r.t, json.Unmarshal(b, &answer))
	require.NotEmpty(r.t, answer.AccessToken, "%s", b)
	return answer.AccessToken
}

// limitRejections records the rejections that an app receives because of its plan, its tenants, its limits and its
// builder sessions.
func (r *recorder) limitRejections() {
	out, err := exec.CommandContext(r.t.Context(), program(r.t), "app", "create", "--data-dir", r.s.dir, "--name", "Small", "--plan", "free", "--tenant", "acme", "--json").Output()
	require.NoError(r.t, err)
	var small service
	require.NoError(r.t, json.Unmarshal(out, &small))
	r.as(r.login(small.ClientID, small.ClientSecret), func() {
		r.rejected("tenant_forbidden", get, "/v1/envelopes?tenantId=other", nil)
		draft, _ := r.draft("ada-small@example.com")
		at := "/v1/envelopes/" + draft
		r.rejected("tenant_forbidden", post, "/v1/embedded/builder-sessions", member{"tenantId": "other", "envelopeId": draft, "allowedOrigin": "https://app.example.com"})
		r.rejected("plan_documents", post, at+"/document", r.contract())
		for range 5 {
			r.sent("ada-small@example.com")
		}
		r.rejected("plan_limit_reached", post, at+"/send", nil)
		template := r.json(post, "/v1/templates", member{"tenantId": "acme", "name": "Lease", "fromEnvelope": draft})["id"].(string)
		r.rejected("plan_limit_reached", post, "/v1/envelopes", member{"tenantId": "acme", "templateId": template, "send": true, "signers": []member{{"role": "tenant", "name": "Ada Lovelace", "email": "ada@example.com"}}})
		for range 100 {
			r.json(post, "/v1/webhooks", member{"url": "https://app.example.com/hooks", "events": []string{"envelope.completed"}})
		}
		r.rejected("too_many_webhooks", post, "/v1/webhooks", member{"url": "https://app.example.com/hooks", "events": []string{"envelope.completed"}})
		r.rejected("cursor_expired", get, "/v1/events?cursor="+uuid.NewString(), nil)
		r.streams(20, func() { r.rejected("too_many_streams", get, "/v1/events/stream", nil) })
	})

	draft, _ := r.draft("ada-features@example.com")
	at := "/v1/envelopes/" + draft
	r.send(post, at+"/document", "application/pdf", kit.OnePageWith("{{signature;typ=date}}"), nil)
	documents := r.json(get, at, nil)["documents"].([]any)
	tagged := at + "/documents/" + documents[len(documents)-1].(member)["id"].(string)
	r.rejected("text_tag_invalid", get, tagged+"/suggestions", nil)
	r.rejected("envelope_draft", post, "/v1/console/envelopes/"+draft+"/restart", nil)
	session := member{"tenantId": "acme", "envelopeId": draft, "allowedOrigin": "https://app.example.com", "features": member{"documents": false}}
	r.as(r.json(post, "/v1/embedded/builder-sessions", session)["sessionToken"].(string), func() {
		r.rejected("feature_forbidden", post, tagged+"/prepare", member{"tags": "detect"})
	})
	template := r.json(post, "/v1/templates", member{"tenantId": "acme", "name": "Lease of 2028", "fromEnvelope": draft})["id"].(string)
	session = member{"tenantId": "acme", "templateId": template, "allowedOrigin": "https://app.example.com"}
	r.as(r.json(post, "/v1/embedded/builder-sessions", session)["sessionToken"].(string), func() {
		r.rejected("feature_forbidden", patch, "/v1/templates/"+template, member{"externalId": "lease"})
	})
	sent, signer, _ := r.sent("ada-remind@example.com")
	r.json(post, "/v1/envelopes/"+sent+"/signers/"+signer+"/remind", nil)
	r.rejected("reminder_rate_limited", post, "/v1/envelopes/"+sent+"/signers/"+signer+"/remind", nil)
}

// pageRejections records the rejections for pages that cannot be rendered or that differ from the seal record.
func (r *recorder) pageRejections() {
	e := r.json(post, "/v1/envelopes", member{"tenantId": "acme", "subject": "Site plan", "signers": []member{{"name": "Ada Lovelace", "email": "ada-plan@example.com", "authMethod": "none"}}})
	at := "/v1/envelopes/" + e["id"].(string)
	// The page measures 2 by 3 meters and contains nested transparency groups, each of which requires as much memory as
	// an image.
	const resources = "/Resources<</ExtGState<</G<</ca .5>>>>/XObject<</X %d 0 R>>>>"
	var groups []string
	for i := range 8 {
		groups = append(groups, fmt.Sprintf("<</Type/XObject/Subtype/Form/BBox[0 0 612 792]/Group<</S/Transparency>>"+resources+"/Length 11>>\nstream\n/G gs /X Do\nendstream", 1001+i))
	}
	groups = append(groups, "<</Type/XObject/Subtype/Form/BBox[0 0 612 792]/Length 17>>\nstream\n0 0 612 792 re f \nendstream")
	plan := sealkit.ClassicPDF(sealkit.Layout{Pages: []sealkit.Page{{Content: "/G gs /X Do", Extra: "/MediaBox[0 0 612 792]/UserUnit 9" + fmt.Sprintf(resources, 1000)}}, Objects: groups})
	document := r.send(post, at+"/document", "application/pdf", plan, nil)["documentId"].(string)
	field := r.json(post, at+"/fields", member{"signerId": "0", "type": "text", "page": 1, "x": 72, "y": 600, "w": 200, "h": 20})["id"]
	page := "/documents/" + document + "/pages/1"
	r.rejected("pdf_too_complex", get, at+page, nil)
	link := r.json(post, at+"/send", nil)["signers"].([]any)[0].(member)["signingUrl"].(string)
	signing := "/v1/signing/" + link[strings.LastIndexByte(link, '/')+1:]
	r.as("", func() {
		r.json(post, signing+"/consent", nil)
		r.rejected("pdf_too_complex", post, signing+page+"/finished", member{"fields": []member{{"fieldId": field, "textValue": "London"}}})
		differs := sealkit.SealedWithPicture(r.t, sealkit.SimplePDF(1), strings.Repeat("0", 64))
		r.rejected("appearance_differs", post, "/v1/verify/pages/1?level=1", differs, "Content-Type", "application/pdf")
	})
}

// streams calls do while n event streams are open.
func (r *recorder) streams(n int, do func()) {
	r.t.Helper()
	ctx, cancel := context.WithCancel(r.t.Context())
	defer cancel()
	for range n {
		req, err := http.NewRequestWithContext(ctx, get, r.s.BaseURL+"/v1/events/stream", nil)
		require.NoError(r.t, err)
		req.Header.Set("Authorization", "Bearer "+r.token)
		res, err := http.DefaultTransport.RoundTrip(req)
		require.NoError(r.t, err)
		defer func() { _ = res.Body.Close() }()
		require.Equal(r.t, http.StatusOK, res.StatusCode)
	}
	do()
}

// strictRejections records the rejections by a service that requires a second factor, cannot reach its provider, and
// uses the default rate limit.
func (r *recorder) strictRejections() {
	own, token := r.s, r.token
	defer func() { r.s, r.token = own, token }()
	address := kit.FreeAddress(r.t)
	strict := &service{}
	strict.run(r.t, r.t.TempDir(), address, "COUNTERSIGN_BASE_URL=https://sign.example.com", "COUNTERSIGN_CONSOLE_TOTP=required",
		"COUNTERSIGN_OIDC_ISSUER=http://localhost:9", "COUNTERSIGN_OIDC_CLIENT_ID=console", "COUNTERSIGN_OIDC_CLIENT_SECRET=secret", "COUNTERSIGN_OIDC_ROLE_CLAIM=roles")
	strict.BaseURL = "http://" + address
	r.s = strict
	r.token = r.login(strict.ClientID, strict.ClientSecret)
	const console = "/v1/console"
	user := member{"email": "sam-strict@example.com", "name": "Sam", "password": "correct horse battery", "role": "admin"}
	r.json(post, console+"/users", user)
	unproven := r.json(post, console+"/login", member{"email": user["email"], "password": user["password"]})["access_token"].(string)
	r.as(unproven, func() { r.rejected("second_factor_required", get, "/v1/envelopes/"+uuid.NewString(), nil) })
	r.as("", func() {
		r.rejected("invalid_credentials", post, console+"/passkeys/challenge", member{"email": user["email"], "password": "wrong horse battery"})
		r.rejected("passkey_none", post, console+"/passkeys/challenge", member{"email": user["email"], "password": user["password"]})
		r.rejected("provider_unreachable", post, console+"/provider/begin", member{})
		r.rejected("sign_in_expired", post, console+"/provider/complete", member{"code": "eyJhbGciOiJFUzI1NiJ9", "state": strings.Repeat("s", 43)})
		for range 2 * 600 { // a minute may end in the meantime
			if res, _ := r.do(get, console+"/sign-in", "", nil); res.StatusCode == http.StatusTooManyRequests {
				break
			}
		}
		r.rejected("rate_limited", get, console+"/sign-in", nil)
	})
}
