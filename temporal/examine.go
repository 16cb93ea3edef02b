package temporal

import (
	"context"
	"errors"
	"fmt"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/operatorservice/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/taskqueue/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
)

// CheckNamespace reports an error unless the namespace is there and in use.
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

// ErrNotAllowed says that these credentials may not ask for search attributes,
// as in Temporal Cloud.
var ErrNotAllowed = errors.New("search attributes may not be asked for with these credentials")

// MissingAttributes names the search attributes that the namespace lacks or has
// with another type.
func MissingAttributes(ctx context.Context, c client.Client, namespace string) ([]string, error) {
	res, err := c.OperatorService().ListSearchAttributes(ctx, &operatorservice.ListSearchAttributesRequest{Namespace: namespace})
	var (
		denied  *serviceerror.PermissionDenied
		unknown *serviceerror.Unimplemented
	)
	switch {
	case errors.As(err, &denied) || errors.As(err, &unknown):
		return nil, ErrNotAllowed
	case err != nil:
		return nil, fmt.Errorf("search attributes of namespace %s: %w", namespace, err)
	}
	var missing []string
	for _, k := range SearchAttributes {
		if res.GetCustomAttributes()[k.GetName()] != enums.INDEXED_VALUE_TYPE_KEYWORD {
			missing = append(missing, k.GetName())
		}
	}
	return missing, nil
}

// Unserved names the task queues that no worker has asked for work lately.
func Unserved(ctx context.Context, c client.Client, namespace string) ([]string, error) {
	var out []string
	for queue, kind := range map[string]enums.TaskQueueType{
		QueueMain: enums.TASK_QUEUE_TYPE_WORKFLOW, QueueSeal: enums.TASK_QUEUE_TYPE_ACTIVITY, QueueWebhooks: enums.TASK_QUEUE_TYPE_ACTIVITY,
	} {
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
