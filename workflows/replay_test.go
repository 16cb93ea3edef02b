package workflows_test

import (
	"context"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	sdktemporal "go.temporal.io/sdk/temporal"
	sdkworker "go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"countersign/activities"
	"countersign/models"
	"countersign/operate/reconcile"
	"countersign/store"
	"countersign/temporal"
	"countersign/test/kit"
	"countersign/worker"
)

// record is the directory for the histories of this version. "make histories" sets it. The histories of a released
// version must never be changed. An envelope can be open for weeks, so workflows that began under an older version must
// be able to continue under this one.
var record = flag.String("record", "", "save the histories of this run under testdata/histories/`NAME`")

// init sets the build ID that each task of a history contains.
func init() { sdkworker.SetBinaryChecksum("v0.1.0") }

// registered is a registry that records the workflows that a worker registers.
type registered struct {
	sdkworker.Registry
	workflows map[string]any
}

func (r registered) RegisterWorkflowWithOptions(sc any, o workflow.RegisterOptions) {
	r.workflows[o.Name] = sc
}

func (registered) RegisterActivity(any) {}

// workflowTypes returns all workflows of the service by name.
func workflowTypes() map[string]any {
	r := registered{workflows: map[string]any{}}
	worker.Register(r, &activities.Activities{})
	return r.workflows
}

func replayer() sdkworker.WorkflowReplayer {
	r := sdkworker.NewWorkflowReplayer()
	for name, sc := range workflowTypes() {
		r.RegisterWorkflowWithOptions(sc, workflow.RegisterOptions{Name: name})
	}
	return r
}

