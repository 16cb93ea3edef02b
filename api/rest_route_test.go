package api_test

import (
	"bytes"
	"database/sql"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"countersign/api"
	"countersign/models"
	"countersign/store"
	"countersign/test/kit"
)

// repeatableRequest is a request that succeeds when it is first sent.
type repeatableRequest struct {
	c           *client
	path        string
	contentType string // empty for JSON
	body        []byte // nil if there is no body
	bad         []byte // an invalid body, or nil if the operation accepts any body
	uniqueBody  bool   // whether a retry runs the request again
}

// repeatableRequests returns a request for every POST in the contract.
func repeatableRequests(t *testing.T, s *service, p *fakeProvider) map[string]func() repeatableRequest {
	t.Helper()
	c, nobody := s.client(t), &client{t: t, s: s}
	hook := "/v1/console/webhooks/" + c.post("/v1/webhooks", object{"url": "https://example.com/h", "events": []string{"envelope.created"}}).want(201).str("id")
	asJSON := func(v any) []byte {
		b, err := json.Marshal(v)
		require.NoError(t, err)
		return b
	}
	broken := []byte(`{"no JSON`)
	app := func(path string, body any) func() repeatableRequest {
		return func() repeatableRequest {
			r := repeatableRequest{c: c, path: path}
			if body != nil {
				r.body, r.bad = asJSON(body), broken
			}
			return r
		}
	}
	draft := func(tail string, body any) func() repeatableRequest {
		return func() repeatableRequest { return app("/v1/envelopes/"+c.draft(contract()).str("id")+tail, body)() }
	}
	awaited := func(tail string, body any) func() repeatableRequest {
		return func() repeatableRequest {
			e, _ := c.sent(contract())
			return app("/v1/envelopes/"+e.str("id")+"/signers/"+e.signer(0)["id"].(string)+tail, body)()
		}
	}
	signer := func(tail string) func() repeatableRequest {
		return func() repeatableRequest {
			data := contract()
			if strings.HasPrefix(tail, "/otp") {
				data["signers"] = []object{{"name": "Ada", "email": "ada@example.com"}}
			}
			e, token := c.sent(data)
			at := "/v1/signing/" + token
			r := repeatableRequest{c: nobody, path: at + tail}
			switch tail {
			case "/sign":
				nobody.post(at+"/consent", nil).want(200)
				r.body, r.bad = asJSON(object{"fields": []object{{"fieldId": e.field(0)["id"], "textValue": "yes"}}}), asJSON(object{"fields": []object{}})
			case "/fit":
				r.body, r.bad = asJSON(object{"fields": []object{{"fieldId": e.field(0)["id"], "textValue": "yes"}}}), broken
			case "/page-view":
				r.body, r.bad = asJSON(object{"documentId": e.body["documents"].([]any)[0].(object)["id"], "page": 1, "dwellMs": 5}), broken
			case "/otp/verify":
				nobody.post(at+"/otp/request", nil).want(200)
				r.body, r.bad = asJSON(object{"code": s.mails.code(t)}), asJSON(object{"code": "000000"})
			case "/decline":
				r.body, r.bad = asJSON(object{"reason": "no"}), broken
			}
			return r
		}
	}
	own := func(tail string, body object, anew bool) func() repeatableRequest {
		return func() repeatableRequest {
			r := repeatableRequest{c: s.person(t, models.RoleAdmin), path: "/v1/console" + tail, uniqueBody: anew, bad: broken}
			switch tail {
			case "/totp/confirm":
				body = object{"code": s.code(t, r.c.post("/v1/console/totp", object{"password": password}).want(201).str("secret"))}
			case "/totp/recovery-codes", "/totp/remove":
				var recovery []any
				r.c, _, recovery = s.enrolled(t, models.RoleAdmin)
				body = object{"password": password, "code": recovery[0]}
			case "/logout":
				r.bad = nil
				return r
			}
			r.body = asJSON(body)
			return r
		}
	}
	bulk := func(tail, before string) func() repeatableRequest {
		return func() repeatableRequest {
			at := "/v1/bulk-sends/" + c.post("/v1/bulk-sends", bulkRequest(bulkTemplate(t, s, c, "acme"), bulkRow(newID().String(), "Ada"))).want(202).str("id")
			switch before {
			case "":
			case "fail":
				id := uuid.MustParse(strings.TrimPrefix(at, "/v1/bulk-sends/"))
				work, err := s.store.BulkWork(t.Context(), s.app.ID, id, 1, 1)
				require.NoError(t, err)
				require.NoError(t, s.store.FailBulkRow(t.Context(), s.app.ID, work.Rows[0], models.Reject(models.KindInvalid, "x", "y")))
			default:
				c.post(at+before, nil).want(200)
			}
			return app(at+tail, nil)()
		}
	}
	return map[string]func() repeatableRequest{
		"/oauth/token": func() repeatableRequest {
			f := func(secret string) []byte {
				return form("grant_type", "client_credentials", "client_id", s.id, "client_secret", secret)
			}
			return repeatableRequest{c: nobody, path: "/oauth/token", contentType: "application/x-www-form-urlencoded", body: f(s.pass), bad: f("guess")}
		},
		"/v1/bulk-sends": func() repeatableRequest {
			return app("/v1/bulk-sends", bulkRequest(bulkTemplate(t, s, c, "acme"), bulkRow(newID().String(), "Ada")))()
		},
		"/v1/bulk-sends/{id}/pause":  bulk("/pause", ""),
		"/v1/bulk-sends/{id}/resume": bulk("/resume", "/pause"),
		"/v1/bulk-sends/{id}/cancel": bulk("/cancel", ""),
		"/v1/bulk-sends/{id}/retry":  bulk("/retry", "fail"),
		"/v1/envelopes":              app("/v1/envelopes", contract()),
		"/v1/templates":              app("/v1/templates", leaseTemplate()),
		"/v1/envelopes/{id}/send":    draft("/send", object{"message": "please"}),
		"/v1/envelopes/{id}/void":    draft("/void", object{"reason": "wrong file"}),
		"/v1/envelopes/{id}/signers": draft("/signers", object{"name": "B", "email": "b@example.com"}),
		"/v1/envelopes/{id}/fields":  draft("/fields", object{"signerId": "0", "type": "text", "page": 1, "x": 9, "y": 9, "w": 90, "h": 20}),
		"/v1/envelopes/{id}/documents/{documentId}/prepare": func() repeatableRequest {
			e := c.draft(contract())
			return app("/v1/envelopes/"+e.str("id")+"/documents/"+e.document(0)["id"].(string)+"/prepare", object{"tags": "detect"})()
		},
		"/v1/envelopes/{id}/document": func() repeatableRequest {
			r := draft("/document", nil)()
			r.contentType, r.body, r.bad = "application/pdf", kit.OnePage(), []byte("no PDF")
			return r
		},
		"/v1/envelopes/{id}/signers/{signerId}/replace":      awaited("/replace", object{"name": "B", "email": "b@example.com"}),
		"/v1/envelopes/{id}/signers/{signerId}/resend":       awaited("/resend", nil),
		"/v1/envelopes/{id}/signers/{signerId}/remind":       awaited("/remind", nil),
		"/v1/envelopes/{id}/duplicate":                       draft("/duplicate", object{"createdBy": "Ada"}),
		"/v1/envelopes/{id}/signers/{signerId}/signing-link": awaited("/signing-link", object{"rotate": true}),
		"/v1/console/envelopes/{id}/restart": func() repeatableRequest {
			e, _ := c.sent(contract())
			return app("/v1/console/envelopes/"+e.str("id")+"/restart", nil)()
		},
		"/v1/envelopes/{id}/copies": func() repeatableRequest {
			e, token := c.sent(contract())
			c.signs(e, token)
			s.completes(t, e.str("id"), 0)
			return app("/v1/envelopes/"+e.str("id")+"/copies", object{"email": "ada@example.com"})()
		},
		"/v1/webhooks/{id}/test": func() repeatableRequest {
			c.post(hook+"/resume", nil).want(200)
			return app(strings.Replace(hook, "/console", "", 1)+"/test", nil)()
		},
		"/v1/signing/{token}/delegate": func() repeatableRequest {
			data := contract()
			data["signers"] = []object{{"name": "Ada", "email": "ada@example.com", "authMethod": "none", "allowDelegation": true}}
			_, token := c.sent(data)
			return repeatableRequest{c: nobody, path: "/v1/signing/" + token + "/delegate", body: asJSON(object{"name": "B", "email": "b@example.com"}), bad: broken}
		},
		"/v1/webhooks": app("/v1/webhooks", object{"url": "https://example.com/1", "events": []string{"envelope.created"}}),
		"/v1/console/login": func() repeatableRequest {
			return repeatableRequest{
				c: nobody, path: "/v1/console/login", uniqueBody: true, body: asJSON(object{"email": s.person(t, models.RoleViewer).email(), "password": password}),
				bad: asJSON(object{"email": "nobody@example.com", "password": password}),
			}
		},
		"/v1/console/passkeys/challenge": func() repeatableRequest {
			person := s.person(t, models.RoleViewer)
			person.registers(newAuthenticator(t), "Key", object{"password": password}).want(201)
			return repeatableRequest{c: nobody, path: passkeysPath + "/challenge", uniqueBody: true, body: asJSON(object{"email": person.email(), "password": password}), bad: broken}
		},
		"/v1/console/passkeys/proof": func() repeatableRequest {
			person := s.person(t, models.RoleViewer)
			person.registers(newAuthenticator(t), "Key", object{"password": password}).want(201)
			return repeatableRequest{c: person, path: passkeysPath + "/proof", uniqueBody: true}
		},
		"/v1/console/passkeys/begin": own("/passkeys/begin", object{"password": password}, true),
		"/v1/console/passkeys": func() repeatableRequest {
			person, key := s.person(t, models.RoleViewer), newAuthenticator(t)
			options := person.post(passkeysPath+"/begin", object{"password": password}).want(200)
			return repeatableRequest{c: person, path: passkeysPath, uniqueBody: true, body: asJSON(object{"ceremony": options.str("ceremony"), "name": "Key", "credential": key.creates(options.body)}), bad: broken}
		},
		"/v1/console/passkeys/{id}/remove": func() repeatableRequest {
			person := s.person(t, models.RoleViewer)
			a := person.registers(newAuthenticator(t), "Key", object{"password": password}).want(201)
			return repeatableRequest{
				c: person, path: passkeysPath + "/" + a.body["passkey"].(object)["id"].(string) + "/remove", bad: broken,
				body: asJSON(object{"password": password, "code": a.body["recoveryCodes"].([]any)[0]}),
			}
		},
		"/v1/console/provider/begin": func() repeatableRequest {
			return repeatableRequest{c: nobody, path: beginPath, uniqueBody: true, body: asJSON(object{}), bad: broken}
		},
		"/v1/console/provider/connect": own("/provider/connect", object{"password": password}, true),
		"/v1/console/provider/complete": func() repeatableRequest {
			browser, address := s.begin(t, object{})
			return repeatableRequest{c: browser, path: completePath, uniqueBody: true, body: asJSON(p.authorize(address)), bad: asJSON(object{"code": "x", "state": "y"})}
		},
		"/unsubscribe/{token}": func() repeatableRequest {
			person := s.person(t, models.RoleViewer)
			user, err := s.store.User(t.Context(), uuid.MustParse(person.me().want(200).body["user"].(object)["id"].(string)))
			require.NoError(t, err)
			token, err := s.cfg.Tokens.IssueUnsubscribe(user, s.cfg.Now())
			require.NoError(t, err)
			return repeatableRequest{c: nobody, path: "/unsubscribe/" + token, uniqueBody: true}
		},
		"/v1/console/logout":              own("/logout", nil, false),
		"/v1/console/sessions/end":        own("/sessions/end", object{"password": password}, false),
		"/v1/console/password":            own("/password", object{"password": password, "newPassword": "another long one"}, false),
		"/v1/console/totp":                own("/totp", object{"password": password}, true),
		"/v1/console/totp/confirm":        own("/totp/confirm", nil, true),
		"/v1/console/totp/recovery-codes": own("/totp/recovery-codes", nil, true),
		"/v1/console/totp/remove":         own("/totp/remove", nil, false),
		"/v1/console/users":               app("/v1/console/users", object{"email": "new@example.com", "name": "New", "password": "correct horse battery", "role": "viewer"}),
		"/v1/console/envelopes/{id}/documents": func() repeatableRequest {
			r := repeatableRequest{c: c, path: "/v1/console/envelopes/" + c.draft(contract()).str("id") + "/documents"}
			r.contentType, r.body = multipartBody(t, nil, kit.OnePage())
			return r
		},
		"/v1/console/envelopes/{id}/void": func() repeatableRequest {
			return app("/v1/console/envelopes/"+c.draft(contract()).str("id")+"/void", object{"reason": "x"})()
		},
		"/v1/console/envelopes/{id}/signers/{signerId}/resend": func() repeatableRequest {
			e, _ := c.sent(contract())
			return app("/v1/console/envelopes/"+e.str("id")+"/signers/"+e.signer(0)["id"].(string)+"/resend", nil)()
		},
		"/v1/console/contacts":             app("/v1/console/contacts", object{"name": "A", "email": "a@example.com"}),
		"/v1/console/webhooks/{id}/pause":  app(hook+"/pause", nil),
		"/v1/console/webhooks/{id}/resume": app(hook+"/resume", nil),
		"/v1/console/webhooks/{id}/secret": app(hook+"/secret", object{"secret": "another"}),
		"/v1/console/webhooks/{id}/ping": func() repeatableRequest {
			c.post(hook+"/resume", nil).want(200)
			return app(hook+"/ping", nil)()
		},
		"/v1/console/webhooks/{id}/resend": func() repeatableRequest {
			c.post(hook+"/resume", nil).want(200) // the cases run in random order
			return app(hook+"/resend", object{"since": "2026-01-02T03:04:05Z"})()
		},
		"/v1/console/webhook-deliveries/{id}/resend": func() repeatableRequest {
			c.post(hook+"/resume", nil).want(200)
			c.draft(contract())
			c.post(hook+"/pause", nil).want(200) // makes pending deliveries fail
			c.post(hook+"/resume", nil).want(200)
			d := c.get("/v1/console/webhook-deliveries?status=failed").want(200).body["data"].([]any)[0].(object)
			return app("/v1/console/webhook-deliveries/"+d["id"].(string)+"/resend", nil)()
		},
		"/v1/embedded/signing-sessions": func() repeatableRequest {
			e, _ := c.sent(contract())
			return app("/v1/embedded/signing-sessions", object{
				"envelopeId": e.str("id"), "signerId": e.signer(0)["id"], "tenantId": "acme", "allowedOrigin": "https://app.example.com",
			})()
		},
		"/v1/embedded/builder-sessions": func() repeatableRequest {
			e := c.draft(contract())
			return app("/v1/embedded/builder-sessions", object{"envelopeId": e.str("id"), "tenantId": "acme", "allowedOrigin": "https://app.example.com"})()
		},
		"/v1/console/users/{id}/password": func() repeatableRequest {
			user := c.post("/v1/console/users", object{"email": "fresh@example.com", "name": "F", "password": "a long password", "role": "viewer"}).want(201)
			return app("/v1/console/users/"+user.str("id")+"/password", object{"newPassword": "another long one"})()
		},
		"/v1/console/webhooks":       app("/v1/console/webhooks", object{"url": "https://example.com/2", "events": []string{"envelope.created"}}),
		"/v1/console/client-secrets": own("/client-secrets", object{"password": password, "overlapHours": 24}, true),
		"/v1/console/client-secrets/{id}/end": func() repeatableRequest {
			r := own("/client-secrets", object{"password": password}, false)()
			for range 2 {
				s.clock.advance(time.Second)
				_, err := s.store.AddSecret(t.Context(), s.app.ID, 24*time.Hour)
				require.NoError(t, err)
			}
			secrets, err := s.store.ClientSecrets(t.Context(), s.app.ID)
			require.NoError(t, err)
			r.path += "/" + secrets[1].ID.String() + "/end"
			return r
		},
		"/v1/verify": func() repeatableRequest {
			return repeatableRequest{c: nobody, path: "/v1/verify", contentType: "application/pdf", body: kit.OnePage(), uniqueBody: true}
		},
		"/v1/signing/{token}/otp/request": signer("/otp/request"),
		"/v1/signing/{token}/otp/verify":  signer("/otp/verify"),
		"/v1/signing/{token}/consent":     signer("/consent"),
		"/v1/signing/{token}/sign":        signer("/sign"),
		"/v1/signing/{token}/decline":     signer("/decline"),
		"/v1/signing/{token}/page-view":   signer("/page-view"),
		"/v1/signing/{token}/fit":         signer("/fit"),
		"/v1/signing/{token}/documents/{docId}/pages/{page}/finished": func() repeatableRequest {
			e, token := c.sent(contract())
			at := "/v1/signing/" + token
			nobody.post(at+"/consent", nil).want(200)
			return repeatableRequest{
				c: nobody, path: at + "/documents/" + e.document(0)["id"].(string) + "/pages/1/finished", uniqueBody: true,
				body: asJSON(object{"fields": []object{{"fieldId": e.field(0)["id"], "textValue": "yes"}}}), bad: broken,
			}
		},
		"/v1/signing/{token}/attachments": func() repeatableRequest {
			e, token := c.sent(attaching())
			at := "/v1/signing/" + token
			c.get(at).want(200)
			c.post(at+"/consent", nil).want(200)
			ct, body := multipartBody(t, map[string]string{"fieldId": e.field(0)["id"].(string)}, kit.OnePage())
			return repeatableRequest{c: nobody, path: at + "/attachments", contentType: ct, body: body}
		},
	}
}

