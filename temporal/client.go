package temporal

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"

	"github.com/google/uuid"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/operatorservice/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/taskqueue/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/interceptor"
	sdklog "go.temporal.io/sdk/log"
	"google.golang.org/grpc/codes"

	"countersign/config"
)

// Observer instruments the client and its workers.
type Observer struct {
	Metrics      client.MetricsHandler           // nil to record no metrics
	Interceptors []interceptor.ClientInterceptor // also used by the workers
}

// Dial returns a client that connects on first use, so the API can start and signers can sign while Temporal is down.
func Dial(cfg config.Config, log *slog.Logger, o Observer) (client.Client, error) {
	opts := client.Options{
		HostPort: cfg.TemporalAddress, Namespace: cfg.TemporalNamespace, Logger: sdklog.NewStructuredLogger(log),
		MetricsHandler: o.Metrics, Interceptors: o.Interceptors,
	}
	if cfg.TemporalAPIKey != "" {
		opts.Credentials = client.NewAPIKeyStaticCredentials(string(cfg.TemporalAPIKey))
		opts.ConnectionOptions.TLS = &tls.Config{MinVersion: tls.VersionTLS12}
	}
	if cfg.TemporalTLSCert != "" || cfg.TemporalTLSKey != "" {
		cert, err := tls.LoadX509KeyPair(cfg.TemporalTLSCert, cfg.TemporalTLSKey)
		if err != nil {
			return nil, fmt.Errorf("temporal TLS certificate: %w", err)
		}
		opts.ConnectionOptions.TLS = &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{cert}}
	}
	c, err := client.NewLazyClient(opts)
	if err != nil {
		return nil, fmt.Errorf("temporal client: %w", err)
	}
	return c, nil
}

// Check returns an error unless Temporal responds.
func Check(ctx context.Context, c client.Client) error {
	if _, err := c.CheckHealth(ctx, &client.CheckHealthRequest{}); err != nil {
		return fmt.Errorf("temporal does not respond: %w", err)
	}
	return nil
}

// Retryable reports whether repeating a request that failed with err could succeed. It returns false if the request was
// invalid or not permitted, or if it referred to a missing object.
func Retryable(err error) bool {
	switch serviceerror.ToStatus(err).Code() {
	case codes.InvalidArgument, codes.NotFound, codes.PermissionDenied, codes.Unauthenticated, codes.Unimplemented, codes.FailedPrecondition:
		return false
	default:
		return true
	}
}

// Workflows queries running workflows.
type Workflows struct{ Client client.Client }

// Progress returns the progress of an envelope's workflow. It returns ErrNoWorkflow if there is no workflow, or if the
// workflow has failed or was terminated. Such a workflow would still answer the query as if it were running.
func (w Workflows) Progress(ctx context.Context, envelope uuid.UUID) (Progress, error) {
	var p Progress
	res, err := w.Client.QueryWorkflowWithOptions(ctx, &client.QueryWorkflowWithOptionsRequest{
		WorkflowID: EnvelopeWorkflowID(envelope), QueryType: QueryProgress, QueryRejectCondition: enums.QUERY_REJECT_CONDITION_NOT_COMPLETED_CLEANLY,
	})
	_, missing := errors.AsType[*serviceerror.NotFound](err)
	if missing || err == nil && res.QueryRejected != nil {
		return p, ErrNoWorkflow
	}
	if err == nil {
		err = res.QueryResult.Get(&p)
	}
	if err != nil {
		return p, fmt.Errorf("query the workflow of envelope %s: %w", envelope, err)
	}
	return p, nil
}

// Running reports whether the envelope's workflow is running.
func (w Workflows) Running(ctx context.Context, envelope uuid.UUID) (bool, error) {
	return Running(ctx, w.Client, EnvelopeWorkflowID(envelope))
}

// Running reports whether a workflow is running.
func Running(ctx context.Context, c client.Client, id string) (bool, error) {
	d, err := c.DescribeWorkflowExecution(ctx, id, "")
	if _, missing := errors.AsType[*serviceerror.NotFound](err); missing {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("describe workflow %s: %w", id, err)
	}
	return d.GetWorkflowExecutionInfo().GetStatus() == enums.WORKFLOW_EXECUTION_STATUS_RUNNING, nil
}

// Check returns an error unless Temporal responds.
func (w Workflows) Check(ctx context.Context) error { return Check(ctx, w.Client) }

// CheckNamespace returns an error unless the namespace exists and is registered.
func CheckNamespace(ctx context.Context, c client.Client, namespace string) error {
	res, err := c.WorkflowService().DescribeNamespace(ctx, &workflowservice.DescribeNamespaceRequest{Namespace: namespace})
	if err != nil {
		return fmt.Errorf("namespace %s: %w", namespace, err)
	}
	if s := res.GetNamespaceInfo().GetState(); s != enums.NAMESPACE_STATE_REGISTERED {
		return fmt.Errorf("namespace %s is %s", namespace, s)
	}
	return nil
}

