// Package workflows drives what takes time: inviting, reminding, expiring,
// sealing and delivering. A workflow decides nothing about an envelope: it
// learns of facts by signals, and asks for changes through activities.
package workflows

import (
	"fmt"
	"time"

	"github.com/google/uuid"
	"go.temporal.io/sdk/workflow"

	"countersign/activities"
	"countersign/models"
	"countersign/temporal"
)

// acts names the activities; it is never called through.
var acts *activities.Activities

// Envelope drives one envelope from sent to its end. All it holds can be read
// again from the database, so a workflow that was lost is simply started anew.
func Envelope(ctx workflow.Context, in temporal.EnvelopeStart) error {
	w, err := setup(ctx, in)
	if err != nil {
		return err
	}
	return w.run(ctx)
}

// run is an envelope's life.
func (w *envelope) run(ctx workflow.Context) error {
	for w.awaitsSigners() {
		if w.historyIsLong(ctx) {
			return workflow.NewContinueAsNewError(ctx, Envelope, temporal.EnvelopeStart{EnvelopeInput: w.EnvelopeInput})
		}
		if err := w.takeSchedule(ctx); err != nil {
			return err
		}
		w.inviteOpenGroup(ctx)
		due, err := w.waitForFactOrTime(ctx)
		if err != nil {
			return err
		}
		switch due {
		case dueNothing: // a fact was told
		case dueDeadline:
			err = w.expire(ctx)
		case dueRenewal:
			err = w.renewLinks(ctx)
		case dueReminder:
			w.nextReminder(ctx)
		}
		if err != nil {
			return err
		}
	}
	w.cancelMails()
	if w.outcome == "" {
		if err := w.seal(ctx); err != nil {
			return err
		}
	}
	if w.outcome == models.StatusCompleted {
		return w.sendCopies(ctx)
	}
	return w.sendClosing(ctx)
}

type envelope struct {
	temporal.EnvelopeInput

	plan          temporal.Plan
	outcome       models.Status // how it ended; "" while it has not
	copied        bool          // the sealed documents were sent
	step          string
	group         int       // the routing group that is awaited
	groupOpenedAt time.Time // when it began to be
	trace         string    // of the last fact that was told; "" if there is none

	invited    map[uuid.UUID]bool
	inviting   int             // invitations under way
	notReached int             // of them those that are tried in vain for minutes
	reminder   workflow.Future // the reminders under way; nil if none are
	// mails is the context of invitations and reminders, which end with the waiting.
	mails       workflow.Context
	cancelMails workflow.CancelFunc

	timer       workflow.Future // the one that runs; nil if none does
	timerAt     time.Time
	cancelTimer workflow.CancelFunc
	notYet      int // how often the database's clock said that what was due is not due yet

	rescheduled bool   // deadline or reminders are to be read again
	overtaken   bool   // they were read since the reminders under way began
	stuck       bool   // sealing has a problem that is recorded in the database
	shownStatus string // the search attribute EnvelopeStatus; "" if it is not known
	shownStuck  bool   // the search attribute Stuck is set and is to be removed
}

func setup(ctx workflow.Context, in temporal.EnvelopeStart) (*envelope, error) {
	w := &envelope{EnvelopeInput: in.EnvelopeInput, step: stepWaiting, invited: make(map[uuid.UUID]bool)}
	err := workflow.SetQueryHandlerWithOptions(ctx, temporal.QueryProgress, w.progress, workflow.QueryHandlerOptions{
		Description: "Which signers are awaited, until when, and what the workflow is doing",
	})
	if err != nil {
		return nil, fmt.Errorf("register query: %w", err)
	}
	if in.Plan != nil {
		w.plan, w.shownStatus = *in.Plan, temporal.ShownStatus(in.Plan.Status)
	} else {
		local := workflow.WithLocalActivityOptions(ctx, localOptions("Read who is to sign, in which order and until when"))
		if err := workflow.ExecuteLocalActivity(local, acts.LoadPlan, in.EnvelopeInput).Get(ctx, &w.plan); err != nil {
			return nil, err
		}
	}
	if w.plan.Status.Terminal() {
		w.outcome = w.plan.Status
	}
	w.stuck, w.groupOpenedAt = w.plan.Problem != "", w.plan.Since
	if w.groupOpenedAt.IsZero() {
		w.groupOpenedAt = workflow.Now(ctx)
	}
	w.mails, w.cancelMails = workflow.WithCancel(ctx)
	w.takeFacts(ctx)
	return w, nil
}

// fact is a signal that the workflow listens to, with what it changes.
type fact struct {
	signal string
	apply  func(temporal.SignerSignal)
}

