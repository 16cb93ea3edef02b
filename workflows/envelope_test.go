package workflows_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/mock"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/log"
	sdktemporal "go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/workflow"

	"countersign/activities"
	"countersign/models"
	"countersign/temporal"
	"countersign/workflows"
)

var acts *activities.Activities

// quiet returns a logger that writes the SDK's errors to the output of the test, which is shown only if the test fails.
func quiet(t *testing.T) log.Logger {
	t.Helper()
	return log.NewStructuredLogger(slog.New(slog.NewTextHandler(outputOf(t), &slog.HandlerOptions{Level: slog.LevelError})))
}

// strict returns a logger that also writes warnings, and fails the test if a signal was left unread.
func strict(t *testing.T) log.Logger {
	t.Helper()
	return log.NewStructuredLogger(slog.New(unexpectedLogs{slog.NewTextHandler(outputOf(t), &slog.HandlerOptions{Level: slog.LevelWarn}), t}))
}

// testOutput writes to the output of a test until the test ends. The SDK's test environment does not wait for the
// activities of a canceled workflow, which write log messages until they return.
type testOutput struct {
	mu sync.Mutex
	w  io.Writer // io.Discard after the test has ended
}

func outputOf(t *testing.T) *testOutput {
	t.Helper()
	o := &testOutput{w: t.Output()}
	t.Cleanup(func() {
		o.mu.Lock()
		defer o.mu.Unlock()
		o.w = io.Discard
	})
	return o
}

func (o *testOutput) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.w.Write(b)
}

type unexpectedLogs struct {
	slog.Handler
	t *testing.T
}

func (u unexpectedLogs) WithAttrs(as []slog.Attr) slog.Handler {
	return unexpectedLogs{u.Handler.WithAttrs(as), u.t}
}

func (u unexpectedLogs) Handle(ctx context.Context, r slog.Record) error {
	if strings.Contains(r.Message, "unhandled signals") {
		u.t.Error(r.Message)
	}
	return u.Handler.Handle(ctx, r)
}

// fakeEnv simulates the database and external services. It records the workflow's requests and their times.
type fakeEnv struct {
	env  *testsuite.TestWorkflowEnvironment
	in   temporal.EnvelopeInput
	plan temporal.Plan

	mu    sync.Mutex
	calls []string
	times map[string]time.Duration // time of the latest call of each kind, relative to the start
	begin time.Time

	mailDown    bool
	mailBack    map[uuid.UUID]time.Duration // when emails to a signer start to succeed despite mailDown, relative to the start
	missed      uuid.UUID                   // a recipient whose first email fails
	rejected    error
	nextDue     func() *time.Time // returns the result of Remind; if nil, the next reminder is due one interval later
	remindTakes time.Duration
}

// newFakeEnv returns a test environment whose plan has one signer for each routing group in groups.
func newFakeEnv(t *testing.T, groups ...int) *fakeEnv {
	t.Helper()
	env := &fakeEnv{
		env: newEnvironment(strict(t)), times: map[string]time.Duration{},
		in: temporal.EnvelopeInput{AppID: uuid.New(), EnvelopeID: uuid.New()},
	}
	env.begin = env.env.Now()
	env.env.RegisterActivity(acts)
	env.env.RegisterWorkflowWithOptions(workflows.Envelope, workflow.RegisterOptions{Name: temporal.WorkflowEnvelope})
	env.plan = temporal.Plan{Status: models.StatusSent}
	for _, g := range groups {
		env.plan.Signers = append(env.plan.Signers, models.RoutingPosition{ID: uuid.New(), Group: g})
	}
	env.env.OnActivity(acts.LoadPlan, mock.Anything, mock.Anything).Return(func(context.Context, temporal.EnvelopeInput) (temporal.Plan, error) {
		return env.plan, nil
	})
	env.env.OnActivity(acts.Invite, mock.Anything, mock.Anything).Return(func(_ context.Context, in activities.InviteInput) error {
		var failed error
		for _, id := range in.SignerIDs {
			switch {
			case !env.reaches(id):
				failed = errors.New("mail server is down")
			case !env.called("invite " + env.name(id)): // as stored in the database
				env.note("invite " + env.name(id))
			}
		}
		return cmp.Or(failed, env.rejected)
	}).Maybe()
	env.env.OnActivity(acts.Remind, mock.Anything, mock.Anything).Return(func(context.Context, temporal.EnvelopeInput) (*time.Time, error) {
		if env.mailDown {
			return nil, errors.New("mail server is down")
		}
		env.note("remind")
		if env.nextDue != nil {
			return env.nextDue(), nil
		}
		next := env.env.Now().Add(env.plan.ReminderEvery)
		return &next, nil
	}).AfterFn(func() time.Duration { return env.remindTakes }).Maybe()
	env.simple(acts.SendCopies, "copies")
	env.simple(acts.SendClosing, "closing")
	return env
}

