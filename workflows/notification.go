package workflows

import (
	"time"

	"go.temporal.io/sdk/workflow"

	"countersign/temporal"
)

// Notification sends a console user an email about an event of an envelope that the user sent.
func Notification(ctx workflow.Context, in temporal.NotificationInput) error {
	workflow.SetCurrentDetails(ctx, "Notifying the sender. If this text does not change, the mail server is probably not accepting the email: see the last failure of the pending activity.")
	return new(stuckTracker).run(ctx, task{stuck: stuckNotification, activity: acts.NotifySender, in: in, options: mailOptions("Notify the sender")}, nil)
}

// Digest sends a console user an email that lists the events of the envelopes that the user sent. It gives up after
// half a day, because the next digest contains the unsent events.
func Digest(ctx workflow.Context, in temporal.DigestInput) error {
	workflow.SetCurrentDetails(ctx, "Sending the daily digest. If this text does not change, see the last failure of the pending activity.")
	opts := mailOptions("Send the daily digest")
	opts.ScheduleToCloseTimeout = 12 * time.Hour
	return execute(ctx, opts, acts.SendDigest, in).Get(ctx, nil)
}
