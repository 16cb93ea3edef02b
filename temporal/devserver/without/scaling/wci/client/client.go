// Package client replaces the component of Temporal that starts workers at cloud providers. Countersign runs its own
// workers, so lookups find nothing, and requests that need a provider are rejected.
package client

import (
	"context"

	deploymentpb "go.temporal.io/api/deployment/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/auto-scaled-workers/wci/workflow/iface"
	"go.temporal.io/server/common/namespace"
	"go.uber.org/fx"
)

// Client is the interface that the server requires.
type Client interface {
	DescribeWorkerControllerInstance(context.Context, *namespace.Namespace, *deploymentpb.WorkerDeploymentVersion) (
		*iface.QueryDescribeWorkerControllerInstanceResponse, []byte, error)
	UpdateWorkerControllerInstance(ctx context.Context, ns *namespace.Namespace, version *deploymentpb.WorkerDeploymentVersion, conflictToken []byte,
		identity string, upsert map[string]iface.ScalingGroupSpecUpdate, remove []string) (*iface.UpdateWorkerControllerInstanceResponse, error)
	ValidateWorkerControllerInstanceSpec(ctx context.Context, ns *namespace.Namespace, version *deploymentpb.WorkerDeploymentVersion,
		identity string, upsert map[string]iface.ScalingGroupSpecUpdate, remove []string) error
	DeleteWorkerControllerInstance(ctx context.Context, ns *namespace.Namespace, version *deploymentpb.WorkerDeploymentVersion, identity string) error
}

// Module provides the Client.
var Module = fx.Options(fx.Provide(func() Client { return none{} }))

type none struct{}

const refusal = "this server does not start workers on cloud providers"

// DescribeWorkerControllerInstance implements Client.
func (none) DescribeWorkerControllerInstance(context.Context, *namespace.Namespace, *deploymentpb.WorkerDeploymentVersion) (
	*iface.QueryDescribeWorkerControllerInstanceResponse, []byte, error,
) {
	return nil, nil, serviceerror.NewNotFound(refusal)
}

// UpdateWorkerControllerInstance implements Client.
func (none) UpdateWorkerControllerInstance(context.Context, *namespace.Namespace, *deploymentpb.WorkerDeploymentVersion, []byte, string,
	map[string]iface.ScalingGroupSpecUpdate, []string,
) (*iface.UpdateWorkerControllerInstanceResponse, error) {
	return nil, serviceerror.NewUnimplemented(refusal)
}

// ValidateWorkerControllerInstanceSpec implements Client.
func (none) ValidateWorkerControllerInstanceSpec(context.Context, *namespace.Namespace, *deploymentpb.WorkerDeploymentVersion, string,
	map[string]iface.ScalingGroupSpecUpdate, []string,
) error {
	return serviceerror.NewUnimplemented(refusal)
}

// DeleteWorkerControllerInstance implements Client. No instance exists, so the deletion succeeds.
func (none) DeleteWorkerControllerInstance(context.Context, *namespace.Namespace, *deploymentpb.WorkerDeploymentVersion, string) error {
	return nil
}
