package workflows_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
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

// quiet shows what the SDK logs only where a test fails.
func quiet(t *testing.T) log.Logger {
	t.Helper()
	return log.NewStructuredLogger(slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelError})))
}

// strict shows them too, and fails the test if a signal was left unread.
func strict(t *testing.T) log.Logger {
	t.Helper()
	return log.NewStructuredLogger(slog.New(unread{slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelWarn}), t}))
}

type unread struct {
	slog.Handler
	t *testing.T
}

func (u unread) WithAttrs(as []slog.Attr) slog.Handler {
	return unread{u.Handler.WithAttrs(as), u.t}
}

func (u unread) Handle(ctx context.Context, r slog.Record) error {
	if strings.Contains(r.Message, "unhandled signals") {
		u.t.Error(r.Message)
	}
	return u.Handler.Handle(ctx, r)
}

// fakeEnv plays the database and the outside world: it notes what the workflow
// asked for, and when.
type fakeEnv struct {
	env  *testsuite.TestWorkflowEnvironment
	in   temporal.EnvelopeInput
	plan temporal.Plan

	mu    sync.Mutex
	calls []string
	times map[string]time.Duration // since the start, of the newest call
	begin time.Time

	mailDown bool
}

// newFakeEnv has a plan with a signer for each routing group given.
func newFakeEnv(t *testing.T, groups ...int) *fakeEnv {
	t.Helper()
	var suite testsuite.WorkflowTestSuite
	suite.SetLogger(strict(t))
	h := &fakeEnv{
		env: suite.NewTestWorkflowEnvironment(), times: map[string]time.Duration{},
		in: temporal.EnvelopeInput{AppID: uuid.New(), EnvelopeID: uuid.New()},
	}
	h.begin = h.env.Now()
	h.env.SetTestTimeout(30 * time.Second)
	h.env.RegisterActivity(acts)
	h.env.RegisterWorkflowWithOptions(workflows.Envelope, workflow.RegisterOptions{Name: temporal.WorkflowEnvelope})
	h.plan = temporal.Plan{Status: models.StatusSent}
	for _, g := range groups {
		h.plan.Signers = append(h.plan.Signers, temporal.PlanSigner{ID: uuid.New(), Group: g})
	}
	h.env.OnActivity(acts.LoadPlan, mock.Anything, mock.Anything).Return(func(context.Context, temporal.EnvelopeInput) (temporal.Plan, error) {
		return h.plan, nil
	})
	h.env.OnActivity(acts.Invite, mock.Anything, mock.Anything).Return(func(_ context.Context, in activities.SignerInput) error {
		if h.mailDown {
			return errors.New("mail server is down")
		}
		h.note("invite " + h.name(in.SignerID))
		return nil
	}).Maybe()
	h.env.OnActivity(acts.Remind, mock.Anything, mock.Anything).Return(func(context.Context, temporal.EnvelopeInput) (*time.Time, error) {
		if h.mailDown {
			return nil, errors.New("mail server is down")
		}
		h.note("remind")
		next := h.env.Now().Add(h.plan.ReminderEvery)
		return &next, nil
	}).Maybe()
	h.simple(acts.SendCopies, "copies")
	h.simple(acts.SendClosing, "closing")
	return h
}

func (h *fakeEnv) simple(activity any, name string) {
	h.env.OnActivity(activity, mock.Anything, mock.Anything).Return(func(context.Context, temporal.EnvelopeInput) error {
		h.note(name)
		return nil
	}).Maybe()
}

// remindsEvery sets the tenant's interval.
func (h *fakeEnv) remindsEvery(interval time.Duration) {
	if h.plan.ReminderEvery = interval; interval > 0 {
		first := h.begin.Add(interval)
		h.plan.RemindAt = &first
	}
}

func (h *fakeEnv) seals() {
	h.env.OnActivity(acts.Seal, mock.Anything, mock.Anything).Return(func(context.Context, temporal.EnvelopeInput) (models.Status, error) {
		h.note("seal")
		return models.StatusCompleted, nil
	}).Maybe()
}

func (h *fakeEnv) expires(status models.Status) {
	h.env.OnActivity(acts.Expire, mock.Anything, mock.Anything).Return(func(context.Context, temporal.EnvelopeInput) (models.Status, error) {
		h.note("expire")
		return status, nil
	})
}

func (h *fakeEnv) note(call string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.calls = append(h.calls, call)
	h.times[call] = h.env.Now().Sub(h.begin)
}

func (h *fakeEnv) name(id uuid.UUID) string {
	for i, s := range h.plan.Signers {
		if s.ID == id {
			return string(rune('A' + i))
		}
	}
	return "?"
}

