package workflows_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/mock"
	"github.com/stretchr/testify/require"
	sdkpb "go.temporal.io/api/sdk/v1"
	sdktemporal "go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"

	"countersign/activities"
	"countersign/models"
	"countersign/temporal"
	"countersign/workflows"
)

// upserts records the search attribute updates of a workflow, in order.
func upserts(env *testsuite.TestWorkflowEnvironment) *[]string {
	var shown []string
	env.OnUpsertTypedSearchAttributes(mock.Anything).Run(func(args mock.Arguments) {
		a := args.Get(0).(sdktemporal.SearchAttributes)
		status, changes := a.GetKeyword(temporal.AttrEnvelopeStatus)
		stuck, is := a.GetKeyword(temporal.AttrStuck)
		var words []string
		if changes {
			words = append(words, status)
		}
		if is {
			words = append(words, "stuck in "+stuck)
		}
		if len(words) == 0 { // the test environment omits removed attributes
			words = append(words, "not stuck")
		}
		shown = append(shown, strings.Join(words, ", "))
	}).Return(nil).Maybe()
	return &shown
}

// TestStuck_IsShownWhileFailing checks that a workflow can be found by the search attribute Stuck while its task has
// been failing for minutes.
func TestStuck_IsShownWhileFailing(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		fails int
		err   error
		want  []string
	}{
		"well":             {0, nil, []string{"completed"}},
		"a hiccup":         {9, errors.New("mail server answered 451"), []string{"completed"}},
		"down for minutes": {10, errors.New("mail server answered 451"), []string{"completed", "stuck in copies", "not stuck"}},
		"down for longer":  {15, errors.New("mail server answered 451"), []string{"completed", "stuck in copies", "not stuck"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env := newEnvironment(quiet(t))
			env.RegisterActivity(acts)
			plan := temporal.Plan{Status: models.StatusSealing, Signers: models.Routing{{ID: uuid.New(), Group: 1, Signed: true}}}
			env.OnActivity(acts.LoadPlan, mock.Anything, mock.Anything).Return(plan, nil)
			env.OnActivity(acts.Seal, mock.Anything, mock.Anything).Return(activities.Sealed{Status: models.StatusCompleted}, nil)
			tries := 0
			env.OnActivity(acts.SendCopies, mock.Anything, mock.Anything).Return(func(context.Context, temporal.EnvelopeInput) error {
				if tries++; tries <= c.fails {
					return c.err
				}
				return nil
			})
			shown := upserts(env)
			env.ExecuteWorkflow(workflows.Envelope, temporal.EnvelopeStart{EnvelopeInput: temporal.EnvelopeInput{AppID: uuid.New(), EnvelopeID: uuid.New()}})
			require.True(t, env.IsWorkflowCompleted())
			require.NoError(t, env.GetWorkflowError())
			require.Equal(t, c.fails+1, tries)
			require.Equal(t, c.want, *shown)
		})
	}
}

// TestStuck_UntilSealed checks that an envelope that cannot be sealed is shown as stuck until it is sealed.
func TestStuck_UntilSealed(t *testing.T) {
	t.Parallel()
	env := newEnvironment(quiet(t))
	env.RegisterActivity(acts)
	plan := temporal.Plan{Status: models.StatusSealing, Signers: models.Routing{{ID: uuid.New(), Group: 1, Signed: true}}}
	env.OnActivity(acts.LoadPlan, mock.Anything, mock.Anything).Return(plan, nil)
	tries := 0
	env.OnActivity(acts.Seal, mock.Anything, mock.Anything).Return(func(context.Context, temporal.EnvelopeInput) (activities.Sealed, error) {
		if tries++; tries < 9 {
			return activities.Sealed{}, errors.New("no key")
		}
		return activities.Sealed{Status: models.StatusCompleted}, nil
	})
	env.OnActivity(acts.SendCopies, mock.Anything, mock.Anything).Return(nil)
	shown := upserts(env)
	env.RegisterDelayedCallback(func() { env.SignalWorkflow(temporal.SignalSealingFailed, temporal.SignerSignal{}) }, 10*time.Second)
	env.ExecuteWorkflow(workflows.Envelope, temporal.EnvelopeStart{EnvelopeInput: temporal.EnvelopeInput{AppID: uuid.New(), EnvelopeID: uuid.New()}})
	require.NoError(t, env.GetWorkflowError())
	require.Equal(t, []string{"sealing_failed, stuck in sealing", "completed"}, *shown)
}

