package workflows

import (
	"fmt"
	"time"

	"github.com/google/uuid"
	"go.temporal.io/sdk/workflow"

	"countersign/activities"
	"countersign/temporal"
)

// Reinvite sends a signer a renewed link, or a reminder that the sender requested.
func Reinvite(ctx workflow.Context, in temporal.InviteInput) error {
	stuck, what, summary := stuckInvitation, "a renewed link", "Invite "+in.SignerID.String()+" again"
	if in.Reminder != nil {
		stuck, what, summary = stuckReminder, "a reminder", "Remind "+in.SignerID.String()
	}
	workflow.SetCurrentDetails(ctx, "Sending "+what+". If this text does not change, the mail server is probably not accepting the email: see the last failure of the pending activity.")
	err := new(stuckTracker).run(ctx, task{
		stuck: stuck, activity: acts.Invite, options: mailOptions(summary),
		in: activities.InviteInput{EnvelopeInput: in.EnvelopeInput, SignerIDs: []uuid.UUID{in.SignerID}, LinkID: in.LinkID, Reminder: in.Reminder},
	}, nil)
	if answer := rejection(err); answer != "" {
		workflow.SetCurrentDetails(ctx, "UNREACHABLE: "+answer+".")
		return nil
	}
	return err
}

// DeletionReminder sends a reminder of the deletion of the sealed files to recipients who received only links to them.
// It gives up after half a day, because the cleanup requests the next reminder and the purge does not wait for
// reminders.
func DeletionReminder(ctx workflow.Context, in temporal.DeletionInput) error {
	workflow.SetCurrentDetails(ctx, fmt.Sprintf("Reminding recipients that %d day(s) are left. If this text does not change, see the last failure of the pending activity.", in.Days))
	opts := mailOptions("Remind the recipients")
	opts.ScheduleToCloseTimeout = 12 * time.Hour
	return execute(ctx, opts, acts.RemindDeletion, in).Get(ctx, nil)
}

// Copies sends an email with links to the sealed files to a recipient who requested the files again.
func Copies(ctx workflow.Context, in temporal.CopiesInput) error {
	workflow.SetCurrentDetails(ctx, "Resending the sealed files. If this text does not change, the mail server is probably not accepting the email: see the last failure of the pending activity.")
	return new(stuckTracker).run(ctx, task{
		stuck: stuckCopies, activity: acts.SendCopiesAgain, in: in, options: mailOptions("Send the sealed documents to " + in.SignerID.String() + " again"),
	}, nil)
}
