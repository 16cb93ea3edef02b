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

// Delivery delivers one event to one endpoint with a single activity, which is retried on the schedule. It fails if the
// last attempt fails, so that operators can find failed deliveries by workflow status.
func Delivery(ctx workflow.Context, in temporal.DeliveryInput) error {
	var total time.Duration
	for _, d := range in.Delays {
		total += d
	}
	if len(in.Delays) == 0 {
		return sdktemporal.NewNonRetryableApplicationError("no delays specified", "NoSchedule", nil)
	}
	if in.Delays[0] > 0 {
		workflow.SetCurrentDetails(ctx, "Waiting "+in.Delays[0].String()+" before the first attempt.")
		wait := workflow.TimerOptions{Summary: "Delay before the first attempt"}
		if err := workflow.NewTimerWithOptions(ctx, in.Delays[0], wait).Get(ctx, nil); err != nil {
			return err
		}
	}
	workflow.SetCurrentDetails(ctx, fmt.Sprintf("Delivering, with at most %d attempts; the pending activity shows the number of attempts and the endpoint's last response.", len(in.Delays)))
	end := workflow.Now(ctx).Add(2*total + 7*24*time.Hour) // with a margin, because Retry-After can extend the delays
	result, failed := deliver(ctx, in, len(in.Delays), end)
	for again := retryAfter(result, failed); again > 0 && workflow.Now(ctx).Add(again).Before(end); again = retryAfter(result, failed) {
		if err := workflow.NewTimerWithOptions(ctx, again, workflow.TimerOptions{Summary: "Delay before the next attempt"}).Get(ctx, nil); err != nil {
			return err
		}
		result, failed = deliver(ctx, in, max(1, len(in.Delays)-result.Attempts), end)
	}
	if failed == nil {
		text := "Delivered."
		if !result.Delivered {
			text = "Nothing left to do: the event was already delivered or resent, or the endpoint is disabled or deleted; the console shows which."
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

// deliver makes up to the given number of attempts. The activity returns the delay before each retry, and marks the
// error of the last attempt as final.
func deliver(ctx workflow.Context, in temporal.DeliveryInput, attempts int, end time.Time) (result activities.DeliverResult, err error) {
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		TaskQueue: temporal.QueueWebhooks, Summary: "Post the event",
		// The HTTP exchange takes at most 10 s. The rest of the time is for the database.
		StartToCloseTimeout: 20 * time.Second, ScheduleToCloseTimeout: end.Sub(workflow.Now(ctx)),
		// These intervals apply only after interrupted attempts. All other attempts return their own delays.
		RetryPolicy: &sdktemporal.RetryPolicy{
			InitialInterval: cutOffDelay, BackoffCoefficient: 2, MaximumInterval: time.Minute, MaximumAttempts: int32(attempts), //nolint:gosec // at most five
		},
	})
	err = workflow.ExecuteActivity(ctx, acts.Deliver, activities.DeliverInput{DeliveryID: in.DeliveryID, Delays: in.Delays, Resend: in.Resend}).Get(ctx, &result)
	return result, err
}

// cutOffDelay is the delay before the attempt that follows an interrupted one.
const cutOffDelay = 5 * time.Second

// retryAfter returns the delay after which a delivery continues, or 0 if the delivery has ended. A delivery continues
// if the endpoint's concurrency limit was reached. It also continues if Temporal has no attempts left because it
// counted interrupted attempts, which the database does not count.
func retryAfter(result activities.DeliverResult, err error) time.Duration {
	if err == nil {
		return result.Wait
	}
	if !retryable(err) {
		return 0 // the activity reports that this was the last attempt
	}
	if app, ok := errors.AsType[*sdktemporal.ApplicationError](err); ok {
		return max(app.NextRetryDelay(), cutOffDelay)
	}
	return cutOffDelay
}

// abandon fails the workflow with the endpoint's response to the last attempt, so that operators see that response
// first.
func abandon(ctx workflow.Context, failed error) error {
	why := "the last attempt was interrupted"
	if app, ok := errors.AsType[*sdktemporal.ApplicationError](failed); ok && app.Type() == activities.ErrTypeNotDelivered {
		why = app.Message()
	}
	workflow.SetCurrentDetails(ctx, "Given up: "+why+". Resend it from the console once the endpoint works.")
	return sdktemporal.NewApplicationErrorWithOptions("Given up: "+why, activities.ErrTypeNotDelivered, sdktemporal.ApplicationErrorOptions{
		NonRetryable: true, Cause: failed, Category: sdktemporal.ApplicationErrorCategoryBenign,
	})
}
