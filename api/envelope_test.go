package api_test

import (
	"encoding/base64"
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
	"countersign/temporal"
	"countersign/test/kit"
)

// TestArchivedEnvelope_ResponsesAreUnchanged checks that responses for an envelope are byte-identical before and after
// it is archived.
func TestArchivedEnvelope_ResponsesAreUnchanged(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, s *service) {
		c, staff, nobody := s.client(t), s.signIn(t, models.RoleAdmin), &client{t: t, s: s}
		contract := twoSigners()
		contract["externalId"], contract["fields"].([]object)[0]["name"] = "deal 7", "price"
		e, _ := c.sent(contract)
		picture := base64.StdEncoding.EncodeToString(kit.Signature())
		var receipt string
		var links []string
		for i, entries := range [][]object{
			{entry(e, 0, "900 euros"), {"fieldId": e.field(1)["id"], "signatureImageBase64": picture}, entry(e, 2, "true")}, {entry(e, 3, "agreed")}, {entry(e, 4, "agreed, too")},
		} {
			at := s.link(t, e, i)
			page := nobody.binds(at)
			page.post(at+"/consent", nil).want(200)
			receipt = page.post(at+"/sign", object{"fields": entries}).want(200).str("receiptToken")
			links = append(links, at, at+"/outcome", at+"/documents", at+"/document")
		}
		sealed := s.seals(t, c, e)
		_, err := s.store.Change(t.Context(), s.app.ID, id(e), func(e *models.Envelope) error { e.SetRetention(30); return nil })
		require.NoError(t, err)
		now, err := s.store.Envelope(t.Context(), s.app.ID, id(e))
		require.NoError(t, err)
		portal, err := s.cfg.Tokens.IssueDownload(now, now.Sealed()[0], now.Signers[0].ID)
		require.NoError(t, err)
		voided, _ := c.sent(twoSigners())
		c.post("/v1/envelopes/"+voided.str("id")+"/void", object{"reason": "by mistake"}).want(200)
		refs := []store.EnvelopeRef{{ID: id(e), AppID: s.app.ID}, {ID: id(voided), AppID: s.app.ID}}

		type said struct {
			path   string
			status int
			head   http.Header
			body   string
		}
		everything := func() (out []said) {
			ask := func(by *client, paths ...string) {
				for _, path := range paths {
					a := by.get(path)
					require.NotEqual(t, 500, a.status, path)
					head := a.header.Clone()
					for name := range head {
						if name == "Date" || strings.Contains(name, "Ratelimit") || strings.Contains(name, "Request-Id") || name == "Set-Cookie" {
							head.Del(name)
						}
					}
					out = append(out, said{path, a.status, head, string(a.raw)})
				}
			}
			for _, of := range []*response{e, voided} {
				at := "/v1/envelopes/" + of.str("id")
				ask(c, at, at+"/values", at+"/document", at+"/document?kind=sealed", at+"/documents.zip")
				ask(c.with("Accept", "text/csv"), at+"/values")
				at = "/v1/console/envelopes/" + of.str("id")
				ask(staff, at, at+"/document", at+"/documents")
			}
			ask(c, "/v1/envelopes?tenantId=acme", "/v1/envelopes?tenantId=acme&status=completed", "/v1/envelopes?tenantId=acme&externalId=deal+7", "/v1/envelopes?tenantId=acme&signerEmail=ada@example.com", "/v1/events", "/v1/usage")
			ask(staff, "/v1/console/envelopes", "/v1/console/envelopes?q=grace@example.com")
			for i := range out[len(out)-2:] { // lists omit the last activity of an archived envelope, because only the archive contains it
				row := &out[len(out)-2+i]
				var body object
				require.NoError(t, json.Unmarshal([]byte(row.body), &body))
				for _, e := range body["data"].([]any) {
					e := e.(object)
					delete(e, "lastActivity")
					delete(e, "users") // users who caused the last activity
				}
				b, err := json.Marshal(body)
				require.NoError(t, err)
				row.body = string(b)
				row.head.Del("Content-Length")
				row.head.Del("ETag")
			}
			ask(nobody, links...)
			ask(nobody, "/v1/download/"+portal)
			verified := nobody.send(http.MethodPost, "/v1/verify", "application/pdf", sealed).want(200)
			require.Contains(t, string(verified.raw), "recorded.same")
			return append(out, said{path: "receipt", status: nobody.get("/v1/receipts/" + receipt).want(200).status})
		}
		before := everything()
		for _, ref := range refs {
			require.NoError(t, s.store.Archive(t.Context(), ref))
		}
		after := everything()
		require.Len(t, after, len(before))
		for i := range before {
			require.Equal(t, before[i], after[i])
		}

		archived := func(id uuid.UUID) bool {
			e, err := s.store.Envelope(t.Context(), s.app.ID, id)
			require.NoError(t, err)
			return e.Archived
		}
		at := "/v1/envelopes/" + e.str("id")
		c.post("/v1/envelopes/"+voided.str("id")+"/void", nil)
		c.post(at+"/void", nil).rejected(400, "envelope_terminal")
		require.True(t, archived(id(e)), "a rejected request restores nothing")
		nobody.get("/v1/download/" + portal + "/document").want(200)
		require.False(t, archived(id(e)), "a download is recorded in the audit trail")
		require.Contains(t, string(c.get(at).want(200).raw), "document.downloaded")
		require.NoError(t, s.store.Archive(t.Context(), refs[0]))
		c.with("Idempotency-Key", "again").post(at+"/copies", object{"email": "ada@example.com"}).want(202)
		require.False(t, archived(id(e)))
		again := c.with("Idempotency-Key", "again").post(at+"/copies", object{"email": "ada@example.com"}).want(202)
		require.Equal(t, "true", again.header.Get("Idempotency-Replayed"))
		require.NoError(t, s.store.Archive(t.Context(), refs[0]))
		s.clock.advance(31 * 24 * time.Hour)
		_, err = s.store.Change(t.Context(), s.app.ID, id(e), func(e *models.Envelope) error { return e.Purge(s.act("system")) })
		require.NoError(t, err)
		full := s.client(t).get(at).want(200)
		require.NotContains(t, string(full.raw), "900 euros")
		require.Contains(t, string(full.raw), "document.purged")
	})
}

