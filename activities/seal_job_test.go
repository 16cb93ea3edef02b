package activities_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	sdktemporal "go.temporal.io/sdk/temporal"

	"countersign/models"
	"countersign/notify"
	"countersign/seal"
	"countersign/store"
	"countersign/temporal"
	"countersign/webhook"
)

// TestSeal_Input checks that the sealing job contains all signers, values and events.
func TestSeal_Input(t *testing.T) {
	t.Parallel()
	onBothDatabases(t, func(env *fakeEnv) {
		ctx, act := env.t.Context(), env.act()
		e, err := models.NewEnvelope(act, models.Envelope{AppID: env.app.ID, TenantID: "t", CreatedBy: "me"})
		require.NoError(env.t, err)
		file := models.DocumentInput{Document: models.Document{SHA256: emptyHash, PageCount: 1, Pages: []models.PageRun{{From: 1, Width: 595, Height: 842}}, BlobKey: "envelopes/" + e.ID.String() + "/original/0.pdf"}}
		f, err := env.Blobs.Temp()
		require.NoError(env.t, err)
		require.NoError(env.t, env.Blobs.Put(ctx, f, file.BlobKey))
		_, err = e.AddDocument(act, file, 1)
		require.NoError(env.t, err)
		phone, yes := "+442079460958", "true"
		for i, in := range []models.SignerInput{
			{Name: "Ada", Email: "a@example.com", RoutingOrder: 1, AuthMethod: models.AuthNone, Phone: &phone}, {Name: "Bob", Email: "b@example.com", RoutingOrder: 2, AuthMethod: models.AuthNone},
		} {
			s, err := e.AddSigner(act, in)
			require.NoError(env.t, err)
			for n, typ := range []models.FieldType{models.FieldText, models.FieldCheckbox, models.FieldCheckbox, models.FieldSignature} {
				_, err = e.AddFields(act, []models.FieldInput{{SignerRef: s.ID.String(), Type: typ, Page: 1, X: float64(10 * n), Y: float64(10 * i), W: 9, H: 8, Origin: models.OriginTopLeft}}, models.NoPrefix)
				require.NoError(env.t, err)
			}
		}
		require.NoError(env.t, e.Send(act, nil))
		require.NoError(env.t, env.Store.Create(ctx, e))
		no := "false"
		for i := range e.Signers {
			env.change(e, func(e *models.Envelope) error {
				l := models.Link{EnvelopeID: e.ID, SignerID: e.Signers[i].ID, ID: *e.Signers[i].LinkID}
				if _, err := e.Consent(env.act(), l, new(models.Signer).Disclosure("en")); err != nil {
					return err
				}
				if _, err := e.RecordDisplayedValues(env.act(), l); err != nil {
					return err
				}
				_, err := e.Sign(env.act(), l, models.Submission{Fields: []models.FieldSubmission{
					{FieldID: e.Fields[4*i].ID, Text: &yes}, {FieldID: e.Fields[4*i+1].ID, Text: &yes}, {FieldID: e.Fields[4*i+2].ID, Text: &no}, {FieldID: e.Fields[4*i+3].ID, Image: []byte("png")},
				}})
				return err
			})
		}
		in := temporal.EnvelopeInput{AppID: env.app.ID, EnvelopeID: e.ID}
		before, log, err := env.Store.EnvelopeWithEvents(ctx, env.app.ID, e.ID)
		require.NoError(env.t, err)
		env.sealed(in)
		job := env.sealer.last

		require.Len(env.t, job.Events, len(log))
		for i := range log {
			canonical, err := log[i].Canonical()
			require.NoError(env.t, err)
			assert.Equal(env.t, string(canonical), string(job.Events[i]))
		}
		assert.Equal(env.t, before.AuditHead, job.ChainHead)
		require.Len(env.t, job.Signers, 2)
		first, second := job.Signers[0], job.Signers[1]
		assert.Equal(env.t, []string{"Ada", "a@example.com", phone}, []string{first.Name, first.Email, first.Phone})
		assert.Equal(env.t, []string{"Bob", "b@example.com", ""}, []string{second.Name, second.Email, second.Phone})
		assert.Equal(env.t, []int{1, 2}, []int{first.Order, second.Order})
		require.NotNil(env.t, second.Shown)
		assert.Equal(env.t, before.Signers[1].Shown, second.Shown.Digest)
		assert.Equal(env.t, []string{e.Signers[0].ID.String()}, second.Shown.Signers)
		assert.Empty(env.t, first.Shown.Signers)
		assert.Equal(env.t, env.clock.Now(), first.SignedAt)
		assert.True(env.t, first.VerifiedAt.IsZero())

		require.Len(env.t, job.Values, 8)
		var checked []bool
		for i, v := range job.Values {
			field := e.Fields[i]
			assert.Equal(env.t, field.ID.String(), v.FieldID)
			assert.Equal(env.t, field.SignerID.String(), v.SignerID)
			assert.Equal(env.t, seal.Kind(field.Type), v.Kind)
			assert.Equal(env.t, []float64{field.X, field.Y, field.W, field.H}, []float64{v.X, v.Y, v.W, v.H})
			assert.Equal(env.t, field.Type == models.FieldSignature, string(v.PNG) == "png")
			checked = append(checked, v.Checked)
		}
		assert.Equal(env.t, []bool{false, true, false, false, false, true, false, false}, checked, "the text \"true\" is not a checkbox")
	})
}

