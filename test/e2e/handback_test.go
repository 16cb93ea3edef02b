package e2e_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflow/v1"
	sdkclient "go.temporal.io/sdk/client"

	"countersign/temporal"
	"countersign/test/kit"
)

// TestWorkerStop_HandsBackRunningSeal checks that a worker that is stopped while sealing returns the task to Temporal,
// and that another worker continues immediately, without waiting for a heartbeat timeout.
func TestWorkerStop_HandsBackRunningSeal(t *testing.T) {
	t.Parallel()
	tsa, err := url.Parse(kit.NewTSA(t).URL)
	require.NoError(t, err)
	var well atomic.Bool
	asked := make(chan struct{}, 100)
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if well.Load() {
			httputil.NewSingleHostReverseProxy(tsa).ServeHTTP(w, r)
			return
		}
		_, _ = io.Copy(io.Discard, r.Body) // so that the server detects when the client disconnects
		asked <- struct{}{}
		<-r.Context().Done()
	}))
	t.Cleanup(front.Close)
	s := production(t, "COUNTERSIGN_TSA_URL="+front.URL)
	c := s.app(t)
	id := c.send(t, agreement("Ada", "ada@example.com"))
	s.sign(t, s.signingLink(t, "ada@example.com"), "")
	within(t, "a request to the authority", asked) // possibly from the check that a process performs when it starts
	tc, err := sdkclient.Dial(sdkclient.Options{HostPort: s.setting("COUNTERSIGN_TEMPORAL_ADDRESS"), Namespace: s.setting("COUNTERSIGN_TEMPORAL_NAMESPACE")})
	require.NoError(t, err)
	defer tc.Close()
	require.Eventually(t, func() bool {
		d, err := tc.DescribeWorkflowExecution(t.Context(), temporal.EnvelopeWorkflowID(id), "")
		return err == nil && slices.ContainsFunc(d.GetPendingActivities(), func(a *workflow.PendingActivityInfo) bool {
			return a.GetActivityType().GetName() == "Seal" && a.GetState() == enums.PENDING_ACTIVITY_STATE_STARTED
		})
	}, time.Minute, 50*time.Millisecond, "sealing has started")
	well.Store(true)
	require.NoError(t, s.worker.cmd.Process.Signal(syscall.SIGTERM))
	s.worker.stop(t)
	assert.True(t, s.worker.cmd.ProcessState.Success(), "%s", s.worker.out)
	s.worker = start(t, s.env, "worker")
	c.completed(t, id) // another worker seals the envelope

	it := tc.GetWorkflowHistory(t.Context(), temporal.EnvelopeWorkflowID(id), "", true, enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	// Temporal writes the start event of the last attempt only when that attempt ends, which is after the envelope is
	// completed.
	seal, failure := int64(0), ""
	for it.HasNext() {
		ev, err := it.Next()
		require.NoError(t, err)
		if a := ev.GetActivityTaskScheduledEventAttributes(); a.GetActivityType().GetName() == "Seal" {
			seal = ev.EventId
		}
		// The last start belongs to the successful attempt.
		if a := ev.GetActivityTaskStartedEventAttributes(); a != nil && a.ScheduledEventId == seal {
			failure = a.GetLastFailure().GetMessage()
		}
	}
	assert.Equal(t, "returned to the task queue: the worker is stopping", failure)
}