func TestProgress_LinksToTheWorkflow(t *testing.T) {
	t.Parallel()
	for name, at := range map[string]string{"": "", "https://temporal.example.com/namespaces/default/workflows": "https://temporal.example.com/namespaces/default/workflows/envelope%2F"} {
		s := onSQLite(t, func(cfg *api.Config) { cfg.WorkflowsURL = name })
		c := s.client(t)
		e, _ := c.sent(contract())
		link := c.get("/v1/envelopes/" + e.str("id") + "/progress").want(200).body["workflowUrl"]
		if at == "" {
			require.Nil(t, link)
		} else {
			require.Equal(t, at+e.str("id"), link)
		}
	}
}

// TestProgress_WithoutWorkflow checks that the progress is determined from the database if there is no workflow.
func TestProgress_WithoutWorkflow(t *testing.T) {
	t.Parallel()
	s := onSQLite(t, func(cfg *api.Config) {
		cfg.Workflows, cfg.ReminderInterval = fakeWorkflows{temporal.ErrNoWorkflow}, 48*time.Hour
		cfg.WorkflowsURL = "https://temporal.example.com"
	})
	c := s.client(t)
	data := contract()
	data["expiresInDays"] = 10
	e, token := c.sent(data)
	progress := func() object { return c.get("/v1/envelopes/" + e.str("id") + "/progress").want(200).body }
	p := progress()
	require.Equal(t, e.body["expiresAt"], p["deadline"])
	remind, err := time.Parse(time.RFC3339, p["nextReminder"].(string))
	require.NoError(t, err)
	require.WithinDuration(t, s.clock.now().Add(48*time.Hour), remind, time.Hour)
	delete(p, "deadline")
	delete(p, "nextReminder")
	require.Equal(t, object{"step": "waiting", "openGroup": 1.0, "awaiting": []any{e.signer(0)["id"]}, "workflowUrl": nil, "answeredBy": "database"}, p)

	nothing := func(step string) object {
		return object{"step": step, "openGroup": 0.0, "awaiting": []any{}, "deadline": nil, "nextReminder": nil, "workflowUrl": nil, "answeredBy": "database"}
	}
	c.signs(e, token)
	require.Equal(t, nothing("sealing"), progress())
	_, err = s.store.Change(t.Context(), s.app.ID, uuid.MustParse(e.str("id")), func(e *models.Envelope) error {
		return e.SealingFailed(s.act("system"), models.SealingFailing)
	})
	require.NoError(t, err)
	require.Equal(t, nothing("sealing_failed"), progress())
	s.completes(t, e.str("id"), 0)
	require.Equal(t, nothing("done"), progress())
	e, _ = c.sent(contract())
	c.post("/v1/envelopes/"+e.str("id")+"/void", nil).want(200)
	require.Equal(t, nothing("done"), progress())
}

// TestProgressOfASilentWorkflow_IsAnsweredByTheDatabase checks that an unresponsive workflow delays the response by no
// more than one second.
func TestProgressOfASilentWorkflow_IsAnsweredByTheDatabase(t *testing.T) {
	t.Parallel()
	s := onSQLite(t, func(cfg *api.Config) { cfg.Workflows = silentWorkflows{} })
	c := s.client(t)
	e, _ := c.sent(contract())
	began := time.Now()
	p := c.get("/v1/envelopes/" + e.str("id") + "/progress").want(200)
	require.Equal(t, "database", p.str("answeredBy"))
	require.Equal(t, "waiting", p.str("step"))
	require.Less(t, time.Since(began), 20*time.Second)
}