func (env *fakeEnv) simple(activity any, name string) {
	env.env.OnActivity(activity, mock.Anything, mock.Anything).Return(func(context.Context, temporal.EnvelopeInput) error {
		env.note(name)
		return nil
	}).Maybe()
}

func (env *fakeEnv) remindsEvery(interval time.Duration) {
	if env.plan.ReminderEvery = interval; interval > 0 {
		first := env.begin.Add(interval)
		env.plan.RemindAt = &first
	}
}

func (env *fakeEnv) seals() { env.sealsTo(activities.Sealed{Status: models.StatusCompleted}) }

func (env *fakeEnv) sealsTo(sealed activities.Sealed) {
	env.env.OnActivity(acts.Seal, mock.Anything, mock.Anything).Return(func(context.Context, temporal.EnvelopeInput) (activities.Sealed, error) {
		env.note("seal")
		return sealed, nil
	}).Maybe()
}

func (env *fakeEnv) expires(status models.Status) {
	env.env.OnActivity(acts.Expire, mock.Anything, mock.Anything).Return(func(context.Context, temporal.EnvelopeInput) (models.Status, error) {
		env.note("expire")
		return status, nil
	})
}

// reaches reports whether the mail server currently accepts an email to a recipient.
func (env *fakeEnv) reaches(id uuid.UUID) bool {
	if id == env.missed {
		env.missed = uuid.Nil
		return false
	}
	back, is := env.mailBack[id]
	return !env.mailDown || is && env.env.Now().Sub(env.begin) >= back
}

func (env *fakeEnv) called(call string) bool {
	env.mu.Lock()
	defer env.mu.Unlock()
	return slices.Contains(env.calls, call)
}

func (env *fakeEnv) note(call string) {
	env.mu.Lock()
	defer env.mu.Unlock()
	env.calls = append(env.calls, call)
	env.times[call] = env.env.Now().Sub(env.begin)
}

func (env *fakeEnv) name(id uuid.UUID) string {
	for i, s := range env.plan.Signers {
		if s.ID == id {
			return string(rune('A' + i))
		}
	}
	for i, s := range env.plan.Copies {
		if s.ID == id {
			return string(rune('a' + i))
		}
	}
	return "?"
}

func (env *fakeEnv) signs(after time.Duration, i int) {
	env.env.RegisterDelayedCallback(func() {
		env.env.SignalWorkflow(temporal.SignalSignerSigned, temporal.SignerSignal{SignerID: env.plan.Signers[i].ID})
	}, after)
}

func (env *fakeEnv) signal(after time.Duration, name string) {
	env.env.RegisterDelayedCallback(func() { env.env.SignalWorkflow(name, temporal.SignerSignal{}) }, after)
}

func (env *fakeEnv) run(t *testing.T) {
	t.Helper()
	env.env.ExecuteWorkflow(workflows.Envelope, temporal.EnvelopeStart{EnvelopeInput: env.in})
	require.True(t, env.env.IsWorkflowCompleted())
	require.NoError(t, env.env.GetWorkflowError())
}