func (h *fakeEnv) signs(after time.Duration, i int) {
	h.env.RegisterDelayedCallback(func() {
		h.env.SignalWorkflow(temporal.SignalSignerSigned, temporal.SignerSignal{SignerID: h.plan.Signers[i].ID})
	}, after)
}

func (h *fakeEnv) signal(after time.Duration, name string) {
	h.env.RegisterDelayedCallback(func() { h.env.SignalWorkflow(name, temporal.SignerSignal{}) }, after)
}

func (h *fakeEnv) run(t *testing.T) {
	t.Helper()
	h.env.ExecuteWorkflow(workflows.Envelope, temporal.EnvelopeStart{EnvelopeInput: h.in})
	require.True(t, h.env.IsWorkflowCompleted())
	require.NoError(t, h.env.GetWorkflowError())
}

func TestRoutingGroups(t *testing.T) {
	t.Parallel()
	h := newFakeEnv(t, 1, 1, 2)
	h.seals()
	h.signs(time.Hour, 0)
	h.signs(2*time.Hour, 1)
	h.signs(3*time.Hour, 2)
	h.run(t)
	assert.ElementsMatch(t, []string{"invite A", "invite B"}, h.calls[:2])
	assert.Equal(t, []string{"invite C", "seal", "copies"}, h.calls[2:])
	assert.Equal(t, 2*time.Hour, h.times["invite C"].Round(time.Minute), "the next group is asked when the one before it is complete")
}

func TestRepeatedAndReorderedSignals(t *testing.T) {
	t.Parallel()
	h := newFakeEnv(t, 1, 2)
	h.seals()
	for range 3 {
		h.signs(time.Minute, 1) // the second group's signature overtakes the first's
		h.signs(time.Hour, 0)
	}
	h.run(t)
	assert.Equal(t, []string{"invite A", "seal", "copies"}, h.calls)
}

func TestExpiry(t *testing.T) {
	t.Parallel()
	h := newFakeEnv(t, 1)
	deadline := h.begin.Add(14 * 24 * time.Hour)
	h.plan.Deadline = &deadline
	h.expires(models.StatusExpired)
	h.run(t)
	assert.Equal(t, []string{"invite A", "expire", "closing"}, h.calls)
	assert.Equal(t, 14*24*time.Hour, h.times["expire"].Round(time.Minute))
}

func TestExpiryThatLosesToTheLastSignature(t *testing.T) {
	t.Parallel()
	h := newFakeEnv(t, 1)
	h.seals()
	deadline := h.begin.Add(time.Hour)
	h.plan.Deadline = &deadline
	h.expires(models.StatusSealing)
	h.signs(2*time.Hour, 0) // the signal is late
	h.run(t)
	assert.Equal(t, []string{"invite A", "expire", "seal", "copies"}, h.calls)
}

func TestExpiryBeforeTheDatabasesClockIsThere(t *testing.T) {
	t.Parallel()
	h := newFakeEnv(t, 1)
	deadline := h.begin.Add(time.Hour)
	h.plan.Deadline = &deadline
	tries := 0
	h.env.OnActivity(acts.Expire, mock.Anything, mock.Anything).Return(func(context.Context, temporal.EnvelopeInput) (models.Status, error) {
		if tries++; tries < 3 {
			return models.StatusSent, nil
		}
		return models.StatusExpired, nil
	})
	h.run(t)
	assert.Equal(t, 3, tries)
}

func TestReminders(t *testing.T) {
	t.Parallel()
	h := newFakeEnv(t, 1)
	h.seals()
	h.remindsEvery(72 * time.Hour)
	deadline := h.begin.Add(30 * 24 * time.Hour)
	h.plan.Deadline = &deadline
	h.signs(8*24*time.Hour, 0)
	h.run(t)
	assert.Equal(t, []string{"invite A", "remind", "remind", "seal", "copies"}, h.calls)
	assert.Equal(t, 6*24*time.Hour, h.times["remind"].Round(time.Minute))
}

func TestDecline(t *testing.T) {
	t.Parallel()
	h := newFakeEnv(t, 1, 2)
	h.signal(time.Hour, temporal.SignalSignerDeclined)
	h.run(t)
	assert.Equal(t, []string{"invite A", "closing"}, h.calls)
}

// TestVoidWhileInviting: a mail server that is down keeps nobody from voiding.
func TestVoidWhileInviting(t *testing.T) {
	t.Parallel()
	h := newFakeEnv(t, 1)
	h.mailDown = true
	h.signal(time.Hour, temporal.SignalVoided)
	h.run(t)
	assert.Equal(t, []string{"closing"}, h.calls)
}

