package api_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"countersign/test/kit"
)

// TestLinkWithoutCode_HasNoAccess tries every operation in the contract with a signing link, or with the token of an
// embedded session, before a code is confirmed. It checks that no response contains confidential data, and that the
// requests change nothing but the record of views.
func TestLinkWithoutCode_HasNoAccess(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, s *service) {
		c, nobody := s.client(t), &client{t: t, s: s}
		field := func(signer, kind, name string, y int, more object) object {
			f := object{"signerId": signer, "type": kind, "name": name, "page": 1, "x": 50, "y": y, "w": 200, "h": 30}
			for k, v := range more {
				f[k] = v
			}
			return f
		}
		e, _ := c.sent(object{
			"tenantId": "acme", "subject": "Contract",
			"signers": []object{
				{"name": "Ada", "email": "ada-in-private@example.com", "phone": "+442079460958", "authMethod": "none", "routingOrder": 1},
				{"name": "Grace", "email": "grace-in-private@example.com", "phone": "+12025550143", "authMethod": "email_otp", "routingOrder": 2, "allowDelegation": true},
			},
			"fields": []object{
				field("0", "text", "told", 50, nil), field("0", "attachment", "paper", 100, nil),
				field("1", "text", "prefilled", 150, object{"defaultValue": "prefilled-in-private"}), field("1", "attachment", "other", 200, object{"required": false}),
			},
		})
		ada := s.link(t, e, 0)
		nobody.get(ada).want(200)
		nobody.post(ada+"/consent", nil).want(200)
		given := nobody.attach(strings.TrimPrefix(ada, "/v1/signing/"), e.field(0)["id"], "attached-in-private.pdf", kit.OnePage())
		if given.status != http.StatusCreated { // the fields may be in a different order
			given = nobody.attach(strings.TrimPrefix(ada, "/v1/signing/"), e.field(1)["id"], "attached-in-private.pdf", kit.OnePage())
		}
		given.want(201)
		var values []object
		for i := range 2 {
			if f := e.field(i); f["type"] == "text" {
				values = append(values, object{"fieldId": f["id"], "textValue": "entered-in-private"})
			} else {
				values = append(values, object{"fieldId": f["id"], "attachmentId": given.str("attachmentId")})
			}
		}
		nobody.post(ada+"/sign", object{"fields": values}).want(200)
		c.post("/v1/console/contacts", object{"name": "C", "email": "contact-in-private@example.com"}).want(200)
		other := contract()
		other["tenantId"], other["subject"] = "another", "subject-in-private"
		foreign, _ := c.sent(other)
		secrets := []string{"in-private", "442079460958", "2025550143"}
		silent := func(a *response, what string) {
			t.Helper()
			// By design, the response contains the email address of the link's own signer.
			body := strings.ReplaceAll(string(a.raw), `"signerEmail":"grace-in-private@example.com"`, "")
			for _, secret := range secrets {
				require.NotContains(t, body, secret, what)
			}
			for name, v := range a.header {
				require.NotContains(t, strings.Join(v, " "), "in-private", "%s: %s", what, name)
			}
		}

		link := s.link(t, e, 1)
		token := strings.TrimPrefix(link, "/v1/signing/")
		session := c.post("/v1/embedded/signing-sessions", object{
			"tenantId": "acme", "envelopeId": e.str("id"), "signerId": e.signer(1)["id"], "allowedOrigin": "https://app.example.com",
		}).want(201)
		embed := session.str("embedUrl")
		embed = embed[strings.LastIndex(embed, "/")+1:]
		before := c.get("/v1/envelopes/" + e.str("id")).want(200)
		doc, err := contractDocument()
		require.NoError(t, err)
		own := strings.NewReplacer("{token}", token, "{docId}", e.document(0)["id"].(string), "{documentId}", e.document(0)["id"].(string),
			"{aid}", given.str("attachmentId"), "{attachmentId}", given.str("attachmentId"))
		ids := strings.NewReplacer("{id}", e.str("id"), "{envelopeId}", e.str("id"), "{signerId}", e.signer(0)["id"].(string), "{fieldId}", e.field(0)["id"].(string),
			"{aid}", given.str("attachmentId"), "{attachmentId}", given.str("attachmentId"), "{documentId}", e.document(0)["id"].(string), "{tenantId}", "acme", "{token}", token)
		tried := map[bool]int{}
		for path, item := range doc.Paths.Map() {
			for method := range item.Operations() {
				bySigner := strings.HasPrefix(path, "/v1/signing/{token}")
				if bySigner && strings.Contains(path, "/otp/") || bySigner && strings.HasSuffix(path, "/decline") {
					continue // requesting a code and declining are allowed
				}
				tried[bySigner]++
				what := method + " " + path
				if bySigner {
					body := any(nil)
					if method != http.MethodGet {
						body = object{"fields": []object{}, "documentId": e.document(0)["id"], "page": 1, "dwellMs": 1, "name": "Eve", "email": "eve@example.com", "reason": "mine"}
					}
					a := nobody.call(method, own.Replace(path), body)
					silent(a, what)
					if a.status < 300 {
						require.True(t, method == http.MethodGet || strings.HasSuffix(path, "/page-view"), "%s answers %d: %s", what, a.status, a.raw)
					}
					continue
				}
				for _, credential := range []string{token, embed} {
					a := nobody.with("Authorization", "Bearer "+credential).call(method, ids.Replace(path), nil)
					silent(a, what)
					if strings.HasPrefix(path, "/v1/envelopes") || strings.HasPrefix(path, "/v1/console") && path != "/v1/console/sign-in" || strings.HasPrefix(path, "/v1/webhooks") || strings.HasPrefix(path, "/v1/events") || strings.HasPrefix(path, "/v1/embedded") {
						require.GreaterOrEqual(t, a.status, 400, "%s answers %d", what, a.status)
						require.Less(t, a.status, 500, "%s answers %d", what, a.status)
					}
				}
			}
		}
		require.Greater(t, tried[true], 8, "operations of signers")
		require.Greater(t, tried[false], 60, "all others")
		after := c.get("/v1/envelopes/" + e.str("id")).want(200)
		for _, member := range []string{"status", "signers", "fields", "documents", "expiresAt"} {
			require.Equal(t, withoutViews(before.body[member]), withoutViews(after.body[member]), member)
		}
		// With a confirmed code, the same operations return these values. So the code was the only missing requirement.
		grace := nobody.binds(link)
		shown := string(grace.get(link).want(200).raw)
		for _, secret := range []string{"entered-in-private", "attached-in-private", "prefilled-in-private"} {
			require.Contains(t, shown, secret)
		}
		require.Equal(t, "sent", c.get("/v1/envelopes/"+foreign.str("id")).want(200).str("status"))
	})
}