func TestRoutingGroups(t *testing.T) {
	t.Parallel()
	env := newFakeEnv(t, 1, 1, 2)
	env.seals()
	env.signs(time.Hour, 0)
	env.signs(2*time.Hour, 1)
	env.signs(3*time.Hour, 2)
	env.run(t)
	assert.ElementsMatch(t, []string{"invite A", "invite B"}, env.calls[:2])
	assert.Equal(t, []string{"invite C", "seal", "copies"}, env.calls[2:])
	assert.Equal(t, 2*time.Hour, env.times["invite C"].Round(time.Minute), "a group is invited when the previous group is complete")
}

func TestSignals_RepeatedAndReordered(t *testing.T) {
	t.Parallel()
	env := newFakeEnv(t, 1, 2)
	env.seals()
	for range 3 {
		env.signs(time.Minute, 1) // the second group's signal arrives before the first group's
		env.signs(time.Hour, 0)
	}
	env.run(t)
	assert.Equal(t, []string{"invite A", "seal", "copies"}, env.calls)
}

func TestExpiry(t *testing.T) {
	t.Parallel()
	env := newFakeEnv(t, 1)
	deadline := env.begin.Add(14 * 24 * time.Hour)
	env.plan.Deadline = &deadline
	env.expires(models.StatusExpired)
	env.run(t)
	assert.Equal(t, []string{"invite A", "expire", "closing"}, env.calls)
	assert.Equal(t, 14*24*time.Hour, env.times["expire"].Round(time.Minute))
}

func TestExpiry_LosesToTheLastSignature(t *testing.T) {
	t.Parallel()
	env := newFakeEnv(t, 1)
	env.seals()
	deadline := env.begin.Add(time.Hour)
	env.plan.Deadline = &deadline
	env.expires(models.StatusSealing)
	env.signs(2*time.Hour, 0) // the signal arrives after the deadline
	env.run(t)
	assert.Equal(t, []string{"invite A", "expire", "seal", "copies"}, env.calls)
}

func TestExpiry_BeforeTheDatabaseClock(t *testing.T) {
	t.Parallel()
	env := newFakeEnv(t, 1)
	deadline := env.begin.Add(time.Hour)
	env.plan.Deadline = &deadline
	tries := 0
	env.env.OnActivity(acts.Expire, mock.Anything, mock.Anything).Return(func(context.Context, temporal.EnvelopeInput) (models.Status, error) {
		if tries++; tries < 3 {
			return models.StatusSent, nil
		}
		return models.StatusExpired, nil
	})
	env.run(t)
	assert.Equal(t, 3, tries)
}

func TestReminders(t *testing.T) {
	t.Parallel()
	env := newFakeEnv(t, 1)
	env.seals()
	env.remindsEvery(72 * time.Hour)
	deadline := env.begin.Add(30 * 24 * time.Hour)
	env.plan.Deadline = &deadline
	env.signs(8*24*time.Hour, 0)
	env.run(t)
	assert.Equal(t, []string{"invite A", "remind", "remind", "seal", "copies"}, env.calls)
	assert.Equal(t, 6*24*time.Hour, env.times["remind"].Round(time.Minute))
}

func TestDecline(t *testing.T) {
	t.Parallel()
	env := newFakeEnv(t, 1, 2)
	env.signal(time.Hour, temporal.SignalSignerDeclined)
	env.run(t)
	assert.Equal(t, []string{"invite A", "closing"}, env.calls)
}

// TestVoid_WhileInviting checks that an unavailable mail server does not delay a void.
func TestVoid_WhileInviting(t *testing.T) {
	t.Parallel()
	env := newFakeEnv(t, 1)
	env.mailDown = true
	env.signal(time.Hour, temporal.SignalVoided)
	env.run(t)
	assert.Equal(t, []string{"closing"}, env.calls)
}

