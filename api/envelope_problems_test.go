package api_test

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"countersign/api"
	"countersign/models"
	"countersign/test/kit"
)

// lostWorkflows simulates a Temporal server on which only the listed workflows are running.
type lostWorkflows struct {
	fakeWorkflows

	running map[string]bool
}

func (w *lostWorkflows) Running(_ context.Context, envelope uuid.UUID) (bool, error) {
	return w.running[envelope.String()], w.fail
}

// problems returns one list of problems as a map. The parameter id is the name of the member that contains the keys.
func problems(c *client, kind, id string) map[string]object {
	c.t.Helper()
	out := map[string]object{}
	for _, row := range c.get("/v1/console/problems").want(200).body[kind].([]any) {
		out[row.(object)[id].(string)] = row.(object)
	}
	return out
}

// TestProblems checks that an envelope is listed if it has no workflow, is overdue, or is signed but not sealed.
func TestProblems(t *testing.T) {
	t.Parallel()
	kit.EachDatabase(t, func(t *testing.T, kind string) {
		workflows := &lostWorkflows{running: map[string]bool{}}
		s := start(t, kit.MigratedURL(t, kind), func(cfg *api.Config) {
			cfg.Workflows, cfg.WorkflowsURL = workflows, "https://temporal.example.com/workflows"
		})
		c := s.client(t)
		sent := func(change object) (id string, e *response, token string) {
			data := contract()
			for k, v := range change {
				data[k] = v
			}
			e, token = c.sent(data)
			return e.str("id"), e, token
		}
		well, _, _ := sent(nil)
		lost, _, _ := sent(object{"subject": "Lost"})
		overdue, _, _ := sent(object{"expiresInDays": 1})
		sealing, e, token := sent(nil)
		c.signs(e, token)
		broken, e, token := sent(nil)
		c.signs(e, token)
		_, err := s.store.Change(t.Context(), s.app.ID, uuid.MustParse(broken), func(e *models.Envelope) error {
			return e.SealingFailed(s.act("system"), models.SealingOriginalMissing)
		})
		require.NoError(t, err)
		for _, id := range []string{well, overdue, sealing} {
			workflows.running[id] = true
		}
		require.Equal(t, []string{broken}, keys(problems(c, "envelopes", "envelopeId")), "no other envelope is overdue yet, and workflows in the outbox are not lost")

		finishOutbox(t, s)
		s.clock.advance(25 * time.Hour)
		found := problems(s.client(t), "envelopes", "envelopeId")
		require.ElementsMatch(t, []string{lost, overdue, sealing, broken}, keys(found))
		require.Equal(t, []any{"lost", "missing", nil, "Lost"}, values(&response{body: found[lost]}, "problem", "workflow", "since", "subject"))
		require.Equal(t, []any{"overdue", "running", "sent"}, values(&response{body: found[overdue]}, "problem", "workflow", "status"))
		require.Equal(t, "https://temporal.example.com/workflows/envelope%2F"+overdue, found[overdue]["workflowUrl"])
		require.Nil(t, found[lost]["workflowUrl"], "there must be no link without a workflow")
		require.Equal(t, []any{"sealing", "running", "in_progress"}, values(&response{body: found[sealing]}, "problem", "workflow", "status"))
		require.Equal(t, []any{"sealing_failed", "missing", "original_missing", "An uploaded document is missing from the file store."}, values(&response{body: found[broken]}, "problem", "workflow", "code", "detail"))
		require.Nil(t, found[sealing]["code"], "the cause is not known")

		workflows.fail = errors.New("down")
		found = problems(s.client(t), "envelopes", "envelopeId")
		require.ElementsMatch(t, []string{overdue, sealing, broken}, keys(found), "no workflow is reported as lost while Temporal is unavailable")
		require.Equal(t, "unknown", found[overdue]["workflow"])
	})
}

func keys(m map[string]object) (out []string) {
	for k := range m {
		out = append(out, k)
	}
	return out
}

// finishOutbox completes all outbox rows, as the dispatcher does, and returns them.
func finishOutbox(t *testing.T, s *service) (all []models.OutboxRow) {
	t.Helper()
	for {
		rows, err := s.store.ClaimOutbox(t.Context(), 100, time.Minute)
		require.NoError(t, err)
		if len(rows) == 0 {
			return all
		}
		for _, r := range rows {
			require.NoError(t, s.store.FinishOutbox(t.Context(), r.Seq))
		}
		all = append(all, rows...)
	}
}

