// Package iface contains the types that the server passes to the component of Temporal that starts workers at cloud
// providers.
package iface

import (
	"time"

	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/api/enums/v1"
)

// The types of compute providers, scaling algorithms and validation results.
type (
	ComputeProviderType  string
	ScalingAlgorithmType string
	ValidationResult     string
)

// ValidationResultFailed is the result of a failed validation, which has an error message.
const ValidationResultFailed ValidationResult = "failed"

// ComputeProviderSpec specifies a compute provider and its settings.
type ComputeProviderSpec struct {
	ProviderType  ComputeProviderType `json:"provider_type,omitempty"`
	Config        *commonpb.Payload   `json:"config,omitempty"`
	NexusEndpoint string              `json:"nexus_endpoint,omitempty"`
}

// ScalingAlgorithmSpec specifies a scaling algorithm and its settings.
type ScalingAlgorithmSpec struct {
	ScalingAlgorithm ScalingAlgorithmType `json:"scaling_algorithm,omitempty"`
	Config           *commonpb.Payload    `json:"config,omitempty"`
}

// ScalingGroupSpec is the configuration for some types of task queues.
type ScalingGroupSpec struct {
	TaskTypes []enums.TaskQueueType `json:"task_types"`
	Compute   ComputeProviderSpec   `json:"compute"`
	Scaling   *ScalingAlgorithmSpec `json:"scaling,omitempty"`
}

// ScalingGroupSpecUpdate changes the fields of a group that are listed in UpdateMask.
type ScalingGroupSpecUpdate struct {
	Spec       ScalingGroupSpec `json:"spec"`
	UpdateMask []string         `json:"update_mask"`
}

// WorkerControllerInstanceSpec contains the scaling groups of a version by name.
type WorkerControllerInstanceSpec struct {
	ScalingGroupSpecs map[string]ScalingGroupSpec `json:"scaling_group_specs"`
}

// QueryDescribeWorkerControllerInstanceResponse is the response to a description request.
type QueryDescribeWorkerControllerInstanceResponse struct {
	Spec             *WorkerControllerInstanceSpec
	ValidationStatus *ValidationStatus
}

// UpdateWorkerControllerInstanceResponse is the response to an update request.
type UpdateWorkerControllerInstanceResponse struct {
	Spec *WorkerControllerInstanceSpec
}

// ValidationStatus is the result of the last validation.
type ValidationStatus struct {
	LastValidationTime time.Time        `json:"last_validation_time"`
	Status             ValidationResult `json:"status"`
	ErrMessage         string           `json:"err_message,omitempty"`
}