func (w *envelope) facts() []fact {
	return []fact{
		{temporal.SignalSignerSigned, func(f temporal.SignerSignal) {
			for i := range w.plan.Signers {
				if w.plan.Signers[i].ID == f.SignerID {
					w.plan.Signers[i].Signed = true
				}
			}
		}},
		{temporal.SignalSignerDeclined, func(temporal.SignerSignal) { w.outcome = models.StatusDeclined }},
		{temporal.SignalVoided, func(temporal.SignerSignal) { w.outcome = models.StatusVoided }},
		{temporal.SignalRescheduled, func(temporal.SignerSignal) { w.rescheduled = true }},
		{temporal.SignalSealingFailed, func(temporal.SignerSignal) { w.stuck = true }},
	}
}

// addSignals makes a selector that takes facts.
func (w *envelope) addSignals(ctx workflow.Context) workflow.Selector {
	sel := workflow.NewSelector(ctx)
	for _, fact := range w.facts() {
		sel.AddReceive(workflow.GetSignalChannel(ctx, fact.signal), func(ch workflow.ReceiveChannel, _ bool) {
			var f temporal.SignerSignal
			ch.Receive(ctx, &f)
			fact.apply(f)
			w.trace = f.Trace
		})
	}
	return sel
}

// takeFacts takes the facts that are there already.
func (w *envelope) takeFacts(ctx workflow.Context) { takeReady(ctx, w.addSignals(ctx)) }

func takeReady(ctx workflow.Context, sel workflow.Selector) {
	for sel.HasPending() {
		sel.Select(ctx)
	}
}

// inviteOpenGroup starts the invitation of everyone who is awaited and was not
// invited yet, and tells those who will get copies so. It does not wait: a mail server that is down must not keep a void
// from being seen.
func (w *envelope) inviteOpenGroup(ctx workflow.Context) {
	first := w.group == 0
	if group := w.openGroup(); group != w.group {
		if !first { // the first one's times are in the plan
			w.groupOpenedAt = workflow.Now(ctx)
			w.plan.RemindAt = w.oneIntervalOn(ctx)
		}
		w.group = group
	}
	var ids []uuid.UUID
	awaited, signers := w.awaited(), 0
	for i, id := range append(awaited, w.reachedCopies()...) {
		if !w.invited[id] {
			w.invited[id] = true
			ids = append(ids, id)
			if i < len(awaited) {
				signers++
			}
		}
	}
	if signers > 0 && !first {
		w.timeLaterSigners(ctx)
	}
	if len(ids) > 0 {
		w.invite(ids)
	}
}

// changeLaterSigners is the version from which signers who are invited later have times of
// their own where those before them had none.
const changeLaterSigners = "times-of-later-signers"

// timeLaterSigners sets the next reminder and renewal where there are none when further signers
// are invited: the sender delivers the links of those before. The database corrects both when
// they are due.
func (w *envelope) timeLaterSigners(ctx workflow.Context) {
	remind, renew := w.plan.RemindAt, w.plan.RenewAt
	if remind == nil {
		remind = w.oneIntervalOn(ctx)
	}
	if end := workflow.Now(ctx).Add(models.LinkLifetime); renew == nil && (w.plan.Deadline == nil || w.plan.Deadline.After(end)) {
		renew = new(end.Add(-models.RenewBefore))
	}
	if remind == w.plan.RemindAt && renew == w.plan.RenewAt {
		return
	}
	if workflow.GetVersion(ctx, changeLaterSigners, workflow.DefaultVersion, 1) == 1 {
		w.plan.RemindAt, w.plan.RenewAt = remind, renew
	}
}

// takeSchedule reads the deadline and the times of reminders again, if they were
// changed. The timer that runs is for the old ones.
func (w *envelope) takeSchedule(ctx workflow.Context) error {
	if !w.rescheduled {
		return nil
	}
	w.rescheduled = false
	var plan temporal.Plan
	local := workflow.WithLocalActivityOptions(ctx, localOptions("Read the deadline and the times of reminders again"))
	if err := workflow.ExecuteLocalActivity(local, acts.LoadPlan, w.EnvelopeInput).Get(ctx, &plan); err != nil {
		return err
	}
	w.plan.Deadline, w.plan.RenewAt, w.plan.ReminderEvery, w.plan.RemindAt = plan.Deadline, plan.RenewAt, plan.ReminderEvery, plan.RemindAt
	w.notYet, w.overtaken = 0, w.reminder != nil
	if w.timer != nil {
		w.cancelTimer()
		w.timer = nil
	}
	return nil
}

// expire asks for the envelope to be closed. Whoever was first has won: if all
// have signed meanwhile, their signal is on its way.
func (w *envelope) expire(ctx workflow.Context) error {
	w.enter(ctx, stepExpiring)
	var status models.Status
	opts := activityOptions("Close at the deadline", time.Minute)
	if err := execute(temporal.WithoutTrace(ctx), opts, acts.Expire, w.EnvelopeInput).Get(ctx, &status); err != nil {
		return err
	}
	w.step = stepWaiting
	switch {
	case status == models.StatusSealing || status == models.StatusCompleted:
		w.plan.Deadline = nil
	case status.Terminal():
		w.outcome = status
	default:
		w.notYet++
	}
	return nil
}