// TestStuck_Invitations checks that a failing invitation is shown as stuck and delays nothing.
func TestStuck_Invitations(t *testing.T) {
	t.Parallel()
	env := newFakeEnv(t, 1, 1)
	env.mailDown = true
	shown := upserts(env.env)
	env.signal(24*time.Hour, temporal.SignalVoided)
	env.env.ExecuteWorkflow(workflows.Envelope, temporal.EnvelopeStart{EnvelopeInput: env.in})
	require.True(t, env.env.IsWorkflowCompleted())
	require.NoError(t, env.env.GetWorkflowError())
	require.Equal(t, []string{"stuck in invitation", "voided"}, *shown)
	require.Equal(t, 24*time.Hour, env.times["closing"].Truncate(time.Minute))
}

// TestStuck_UntilTheLastInvitation checks that the workflow is shown as stuck until every signer has been reached.
func TestStuck_UntilTheLastInvitation(t *testing.T) {
	t.Parallel()
	env := newFakeEnv(t, 1, 1)
	env.mailDown = true
	env.mailBack = map[uuid.UUID]time.Duration{env.plan.Signers[0].ID: time.Hour, env.plan.Signers[1].ID: 3 * time.Hour}
	shown := upserts(env.env)
	var between []string
	env.env.RegisterDelayedCallback(func() { between = slices.Clone(*shown) }, 2*time.Hour)
	env.signal(24*time.Hour, temporal.SignalVoided)
	env.run(t)
	require.Equal(t, []string{"invite A", "invite B", "closing"}, env.calls)
	require.Equal(t, []string{"stuck in invitation"}, between)
	require.Equal(t, []string{"stuck in invitation", "not stuck", "voided"}, *shown)
}

// TestRejection_IsNotRetried checks that a permanent error fails immediately and is not shown as stuck.
func TestRejection_IsNotRetried(t *testing.T) {
	t.Parallel()
	env := newEnvironment(quiet(t))
	env.RegisterActivity(acts)
	tries := 0
	env.OnActivity(acts.Invite, mock.Anything, mock.Anything).Return(func(context.Context, activities.InviteInput) error {
		tries++
		return sdktemporal.NewNonRetryableApplicationError("not found", "not_found", nil)
	})
	shown := upserts(env)
	env.ExecuteWorkflow(workflows.Reinvite, temporal.InviteInput{SignerID: uuid.New()})
	require.Error(t, env.GetWorkflowError())
	require.Equal(t, 1, tries)
	require.Empty(t, *shown)
}

// TestDetails_DescribeAwaitedSigners checks that the details describe the awaited signers without naming them.
func TestDetails_DescribeAwaitedSigners(t *testing.T) {
	t.Parallel()
	env := newFakeEnv(t, 1, 1, 2)
	deadline := env.begin.Add(30 * 24 * time.Hour)
	env.plan.Deadline = &deadline
	env.remindsEvery(72 * time.Hour)
	env.env.OnActivity(acts.Expire, mock.Anything, mock.Anything).Return(models.StatusExpired, nil).Maybe()
	at := func(t time.Time) string { return t.UTC().Format("2 January 2006 15:04 UTC") }
	details := map[time.Duration]string{}
	look := func(after time.Duration) {
		env.env.RegisterDelayedCallback(func() {
			details[after] = currentDetails(t, env.env)
		}, after)
	}
	look(time.Hour)
	env.signs(2*time.Hour, 0)
	look(3 * time.Hour)
	env.signs(4*time.Hour, 1)
	look(5 * time.Hour)
	env.env.ExecuteWorkflow(workflows.Envelope, temporal.EnvelopeStart{EnvelopeInput: env.in})
	until := func(reminder time.Duration) string {
		return ", until " + at(deadline) + ". Next reminder: " + at(env.begin.Add(reminder)) + "."
	}
	require.Equal(t, "0 of 3 signed. Waiting for 2 signer(s) of routing group 1 since "+at(env.begin)+until(72*time.Hour), details[time.Hour])
	require.Equal(t, "1 of 3 signed. Waiting for 1 signer(s) of routing group 1 since "+at(env.begin)+until(72*time.Hour), details[3*time.Hour])
	require.Equal(t, "2 of 3 signed. Waiting for 1 signer(s) of routing group 2 since "+at(env.begin.Add(4*time.Hour))+until(76*time.Hour), details[5*time.Hour])
}

