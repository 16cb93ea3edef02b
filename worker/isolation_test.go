package worker_test

import (
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"
	sdkworker "go.temporal.io/sdk/worker"

	"countersign/activities"
	"countersign/models"
	"countersign/store"
	"countersign/temporal"
	"countersign/test/kit"
	"countersign/webhook"
	"countersign/worker"
)

// TestSlowEndpoint_DelaysNoOther checks, on a real Temporal server, that a hanging endpoint with more deliveries than
// activity slots does not delay deliveries to another endpoint.
func TestSlowEndpoint_DelaysNoOther(t *testing.T) {
	t.Parallel()
	const slots, deliveries, places = 25, 60, 20
	clock := kit.NewClock()
	s := kit.Store(t, "sqlite", clock.Now)
	c := dial(t)
	acts := &activities.Activities{
		Store: s, Webhooks: webhook.NewClient(webhook.ClientConfig{AllowPrivate: true, Timeout: time.Hour}), Now: clock.Now, NewID: uuid.New,
	}
	main := sdkworker.New(c, temporal.QueueMain, sdkworker.Options{})
	worker.Register(main, acts)
	hooks := sdkworker.New(c, temporal.QueueWebhooks, sdkworker.Options{MaxConcurrentActivityExecutionSize: slots, DisableWorkflowWorker: true})
	hooks.RegisterActivity(acts.Deliver)
	running := worker.Workers{main, hooks}
	require.NoError(t, running.Start())
	t.Cleanup(running.Stop)

	var mu sync.Mutex
	now, most, let := 0, 0, make(chan struct{})
	var since time.Time // time at which the first delivery began to hang
	slow := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		mu.Lock()
		if since.IsZero() {
			since = time.Now()
		}
		now++
		most = max(most, now)
		mu.Unlock()
		<-let
		mu.Lock()
		now--
		mu.Unlock()
	}))
	well := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	release := sync.OnceFunc(func() { close(let) })
	t.Cleanup(func() { release(); slow.Close(); well.Close() })

	app, _, err := s.CreateApp(t.Context(), "Acme", models.PlanEnterprise, nil)
	require.NoError(t, err)
	hook := func(url string) uuid.UUID {
		w, err := s.CreateWebhook(t.Context(), app.ID, url, []models.EventName{models.EventEnvelopeSent}, "secret secret")
		require.NoError(t, err)
		return w.ID
	}
	send := func(to uuid.UUID) uuid.UUID {
		d, err := s.PingWebhook(t.Context(), app.ID, to)
		require.NoError(t, err)
		_, err = c.ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{ID: temporal.DeliveryWorkflowID(d.ID, 0), TaskQueue: temporal.QueueMain},
			temporal.WorkflowDelivery, temporal.DeliveryInput{DeliveryID: d.ID, WebhookID: to, Delays: make([]time.Duration, 5)})
		require.NoError(t, err)
		return d.ID
	}
	delivered := func(webhook uuid.UUID) int64 {
		_, n, err := s.Deliveries(t.Context(), store.DeliveryFilter{App: app.ID, Webhook: webhook, Status: models.DeliveryDelivered, Page: 1, Size: 1})
		require.NoError(t, err)
		return n
	}
	hangs, works := hook(slow.URL), hook(well.URL)
	for range deliveries {
		send(hangs)
	}
	require.Eventually(t, func() bool { mu.Lock(); defer mu.Unlock(); return now >= places }, waitTimeout, pollInterval, "its own concurrency limit is reached")
	send(works)
	require.Eventually(t, func() bool { return delivered(works) == 1 }, waitTimeout, pollInterval, "the task does not wait for others")
	mu.Lock()
	if time.Since(since) < 15*time.Second { // later, requests that timed out may still be counted
		require.LessOrEqual(t, most, places)
	}
	mu.Unlock()
	release()
	require.Eventually(t, func() bool { return delivered(hangs) == deliveries }, 3*waitTimeout, pollInterval, "waiting tasks are returned")
	list, _, err := s.Deliveries(t.Context(), store.DeliveryFilter{App: app.ID, Webhook: hangs, Page: 1, Size: deliveries})
	require.NoError(t, err)
	for _, d := range list {
		require.Equal(t, 1, d.Attempts, "a start beyond the limit is not an attempt")
	}
}