func TestSeal_FailsAndThenSucceeds(t *testing.T) {
	t.Parallel()
	env := newFakeEnv(t, 1)
	fails := 10 // the test environment stops unlimited retries after ten attempts
	env.env.OnActivity(acts.Seal, mock.Anything, mock.Anything).Return(func(context.Context, temporal.EnvelopeInput) (activities.Sealed, error) {
		if fails--; fails > 0 {
			return activities.Sealed{}, errors.New("time-stamp authority does not respond")
		}
		env.note("seal")
		return activities.Sealed{Status: models.StatusCompleted}, nil
	})
	env.signs(time.Minute, 0)
	stuck := false
	env.env.RegisterDelayedCallback(func() {
		v, err := env.env.QueryWorkflow(temporal.QueryProgress)
		require.NoError(t, err)
		var p temporal.Progress
		require.NoError(t, v.Get(&p))
		stuck = p.Step == "sealing"
	}, 80*time.Second)
	env.run(t)
	assert.Equal(t, []string{"invite A", "seal", "copies"}, env.calls)
	assert.True(t, stuck, "a stuck seal must be visible")
}

// TestSignals_AfterTheEnd checks that late signals are read and have no effect.
func TestSignals_AfterTheEnd(t *testing.T) {
	t.Parallel()
	env := newFakeEnv(t, 1)
	tries := 0
	env.env.OnActivity(acts.Seal, mock.Anything, mock.Anything).Return(func(context.Context, temporal.EnvelopeInput) (activities.Sealed, error) {
		if tries++; tries == 1 {
			return activities.Sealed{}, errors.New("disk full")
		}
		env.note("seal")
		return activities.Sealed{Status: models.StatusCompleted}, nil
	})
	env.signs(time.Second, 0)
	for _, name := range []string{temporal.SignalSignerDeclined, temporal.SignalRescheduled, temporal.SignalSignerSigned} {
		env.signal(1500*time.Millisecond, name)
	}
	env.run(t)
	assert.Equal(t, []string{"invite A", "seal", "copies"}, env.calls)
}

// unsealed makes every attempt to seal fail for a reason that an operator must resolve.
func (env *fakeEnv) unsealed() {
	env.env.OnActivity(acts.Seal, mock.Anything, mock.Anything).Return(func(context.Context, temporal.EnvelopeInput) (activities.Sealed, error) {
		return activities.Sealed{}, sdktemporal.NewApplicationErrorWithOptions("cannot be sealed", "original_missing", sdktemporal.ApplicationErrorOptions{NextRetryDelay: time.Hour})
	})
}

// TestSeal_ProblemIsShownUntilVoid checks that operators see the sealing problem, and that a void ends the workflow.
func TestSeal_ProblemIsShownUntilVoid(t *testing.T) {
	t.Parallel()
	env := newFakeEnv(t, 1)
	env.unsealed()
	env.signs(time.Minute, 0)
	env.signal(2*time.Minute, temporal.SignalSealingFailed)
	var step string
	env.env.RegisterDelayedCallback(func() {
		v, err := env.env.QueryWorkflow(temporal.QueryProgress)
		require.NoError(t, err)
		var p temporal.Progress
		require.NoError(t, v.Get(&p))
		step = p.Step
	}, 3*time.Minute)
	env.signal(4*time.Minute, temporal.SignalVoided)
	env.run(t)
	assert.Equal(t, "sealing_failed", step)
	assert.Equal(t, []string{"invite A", "closing"}, env.calls)
}

// TestVoid_SignalBeforeTheFailure checks that a void is not lost if its signal overtakes the signal of the sealing
// failure.
func TestVoid_SignalBeforeTheFailure(t *testing.T) {
	t.Parallel()
	env := newFakeEnv(t, 1)
	env.unsealed()
	env.signs(time.Minute, 0)
	env.signal(2*time.Minute, temporal.SignalVoided)
	env.signal(2*time.Minute, temporal.SignalSealingFailed)
	env.run(t)
	assert.Equal(t, []string{"invite A", "closing"}, env.calls)
}

// TestSeal_FindsTheEnvelopeVoided checks that the workflow ends if the sealing activity finds that the envelope was
// already voided.
func TestSeal_FindsTheEnvelopeVoided(t *testing.T) {
	t.Parallel()
	env := newFakeEnv(t, 1)
	env.env.OnActivity(acts.Seal, mock.Anything, mock.Anything).Return(func(context.Context, temporal.EnvelopeInput) (activities.Sealed, error) {
		return activities.Sealed{Status: models.StatusVoided}, nil
	})
	env.signs(time.Minute, 0)
	env.run(t)
	assert.Equal(t, []string{"invite A", "closing"}, env.calls)
}

