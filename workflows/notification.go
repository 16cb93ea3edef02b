package workflows

import (
	"time"

	"go.temporal.io/sdk/workflow"

	"countersign/temporal"
)

// Notification sends a console user an email about an event of an envelope that the user sent.
func Notification(ctx workflow.Context, in temporal.NotificationInput) error {
	workflow.SetCurrentDetails(ctx, "Notifying the sender; if this does not change, see the last failure of the pending activity: the mail server does not accept the email.")
	return new(stuckTracker).run(ctx, task{stuck: stuckNotification, activity: acts.NotifySender, in: in, options: mailOptions("Notify the sender")}, nil)
}

// Digest sends a console user an email that lists the events of the envelopes that the user sent. It gives up after
// half a day, because the next digest contains the unsent events.
func Digest(ctx workflow.Context, in temporal.DigestInput) error {
	workflow.SetCurrentDetails(ctx, "Sending the daily digest; if this does not change, see the last failure of the pending activity.")
	opts := mailOptions("Send the daily digest")
	opts.ScheduleToCloseTimeout = 12 * time.Hour
	return execute(ctx, opts, acts.SendDigest, in).Get(ctx, nil)
}