// TestDetails_OfEveryWorkflow checks that every running workflow describes what it is waiting for.
func TestDetails_OfEveryWorkflow(t *testing.T) {
	t.Parallel()
	in := temporal.EnvelopeInput{AppID: uuid.New(), EnvelopeID: uuid.New()}
	down := errors.New("does not answer")
	delays := []time.Duration{time.Minute, time.Hour, time.Hour, time.Hour, time.Hour}
	for name, c := range map[string]struct {
		workflow any
		args     []any
		after    time.Duration
		want     string
	}{
		"delivery before its first attempt": {workflows.Delivery, []any{temporal.DeliveryInput{Delays: delays}}, time.Second, "Waiting 1m0s before the first attempt."},
		"delivery":                          {workflows.Delivery, []any{temporal.DeliveryInput{Delays: delays}}, 2 * time.Minute, "Delivering, with at most 5 attempts"},
		"reinvite":                          {workflows.Reinvite, []any{temporal.InviteInput{EnvelopeInput: in}}, time.Minute, "Sending a renewed link"},
		"deletion reminder":                 {workflows.DeletionReminder, []any{temporal.DeletionInput{EnvelopeInput: in, Days: 1}}, time.Minute, "Reminding recipients that 1 day(s) are left"},
		"timestamp":                         {workflows.Timestamp, []any{in}, time.Minute, "Waiting for the time-stamp authority"},
		"anchor":                            {workflows.Anchor, nil, time.Minute, "Time-stamping the heads of the audit chains"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env := newEnvironment(quiet(t))
			env.RegisterActivity(acts)
			env.OnActivity(acts.Invite, mock.Anything, mock.Anything).Return(down).Maybe()
			for _, a := range []any{acts.RemindDeletion, acts.Timestamp} {
				env.OnActivity(a, mock.Anything, mock.Anything).Return(down).Maybe()
			}
			env.OnActivity(acts.Deliver, mock.Anything, mock.Anything).Return(activities.DeliverResult{}, down).Maybe()
			env.OnActivity(acts.AnchorAudit, mock.Anything).Return(activities.AnchorResult{}, down).Maybe()
			details := ""
			env.RegisterDelayedCallback(func() {
				details = currentDetails(t, env)
				env.CancelWorkflow()
			}, c.after)
			env.ExecuteWorkflow(c.workflow, c.args...)
			require.Contains(t, details, c.want)
		})
	}
}

// TestDetails_OfFailedDelivery checks that the details of a failed delivery contain the endpoint's response.
func TestDetails_OfFailedDelivery(t *testing.T) {
	t.Parallel()
	for message, want := range map[string]string{
		"the endpoint responded with 503 Service Unavailable": "Given up: the endpoint responded with 503 Service Unavailable",
		"": "Given up: the last attempt was interrupted",
	} {
		env := newEnvironment(quiet(t))
		env.RegisterActivity(acts)
		env.OnActivity(acts.Deliver, mock.Anything, mock.Anything).Return(func(context.Context, activities.DeliverInput) (activities.DeliverResult, error) {
			if message == "" {
				return activities.DeliverResult{}, sdktemporal.NewNonRetryableApplicationError("worker is gone", "Other", nil)
			}
			return activities.DeliverResult{}, sdktemporal.NewNonRetryableApplicationError(message, activities.ErrTypeNotDelivered, nil)
		})
		env.OnActivity(acts.AbandonDelivery, mock.Anything, mock.Anything, mock.Anything).Return(nil)
		env.ExecuteWorkflow(workflows.Delivery, temporal.DeliveryInput{DeliveryID: uuid.New(), Delays: make([]time.Duration, 5)})
		var app *sdktemporal.ApplicationError
		require.ErrorAs(t, env.GetWorkflowError(), &app)
		require.Equal(t, want, app.Message())
		require.Equal(t, activities.ErrTypeNotDelivered, app.Type())
	}
}