// TestRestart_RestoresSealingProblem checks that a restarted workflow reads the sealing problem from the database.
func TestRestart_RestoresSealingProblem(t *testing.T) {
	t.Parallel()
	env := newFakeEnv(t, 1)
	env.plan.Signers[0].Signed, env.plan.Status, env.plan.Problem = true, models.StatusSealing, models.SealingOriginalMissing
	env.unsealed()
	env.signal(time.Minute, temporal.SignalVoided)
	env.run(t)
	assert.Equal(t, []string{"closing"}, env.calls)
}

// TestSeal_SucceedsAfterTheProblemIsFixed checks that sealing succeeds once the problem has been fixed.
func TestSeal_SucceedsAfterTheProblemIsFixed(t *testing.T) {
	t.Parallel()
	env := newFakeEnv(t, 1)
	tries := 0
	env.env.OnActivity(acts.Seal, mock.Anything, mock.Anything).Return(func(context.Context, temporal.EnvelopeInput) (activities.Sealed, error) {
		if tries++; tries < 3 {
			return activities.Sealed{}, sdktemporal.NewApplicationErrorWithOptions("cannot be sealed", "original_missing", sdktemporal.ApplicationErrorOptions{NextRetryDelay: time.Hour})
		}
		env.note("seal")
		return activities.Sealed{Status: models.StatusCompleted}, nil
	})
	env.signs(time.Minute, 0)
	env.signal(2*time.Minute, temporal.SignalSealingFailed)
	env.run(t)
	assert.Equal(t, []string{"invite A", "seal", "copies"}, env.calls)
}

func TestProgress(t *testing.T) {
	t.Parallel()
	env := newFakeEnv(t, 1, 1, 2)
	env.seals()
	env.remindsEvery(72 * time.Hour)
	deadline := env.begin.Add(240 * time.Hour).UTC()
	env.plan.Deadline = &deadline
	ask := func() (p temporal.Progress) {
		v, err := env.env.QueryWorkflow(temporal.QueryProgress)
		require.NoError(t, err)
		require.NoError(t, v.Get(&p))
		return p
	}
	id := func(i int) uuid.UUID { return env.plan.Signers[i].ID }
	env.env.RegisterDelayedCallback(func() {
		p := ask()
		assert.Equal(t, "waiting", p.Step)
		assert.Equal(t, 1, p.OpenGroup)
		assert.Equal(t, []uuid.UUID{id(0), id(1)}, p.Awaiting)
		assert.Equal(t, deadline, *p.Deadline)
		assert.Equal(t, 72*time.Hour, p.NextReminder.Sub(env.begin).Round(time.Minute))
	}, time.Minute)
	env.signs(time.Hour, 0)
	env.signs(2*time.Hour, 1)
	env.env.RegisterDelayedCallback(func() {
		p := ask()
		assert.Equal(t, 2, p.OpenGroup)
		assert.Equal(t, []uuid.UUID{id(2)}, p.Awaiting)
	}, 3*time.Hour)
	env.signs(4*time.Hour, 2)
	env.run(t)
	p := ask()
	assert.Equal(t, "done", p.Step)
	assert.Empty(t, p.Awaiting)
}

// TestRestart_ContinuesFromTheDatabase checks that a restarted workflow continues from the state in the database.
func TestRestart_ContinuesFromTheDatabase(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		status models.Status
		signed []bool
		want   []string
	}{
		{models.StatusInProgress, []bool{true, false}, []string{"invite B", "seal", "copies"}},
		{models.StatusSealing, []bool{true, true}, []string{"seal", "copies"}},
		{models.StatusCompleted, []bool{true, true}, []string{"copies"}},
		{models.StatusVoided, []bool{true, false}, []string{"closing"}},
	} {
		t.Run(string(c.status), func(t *testing.T) {
			t.Parallel()
			env := newFakeEnv(t, 1, 2)
			env.seals()
			env.plan.Status = c.status
			for i, s := range c.signed {
				env.plan.Signers[i].Signed = s
			}
			env.signs(time.Hour, 1)
			env.run(t)
			assert.Equal(t, c.want, env.calls)
		})
	}
}