// ErrAttributesNotReadable means that the credentials do not permit listing search attributes, as in Temporal Cloud.
var ErrAttributesNotReadable = errors.New("these credentials do not permit reading search attributes")

// MissingAttributes returns the names of the search attributes that the namespace lacks, or that have a different type
// there.
func MissingAttributes(ctx context.Context, c client.Client, namespace string) ([]string, error) {
	res, err := c.OperatorService().ListSearchAttributes(ctx, &operatorservice.ListSearchAttributesRequest{Namespace: namespace})
	_, denied := errors.AsType[*serviceerror.PermissionDenied](err)
	_, unknown := errors.AsType[*serviceerror.Unimplemented](err)
	switch {
	case denied || unknown:
		return nil, ErrAttributesNotReadable
	case err != nil:
		return nil, fmt.Errorf("search attributes of namespace %s: %w", namespace, err)
	}
	var missing []string
	for _, k := range searchAttributes {
		if res.GetCustomAttributes()[k.GetName()] != enums.INDEXED_VALUE_TYPE_KEYWORD {
			missing = append(missing, k.GetName())
		}
	}
	return missing, nil
}

// EnsureSearchAttributes adds the search attributes that the namespace lacks, if the credentials permit it.
func EnsureSearchAttributes(ctx context.Context, c client.Client, namespace string) error {
	missing, err := MissingAttributes(ctx, c, namespace)
	if errors.Is(err, ErrAttributesNotReadable) {
		return nil
	}
	if err != nil || len(missing) == 0 {
		return err
	}
	add := make(map[string]enums.IndexedValueType, len(missing))
	for _, name := range missing {
		add[name] = enums.INDEXED_VALUE_TYPE_KEYWORD
	}
	_, err = c.OperatorService().AddSearchAttributes(ctx, &operatorservice.AddSearchAttributesRequest{Namespace: namespace, SearchAttributes: add})
	if _, denied := errors.AsType[*serviceerror.PermissionDenied](err); denied {
		return nil // the doctor command reports missing attributes
	}
	if err != nil {
		return fmt.Errorf("add search attributes %v: %w", missing, err)
	}
	return nil
}

// failingTasks selects the running workflows whose workflow tasks fail or time out because the code panics or cannot
// replay the history. Such a workflow makes no progress, but shows no other sign of a problem.
const failingTasks = `ExecutionStatus = "Running" AND TemporalReportedProblems IN ("category=WorkflowTaskFailed", "category=WorkflowTaskTimedOut")`

// FailingWorkflowTasks returns the number of running workflows with failing workflow tasks, and the ID of one of them.
func FailingWorkflowTasks(ctx context.Context, c client.Client, namespace string) (n int64, example string, err error) {
	counted, err := c.CountWorkflow(ctx, &workflowservice.CountWorkflowExecutionsRequest{Namespace: namespace, Query: failingTasks})
	if err != nil || counted.GetCount() == 0 {
		return 0, "", wrapQuery(err)
	}
	listed, err := c.ListWorkflow(ctx, &workflowservice.ListWorkflowExecutionsRequest{Namespace: namespace, Query: failingTasks, PageSize: 1})
	if err == nil && len(listed.GetExecutions()) > 0 {
		example = listed.GetExecutions()[0].GetExecution().GetWorkflowId()
	}
	return counted.GetCount(), example, wrapQuery(err)
}

func wrapQuery(err error) error {
	if err != nil {
		return fmt.Errorf("search for failing workflow tasks: %w", err)
	}
	return nil
}

// QueuesWithoutWorkers returns the task queues that no worker has polled recently.
func QueuesWithoutWorkers(ctx context.Context, c client.Client, namespace string) ([]string, error) {
	var out []string
	for _, queue := range Queues {
		kind := enums.TASK_QUEUE_TYPE_ACTIVITY
		if queue == QueueMain {
			kind = enums.TASK_QUEUE_TYPE_WORKFLOW
		}
		res, err := c.WorkflowService().DescribeTaskQueue(ctx, &workflowservice.DescribeTaskQueueRequest{
			Namespace: namespace, TaskQueue: &taskqueue.TaskQueue{Name: queue}, TaskQueueType: kind,
		})
		if err != nil {
			return nil, fmt.Errorf("task queue %s: %w", queue, err)
		}
		if len(res.GetPollers()) == 0 {
			out = append(out, queue)
		}
	}
	return out, nil
}
