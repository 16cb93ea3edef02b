package api_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"countersign/api"
	"countersign/models"
	"countersign/temporal"
)

// A signer who has signed sees what becomes of it and gets the sealed copy, for
// a day and by the receipt alone: the link is spent.
func TestReceipt(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, s *service) {
		c := s.client(t)
		e, token := c.sent(contract())
		nobody := &client{t: t, s: s}
		at := "/v1/signing/" + token
		nobody.get(at).want(200)
		nobody.post(at+"/consent", nil).want(200)
		fields := object{"fields": []object{{"fieldId": e.field(0)["id"], "textValue": "yes"}}}
		receipt := nobody.post(at+"/sign", fields).want(200).str("receiptToken")
		nobody.get(at).refused(410, "signing_link_used")

		waiting := nobody.get("/v1/receipts/" + receipt).want(200)
		require.Equal(t, "in_progress", waiting.str("envelopeStatus"))
		require.Empty(t, waiting.body["documents"])
		s.completes(t, e.str("id"), 0)
		done := nobody.get("/v1/receipts/" + receipt).want(200)
		require.Equal(t, "completed", done.str("envelopeStatus"))
		copies := done.body["documents"].([]any)
		require.Len(t, copies, 1)
		link, ok := strings.CutPrefix(copies[0].(object)["downloadUrl"].(string), "https://sign.example.com")
		require.True(t, ok)
		require.Equal(t, copies[0].(object)["sha256"], nobody.get("/v1"+link).want(200).str("sha256"))

		for _, other := range []string{token, c.token, strings.TrimPrefix(link, "/download/"), "x"} {
			nobody.get("/v1/receipts/"+other).refused(401, "receipt_invalid")
		}
		require.Equal(t, 401, nobody.get("/v1/signing/"+receipt).status)
		require.Equal(t, 401, nobody.get("/v1/download/"+receipt).status)
		require.Equal(t, 401, (&client{t: t, s: s, token: receipt}).get("/v1/envelopes?tenantId=acme").status)
		s.clock.advance(25 * time.Hour)
		nobody.get("/v1/receipts/"+receipt).refused(401, "receipt_invalid")
	})
}

func TestReceiptOfAPurgedDocument(t *testing.T) {
	t.Parallel()
	s := onSQLite(t, nil)
	c := s.client(t)
	e, token := c.sent(contract())
	at := "/v1/signing/" + token
	c.get(at).want(200)
	c.post(at+"/consent", nil).want(200)
	// What was refused leaves no receipt.
	require.Empty(t, c.post(at+"/sign", object{"fields": []object{}}).want(400).str("receiptToken"))
	receipt := c.post(at+"/sign", object{"fields": []object{{"fieldId": e.field(0)["id"], "textValue": "yes"}}}).want(200).str("receiptToken")
	s.completes(t, e.str("id"), 1)
	_, err := s.store.Change(t.Context(), s.app.ID, uuid.MustParse(e.str("id")), func(e *models.Envelope) error {
		act := s.act("system")
		act.At = act.At.Add(25 * time.Hour)
		return e.Purge(act)
	})
	require.NoError(t, err)
	c.get("/v1/receipts/"+receipt).refused(410, "document_purged")
}

// The record names the version and the language of the text that was shown.
func TestConsentNamesWhatWasShown(t *testing.T) {
	t.Parallel()
	s := onSQLite(t, nil)
	c := s.client(t)
	for tag, language := range map[string]string{"": "en", "de": "de", "pt-BR": "pt", "AR": "ar", "xx": "en", "../en": "en"} {
		e, token := c.sent(contract())
		at := "/v1/signing/" + token
		shown := c.get(at + "?language=" + tag).want(200).body["consent"].(object)
		require.Equal(t, language, shown["language"])
		want := new(models.Signer).Disclosure(language)
		require.Equal(t, want.Text, shown["text"])
		c.post(at+"/consent", object{"version": "2000-01-en"}).refused(400, "validation_error")
		c.post(at+"/consent", object{"version": shown["version"]}).want(200)
		log := c.get("/v1/envelopes/" + e.str("id")).want(200).body["auditLog"].([]any)
		detail := log[len(log)-1].(object)["detail"].(object)
		require.Equal(t, object{"signerId": e.signer(0)["id"], "version": want.Version, "language": language, "textSha256": want.Hash()}, detail)
	}
}

func TestProgressLinksToTheWorkflow(t *testing.T) {
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

// TestProgressWithoutAWorkflow: where none runs the database tells how far the envelope is.
func TestProgressWithoutAWorkflow(t *testing.T) {
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

// silentWorkflows stands for a Temporal whose workers do not answer.
type silentWorkflows struct{ fakeWorkflows }

func (silentWorkflows) Progress(ctx context.Context, _ uuid.UUID) (temporal.Progress, error) {
	<-ctx.Done()
	return temporal.Progress{}, ctx.Err()
}

// TestProgressOfASilentWorkflow_IsAnsweredByTheDatabase: within a second and what the request itself takes.
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
