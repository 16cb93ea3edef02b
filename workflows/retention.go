package workflows

import (
	"fmt"
	"time"

	"go.temporal.io/sdk/workflow"

	"countersign/activities"
	"countersign/temporal"
)

// Retention keeps the sealed files of an envelope until the day that its tenant chose, reminds recipients who have
// only a link to them, and purges them. It waits for no signal: the audit trail shows who has downloaded when a
// reminder is due.
func Retention(ctx workflow.Context, in temporal.EnvelopeInput) error {
	plan, err := loadRetention(ctx, in, "Read until when the files are kept")
	if err != nil {
		return err
	}
	for range maxLooks {
		if plan.Until == nil || plan.LookAgainAt == nil {
			break
		}
		if err := sleepUntil(ctx, *plan.LookAgainAt, "Who has only a link"); err != nil {
			return err
		}
		if plan, err = loadRetention(ctx, in, "Read who has only a link"); err != nil {
			return err
		}
	}
	if plan.Until == nil {
		return nil
	}
	for _, days := range plan.RemindDays {
		at := plan.Until.AddDate(0, 0, -days)
		if at.Before(workflow.Now(ctx)) {
			continue // kept for a shorter time than that
		}
		if err := sleepUntil(ctx, at, fmt.Sprintf("Reminder %d day(s) before", days)); err != nil {
			return err
		}
		workflow.SetCurrentDetails(ctx, fmt.Sprintf("Reminding recipients that %d day(s) are left; if this stays, see the pending activity's last failure.", days))
		opts := activityOptions(fmt.Sprintf("Remind that %d day(s) are left", days), 5*time.Minute)
		opts.ScheduleToCloseTimeout = 12 * time.Hour
		// A reminder that cannot be sent does not keep the files from being purged.
		if err := execute(ctx, opts, acts.RemindDeletion, activities.RemindDeletionInput{EnvelopeInput: in, Days: days}).Get(ctx, nil); err != nil {
			workflow.GetLogger(ctx).Warn("deletion reminder not sent", "days", days, "error", err)
		}
	}
	if err := sleepUntil(ctx, *plan.Until, "End of retention"); err != nil {
		return err
	}
	workflow.SetCurrentDetails(ctx, "The retention is over; deleting the files.")
	if err := new(trouble).run(ctx, task{stuck: "purge", activity: acts.Purge, in: in, options: activityOptions("Purge the files", 5*time.Minute)}, nil); err != nil {
		return err
	}
	workflow.SetCurrentDetails(ctx, "The files are purged; the record and the audit trail stay.")
	return nil
}

// maxLooks is the number of checks for recipients who have only a link: before each reminder.
const maxLooks = 3

func loadRetention(ctx workflow.Context, in temporal.EnvelopeInput, summary string) (plan activities.RetentionPlan, err error) {
	local := workflow.WithLocalActivityOptions(ctx, localOptions(summary))
	err = workflow.ExecuteLocalActivity(local, acts.LoadRetention, in).Get(ctx, &plan)
	return plan, err
}

func sleepUntil(ctx workflow.Context, at time.Time, summary string) error {
	workflow.SetCurrentDetails(ctx, "Waiting until "+formatTime(at)+": "+summary+".")
	// At least a second, should the database's clock be behind Temporal's.
	wait := max(at.Sub(workflow.Now(ctx)), 0) + time.Second
	return workflow.NewTimerWithOptions(ctx, wait, workflow.TimerOptions{Summary: summary}).Get(ctx, nil)
}