func TestASealThatFailsAndThenWorks(t *testing.T) {
	t.Parallel()
	h := newFakeEnv(t, 1)
	fails := 10 // the test environment ends unlimited retries at ten
	h.env.OnActivity(acts.Seal, mock.Anything, mock.Anything).Return(func(context.Context, temporal.EnvelopeInput) (models.Status, error) {
		if fails--; fails > 0 {
			return "", errors.New("time-stamp authority does not answer")
		}
		h.note("seal")
		return models.StatusCompleted, nil
	})
	h.signs(time.Minute, 0)
	stuck := false
	h.env.RegisterDelayedCallback(func() {
		v, err := h.env.QueryWorkflow(temporal.QueryProgress)
		require.NoError(t, err)
		var p temporal.Progress
		require.NoError(t, v.Get(&p))
		stuck = p.Step == "sealing"
	}, 3*time.Minute)
	h.run(t)
	assert.Equal(t, []string{"invite A", "seal", "copies"}, h.calls)
	assert.True(t, stuck, "a stuck seal is visible")
}

// TestSignalsThatComeTooLate are read, and change nothing any more.
func TestSignalsThatComeTooLate(t *testing.T) {
	t.Parallel()
	h := newFakeEnv(t, 1)
	tries := 0
	h.env.OnActivity(acts.Seal, mock.Anything, mock.Anything).Return(func(context.Context, temporal.EnvelopeInput) (models.Status, error) {
		if tries++; tries == 1 {
			return "", errors.New("disk full")
		}
		h.note("seal")
		return models.StatusCompleted, nil
	})
	h.signs(time.Second, 0)
	for _, name := range []string{temporal.SignalVoided, temporal.SignalSignerDeclined, temporal.SignalSignerSigned} {
		h.signal(1500*time.Millisecond, name)
	}
	h.run(t)
	assert.Equal(t, []string{"invite A", "seal", "copies"}, h.calls)
}

// unsealed lets sealing fail until the workflow has been told and closed.
func (h *fakeEnv) unsealed() {
	h.env.OnActivity(acts.Seal, mock.Anything, mock.Anything).Return(func(context.Context, temporal.EnvelopeInput) (models.Status, error) {
		return "", sdktemporal.NewApplicationErrorWithOptions("cannot be sealed", "original_missing", sdktemporal.ApplicationErrorOptions{NextRetryDelay: time.Hour})
	})
}

// TestAnEnvelopeThatCannotBeSealed: operators see it, and a void ends it.
func TestAnEnvelopeThatCannotBeSealed(t *testing.T) {
	t.Parallel()
	h := newFakeEnv(t, 1)
	h.unsealed()
	h.signs(time.Minute, 0)
	h.signal(2*time.Minute, temporal.SignalSealingFailed)
	var step string
	h.env.RegisterDelayedCallback(func() {
		v, err := h.env.QueryWorkflow(temporal.QueryProgress)
		require.NoError(t, err)
		var p temporal.Progress
		require.NoError(t, v.Get(&p))
		step = p.Step
	}, 3*time.Minute)
	h.signal(4*time.Minute, temporal.SignalVoided)
	h.run(t)
	assert.Equal(t, "sealing_failed", step)
	assert.Equal(t, []string{"invite A", "closing"}, h.calls)
}

// TestAVoidIsNotLost when it is told before the failure that allowed it.
func TestAVoidIsNotLost(t *testing.T) {
	t.Parallel()
	h := newFakeEnv(t, 1)
	h.unsealed()
	h.signs(time.Minute, 0)
	h.signal(2*time.Minute, temporal.SignalVoided)
	h.signal(2*time.Minute, temporal.SignalSealingFailed)
	h.run(t)
	assert.Equal(t, []string{"invite A", "closing"}, h.calls)
}

// TestSealingFindsTheEnvelopeVoided before the workflow is told.
func TestSealingFindsTheEnvelopeVoided(t *testing.T) {
	t.Parallel()
	h := newFakeEnv(t, 1)
	h.env.OnActivity(acts.Seal, mock.Anything, mock.Anything).Return(func(context.Context, temporal.EnvelopeInput) (models.Status, error) {
		return models.StatusVoided, nil
	})
	h.signs(time.Minute, 0)
	h.run(t)
	assert.Equal(t, []string{"invite A", "closing"}, h.calls)
}

// TestALostWorkflowKnowsThatItIsStuck: what it is to know is in the database.
func TestALostWorkflowKnowsThatItIsStuck(t *testing.T) {
	t.Parallel()
	h := newFakeEnv(t, 1)
	h.plan.Signers[0].Signed, h.plan.Status, h.plan.Problem = true, models.StatusSealing, models.SealingOriginalMissing
	h.unsealed()
	h.signal(time.Minute, temporal.SignalVoided)
	h.run(t)
	assert.Equal(t, []string{"closing"}, h.calls)
}

