package workflows

import (
	"errors"
	"fmt"
	"time"

	sdktemporal "go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"countersign/activities"
	"countersign/temporal"
)

// Delivery brings one event to one endpoint: one activity, tried on the
// schedule. It fails when the last attempt has failed, so that operators find
// failed deliveries by their status.
func Delivery(ctx workflow.Context, in temporal.DeliveryInput) error {
	var total time.Duration
	for _, d := range in.Delays {
		total += d
	}
	if len(in.Delays) == 0 {
		return sdktemporal.NewNonRetryableApplicationError("no delays were given", "NoSchedule", nil)
	}
	if in.Delays[0] > 0 {
		workflow.SetCurrentDetails(ctx, "Waiting "+in.Delays[0].String()+" before the first attempt.")
		wait := workflow.TimerOptions{Summary: "Before the first attempt"}
		if err := workflow.NewTimerWithOptions(ctx, in.Delays[0], wait).Get(ctx, nil); err != nil {
			return err
		}
	}
	workflow.SetCurrentDetails(ctx, fmt.Sprintf("Delivering, in at most %d attempts; what the endpoint answered to the last one is the pending activity's last failure.", len(in.Delays)))
	attempt := workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		TaskQueue: temporal.QueueWebhooks, Summary: "Post the event",
		// The exchange is bounded by 10 s; the rest is for the database. Retry-After may stretch the schedule.
		StartToCloseTimeout: 20 * time.Second, ScheduleToCloseTimeout: 2*total + 7*24*time.Hour,
		// Every failure names its own delay, and the last one that it is the last; this one is for attempts
		// that were cut off. The server cannot count them: a start that finds the endpoint busy is none.
		RetryPolicy: &sdktemporal.RetryPolicy{InitialInterval: 5 * time.Second, BackoffCoefficient: 2, MaximumInterval: time.Minute},
	})
	var delivered bool
	failed := workflow.ExecuteActivity(attempt, acts.Deliver, activities.DeliverInput{DeliveryID: in.DeliveryID, Delays: in.Delays, Resend: in.Resend}).Get(ctx, &delivered)
	if failed == nil {
		text := "Delivered."
		if !delivered {
			text = "Nothing was left to do: it was delivered or sent again before, or the endpoint is switched off or deleted; the console says which."
		}
		workflow.SetCurrentDetails(ctx, text)
		return nil
	}
	settle := workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		StartToCloseTimeout: time.Minute, RetryPolicy: retryForever(time.Minute), Summary: "Mark as failed",
	})
	if err := workflow.ExecuteActivity(settle, acts.AbandonDelivery, in.DeliveryID, in.Resend).Get(ctx, nil); err != nil {
		return err
	}
	return abandon(ctx, failed)
}

// abandon is how the workflow fails: by the endpoint's answer to the last
// attempt, so that it heads what operators see.
func abandon(ctx workflow.Context, failed error) error {
	why := "the last attempt was cut off"
	if app, ok := errors.AsType[*sdktemporal.ApplicationError](failed); ok && app.Type() == activities.ErrTypeNotDelivered {
		why = app.Message()
	}
	workflow.SetCurrentDetails(ctx, "Given up: "+why+". Send it again from the console once the endpoint works.")
	return sdktemporal.NewApplicationErrorWithOptions("Given up: "+why, activities.ErrTypeNotDelivered, sdktemporal.ApplicationErrorOptions{
		NonRetryable: true, Cause: failed, Category: sdktemporal.ApplicationErrorCategoryBenign,
	})
}