// TestDetails_OfDelivery checks that the details do not claim a delivery by this workflow if the delivery was already
// settled.
func TestDetails_OfDelivery(t *testing.T) {
	t.Parallel()
	for delivered, want := range map[bool]string{true: "Delivered.", false: "Nothing left to do"} {
		env := newEnvironment(quiet(t))
		env.RegisterActivity(acts)
		env.OnActivity(acts.Deliver, mock.Anything, mock.Anything).Return(activities.DeliverResult{Delivered: delivered}, nil)
		env.ExecuteWorkflow(workflows.Delivery, temporal.DeliveryInput{DeliveryID: uuid.New(), Delays: make([]time.Duration, 5)})
		require.NoError(t, env.GetWorkflowError())
		require.Contains(t, currentDetails(t, env), want)
	}
}

// currentDetails returns the workflow's details as shown to operators.
func currentDetails(t *testing.T, env *testsuite.TestWorkflowEnvironment) string {
	t.Helper()
	v, err := env.QueryWorkflow("__temporal_workflow_metadata")
	require.NoError(t, err)
	var m sdkpb.WorkflowMetadata
	require.NoError(t, v.Get(&m))
	return m.GetCurrentDetails()
}

// TestVoid_WhileTimedTaskFails checks that a failing expiry, renewal or reminder does not delay a void.
func TestVoid_WhileTimedTaskFails(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		plan  func(*temporal.Plan, *time.Time)
		stuck string
	}{
		"expiry":   {func(p *temporal.Plan, at *time.Time) { p.Deadline = at }, "expiry"},
		"renewal":  {func(p *temporal.Plan, at *time.Time) { p.RenewAt = at }, "renewal"},
		"reminder": {func(p *temporal.Plan, at *time.Time) { p.RemindAt, p.ReminderEvery = at, 48*time.Hour }, "reminder"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env := newFakeEnv(t, 1)
			c.plan(&env.plan, new(env.begin.Add(time.Hour)))
			down := errors.New("the database is down")
			env.env.OnActivity(acts.Expire, mock.Anything, mock.Anything).Return(models.Status(""), down).Maybe()
			env.env.OnActivity(acts.RenewLinks, mock.Anything, mock.Anything).Return(nil, down).Maybe()
			env.env.RegisterDelayedCallback(func() { env.mailDown = true }, time.Minute) // after the invitation
			shown := upserts(env.env)
			details := ""
			env.env.RegisterDelayedCallback(func() { details = currentDetails(t, env.env) }, 5*time.Hour)
			env.env.RegisterDelayedCallback(func() { env.mailDown = false }, 5*time.Hour)
			env.signal(5*time.Hour+time.Second, temporal.SignalVoided)
			env.run(t)
			require.Equal(t, []string{"invite A", "closing"}, env.calls)
			require.Equal(t, 5*time.Hour, env.times["closing"].Truncate(time.Minute), "the void takes effect immediately")
			require.Equal(t, []string{"stuck in " + c.stuck, "voided"}, *shown)
			if c.stuck != "expiry" {
				require.Contains(t, details, "STUCK: "+c.stuck+" fails and is retried:")
			}
		})
	}
}

// TestDetails_ContainTheServersRejection checks that operators see the mail server's response, and that the envelope
// continues to wait for its signer.
func TestDetails_ContainTheServersRejection(t *testing.T) {
	t.Parallel()
	env := newFakeEnv(t, 1)
	env.rejected = sdktemporal.NewNonRetryableApplicationError("the mail server permanently rejected 1 address(es): 550 5.1.1", activities.ErrTypeRejected, nil)
	details := ""
	env.env.RegisterDelayedCallback(func() { details = currentDetails(t, env.env) }, time.Minute)
	env.signal(time.Hour, temporal.SignalVoided)
	env.run(t)
	require.Contains(t, details, "UNREACHABLE: the mail server permanently rejected 1 address(es): 550 5.1.1.")
}
