package workflows_test

import (
	"context"
	"errors"
	"flag"
	"os"
	"path/filepath"
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
	sdktemporal "go.temporal.io/sdk/temporal"
	sdkworker "go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
	"google.golang.org/protobuf/encoding/protojson"

	"countersign/activities"
	"countersign/internal/testkit"
	"countersign/models"
	"countersign/temporal"
	"countersign/workflows"
)

// record saves the histories of this version. Saved ones are never changed:
// envelopes live for weeks, and workflows that began under an older version must
// go on under this one. A new version of the workflows gets a folder of its own.
var record = flag.String("record", "", "save the histories of this run under testdata/histories/`NAME`")

func replayer() sdkworker.WorkflowReplayer {
	r := sdkworker.NewWorkflowReplayer()
	r.RegisterWorkflowWithOptions(workflows.Envelope, workflow.RegisterOptions{Name: temporal.WorkflowEnvelope})
	r.RegisterWorkflowWithOptions(workflows.Delivery, workflow.RegisterOptions{Name: temporal.WorkflowDelivery})
	r.RegisterWorkflowWithOptions(workflows.Anchor, workflow.RegisterOptions{Name: temporal.WorkflowAnchor})
	return r
}

func TestSavedHistoriesReplay(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/histories/*/*.json")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, f := range files {
		t.Run(f, func(t *testing.T) {
			t.Parallel()
			require.NoError(t, replayer().ReplayWorkflowHistoryFromJSONFile(quiet(t), f))
		})
	}
}

// world is what the activities of a scenario answer.
type world struct {
	plan     activities.Plan
	sealFail int
	mailFail atomic.Int32 // copies that the mail server does not take yet
	// sealTries counts the attempts to seal.
	sealTries atomic.Int32
	takes     bool
}

func (w *world) register(r sdkworker.Registry) {
	register := func(name string, fn any) { r.RegisterActivityWithOptions(fn, activity.RegisterOptions{Name: name}) }
	nothing := func(context.Context, temporal.EnvelopeInput) error { return nil }
	register("LoadPlan", func(context.Context, temporal.EnvelopeInput) (activities.Plan, error) { return w.plan, nil })
	register("Invite", func(context.Context, activities.SignerInput) error { return nil })
	register("Remind", func(context.Context, activities.RemindInput) error { return nil })
	register("RenewLinks", func(context.Context, temporal.EnvelopeInput) (*time.Time, error) {
		next := time.Now().Add(30 * 24 * time.Hour)
		return &next, nil
	})
	register("Expire", func(context.Context, temporal.EnvelopeInput) (models.Status, error) { return models.StatusExpired, nil })
	register("SendCopies", func(context.Context, temporal.EnvelopeInput) error {
		if w.mailFail.Add(-1) >= 0 {
			return sdktemporal.NewApplicationErrorWithOptions("mail server answered 451", "Mail", sdktemporal.ApplicationErrorOptions{NextRetryDelay: 10 * time.Millisecond})
		}
		return nil
	})
	register("SendClosing", nothing)
	register("AnchorAudit", func(ctx context.Context) (activities.Anchored, error) {
		if activity.GetInfo(ctx).Attempt == 1 {
			return activities.Anchored{}, errors.New("time-stamp authority answered 503")
		}
		return activities.Anchored{Number: 1, Entries: 2}, nil
	})
	register("AbandonDelivery", func(context.Context, uuid.UUID) error { return nil })
}

func (w *world) seal(context.Context, temporal.EnvelopeInput) error {
	w.sealTries.Add(1)
	if w.sealFail--; w.sealFail >= 0 {
		return errors.New("disk full")
	}
	return nil
}

func (w *world) deliver(ctx context.Context, in activities.DeliverInput) error {
	if w.takes {
		return nil
	}
	opts := sdktemporal.ApplicationErrorOptions{}
	if n := int(activity.GetInfo(ctx).Attempt); n < len(in.Delays) {
		opts.NextRetryDelay = in.Delays[n]
	}
	return sdktemporal.NewApplicationErrorWithOptions("no", "NotDelivered", opts)
}

// TestFreshHistoriesReplay runs every way through the workflows on a real
// server and replays what it wrote down.
func TestFreshHistoriesReplay(t *testing.T) {
	t.Parallel()
	at := func(groups ...int) activities.Plan {
		p := activities.Plan{Status: models.StatusSent}
		for _, g := range groups {
			p.Signers = append(p.Signers, activities.PlanSigner{ID: uuid.New(), Group: g})
		}
		return p
	}
	due := func(p activities.Plan) activities.Plan {
		deadline := time.Now().Add(2 * time.Second)
		p.Deadline, p.ReminderEvery = &deadline, time.Second
		return p
	}
	renewed := func(p activities.Plan) activities.Plan {
		p = due(p)
		renew := time.Now().Add(500 * time.Millisecond)
		p.RenewAt, p.ReminderEvery = &renew, 0
		return p
	}
	refusing := func(p activities.Plan, copies int32) *world {
		w := &world{plan: p}
		w.mailFail.Store(copies)
		return w
	}
	delays := []time.Duration{time.Second, 50 * time.Millisecond, 50 * time.Millisecond, 50 * time.Millisecond, 50 * time.Millisecond}
	for name, s := range map[string]struct {
		world   *world
		signals []string // a number is the signer who signs
		fails   bool
		start   any
		typ     string
	}{
		"completed":        {world: &world{plan: at(1, 1, 2)}, signals: []string{"1", "0", "2"}},
		"sealed-at-last":   {world: &world{plan: at(1), sealFail: 2}, signals: []string{"0"}},
		"unsealed-voided":  {world: &world{plan: at(1), sealFail: 1 << 30}, signals: []string{"0", temporal.SignalSealingFailed, temporal.SignalVoided}},
		"unsealed-sealed":  {world: &world{plan: at(1), sealFail: 3}, signals: []string{"0", temporal.SignalSealingFailed}},
		"copies-stuck":     {world: refusing(at(1), 12), signals: []string{"0"}},
		"declined":         {world: &world{plan: at(1, 2)}, signals: []string{"0", temporal.SignalSignerDeclined}},
		"voided":           {world: &world{plan: at(1)}, signals: []string{temporal.SignalVoided}},
		"reminded-expired": {world: &world{plan: due(at(1))}},
		"renewed-expired":  {world: &world{plan: renewed(at(1))}},
		"delivered":        {world: &world{takes: true}, start: temporal.DeliveryInput{DeliveryID: uuid.New(), Delays: delays}},
		"anchored":         {typ: temporal.WorkflowAnchor},
		"delivery-failed":  {start: temporal.DeliveryInput{DeliveryID: uuid.New(), Delays: delays}, fails: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if s.world == nil {
				s.world = &world{}
			}
			opts := testkit.Temporal(t)
			opts.Logger = quiet(t)
			c, err := client.Dial(opts)
			require.NoError(t, err)
			t.Cleanup(c.Close)
			startWorkers(t, c, s.world)
			typ, input := temporal.WorkflowEnvelope, any(temporal.EnvelopeInput{AppID: uuid.New(), EnvelopeID: uuid.New()})
			if s.start != nil {
				typ, input = temporal.WorkflowDelivery, s.start
			}
			args := []any{input}
			if s.typ != "" {
				typ, args = s.typ, nil
			}
			run, err := c.ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{ID: name, TaskQueue: temporal.QueueMain}, typ, args...)
			require.NoError(t, err)
			for _, sig := range s.signals {
				signal, fact := sig, temporal.SignerSignal{}
				if i := int(sig[0] - '0'); i < len(s.world.plan.Signers) {
					signal, fact.SignerID = temporal.SignalSignerSigned, s.world.plan.Signers[i].ID
				}
				if signal == temporal.SignalSealingFailed { // told by an attempt to seal
					require.Eventually(t, func() bool { return s.world.sealTries.Load() > 0 }, 30*time.Second, 10*time.Millisecond)
				}
				require.NoError(t, c.SignalWorkflow(t.Context(), name, "", signal, fact))
			}
			ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
			defer cancel()
			assert.Equal(t, s.fails, run.Get(ctx, nil) != nil)
			h := history(t, c, name)
			require.NoError(t, replayer().ReplayWorkflowHistory(quiet(t), h))
			if *record != "" {
				save(t, h, filepath.Join("testdata", "histories", *record, name+".json"))
			}
		})
	}
}

func startWorkers(t *testing.T, c client.Client, w *world) {
	t.Helper()
	main := sdkworker.New(c, temporal.QueueMain, sdkworker.Options{})
	main.RegisterWorkflowWithOptions(workflows.Envelope, workflow.RegisterOptions{Name: temporal.WorkflowEnvelope})
	main.RegisterWorkflowWithOptions(workflows.Delivery, workflow.RegisterOptions{Name: temporal.WorkflowDelivery})
	main.RegisterWorkflowWithOptions(workflows.Anchor, workflow.RegisterOptions{Name: temporal.WorkflowAnchor})
	w.register(main)
	sealing := sdkworker.New(c, temporal.QueueSeal, sdkworker.Options{DisableWorkflowWorker: true})
	sealing.RegisterActivityWithOptions(w.seal, activity.RegisterOptions{Name: "Seal"})
	hooks := sdkworker.New(c, temporal.QueueWebhooks, sdkworker.Options{DisableWorkflowWorker: true})
	hooks.RegisterActivityWithOptions(w.deliver, activity.RegisterOptions{Name: "Deliver"})
	for _, w := range []sdkworker.Worker{main, sealing, hooks} {
		require.NoError(t, w.Start())
		t.Cleanup(w.Stop)
	}
}

func history(t *testing.T, c client.Client, id string) *historypb.History {
	t.Helper()
	h := &historypb.History{}
	it := c.GetWorkflowHistory(t.Context(), id, "", false, enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for it.HasNext() {
		ev, err := it.Next()
		require.NoError(t, err)
		h.Events = append(h.Events, ev)
	}
	return h
}

func save(t *testing.T, h *historypb.History, path string) {
	t.Helper()
	b, err := protojson.MarshalOptions{Indent: " "}.Marshal(h)
	require.NoError(t, err)
	require.NoFileExists(t, path, "a saved history is never changed; choose another name")
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o750))
	require.NoError(t, os.WriteFile(path, append(b, '\n'), 0o600))
}