// TestProblems_Mails checks that a rejected email is listed as a problem until a later email to the same recipient is
// sent.
func TestProblems_Mails(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, s *service) {
		c := s.client(t)
		e, _ := c.sent(contract())
		signer := uuid.MustParse(e.signer(0)["id"].(string))
		begin := func(id string) {
			t.Helper()
			_, err := s.store.BeginMail(t.Context(), models.Mail{ID: id, EnvelopeID: uuid.MustParse(e.str("id")), SignerID: signer, Kind: models.MailInvitation})
			require.NoError(t, err)
		}
		begin("first")
		require.Empty(t, problems(c, "mails", "envelopeId"))
		require.NoError(t, s.store.MailDelayed(t.Context(), "first", "451 try later", true))
		found := problems(c, "mails", "envelopeId")[e.str("id")]
		require.Equal(t, []any{"451 try later", nil, signer.String(), e.signer(0)["name"]}, values(&response{body: found}, "error", "failedAt", "signerId", "signerName"))
		require.NoError(t, s.store.MailFailed(t.Context(), "first", "550 no such mailbox"))
		require.NotNil(t, problems(c, "mails", "envelopeId")[e.str("id")]["failedAt"])
		s.clock.advance(time.Minute)
		begin("second")
		require.NotEmpty(t, problems(c, "mails", "envelopeId"))
		require.NoError(t, s.store.MailSent(t.Context(), "second"))
		require.Empty(t, problems(c, "mails", "envelopeId"))
	})
}

// TestProblems_Deliveries checks that the list entry for a failed delivery contains the endpoint's response and the
// time of the next attempt.
func TestProblems_Deliveries(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, s *service) {
		c := s.client(t)
		hook, err := s.store.CreateWebhook(t.Context(), s.app.ID, "https://example.com/hook", []models.EventName{models.EventEnvelopeSent}, "secret of the hook")
		require.NoError(t, err)
		e, _ := c.sent(contract())
		require.Empty(t, problems(c, "deliveries", "id"), "the delivery is in progress")
		found := c.get("/v1/console/webhook-deliveries").want(200).body["data"].([]any)
		require.Len(t, found, 1)
		id := found[0].(object)["id"].(string)
		attempt := func(run int, last bool) {
			t.Helper()
			record := models.DeliveryAttempt{DeliveryID: uuid.MustParse(id), At: s.clock.now(), Status: 503, Body: []byte("closed for lunch")}
			if !last {
				record.NextAt = new(record.At.Add(time.Hour))
			}
			_, err := s.store.RecordAttempt(t.Context(), record,
				models.DeliveryOutcome{WebhookID: hook.ID, Run: run, Last: last})
			require.NoError(t, err)
		}
		attempt(0, false)
		d := problems(c, "deliveries", "id")[id]
		require.Equal(t, []any{"pending", "https://example.com/hook", e.str("id")}, values(&response{body: d}, "status", "webhookUrl", "envelopeId"))
		require.Equal(t, []any{503.0, "closed for lunch", 1.0}, values(&response{body: d["lastAttempt"].(object)}, "status", "body", "number"))
		at, err := time.Parse(time.RFC3339, d["lastAttempt"].(object)["at"].(string))
		require.NoError(t, err)
		next, err := time.Parse(time.RFC3339, d["nextAttemptAt"].(string))
		require.NoError(t, err)
		require.Equal(t, time.Hour, next.Sub(at), "the endpoint requested a later time than the schedule")
		attempt(0, true)
		d = problems(c, "deliveries", "id")[id]
		require.Equal(t, []any{"failed", nil}, values(&response{body: d}, "status", "nextAttemptAt"))
		c.post("/v1/console/webhook-deliveries/"+id+"/resend", nil).want(202)
		require.Equal(t, "pending", problems(c, "deliveries", "id")[id]["status"], "after a resend, the delivery is pending")
	})
}