// TestPost_CanBeRepeated checks every POST in the contract. Only one of several concurrent requests with the same key
// is processed. A retry of a successful request gets the original response, unless the response contains a secret or
// the request changes nothing. A rejected request releases its key.
func TestPost_CanBeRepeated(t *testing.T) {
	t.Parallel()
	s, p, _ := withProvider(t, kit.MigratedURL(t, "sqlite"), func(cfg *api.Config) { cfg.Workflows = &lostWorkflows{} })
	db, err := sql.Open("sqlite", strings.TrimPrefix(s.url, "sqlite://")+"?_pragma=busy_timeout(10000)")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	exec := func(statement string) {
		_, err := db.ExecContext(t.Context(), statement)
		require.NoError(t, err)
	}
	all := repeatableRequests(t, s, p)
	for _, r := range s.api.Routes() {
		// Only test/conformance has a sealed file whose pages can be rendered. The response is replayed in the same way
		// as that of /v1/verify.
		if path, ok := strings.CutPrefix(r, "POST "); ok && path != "/v1/verify/pages/{page}" {
			require.Contains(t, all, path, "the response to a repeated POST %s is not defined", path)
		}
	}
	for path, prepare := range all { //nolint:paralleltest // sequential because the cases share database triggers
		t.Run(path, func(t *testing.T) {
			r := prepare()
			caller := *r.c
			caller.t = t
			do := func(key string, body []byte) *response {
				t.Helper()
				contentType := r.contentType
				if contentType == "" && body != nil {
					contentType = "application/json"
				}
				return caller.with("Idempotency-Key", key).send(http.MethodPost, r.path, contentType, body)
			}
			if r.bad != nil {
				rejected := do("k", r.bad)
				require.GreaterOrEqual(t, rejected.status, 400, "%s", rejected.raw)
				require.Less(t, rejected.status, 500, "%s", rejected.raw)
			}
			first := do("k", r.body)
			require.Less(t, first.status, 300, "%s", first.raw)
			require.Empty(t, first.header.Get("Idempotency-Replayed"), "a rejected request releases the key")
			again := do("k", r.body)
			switch {
			case r.uniqueBody:
				require.Empty(t, again.header.Get("Idempotency-Replayed"))
				var kept int
				require.NoError(t, db.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM idempotency_keys WHERE path = ? AND status <> 0", r.path).Scan(&kept))
				require.Zero(t, kept, "no part of the response is stored")
			case path == "/v1/console/logout":
				again.rejected(401, "unauthorized") // the session has ended, which is checked first
				// Simulate an unfinished request of another process.
				var fingerprint []byte
				require.NoError(t, db.QueryRowContext(t.Context(), "SELECT fingerprint FROM idempotency_keys WHERE path = ?", r.path).Scan(&fingerprint))
				caller = *s.person(t, models.RoleAdmin)
				caller.t = t
				user := caller.me().body["user"].(object)["id"].(string)
				for key, sum := range map[string][]byte{"same": fingerprint, "other": []byte("other")} {
					_, _, err := s.store.ClaimKey(t.Context(), store.IdempotentRequest{
						Scope: models.UserActor(uuid.MustParse(user)), Method: http.MethodPost, Path: r.path, Key: key, Fingerprint: sum,
					}, time.Hour)
					require.NoError(t, err)
				}
				do("same", nil).rejected(409, "idempotency_in_flight")
				do("other", nil).rejected(422, "idempotency_key_reused")
				return
			default:
				again.want(first.status)
				require.Equal(t, "true", again.header.Get("Idempotency-Replayed"))
				require.True(t, bytes.Equal(first.raw, again.raw), "%s\n%s", first.raw, again.raw)
				for _, name := range []string{"Content-Type", "Location", "Pragma", "Www-Authenticate"} {
					require.Equal(t, first.header.Get(name), again.header.Get(name), name)
				}
				other := append(append([]byte{}, r.body...), '\n')
				if strings.HasPrefix(r.contentType, "multipart") { // only the parts matter, not the bytes between them
					other = bytes.Replace(r.body, []byte("contract.pdf"), []byte("another.pdf"), 1)
				}
				do("k", other).rejected(422, "idempotency_key_reused")
				exec("UPDATE idempotency_keys SET status = 0")
				do("k", r.body).rejected(409, "idempotency_in_flight")
			}
			if r.uniqueBody { // simulate that the first request is still running
				exec("CREATE TRIGGER stays BEFORE DELETE ON idempotency_keys BEGIN SELECT RAISE(IGNORE); END")
				defer exec("DROP TRIGGER stays")
				do("busy", r.body)
				do("busy", r.body).rejected(409, "idempotency_in_flight")
				do("busy", append(append([]byte{}, r.body...), '\n')).rejected(422, "idempotency_key_reused")
			}
		})
	}
}