func TestSavedHistoriesReplay(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/histories/*/*.json")
	require.NoError(t, err)
	saved := map[string]bool{}
	for _, f := range files {
		env, err := client.HistoryFromJSON(must(os.Open(f)), client.HistoryJSONOptions{})
		require.NoError(t, err)
		saved[env.Events[0].GetWorkflowExecutionStartedEventAttributes().GetWorkflowType().GetName()] = true
		t.Run(f, func(t *testing.T) {
			t.Parallel()
			require.NoError(t, replayer().ReplayWorkflowHistory(quiet(t), env))
		})
	}
	for name := range workflowTypes() {
		assert.True(t, saved[name], "workflow %s has no saved history: run make histories", name)
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// scenario describes one path through a workflow: its input, its signals, and the results of its activities.
type scenario struct {
	workflow  string // empty for Envelope
	input     any    // nil to use plan
	plan      temporal.Plan
	reads     bool     // whether the workflow reads the plan from the database
	continues bool     // whether the workflow continues as new, so an earlier run may have sent the invitations
	signals   []string // a number n is a signature by signer n
	fails     bool     // whether the workflow fails

	sealFails  int32
	sealDelay  time.Duration // between attempts; zero for the delay of the retry policy
	notInvited bool          // whether the first attempt to invite fails
	notCopied  bool          // whether the first attempt to send copies fails
	mailFails  int32         // number of attempts at which the mail server does not accept copies yet
	delivers   bool
	stampFails int32
	bulk       *fakeBulk

	sealed, mailed, stamped, cleaned atomic.Int32 // numbers of attempts
	mu                               sync.Mutex
	done                             map[string]int // number of runs of each activity

	first func() *historypb.History // returns the history of the first run; set by play
}

func (s *scenario) note(activity string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.done[activity]++
}

// await waits until an activity has run the given number of times.
func (s *scenario) await(t *testing.T, activity string, times int) {
	t.Helper()
	require.Eventually(t, func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.done[activity] >= times
	}, 60*time.Second, 10*time.Millisecond, activity)
}

// commit changes the simulated database in the same way as the transaction that precedes the signal.
func (s *scenario) commit(signal string, signer uuid.UUID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch signal {
	case temporal.SignalSignerSigned:
		s.plan.Signers = slices.Clone(s.plan.Signers)
		s.plan.Signers.Sign(signer)
	case temporal.SignalSignerDeclined:
		s.plan.Status = models.StatusDeclined
	case temporal.SignalVoided:
		s.plan.Status = models.StatusVoided
	case temporal.SignalSealingFailed:
		s.plan.Problem = models.SealingFailing
	}
}

func (s *scenario) register(r sdkworker.Registry) {
	register := func(name string, fn any) { r.RegisterActivityWithOptions(fn, activity.RegisterOptions{Name: name}) }
	simple := func(name string) {
		register(name, func(context.Context, temporal.EnvelopeInput) error {
			s.note(name)
			return nil
		})
	}
	simple("SendClosing")
	register("SendCopiesAgain", func(context.Context, temporal.CopiesInput) error { return nil })
	register("NotifySender", func(context.Context, temporal.NotificationInput) error { return nil })
	register("SendDigest", func(context.Context, temporal.DigestInput) error { return nil })
	register("LoadPlan", func(context.Context, temporal.EnvelopeInput) (temporal.Plan, error) {
		s.mu.Lock()
		defer s.mu.Unlock()
		plan := s.plan
		plan.Signers = slices.Clone(plan.Signers)
		return plan, nil
	})
	register("Invite", func(ctx context.Context, in activities.InviteInput) error {
		if s.notInvited && activity.GetInfo(ctx).Attempt == 1 {
			return soon("mail server answered 451")
		}
		for range in.SignerIDs {
			s.note("Invite")
		}
		return nil
	})
	register("Remind", func(context.Context, temporal.EnvelopeInput) (*time.Time, error) {
		next := time.Now().Add(s.plan.ReminderEvery)
		return &next, nil
	})
	register("RenewLinks", func(context.Context, temporal.EnvelopeInput) (*time.Time, error) {
		next := time.Now().Add(30 * 24 * time.Hour)
		return &next, nil
	})
	register("Expire", func(context.Context, temporal.EnvelopeInput) (models.Status, error) { return models.StatusExpired, nil })
	register("SendCopies", func(context.Context, temporal.EnvelopeInput) error {
		if s.mailed.Add(1) <= s.mailFails {
			return soon("mail server answered 451")
		}
		return nil
	})
	register("AnchorAudit", func(ctx context.Context) (activities.AnchorResult, error) {
		if activity.GetInfo(ctx).Attempt == 1 {
			return activities.AnchorResult{}, errors.New("time-stamp authority answered 503")
		}
		return activities.AnchorResult{Number: 1, Entries: 2}, nil
	})
	register("Cleanup", func(context.Context) (activities.CleanupRound, error) {
		round := activities.CleanupRound{Removed: []activities.RemovedRows{{Kind: "mails", Rows: 2}}, More: s.cleaned.Add(1) == 1}
		return round, nil
	})
	register("Reconcile", func(context.Context, reconcile.Position) (activities.ReconcileRound, error) {
		return activities.ReconcileRound{
			Counts: reconcile.Counts{store.WorkDeliveries: {Unfinished: 200, Missing: 3}}, Next: reconcile.Position{Work: store.WorkDeliveries, After: uuid.Max},
		}, nil
	})
	register("ChangeBulk", func(_ context.Context, in activities.ChangeBulkInput) error { return s.bulk.change(in) })
	register("AbandonDelivery", func(context.Context, uuid.UUID, int) error { return nil })
	register("RemindDeletion", func(context.Context, temporal.DeletionInput) error { return nil })
}

// soon returns an error that causes an activity to be retried almost immediately.
func soon(message string) error {
	return sdktemporal.NewApplicationErrorWithOptions(message, "Test", sdktemporal.ApplicationErrorOptions{NextRetryDelay: 10 * time.Millisecond})
}

func (s *scenario) seal(context.Context, temporal.EnvelopeInput) (activities.Sealed, error) {
	if s.sealed.Add(1) <= s.sealFails {
		return activities.Sealed{}, sdktemporal.NewApplicationErrorWithOptions("disk full", "Test", sdktemporal.ApplicationErrorOptions{NextRetryDelay: s.sealDelay})
	}
	return activities.Sealed{Status: models.StatusCompleted, Copied: !s.notCopied && s.mailFails == 0}, nil
}

func (s *scenario) timestamp(context.Context, temporal.EnvelopeInput) error {
	if s.stamped.Add(1) <= s.stampFails {
		return soon("time-stamp authority answered 503")
	}
	return nil
}

func (s *scenario) deliver(ctx context.Context, in activities.DeliverInput) (activities.DeliverResult, error) {
	if s.delivers {
		return activities.DeliverResult{Delivered: true}, nil
	}
	opts := sdktemporal.ApplicationErrorOptions{NonRetryable: true} // the error of the last attempt
	if n := int(activity.GetInfo(ctx).Attempt); n < len(in.Delays) {
		opts = sdktemporal.ApplicationErrorOptions{NextRetryDelay: in.Delays[n]}
	}
	return activities.DeliverResult{}, sdktemporal.NewApplicationErrorWithOptions("no", activities.ErrTypeNotDelivered, opts)
}

// planFor returns a plan with one signer per routing group in groups.
func planFor(groups ...int) temporal.Plan {
	p := temporal.Plan{Status: models.StatusSent, Since: time.Now().UTC().Truncate(time.Second)}
	for _, g := range groups {
		p.Signers = append(p.Signers, models.RoutingPosition{ID: uuid.New(), Group: g})
	}
	return p
}

// in returns the time that is the given duration from now.
func in(d time.Duration) *time.Time {
	at := time.Now().Add(d).UTC()
	return &at
}

// expiring returns the plan with a deadline in two seconds.
func expiring(p temporal.Plan) temporal.Plan {
	p.Deadline = in(2 * time.Second)
	return p
}

// far returns the plan with a timer that runs for an hour.
func far(p temporal.Plan) temporal.Plan {
	p.Deadline = in(time.Hour)
	return p
}

// cancelled is a scenario's pseudo-signal, which represents an operator's request to cancel the workflow.
const cancelled = "cancel the workflow"

func reminded(p temporal.Plan) temporal.Plan {
	p.ReminderEvery, p.RemindAt = time.Second, in(time.Second)
	return p
}

func renewed(p temporal.Plan) temporal.Plan {
	p.RenewAt = in(500 * time.Millisecond)
	return p
}

// TestFreshHistoriesReplay runs every path through the workflows on a real server and replays the recorded histories.
func TestFreshHistoriesReplay(t *testing.T) {
	t.Parallel()
	delays := []time.Duration{time.Second, 50 * time.Millisecond, 50 * time.Millisecond, 50 * time.Millisecond, 50 * time.Millisecond}
	delivery := temporal.DeliveryInput{DeliveryID: uuid.New(), Delays: delays}
	envelope := temporal.EnvelopeInput{AppID: uuid.New(), EnvelopeID: uuid.New()}
	for name, s := range map[string]*scenario{
		"completed":         {plan: planFor(1, 1, 2), signals: []string{"1", "0", "2"}},
		"each-again":        {plan: planFor(1, 1, 2), notInvited: true, notCopied: true, sealFails: 1, signals: []string{"1", "0", "2"}},
		"sealed-at-last":    {plan: planFor(1), sealFails: 1, sealDelay: 2 * time.Minute, signals: []string{"0"}},
		"unsealed-voided":   {plan: planFor(1), sealFails: 1 << 30, sealDelay: time.Hour, signals: []string{"0", temporal.SignalSealingFailed, temporal.SignalVoided}},
		"unsealed-sealed":   {plan: planFor(1), sealFails: 3, signals: []string{"0", temporal.SignalSealingFailed}},
		"copies-stuck":      {plan: planFor(1), mailFails: 12, signals: []string{"0"}},
		"declined":          {plan: planFor(1, 2), signals: []string{"0", temporal.SignalSignerDeclined}},
		"voided":            {plan: planFor(1), reads: true, signals: []string{temporal.SignalVoided}},
		"reminded-expired":  {plan: reminded(expiring(planFor(1))), reads: true},
		"cancelled":         {plan: far(planFor(1)), fails: true, signals: []string{cancelled}},
		"renewed-expired":   {plan: renewed(expiring(planFor(1)))},
		"delivered":         {workflow: temporal.WorkflowDelivery, input: delivery, delivers: true},
		"delivery-failed":   {workflow: temporal.WorkflowDelivery, input: delivery, fails: true},
		"anchored":          {workflow: temporal.WorkflowAnchor},
		"cleaned":           {workflow: temporal.WorkflowCleanup},
		"reconciled":        {workflow: temporal.WorkflowReconcile},
		"reinvited":         {workflow: temporal.WorkflowReinvite, input: temporal.InviteInput{EnvelopeInput: envelope, SignerID: uuid.New(), LinkID: &envelope.EnvelopeID}},
		"copied":            {workflow: temporal.WorkflowCopies, input: temporal.CopiesInput{EnvelopeInput: envelope, SignerID: uuid.New(), Request: uuid.New()}},
		"rescheduled":       {plan: planFor(1), reads: true, signals: []string{temporal.SignalRescheduled, temporal.SignalVoided}},
		"bulk-sent":         {workflow: temporal.WorkflowBulk, input: temporal.BulkInput{AppID: uuid.New(), BulkSendID: uuid.New()}, bulk: &fakeBulk{status: models.BulkQueued, counts: models.BulkCounts{Pending: 25}, wait: 50 * time.Millisecond}},
		"bulk-cancelled":    {workflow: temporal.WorkflowBulk, input: temporal.BulkInput{AppID: uuid.New(), BulkSendID: uuid.New()}, bulk: &fakeBulk{status: models.BulkQueued, counts: models.BulkCounts{Pending: 25}, wait: time.Hour}, signals: []string{temporal.SignalPause, temporal.SignalChanged, temporal.SignalResume, temporal.SignalCancel}},
		"timestamped":       {workflow: temporal.WorkflowTimestamp, input: envelope, stampFails: 12},
		"notified":          {workflow: temporal.WorkflowNotification, input: temporal.NotificationInput{EnvelopeInput: envelope, EventID: uuid.New()}},
		"digested":          {workflow: temporal.WorkflowDigest, input: temporal.DigestInput{AppID: uuid.New(), UserID: uuid.New(), Until: time.Date(2026, 11, 20, 8, 0, 0, 0, time.UTC)}},
		"deletion-reminded": {workflow: temporal.WorkflowDeletion, input: temporal.DeletionInput{EnvelopeInput: envelope, Days: 7}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env := s.play(t, name)
			require.NoError(t, replayer().ReplayWorkflowHistory(quiet(t), env))
			if *record != "" {
				save(t, env, filepath.Join("testdata", "histories", *record, name+".json"))
			}
		})
	}
}

// play runs a scenario and returns its history.
func (s *scenario) play(t *testing.T, name string) *historypb.History {
	t.Helper()
	return s.playIn(t, kit.Temporal(t), name)
}

// playIn runs a scenario in a namespace and returns the history of its last run.
func (s *scenario) playIn(t *testing.T, opts client.Options, name string) *historypb.History {
	t.Helper()
	s.done = map[string]int{}
	opts.Logger = quiet(t)
	c, err := client.Dial(opts)
	require.NoError(t, err)
	t.Cleanup(c.Close)
	s.startWorkers(t, c)
	kind, args := s.start()
	run, err := c.ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{ID: name, TaskQueue: temporal.QueueMain}, kind, args...)
	require.NoError(t, err)
	first := run.GetRunID()
	s.first = func() *historypb.History { return historyOf(t, c, name, first) }
	for i, sig := range s.signals {
		if sig == cancelled {
			s.await(t, "Invite", 1)
			require.NoError(t, c.CancelWorkflow(t.Context(), name, ""))
			continue
		}
		if s.continues && s.workflow == "" && sig != temporal.SignalRescheduled {
			// A slow worker handles several signals in one task, with fewer events than the limit.
			require.Eventually(t, func() bool {
				d, err := c.DescribeWorkflowExecution(t.Context(), name, "")
				if err != nil || d.GetWorkflowExecutionInfo().GetExecution().GetRunId() != first {
					return err == nil
				}
				s.commit(temporal.SignalRescheduled, uuid.Nil)
				_ = c.SignalWorkflow(t.Context(), name, "", temporal.SignalRescheduled, temporal.SignerSignal{}) // the workflow may just have continued
				return false
			}, 60*time.Second, 50*time.Millisecond, "the workflow does not continue as new")
		}
		signal, fact := sig, temporal.SignerSignal{}
		if n := int(sig[0] - '0'); n < len(s.plan.Signers) {
			signal, fact.SignerID = temporal.SignalSignerSigned, s.plan.Signers[n].ID
			if !s.continues {
				s.await(t, "Invite", i+1)
			}
		}
		if signal == temporal.SignalSealingFailed { // an attempt to seal sends this signal
			require.Eventually(t, func() bool { return s.sealed.Load() > 0 }, 60*time.Second, 10*time.Millisecond)
		}
		s.commit(signal, fact.SignerID)
		require.NoError(t, c.SignalWorkflow(t.Context(), name, "", signal, fact))
	}
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	err = run.Get(ctx, nil)
	require.NoError(t, ctx.Err(), "the workflow is still running")
	assert.Equal(t, s.fails, err != nil, "%v", err)
	return history(t, c, name)
}

// start returns the workflow's type and arguments.
func (s *scenario) start() (kind string, args []any) {
	if s.workflow == temporal.WorkflowAnchor || s.workflow == temporal.WorkflowCleanup {
		return s.workflow, nil
	}
	if s.workflow != "" {
		return s.workflow, []any{s.input}
	}
	start := temporal.EnvelopeStart{EnvelopeInput: temporal.EnvelopeInput{AppID: uuid.New(), EnvelopeID: uuid.New()}}
	if !s.reads {
		start.Plan = &s.plan
	}
	return temporal.WorkflowEnvelope, []any{start}
}

func (s *scenario) startWorkers(t *testing.T, c client.Client) {
	t.Helper()
	main := sdkworker.New(c, temporal.QueueMain, sdkworker.Options{})
	for name, sc := range workflowTypes() {
		main.RegisterWorkflowWithOptions(sc, workflow.RegisterOptions{Name: name})
	}
	s.register(main)
	mail := sdkworker.New(c, temporal.QueueMail, sdkworker.Options{DisableWorkflowWorker: true})
	s.register(mail)
	sealing := sdkworker.New(c, temporal.QueueSeal, sdkworker.Options{DisableWorkflowWorker: true})
	sealing.RegisterActivityWithOptions(s.seal, activity.RegisterOptions{Name: "Seal"})
	sealing.RegisterActivityWithOptions(s.timestamp, activity.RegisterOptions{Name: "Timestamp"})
	hooks := sdkworker.New(c, temporal.QueueWebhooks, sdkworker.Options{DisableWorkflowWorker: true})
	hooks.RegisterActivityWithOptions(s.deliver, activity.RegisterOptions{Name: "Deliver"})
	bulk := sdkworker.New(c, temporal.QueueBulk, sdkworker.Options{DisableWorkflowWorker: true})
	bulk.RegisterActivityWithOptions(func(context.Context, temporal.BulkInput) (activities.BulkStep, error) { return s.bulk.send() },
		activity.RegisterOptions{Name: "SendBulkRows"})
	for _, sc := range []sdkworker.Worker{main, sealing, hooks, bulk, mail} {
		require.NoError(t, sc.Start())
		t.Cleanup(sc.Stop)
	}
}

// TestEnvelope_BillableActions checks that an envelope with two signers costs at most eight billable actions, and that
// EnvelopeStatus contains the outcome.
func TestEnvelope_BillableActions(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		groups  []int
		actions int
	}{"at the same time": {[]int{1, 1}, 7}, "one after the other": {[]int{1, 2}, 8}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &scenario{plan: planFor(c.groups...), signals: []string{"0", "1"}}
			s.plan.Deadline, s.plan.RemindAt, s.plan.ReminderEvery = in(14*24*time.Hour), in(72*time.Hour), 72*time.Hour
			counts, shown, size := map[enums.EventType]int{}, []string{}, 0
			for _, ev := range s.play(t, "actions").Events {
				size += proto.Size(ev)
				if a := ev.GetActivityTaskScheduledEventAttributes(); a != nil {
					if a.GetActivityType().GetName() == "Seal" {
						assert.Equal(t, time.Minute, a.GetScheduleToCloseTimeout().AsDuration(), "the status must then show that the envelope is being sealed")
					}
				}
				switch ev.EventType {
				case enums.EVENT_TYPE_UPSERT_WORKFLOW_SEARCH_ATTRIBUTES:
					var status string
					fields := ev.GetUpsertWorkflowSearchAttributesEventAttributes().GetSearchAttributes().GetIndexedFields()
					require.NoError(t, converter.GetDefaultDataConverter().FromPayload(fields[temporal.AttrEnvelopeStatus.GetName()], &status))
					shown = append(shown, status)
					fallthrough
				case enums.EVENT_TYPE_WORKFLOW_EXECUTION_STARTED, enums.EVENT_TYPE_WORKFLOW_EXECUTION_SIGNALED, enums.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED,
					enums.EVENT_TYPE_TIMER_STARTED, enums.EVENT_TYPE_MARKER_RECORDED:
					counts[ev.EventType]++
				}
			}
			total := 0
			for _, n := range counts {
				total += n
			}
			assert.Equal(t, c.actions, total, "%v", counts)
			assert.Equal(t, []string{"completed"}, shown, "it is started as open")
			t.Logf("%s: %d actions, %d bytes", name, total, size)
			assert.Less(t, size, maxHistoryBytes)
		})
	}
}

// maxHistoryBytes is the maximum size of the history of an envelope with two signers.
const maxHistoryBytes = 4000

func history(t *testing.T, c client.Client, id string) *historypb.History {
	t.Helper()
	return historyOf(t, c, id, "")
}

func historyOf(t *testing.T, c client.Client, id, run string) *historypb.History {
	t.Helper()
	env := &historypb.History{}
	it := c.GetWorkflowHistory(t.Context(), id, run, false, enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for it.HasNext() {
		ev, err := it.Next()
		require.NoError(t, err)
		env.Events = append(env.Events, ev)
	}
	return env
}

func save(t *testing.T, env *historypb.History, path string) {
	t.Helper()
	b, err := protojson.MarshalOptions{Indent: " "}.Marshal(env)
	require.NoError(t, err)
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o750))
	require.NoError(t, os.WriteFile(path, append(b, '\n'), 0o600))
}
