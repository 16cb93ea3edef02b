package worker_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"google.golang.org/grpc"

	"countersign/activities"
	"countersign/worker"
)

// TestWorker_ReportsThatItGaveUp checks that a worker reports a failure when the SDK stops polling because the
// namespace was missing for too long. Otherwise, the idle process would go unnoticed.
func TestWorker_ReportsThatItGaveUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) { // simulated time passes instantly
		gone := serviceerror.ToStatus(serviceerror.NewNamespaceNotFound("default")).Err()
		answer := func(_ context.Context, _ string, _, reply any, _ *grpc.ClientConn, _ grpc.UnaryInvoker, _ ...grpc.CallOption) error {
			switch reply.(type) {
			case *workflowservice.PollWorkflowTaskQueueResponse, *workflowservice.PollActivityTaskQueueResponse:
				return gone
			}
			return nil
		}
		c, err := client.NewLazyClient(client.Options{
			ConnectionOptions: client.ConnectionOptions{DialOptions: []grpc.DialOption{grpc.WithChainUnaryInterceptor(answer)}},
		})
		require.NoError(t, err)
		defer c.Close()
		said := make(chan error, 9)
		ws := worker.New(c, &activities.Activities{Now: time.Now, NewID: uuid.New}, worker.Deployment{}, func(err error) { said <- err })
		require.NoError(t, ws.Start())
		defer ws.Stop()
		select {
		case err := <-said:
			require.ErrorContains(t, err, "default")
		case <-time.After(time.Hour):
			t.Fatal("the application's contact was not notified")
		}
	})
}