// withoutViews returns v as JSON, without the status changes caused by opening the link.
func withoutViews(v any) any {
	b, err := json.Marshal(v)
	if err != nil {
		return v
	}
	return strings.NewReplacer(`"status":"viewed"`, `"status":"sent"`, `"in_progress"`, `"sent"`).Replace(string(b))
}

// TestSigningDocument_IsFoundByID checks that a document is found by its own ID or the ID of its original, and that the
// requested kind of file is sent.
func TestSigningDocument_IsFoundByID(t *testing.T) {
	t.Parallel()
	s := onSQLite(t, nil)
	c := s.client(t)
	e, token := c.sent(contract())
	at := "/v1/envelopes/" + e.str("id") + "/document"
	original := e.document(0)["id"].(string)
	c.get(at+"?kind=sealed").rejected(409, "envelope_not_completed")
	c.get(at + "?documentId=" + original).want(200)
	c.get(at+"?documentId="+e.str("id")).rejected(404, "not_found")
	require.Contains(t, c.get(at+"?kind=other").rejected(400, "validation_error").body["errors"], "kind")
	require.Contains(t, c.get(at+"?documentId=1").rejected(400, "validation_error").body["errors"], "documentId")
	c.signs(e, token)
	s.completes(t, e.str("id"), 0)
	done := c.get("/v1/envelopes/" + e.str("id")).want(200)
	sealed := named(t, done.body["documents"].([]any), "kind", "sealed")["id"].(string)
	for _, query := range []string{"?kind=sealed", "?kind=sealed&documentId=" + original, "?kind=sealed&documentId=" + sealed, "?documentId=" + sealed} {
		c.get(at + query).want(200)
	}
	c.get(at+"?kind=original&documentId="+sealed).rejected(404, "not_found")
	c.get(at+"?kind=sealed&documentId="+e.str("id")).rejected(404, "not_found")
	nobody := &client{t: t, s: s}
	_, token = c.sent(contract())
	link := "/v1/signing/" + token
	nobody.get(link).want(200)
	for query, status := range map[string]int{"": 200, "?entries=false": 200, "?entries=true": 200, "?entries=": 400, "?entries=1": 400} {
		require.Equal(t, status, nobody.get(link+"/document"+query).status, query)
	}
}