// TestPlan_NamesEverySigner checks that the plan contains each signer's routing group, and whether the signer has
// signed.
func TestPlan_NamesEverySigner(t *testing.T) {
	t.Parallel()
	onBothDatabases(t, func(env *fakeEnv) {
		e, in := env.sentInOrder(func(i int) int { return i + 1 }, "a@example.com", "b@example.com")
		want := models.Routing{{ID: e.Signers[0].ID, Group: 1}, {ID: e.Signers[1].ID, Group: 2}}
		plan, err := env.LoadPlan(env.t.Context(), in)
		require.NoError(env.t, err)
		assert.Equal(env.t, want, plan.Signers)
		assert.Equal(env.t, e.SentAt.UTC(), plan.Since)
		assert.Equal(env.t, *e.ExpiresAt, plan.Deadline.UTC())
		assert.Equal(env.t, env.ReminderInterval, plan.ReminderEvery)
		assert.Empty(env.t, plan.Problem)
		env.signAll(&models.Envelope{ID: e.ID, Signers: e.Signers[:1], Fields: e.Fields})
		plan, err = env.LoadPlan(env.t.Context(), in)
		require.NoError(env.t, err)
		want[0].Signed = true
		assert.Equal(env.t, want, plan.Signers)
	})
}

// TestSendCopies_OneRejectedAddress checks that a rejected address is not an error and does not delay other emails.
func TestSendCopies_OneRejectedAddress(t *testing.T) {
	t.Parallel()
	onBothDatabases(t, func(env *fakeEnv) {
		ctx := env.t.Context()
		e, in := env.completed("a@example.com", "b@example.com")
		env.mails.reject = "a@example.com"
		require.NoError(env.t, env.SendCopies(ctx, in))
		require.Len(env.t, env.mails.mails, 1)
		assert.Equal(env.t, "b@example.com", env.mails.mails[0].To.Email)
		assert.NotNil(env.t, env.mail(e, models.MailCompleted).FailedAt)

		_, in = env.retained(30, "a@example.com", "A@example.com", "b@example.com")
		env.mails.mails, env.mails.reject = nil, ""
		remind := temporal.DeletionInput{EnvelopeInput: in, Days: 7}
		require.NoError(env.t, env.RemindDeletion(ctx, remind))
		to := make(map[string]int)
		for _, m := range env.mails.mails {
			to[m.To.Email]++
		}
		assert.Equal(env.t, map[string]int{"a@example.com": 2, "b@example.com": 2}, to, "one link for each document and mailbox")
	})
}

// TestClosing_ContainsTheReason checks that the email states the reason for which the envelope ended, rather than
// the reason for an undelivered email.
func TestClosing_ContainsTheReason(t *testing.T) {
	t.Parallel()
	onBothDatabases(t, func(env *fakeEnv) {
		ctx := env.t.Context()
		e, in := env.sent("a@example.com", "b@example.com")
		env.mails.reject = "a@example.com"
		require.NoError(env.t, env.Invite(ctx, temporal.InviteInput{EnvelopeInput: in, SignerID: e.Signers[0].ID}))
		env.mails.reject = ""
		env.void(e)
		require.NoError(env.t, env.SendClosing(ctx, in))
		require.Len(env.t, env.mails.mails, 2)
		assert.NotContains(env.t, env.mails.mails[0].Text, "550")
	})
}