// TestProblems_AreScopedToTenants checks that viewers cannot access problems, and that a client restricted to certain
// tenants can list and restart only those tenants' envelopes.
func TestProblems_AreScopedToTenants(t *testing.T) {
	t.Parallel()
	workflows := &lostWorkflows{running: map[string]bool{}}
	s := onSQLite(t, func(cfg *api.Config) { cfg.Workflows = workflows })
	c := s.client(t)
	_, err := s.store.CreateWebhook(t.Context(), s.app.ID, "https://example.com/hook", []models.EventName{models.EventEnvelopeSent}, "secret of the hook")
	require.NoError(t, err)
	data := contract()
	data["tenantId"] = "zeta"
	theirs, _ := c.sent(data)
	e, _ := c.sent(contract())
	own := e.str("id")
	for _, of := range []*response{theirs, e} {
		_, err := s.store.BeginMail(t.Context(), models.Mail{ID: of.str("id"), EnvelopeID: uuid.MustParse(of.str("id")), SignerID: uuid.MustParse(of.signer(0)["id"].(string)), Kind: models.MailInvitation})
		require.NoError(t, err)
		require.NoError(t, s.store.MailFailed(t.Context(), of.str("id"), "550 no such mailbox"))
	}
	finishOutbox(t, s)
	s.clock.advance(10 * time.Minute)
	s.signIn(t, models.RoleViewer).get("/v1/console/problems").rejected(403, "role_forbidden")
	s.person(t, models.RoleViewer).post("/v1/console/envelopes/"+own+"/restart", nil).rejected(403, "role_forbidden")
	support := s.person(t, models.RoleSupport)
	for _, kind := range []string{"envelopes", "mails", "deliveries"} {
		require.ElementsMatch(t, []string{own, theirs.str("id")}, keys(problems(support, kind, "envelopeId")), kind)
		require.Empty(t, problems(s.other(t), kind, "envelopeId"), "another app's %s", kind)
	}
	s.limit(t, e.str("tenantId"))
	s.clock.advance(2 * time.Second) // apps are cached for one second
	for _, kind := range []string{"envelopes", "mails", "deliveries"} {
		require.Equal(t, []string{own}, keys(problems(support, kind, "envelopeId")), kind)
	}
	support.post("/v1/console/envelopes/"+theirs.str("id")+"/restart", nil).rejected(404, "not_found")
	support.post("/v1/console/envelopes/"+own+"/restart", nil).want(202)
}

// TestRestartWorkflow_QueuesOnce checks that a restart queues one row, and only if no workflow is running.
func TestRestartWorkflow_QueuesOnce(t *testing.T) {
	t.Parallel()
	kit.EachDatabase(t, func(t *testing.T, kind string) {
		workflows := &lostWorkflows{running: map[string]bool{}}
		log := &kit.Buffer{}
		s := start(t, kit.MigratedURL(t, kind), func(cfg *api.Config) { cfg.Workflows, cfg.Log = workflows, slog.New(slog.NewTextHandler(log, nil)) })
		c := s.client(t)
		draft := c.draft(contract())
		c.post("/v1/console/envelopes/"+draft.str("id")+"/restart", nil).rejected(409, "envelope_draft")
		e, token := c.sent(contract())
		at := "/v1/console/envelopes/" + e.str("id") + "/restart"
		started := func() (out []models.OutboxRow) {
			for _, r := range finishOutbox(t, s) {
				if r.Kind == models.OutboxStart {
					out = append(out, r)
				}
			}
			return out
		}
		require.Len(t, started(), 1)
		workflows.fail = errors.New("down")
		require.NotEmpty(t, c.post(at, nil).rejected(503, "temporal_unavailable").header.Get("Retry-After"))
		workflows.fail, workflows.running[e.str("id")] = nil, true
		c.post(at, nil).rejected(409, "workflow_running")
		require.Empty(t, started())
		delete(workflows.running, e.str("id"))
		again := c.with("Idempotency-Key", uuid.NewString())
		require.Equal(t, e.str("id"), again.post(at, nil).want(202).str("envelopeId"))
		again.post(at, nil).want(202)
		c.post(at, nil).want(202)
		rows := started()
		require.Len(t, rows, 1, "repeated requests start one workflow")
		require.Positive(t, log.CountLines(`msg="workflow restarted" envelope=`+e.str("id"), "by="+models.AppActor(s.app.ID)))
		require.True(t, rows[0].Refs.Restart)
		require.Equal(t, e.str("id"), rows[0].Key.String())
		c.signs(e, token)
		c.post(at, nil).want(202)
		require.Len(t, started(), 1, "a restart while the envelope is being sealed starts one workflow")
		s.completes(t, e.str("id"), 0)
		c.post(at, nil).rejected(409, "envelope_terminal")
		s.other(t).post(at, nil).rejected(404, "not_found")
	})
}
