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

// Delivery delivers one event to one endpoint: one activity, retried on the schedule. It fails when the last attempt
// has failed, so that operators find failed deliveries by their status.
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
	workflow.SetCurrentDetails(ctx, fmt.Sprintf("Delivering, in at most %d attempts; the pending activity shows how many were made, and the endpoint's last answer.", len(in.Delays)))
	end := workflow.Now(ctx).Add(2*total + 7*24*time.Hour) // Retry-After may stretch the schedule
	result, failed := deliver(ctx, in, len(in.Delays), end)
	for again := retryAfter(result, failed); again > 0 && workflow.Now(ctx).Add(again).Before(end); again = retryAfter(result, failed) {
		if err := workflow.NewTimerWithOptions(ctx, again, workflow.TimerOptions{Summary: "Before the next attempt"}).Get(ctx, nil); err != nil {
			return err
		}
		result, failed = deliver(ctx, in, max(1, len(in.Delays)-result.Made), end)
	}
	if failed == nil {
		text := "Delivered."
		if !result.Delivered {
			text = "Nothing was left to do: it was delivered or sent again before, or the endpoint is disabled or deleted; the console says which."
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

// deliver makes up to a number of attempts. The activity returns the delay before each, and the error of the last
// attempt is final.
func deliver(ctx workflow.Context, in temporal.DeliveryInput, attempts int, end time.Time) (result activities.DeliverResult, err error) {
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		TaskQueue: temporal.QueueWebhooks, Summary: "Post the event",
		// The exchange is bounded by 10 s; the rest is for the database.
		StartToCloseTimeout: 20 * time.Second, ScheduleToCloseTimeout: end.Sub(workflow.Now(ctx)),
		// The intervals are for attempts that were cut off. The others name their own delay.
		RetryPolicy: &sdktemporal.RetryPolicy{
			InitialInterval: cutOffDelay, BackoffCoefficient: 2, MaximumInterval: time.Minute, MaximumAttempts: int32(attempts), //nolint:gosec // five
		},
	})
	err = workflow.ExecuteActivity(ctx, acts.Deliver, activities.DeliverInput{DeliveryID: in.DeliveryID, Delays: in.Delays, Resend: in.Resend}).Get(ctx, &result)
	return result, err
}

// cutOffDelay is the delay before the next attempt after an interrupted one.
const cutOffDelay = 5 * time.Second

// retryAfter returns the time after which a delivery continues; 0 if it has ended. It continues if the endpoint's
// concurrency limit was reached, and if Temporal counted attempts that the database did not: interrupted ones do not
// count as attempts.
func retryAfter(result activities.DeliverResult, err error) time.Duration {
	if err == nil {
		return result.Wait
	}
	if !retryable(err) {
		return 0 // the last attempt reports that it is the last
	}
	if app, ok := errors.AsType[*sdktemporal.ApplicationError](err); ok {
		return max(app.NextRetryDelay(), cutOffDelay)
	}
	return cutOffDelay
}

// abandon fails the workflow with the endpoint's response to the last attempt, so that operators see it first.
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
