package worker_test

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"

	"countersign/activities"
	"countersign/models"
	"countersign/operate/reconcile"
	"countersign/store"
	"countersign/store/blob"
	"countersign/temporal"
	"countersign/test/kit"
	"countersign/webhook"
)

// TestReconcileSchedule_RestartsLostWorkflows checks on a real Temporal server that a delivery is completed even if its
// workflow was lost or terminated.
func TestReconcileSchedule_RestartsLostWorkflows(t *testing.T) {
	t.Parallel()
	clock := kit.NewClock()
	s := kit.Store(t, "sqlite", clock.Now)
	blobs, err := blob.OpenDir(t.TempDir())
	require.NoError(t, err)
	endpoint := kit.Temporal(t)
	c, err := client.DialContext(t.Context(), endpoint)
	require.NoError(t, err)
	t.Cleanup(c.Close)
	var received atomic.Int64
	hook := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { received.Add(1) }))
	t.Cleanup(hook.Close)

	app, _, err := s.CreateApp(t.Context(), "Acme", models.PlanEnterprise, nil)
	require.NoError(t, err)
	w, err := s.CreateWebhook(t.Context(), app.ID, hook.URL, []models.EventName{models.EventEnvelopeSent}, "secret secret")
	require.NoError(t, err)
	for i := range 2 {
		d, err := s.PingWebhook(t.Context(), app.ID, w.ID)
		require.NoError(t, err)
		rows, err := s.ClaimOutbox(t.Context(), 10, time.Minute)
		require.NoError(t, err)
		require.Len(t, rows, 1)
		require.NoError(t, s.FinishOutbox(t.Context(), rows[0].Seq))
		if i == 1 {
			id := temporal.DeliveryWorkflowID(d.ID, 0)
			_, err = c.ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{ID: id, TaskQueue: "nobody"}, temporal.WorkflowDelivery)
			require.NoError(t, err)
			require.NoError(t, c.TerminateWorkflow(t.Context(), id, "", "a test"))
		}
	}

	var restarted atomic.Int64
	startWorkers(t, c, &activities.Activities{
		Store: s, Blobs: blobs, Now: clock.Now, NewID: uuid.New, Webhooks: webhook.NewClient(webhook.ClientConfig{AllowPrivate: true, Timeout: waitTimeout}),
		Reconciler: &reconcile.Reconciler{Store: s, Client: c},
		Restarted: func(kind string, n int) {
			assert.Equal(t, string(store.WorkDeliveries), kind)
			restarted.Add(int64(n))
		},
	})
	dispatcher := &temporal.Dispatcher{Outbox: s, Client: c, Namespace: endpoint.Namespace, Delays: make([]time.Duration, 5), Log: slog.New(slog.DiscardHandler)}
	stopped := make(chan struct{})
	go func() { defer close(stopped); dispatcher.Run(t.Context()) }()
	t.Cleanup(func() { <-stopped })

	require.NoError(t, temporal.EnsureReconcileSchedule(t.Context(), c))
	schedule := c.ScheduleClient().GetHandle(t.Context(), temporal.ScheduleReconcile)
	t.Cleanup(func() { _ = schedule.Delete(t.Context()) }) // other tests may use the namespace
	require.Eventually(t, func() bool { return received.Load() == 2 }, waitTimeout, pollInterval, "both events must be delivered")
	assert.EqualValues(t, 2, restarted.Load())

	require.NoError(t, schedule.Trigger(t.Context(), client.ScheduleTriggerOptions{}))
	require.Eventually(t, func() bool {
		d, err := schedule.Describe(t.Context())
		if err != nil || len(d.Info.RecentActions) < 2 {
			return false
		}
		run := d.Info.RecentActions[len(d.Info.RecentActions)-1].StartWorkflowResult.WorkflowID
		return c.GetWorkflow(t.Context(), run, "").Get(t.Context(), nil) == nil
	}, waitTimeout, pollInterval, "a second run")
	assert.EqualValues(t, 2, restarted.Load(), "no workflow was missing")
	assert.EqualValues(t, 2, received.Load())
}