// TestDisabledEndpoint_NotifiesTheContact checks that the email contains the URL of the endpoint, the time of the
// first failure and the last error.
func TestDisabledEndpoint_NotifiesTheContact(t *testing.T) {
	t.Parallel()
	onBothDatabases(t, func(env *fakeEnv) {
		ctx, contact := env.t.Context(), "ops@example.com"
		to := env.withWebhook()
		fail := func(res webhook.Result) {
			var failed *sdktemporal.ApplicationError
			require.ErrorAs(env.t, to.try(to.ping(), 0, make([]time.Duration, 9), res), &failed)
			if res.Gone {
				assert.True(env.t, failed.NonRetryable(), "a retry would not help")
				assert.Equal(env.t, "the endpoint responded with 410 Gone", failed.Message())
			}
		}
		fail(webhook.Result{Status: 410, Gone: true})
		assert.Empty(env.t, env.mails.mails, "the app has no contact")
		_, err := env.Store.UpdateApp(ctx, env.app.ID, store.AppChange{Contact: &contact})
		require.NoError(env.t, err)
		_, err = env.Store.PatchWebhook(ctx, env.app.ID, to.hook, store.WebhookPatch{Active: new(true)})
		require.NoError(env.t, err)
		fail(webhook.Result{Status: 410, Gone: true})
		_, err = env.Store.PatchWebhook(ctx, env.app.ID, to.hook, store.WebhookPatch{Active: new(true)})
		require.NoError(env.t, err)
		first := env.clock.Now()
		fail(webhook.Result{Err: errFake("nobody answers")})
		env.clock.Add(models.DisableAfter)
		fail(webhook.Result{Err: errFake("nobody answers")})
		require.Len(env.t, env.mails.mails, 2)
		for i, want := range []string{"HTTP status 410", "nobody answers"} {
			m := env.mails.mails[i]
			assert.Equal(env.t, string(models.MailHook), m.Kind)
			assert.Equal(env.t, notify.Address{Email: contact}, m.To)
			assert.Contains(env.t, m.Text, want)
			assert.Contains(env.t, m.Text, "https://example.com/hook")
			assert.Contains(env.t, m.Text, "https://example.com/console")
		}
		assert.NotEqual(env.t, first.Format(time.DateOnly), env.clock.Now().Format(time.DateOnly))
		assert.Contains(env.t, env.mails.mails[1].Text, first.Format("2 January 2006, 15:04"), "since the first failure")
	})
}

type errFake string

func (e errFake) Error() string { return string(e) }

// TestDeliver_FailuresHaveReasons checks that a failure contains the endpoint's response or the error.
func TestDeliver_FailuresHaveReasons(t *testing.T) {
	t.Parallel()
	onBothDatabases(t, func(env *fakeEnv) {
		to := env.withWebhook()
		delays := []time.Duration{0, 100 * time.Second}
		for _, c := range []struct {
			res  webhook.Result
			want string
		}{
			{webhook.Result{Status: 503}, "the endpoint responded with 503 Service Unavailable"},
			{webhook.Result{Status: 799}, "the endpoint responded with 799"},
			{webhook.Result{Err: errFake("no address")}, "no address"},
		} {
			var asked []int64
			env.Random = func(n int64) int64 { asked = append(asked, n); return n - 1 }
			var failed *sdktemporal.ApplicationError
			d := to.ping()
			require.ErrorAs(env.t, to.try(d, 0, delays, c.res), &failed)
			assert.Equal(env.t, c.want, failed.Message())
			assert.Equal(env.t, []int64{int64(10 * time.Second)}, asked)
			assert.Equal(env.t, 110*time.Second-1, failed.NextRetryDelay())
			_, _, attempts, err := env.Store.Delivery(env.t.Context(), env.app, d.ID)
			require.NoError(env.t, err)
			require.Len(env.t, attempts, 1)
			assert.Equal(env.t, c.res.Status, attempts[0].Status)
			assert.Equal(env.t, c.res.Err != nil, attempts[0].Error != "")
		}
		// No random number is drawn if the delay is too short for jitter.
		env.Random = func(int64) int64 { panic("asked") }
		var failed *sdktemporal.ApplicationError
		require.ErrorAs(env.t, to.try(to.ping(), 0, []time.Duration{0, 9}, webhook.Result{Status: 500}), &failed)
		assert.Equal(env.t, time.Duration(9), failed.NextRetryDelay())
		env.Random = func(n int64) int64 { return n - 1 }
		require.ErrorAs(env.t, to.try(to.ping(), 0, []time.Duration{0, 10}, webhook.Result{Status: 500}), &failed)
		assert.True(env.t, strings.HasPrefix(failed.Message(), "the endpoint responded with 500"))
	})
}