// TestLinks_AreRenewedInTime checks that a link that would expire before its envelope is renewed in time.
func TestLinks_AreRenewedInTime(t *testing.T) {
	t.Parallel()
	const day = 24 * time.Hour
	for name, every := range map[string]time.Duration{"no reminders": 0, "weekly reminders": 7 * day} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env := newFakeEnv(t, 1)
			env.seals()
			env.remindsEvery(every)
			first := env.begin.Add(27 * day)
			env.plan.RenewAt = &first
			renewals := 0
			env.env.OnActivity(acts.RenewLinks, mock.Anything, mock.Anything).Return(func(context.Context, temporal.EnvelopeInput) (*time.Time, error) {
				renewals++
				env.note(fmt.Sprintf("renew %d", renewals))
				next := env.env.Now().Add(27 * day)
				return &next, nil
			})
			env.signs(100*day, 0)
			env.run(t)
			assert.Equal(t, 3, renewals)
			for i := range 3 {
				assert.InDelta(t, float64(27*(i+1)), env.times[fmt.Sprintf("renew %d", i+1)].Hours()/24, 0.1)
			}
			reminders := 0
			for _, c := range env.calls {
				if c == "remind" {
					reminders++
				}
			}
			if every == 0 {
				assert.Zero(t, reminders)
			} else {
				assert.Equal(t, 14, reminders)
			}
		})
	}
}

func TestRejection_EndsTheWorkflow(t *testing.T) {
	t.Parallel()
	env := newFakeEnv(t, 1)
	env.env.OnActivity(acts.Seal, mock.Anything, mock.Anything).Return(activities.Sealed{},
		sdktemporal.NewNonRetryableApplicationError("The envelope is draft.", "envelope_not_sealing", nil))
	env.signs(time.Minute, 0)
	env.env.ExecuteWorkflow(workflows.Envelope, temporal.EnvelopeStart{EnvelopeInput: env.in})
	require.ErrorContains(t, env.env.GetWorkflowError(), "envelope_not_sealing")
}

// TestCancel_WhileNothingIsDue checks that an operator can cancel a workflow that has no running timer.
func TestCancel_WhileNothingIsDue(t *testing.T) {
	t.Parallel()
	env := newFakeEnv(t, 1)
	env.env.RegisterDelayedCallback(env.env.CancelWorkflow, time.Hour)
	env.env.ExecuteWorkflow(workflows.Envelope, temporal.EnvelopeStart{EnvelopeInput: env.in})
	require.True(t, env.env.IsWorkflowCompleted())
	require.True(t, sdktemporal.IsCanceledError(env.env.GetWorkflowError()))
	assert.Equal(t, []string{"invite A"}, env.calls)
}

// TestTimers_BeforeTheDatabaseClock checks that due times are checked at increasing intervals if the database's clock
// is behind.
func TestTimers_BeforeTheDatabaseClock(t *testing.T) {
	t.Parallel()
	for name, set := range map[string]func(*temporal.Plan, *time.Time){
		"renewal":  func(p *temporal.Plan, due *time.Time) { p.RenewAt = due },
		"reminder": func(p *temporal.Plan, due *time.Time) { p.RemindAt, p.ReminderEvery = due, 24*time.Hour },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env := newFakeEnv(t, 1)
			due, tries := env.begin.Add(time.Hour), 0
			env.nextDue = func() *time.Time {
				if tries++; env.env.Now().Before(due.Add(10 * time.Minute)) {
					return &due
				}
				return nil
			}
			env.env.OnActivity(acts.RenewLinks, mock.Anything, mock.Anything).Return(func(context.Context, temporal.EnvelopeInput) (*time.Time, error) {
				return env.nextDue(), nil
			}).Maybe()
			set(&env.plan, &due)
			env.signal(2*time.Hour, temporal.SignalVoided)
			env.run(t)
			assert.Less(t, tries, 20)
		})
	}
}