// renewLinks replaces the links that end soon, with reminders or without, and
// learns when the next one does.
func (w *envelope) renewLinks(ctx workflow.Context) error {
	w.plan.RenewAt = nil
	opts := activityOptions("Renew the links that end soon", time.Minute)
	if err := execute(temporal.WithoutTrace(ctx), opts, acts.RenewLinks, w.EnvelopeInput).Get(ctx, &w.plan.RenewAt); err != nil {
		return err
	}
	w.compareClocks(ctx, w.plan.RenewAt)
	return nil
}

// compareClocks is told what time comes next by the database. One that is over already
// means that its clock is behind.
func (w *envelope) compareClocks(ctx workflow.Context, next *time.Time) {
	if next != nil && !next.After(workflow.Now(ctx)) {
		w.notYet++
	} else {
		w.notYet = 0
	}
}

// nextReminder asks the awaited again, without waiting for it, for the same reason as
// inviteOpenGroup. Reminders that cannot be sent for a whole interval are not
// joined by further ones.
func (w *envelope) nextReminder(ctx workflow.Context) {
	w.plan.RemindAt = w.oneIntervalOn(ctx)
	if w.reminder == nil {
		w.overtaken = false
		opts := activityOptions("Remind those who are awaited", 5*time.Minute)
		w.reminder = execute(temporal.WithoutTrace(w.mails), opts, acts.Remind, w.EnvelopeInput)
	}
}

// reminded takes from the database when the next reminder is due.
func (w *envelope) reminded(ctx workflow.Context, reminder workflow.Future) {
	w.reminder = nil
	var next *time.Time
	if err := reminder.Get(ctx, &next); err != nil {
		workflow.GetLogger(ctx).Warn("reminders not sent", "error", err)
		return
	}
	w.plan.RemindAt = next
	w.rescheduled = w.rescheduled || w.overtaken // the answer may be of the former interval
	w.compareClocks(ctx, next)
}

// oneIntervalOn is the time of the next reminder after now; nil for none.
func (w *envelope) oneIntervalOn(ctx workflow.Context) *time.Time {
	if w.plan.ReminderEvery <= 0 {
		return nil
	}
	return new(workflow.Now(ctx).Add(w.plan.ReminderEvery))
}

// sendCopies sends the sealed documents to the signers, if they were not sent with the
// sealing.
func (w *envelope) sendCopies(ctx workflow.Context) error {
	opts := activityOptions("Send the sealed documents", 10*time.Minute)
	return w.sendLast(ctx, stepCopies, stuckCopies, opts, acts.SendCopies, "Completed: sealed, and everyone was sent a copy, or their address was refused.")
}

// sendClosing tells those who were asked that there is nothing left to sign.
func (w *envelope) sendClosing(ctx workflow.Context) error {
	opts := activityOptions("Tell the signers that it is "+string(w.outcome), 5*time.Minute)
	return w.sendLast(ctx, stepClosing, stuckClosing, opts, acts.SendClosing, "The envelope was "+string(w.outcome)+".")
}

// sendLast has the last mails sent, and says how the envelope ended.
func (w *envelope) sendLast(ctx workflow.Context, step, stuck string, opts workflow.ActivityOptions, activity any, end string) error {
	w.enter(ctx, step)
	if err := w.showStatus(ctx, string(w.outcome)); err != nil {
		return err
	}
	if !w.copied {
		if err := runReportingStuck(temporal.WithTrace(ctx, w.trace), stuck, opts, activity, w.EnvelopeInput); err != nil {
			return err
		}
	}
	w.step = stepDone
	workflow.SetCurrentDetails(ctx, end)
	// What came too late to change anything is taken all the same, or the SDK warns
	// of every envelope whose end was signalled twice.
	w.takeFacts(ctx)
	return nil
}

// historyIsLong reports that the workflow should go on in a new history. It does
// so at rest, so that no mail is sent by two of them at the same time.
func (w *envelope) historyIsLong(ctx workflow.Context) bool {
	return workflow.GetInfo(ctx).GetContinueAsNewSuggested() && w.inviting == 0 && w.reminder == nil
}

func (w *envelope) awaitsSigners() bool { return w.outcome == "" && w.openGroup() != 0 }

// openGroup is the routing order that is awaited; 0 when all have signed.
func (w *envelope) openGroup() int {
	group := 0
	for _, s := range w.plan.Signers {
		if !s.Signed && (group == 0 || s.Group < group) {
			group = s.Group
		}
	}
	return group
}