// TestSealedAfterAll: a problem that was mended.
func TestSealedAfterAll(t *testing.T) {
	t.Parallel()
	h := newFakeEnv(t, 1)
	tries := 0
	h.env.OnActivity(acts.Seal, mock.Anything, mock.Anything).Return(func(context.Context, temporal.EnvelopeInput) (models.Status, error) {
		if tries++; tries < 3 {
			return "", sdktemporal.NewApplicationErrorWithOptions("cannot be sealed", "original_missing", sdktemporal.ApplicationErrorOptions{NextRetryDelay: time.Hour})
		}
		h.note("seal")
		return models.StatusCompleted, nil
	})
	h.signs(time.Minute, 0)
	h.signal(2*time.Minute, temporal.SignalSealingFailed)
	h.run(t)
	assert.Equal(t, []string{"invite A", "seal", "copies"}, h.calls)
}

func TestProgress(t *testing.T) {
	t.Parallel()
	h := newFakeEnv(t, 1, 1, 2)
	h.seals()
	h.remindsEvery(72 * time.Hour)
	deadline := h.begin.Add(240 * time.Hour).UTC()
	h.plan.Deadline = &deadline
	ask := func() (p temporal.Progress) {
		v, err := h.env.QueryWorkflow(temporal.QueryProgress)
		require.NoError(t, err)
		require.NoError(t, v.Get(&p))
		return p
	}
	id := func(i int) uuid.UUID { return h.plan.Signers[i].ID }
	h.env.RegisterDelayedCallback(func() {
		p := ask()
		assert.Equal(t, "waiting", p.Step)
		assert.Equal(t, 1, p.OpenGroup)
		assert.Equal(t, []uuid.UUID{id(0), id(1)}, p.Awaiting)
		assert.Equal(t, deadline, *p.Deadline)
		assert.Equal(t, 72*time.Hour, p.NextReminder.Sub(h.begin).Round(time.Minute))
	}, time.Minute)
	h.signs(time.Hour, 0)
	h.signs(2*time.Hour, 1)
	h.env.RegisterDelayedCallback(func() {
		p := ask()
		assert.Equal(t, 2, p.OpenGroup)
		assert.Equal(t, []uuid.UUID{id(2)}, p.Awaiting)
	}, 3*time.Hour)
	h.signs(4*time.Hour, 2)
	h.run(t)
	p := ask()
	assert.Equal(t, "done", p.Step)
	assert.Empty(t, p.Awaiting)
}

// TestStartedAnew: a workflow that was lost goes on from what the database says.
func TestStartedAnew(t *testing.T) {
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
			h := newFakeEnv(t, 1, 2)
			h.seals()
			h.plan.Status = c.status
			for i, s := range c.signed {
				h.plan.Signers[i].Signed = s
			}
			h.signs(time.Hour, 1)
			h.run(t)
			assert.Equal(t, c.want, h.calls)
		})
	}
}

// TestLinksAreRenewed: a link that would end before the envelope does is
// replaced in time, with reminders or without, again and again.
func TestLinksAreRenewed(t *testing.T) {
	t.Parallel()
	const day = 24 * time.Hour
	for name, every := range map[string]time.Duration{"no reminders": 0, "weekly reminders": 7 * day} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newFakeEnv(t, 1)
			h.seals()
			h.remindsEvery(every)
			first := h.begin.Add(27 * day)
			h.plan.RenewAt = &first
			renewals := 0
			h.env.OnActivity(acts.RenewLinks, mock.Anything, mock.Anything).Return(func(context.Context, temporal.EnvelopeInput) (*time.Time, error) {
				renewals++
				h.note(fmt.Sprintf("renew %d", renewals))
				next := h.env.Now().Add(27 * day)
				return &next, nil
			})
			h.signs(100*day, 0)
			h.run(t)
			assert.Equal(t, 3, renewals)
			for i := range 3 {
				assert.InDelta(t, float64(27*(i+1)), h.times[fmt.Sprintf("renew %d", i+1)].Hours()/24, 0.1)
			}
			reminders := 0
			for _, c := range h.calls {
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

func TestARefusalEndsTheWorkflow(t *testing.T) {
	t.Parallel()
	h := newFakeEnv(t, 1)
	h.env.OnActivity(acts.Seal, mock.Anything, mock.Anything).Return(models.Status(""),
		sdktemporal.NewNonRetryableApplicationError("The envelope is draft.", "envelope_not_sealing", nil))
	h.signs(time.Minute, 0)
	h.env.ExecuteWorkflow(workflows.Envelope, temporal.EnvelopeStart{EnvelopeInput: h.in})
	require.ErrorContains(t, h.env.GetWorkflowError(), "envelope_not_sealing")
}
