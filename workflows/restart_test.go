package workflows_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/workflow"

	"countersign/activities"
	"countersign/internal/credential"
	"countersign/models"
	"countersign/notify"
	"countersign/store"
	"countersign/temporal"
	"countersign/test/kit"
	"countersign/workflows"
)

// fakeMailer records each email as "day kind", where day is the time since the start in days.
type fakeMailer struct {
	mu    sync.Mutex
	now   func() time.Time
	begin time.Time
	mails []string
	ids   map[string]int
}

func (m *fakeMailer) Send(_ context.Context, mail notify.Mail) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.mails = append(m.mails, fmt.Sprintf("%.1f %s", m.now().Sub(m.begin).Hours()/24, mail.Kind))
	m.ids[mail.MessageID]++
	return nil
}

func (*fakeMailer) MessageID(parts ...string) string {
	return strings.Join(parts, "-") + "@example.com"
}

// TestRestart_BetweenReminders checks that every reminder is sent exactly once, at the tenant's interval, even if a
// lost workflow is restarted or a workflow continues as new. The activities and their database are real.
func TestRestart_BetweenReminders(t *testing.T) {
	t.Parallel()
	const day = 24 * time.Hour
	for name, restart := range map[string]func(*testsuite.TestWorkflowEnvironment){
		"lost and started anew": (*testsuite.TestWorkflowEnvironment).CancelWorkflow, // ends the workflow without changing the envelope
		"continued as new": func(env *testsuite.TestWorkflowEnvironment) {
			env.SetContinueAsNewSuggested(true)
			env.SignalWorkflow(temporal.SignalSealingFailed, temporal.SignerSignal{}) // any signal triggers the check
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			clock := kit.NewClock()
			s := kit.Store(t, "sqlite", clock.Now)
			app, _, err := s.CreateApp(t.Context(), "Acme", models.PlanEnterprise, nil)
			require.NoError(t, err)
			hours := 48 // differs from the service's default interval
			require.NoError(t, s.SaveSettings(t.Context(), models.Settings{AppID: app.ID, ReminderIntervalHours: &hours}))
			keys, err := s.Keys(t.Context(), models.KeyTokens)
			require.NoError(t, err)
			tokens, err := credential.NewTokens(keys, clock.Now)
			require.NoError(t, err)
			mailer := &fakeMailer{now: clock.Now, begin: clock.Now(), ids: map[string]int{}}
			a := &activities.Activities{
				Store: s, Tokens: tokens, Mail: mailer, BaseURL: "https://example.com", SigningURL: "https://example.com/sign",
				ReminderInterval: 5 * day, Now: clock.Now, NewID: uuid.New,
			}
			in := sendEnvelope(t, s, app.ID, clock.Now())

			// live runs the workflow for the given time, and then ends it.
			live := func(start temporal.EnvelopeStart, length time.Duration, end func(*testsuite.TestWorkflowEnvironment)) error {
				env := newEnvironment(quiet(t))
				env.SetStartTime(clock.Now())
				begin := clock.Now()
				env.SetOnActivityStartedListener(func(*activity.Info, context.Context, converter.EncodedValues) {
					clock.Add(env.Now().Sub(clock.Now())) // synchronize the database's clock with the workflow's
				})
				env.RegisterActivity(a)
				env.RegisterWorkflowWithOptions(workflows.Envelope, workflow.RegisterOptions{Name: temporal.WorkflowEnvelope})
				env.RegisterDelayedCallback(func() { end(env) }, length)
				env.ExecuteWorkflow(workflows.Envelope, start)
				require.True(t, env.IsWorkflowCompleted())
				clock.Add(begin.Add(length).Sub(clock.Now()))
				return env.GetWorkflowError()
			}

			require.Error(t, live(temporal.EnvelopeStart{EnvelopeInput: in}, 5*day, restart)) // between the second and third reminder
			again := temporal.EnvelopeStart{EnvelopeInput: in}
			if name != "continued as new" { // the dispatcher reads the plan
				clock.Add(12 * time.Hour)
				plan, err := a.LoadPlan(t.Context(), in)
				require.NoError(t, err)
				again.Plan = &plan
			}
			require.NoError(t, live(again, 4*day, func(env *testsuite.TestWorkflowEnvironment) {
				_, err := s.Change(t.Context(), app.ID, in.EnvelopeID, func(e *models.Envelope) error {
					return e.Void(models.ActionContext{At: clock.Now(), Actor: models.ActorSystem, NewID: uuid.New}, nil)
				})
				require.NoError(t, err)
				env.SignalWorkflow(temporal.SignalVoided, temporal.SignerSignal{})
			}))
			closing := "9.0 closed"
			if again.Plan != nil {
				closing = "9.5 closed"
			}
			// Each email goes to both signers.
			var want []string
			for _, mail := range []string{"0.0 invitation", "2.0 reminder", "4.0 reminder", "6.0 reminder", "8.0 reminder", closing} {
				want = append(want, mail, mail)
			}
			assert.Equal(t, want, mailer.mails)
			for id, n := range mailer.ids {
				assert.Equal(t, 1, n, id)
			}
		})
	}
}

// sendEnvelope stores a sent envelope with two signers.
func sendEnvelope(t *testing.T, s *store.Store, app uuid.UUID, now time.Time) temporal.EnvelopeInput {
	t.Helper()
	act, days := models.ActionContext{At: now, Actor: models.ActorSystem, NewID: uuid.New}, 30
	e, err := models.NewEnvelope(act, models.Envelope{AppID: app, TenantID: "t", CreatedBy: "me", ExpiresInDays: &days})
	require.NoError(t, err)
	_, err = e.AddDocument(act, models.DocumentInput{Document: models.Document{
		SHA256: strings.Repeat("ab", 32), PageCount: 1, Pages: []models.PageRun{{From: 1, Width: 595, Height: 842}}, BlobKey: "original",
	}}, 1)
	require.NoError(t, err)
	for _, email := range []string{"ada@example.com", "grace@example.com"} {
		signer, err := e.AddSigner(act, models.SignerInput{Name: "Name", Email: email, RoutingOrder: 1, AuthMethod: models.AuthNone})
		require.NoError(t, err)
		_, err = e.AddFields(act, []models.FieldInput{{
			SignerRef: signer.ID.String(), Type: models.FieldText, Page: 1, X: 1, Y: 1, W: 9, H: 9, Required: true, Origin: models.OriginTopLeft,
		}}, models.NoPrefix)
		require.NoError(t, err)
	}
	require.NoError(t, e.Send(act, nil))
	require.NoError(t, s.Create(t.Context(), e))
	return temporal.EnvelopeInput{AppID: app, EnvelopeID: e.ID}
}
