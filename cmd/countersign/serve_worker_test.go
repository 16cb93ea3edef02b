package main

import (
	"context"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	schedulepb "go.temporal.io/api/schedule/v1"
	"go.temporal.io/api/serviceerror"
	taskqueuepb "go.temporal.io/api/taskqueue/v1"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"google.golang.org/grpc"
	"google.golang.org/grpc/health/grpc_health_v1"

	"countersign/activities"
)

// startAgainst starts workers with a Temporal client whose requests fail if answer returns an error for them. Polls
// wait until they are canceled.
func startAgainst(t *testing.T, answer func(ctx context.Context, request any) error) error {
	t.Helper()
	intercept := func(ctx context.Context, _ string, request, reply any, _ *grpc.ClientConn, _ grpc.UnaryInvoker, _ ...grpc.CallOption) error {
		switch request.(type) {
		case *workflowservice.PollWorkflowTaskQueueRequest, *workflowservice.PollActivityTaskQueueRequest:
			<-ctx.Done() // simulate that there are no tasks
			return ctx.Err()
		}
		if health, ok := reply.(*grpc_health_v1.HealthCheckResponse); ok {
			health.Status = grpc_health_v1.HealthCheckResponse_SERVING
		}
		if described, ok := reply.(*workflowservice.DescribeScheduleResponse); ok {
			described.Info = &schedulepb.ScheduleInfo{}
			described.Schedule = &schedulepb.Schedule{Action: &schedulepb.ScheduleAction{
				Action: &schedulepb.ScheduleAction_StartWorkflow{StartWorkflow: &workflowpb.NewWorkflowExecutionInfo{WorkflowType: &commonpb.WorkflowType{}, TaskQueue: &taskqueuepb.TaskQueue{}}},
			}}
		}
		if err := answer(ctx, request); err != nil {
			return serviceerror.ToStatus(err).Err()
		}
		return nil
	}
	c, err := client.NewLazyClient(client.Options{
		ConnectionOptions: client.ConnectionOptions{DialOptions: []grpc.DialOption{grpc.WithChainUnaryInterceptor(intercept)}},
		Logger:            slog.New(slog.DiscardHandler),
	})
	require.NoError(t, err)
	defer c.Close()
	a := &app{client: c, log: slog.New(slog.DiscardHandler)}
	ws, err := a.startWorkers(t.Context(), &activities.Activities{Now: time.Now, NewID: uuid.New}, func(error) {})
	if err == nil {
		ws.Stop()
	}
	return err
}

// TestWorker_WaitsForSlowTemporal checks that a worker retries every kind of request to which Temporal does not
// respond in time.
func TestWorker_WaitsForSlowTemporal(t *testing.T) {
	t.Parallel()
	requests := map[string]func(any) bool{
		"capabilities": func(r any) bool { _, ok := r.(*workflowservice.GetSystemInfoRequest); return ok },
		"namespace":    func(r any) bool { _, ok := r.(*workflowservice.DescribeNamespaceRequest); return ok },
		"schedule":     func(r any) bool { _, ok := r.(*workflowservice.CreateScheduleRequest); return ok },
		"anchors":      func(r any) bool { _, ok := r.(*workflowservice.DescribeScheduleRequest); return ok },
		"no anchors":   func(r any) bool { _, ok := r.(*workflowservice.DeleteScheduleRequest); return ok },
	}
	for name, slow := range requests {
		for reason, fault := range map[string]func(context.Context) error{
			"slow": func(ctx context.Context) error {
				<-ctx.Done()
				return ctx.Err()
			},
			"unavailable": func(context.Context) error { return serviceerror.NewUnavailable("starting") },
		} {
			t.Run(name+"/"+reason, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) { // simulated time passes instantly
					started, asked := time.Now(), 0
					err := startAgainst(t, func(ctx context.Context, request any) error {
						if !slow(request) {
							return nil
						}
						asked++
						if time.Since(started) < 3*time.Minute {
							return fault(ctx)
						}
						return nil
					})
					require.NoError(t, err)
					assert.Greater(t, asked, 5)
				})
			})
		}
	}
}

// TestWorker_MissingNamespace_Exits checks that the worker exits if its namespace does not exist, because waiting
// would not help and an exit is visible to the operator.
func TestWorker_MissingNamespace_Exits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		err := startAgainst(t, func(_ context.Context, request any) error {
			if _, ok := request.(*workflowservice.DescribeNamespaceRequest); ok {
				return serviceerror.NewNamespaceNotFound("contracts")
			}
			return nil
		})
		require.ErrorContains(t, err, "contracts")
	})
}
