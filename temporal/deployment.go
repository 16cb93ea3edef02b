package temporal

import (
	"context"
	"fmt"
	"slices"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/taskqueue/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
)

// DeploymentProblem returns the reason why worker versioning assigns no workflow tasks to the workers of a deployment,
// and how to fix it. It returns empty strings if the workers receive tasks. An empty name refers to workers without
// versioning. The problem is otherwise hard to notice, because workers that receive no tasks still poll.
func DeploymentProblem(ctx context.Context, c client.Client, namespace, name string) (problem, advice string, err error) {
	res, err := c.WorkflowService().DescribeTaskQueue(ctx, &workflowservice.DescribeTaskQueueRequest{
		Namespace: namespace, TaskQueue: &taskqueue.TaskQueue{Name: QueueMain}, TaskQueueType: enums.TASK_QUEUE_TYPE_WORKFLOW,
	})
	if err != nil {
		return "", "", fmt.Errorf("task queue %s: %w", QueueMain, err)
	}
	current := res.GetVersioningInfo().GetCurrentDeploymentVersion()
	deployment, build := current.GetDeploymentName(), current.GetBuildId()
	const set = "temporal worker deployment set-current-version --deployment-name "
	switch {
	case name == "" && build != "":
		return fmt.Sprintf("workflow tasks go to version %s of the deployment %s, and COUNTERSIGN_WORKER_DEPLOYMENT is not set", build, deployment),
			"Set COUNTERSIGN_WORKER_DEPLOYMENT=" + deployment + " again, or disable versioning: " + set + deployment + " --unversioned", nil
	case name == "":
		return "", "", nil
	case build == "":
		return "the deployment " + name + " has no current version, so its workers receive no workflow tasks",
			"Make the version of the running workers current: " + set + name + " --build-id BUILD", nil
	case deployment != name:
		return fmt.Sprintf("workflow tasks go to the deployment %s, and COUNTERSIGN_WORKER_DEPLOYMENT is %s", deployment, name),
			"Use one name for all workers.", nil
	}
	if !slices.ContainsFunc(res.GetPollers(), func(p *taskqueue.PollerInfo) bool {
		return p.GetDeploymentOptions().GetDeploymentName() == name && p.GetDeploymentOptions().GetBuildId() == build
	}) {
		return "no worker of the current version, " + build + ", is polling for workflow tasks",
			"Start workers of that version, or make the version of the running workers current: " + set + name + " --build-id BUILD", nil
	}
	return "", "", nil
}
