// Package workflows drives long-running work: inviting, reminding, expiring, sealing and delivering. A workflow makes
// no decisions about an envelope. It receives facts as signals, and requests changes through activities.
package workflows

import (
	"fmt"
	"time"

	"github.com/google/uuid"
	sdktemporal "go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"countersign/activities"
	"countersign/models"
	"countersign/temporal"
)

// acts provides references to the activity methods. It is nil, and no method is ever called on it.
var acts *activities.Activities

// Envelope drives one envelope from sending to its final status. It can reload its state from the database, so a new
// run can replace a lost one.
func Envelope(ctx workflow.Context, in temporal.EnvelopeStart) error { return drive(ctx, in, "") }

// LinkedEnvelope returns the workflow Envelope with details that link to the envelope in the console at the given
// address. The worker supplies the address, because storing it in the history would add bytes for every envelope.
func LinkedEnvelope(console string) func(workflow.Context, temporal.EnvelopeStart) error {
	return func(ctx workflow.Context, in temporal.EnvelopeStart) error {
		return drive(ctx, in, "\n\n[Console]("+console+"#/envelopes/"+in.EnvelopeID.String()+")")
	}
}

func drive(ctx workflow.Context, in temporal.EnvelopeStart, link string) error {
	w := &envelope{EnvelopeInput: in.EnvelopeInput, link: link, phase: temporal.StepWaiting, invited: make(map[uuid.UUID]bool)}
	if err := w.load(ctx, in.Plan); err != nil {
		return err
	}
	workflow.Go(ctx, w.listen)

	for w.phase = w.nextPhase(); w.phase != temporal.StepDone; w.phase = w.nextPhase() {
		var err error
		switch w.phase {
		case temporal.StepWaiting:
			err = w.awaitSigners(ctx)
		case temporal.StepSealing:
			err = w.seal(ctx)
		case temporal.StepCopies:
			err = w.sendCopies(ctx)
		case temporal.StepClosing:
			err = w.sendClosing(ctx)
		}
		if err != nil {
			return err
		}
	}
	w.discardLateSignals(ctx)
	return nil
}

// envelope is the state of the workflow.
type envelope struct {
	temporal.EnvelopeInput

	link  string        // Markdown link to the console, or ""
	phase string        // one of the steps in package temporal
	plan  temporal.Plan // status, routing and times, from the database and the signals
	timer *timer        // fires at the next time in the plan; nil if no timer is running

	group      int  // the last routing group that was invited
	changed    bool // whether a signal arrived or a task ended since the last check
	reload     bool // whether the deadline or the reminders were rescheduled
	mailed     bool // whether the final emails were sent
	trace      string
	invited    map[uuid.UUID]bool
	background backgroundTasks
	stuck      stuckTracker
	rejection  string // the mail server's response for permanently rejected addresses
	shown      string // the current value of the search attribute EnvelopeStatus, or "" if unknown
}

// signalHandlers lists the signals and their handlers. Each signal reports a fact that is already stored in the
// database.
var signalHandlers = []struct {
	name, description string
	handle            func(*envelope, temporal.SignerSignal)
}{
	{temporal.SignalSignerSigned, "A signer has signed.", func(w *envelope, s temporal.SignerSignal) { w.plan.Signers.Sign(s.SignerID) }},
	{temporal.SignalSignerDeclined, "A signer has declined; the envelope is closed.", func(w *envelope, _ temporal.SignerSignal) { w.close(models.StatusDeclined) }},
	{temporal.SignalVoided, "The sender or an operator has voided the envelope.", func(w *envelope, _ temporal.SignerSignal) { w.close(models.StatusVoided) }},
	{temporal.SignalRescheduled, "The deadline or the reminders have changed.", func(w *envelope, _ temporal.SignerSignal) { w.reload = true }},
	{temporal.SignalSealingFailed, "A sealing attempt has failed for a reason that requires intervention.", func(w *envelope, _ temporal.SignerSignal) { w.plan.Problem = models.SealingFailing }},
}

// listen handles the signals in order of arrival until the workflow is canceled.
func (w *envelope) listen(ctx workflow.Context) {
	selector := workflow.NewSelector(ctx)
	for _, s := range signalHandlers {
		channel := workflow.GetSignalChannelWithOptions(ctx, s.name, workflow.SignalChannelOptions{Description: s.description})
		selector.AddReceive(channel, func(workflow.ReceiveChannel, bool) {
			var fact temporal.SignerSignal
			channel.Receive(ctx, &fact)
			s.handle(w, fact)
			w.trace, w.changed = fact.Trace, true
		})
	}
	for ctx.Err() == nil {
		selector.Select(ctx)
	}
}

// nextPhase returns the next phase according to the plan.
func (w *envelope) nextPhase() string {
	switch {
	case w.plan.Status.Open() && w.plan.Signers.OpenGroup() != 0:
		return temporal.StepWaiting
	case w.plan.Status.Open() || w.plan.Status == models.StatusSealing:
		return temporal.StepSealing
	case w.mailed:
		return temporal.StepDone
	case w.plan.Status == models.StatusCompleted:
		return temporal.StepCopies
	}
	return temporal.StepClosing
}

// load takes the plan from the workflow's input, or reads it from the database if the input has none.
func (w *envelope) load(ctx workflow.Context, plan *temporal.Plan) error {
	err := workflow.SetQueryHandlerWithOptions(ctx, temporal.QueryProgress, w.progress, workflow.QueryHandlerOptions{
		Description: "The awaited signers, the deadline and the current step",
	})
	if err != nil {
		return fmt.Errorf("register query: %w", err)
	}
	if plan != nil {
		w.plan, w.shown = *plan, temporal.StatusAttribute(plan.Status)
	} else if w.plan, err = w.readPlan(ctx); err != nil {
		return err
	}
	if w.plan.Since.IsZero() {
		w.plan.Since = workflow.Now(ctx)
	}
	w.background.ctx, w.background.cancel = workflow.WithCancel(ctx)
	w.stuck.changed = func() { w.changed = true }
	return nil
}

func (w *envelope) readPlan(ctx workflow.Context) (plan temporal.Plan, err error) {
	local := workflow.WithLocalActivityOptions(ctx, localOptions("Read the routing and the deadlines from the database"))
	err = workflow.ExecuteLocalActivity(local, acts.LoadPlan, w.EnvelopeInput).Get(ctx, &plan)
	return plan, err
}

// close records the final status of the envelope. Only the first call has an effect, because later signals concern an
// envelope that is already closed.
func (w *envelope) close(status models.Status) {
	if !w.plan.Status.Terminal() {
		w.plan.Status = status
	}
}

// awaitSigners starts the due task, and waits until a signal arrives, a task ends or the timer fires.
func (w *envelope) awaitSigners(ctx workflow.Context) error {
	if workflow.GetInfo(ctx).GetContinueAsNewSuggested() && w.background.running == 0 {
		return workflow.NewContinueAsNewError(ctx, temporal.WorkflowEnvelope, temporal.EnvelopeStart{EnvelopeInput: w.EnvelopeInput})
	}
	if err := w.reschedule(ctx); err != nil {
		return err
	}
	w.inviteAwaited(ctx)
	w.startDueTask(ctx)
	w.setTimer(ctx)
	w.describe(ctx)
	w.changed = false
	// Canceling a workflow cancels its timer, which then counts as fired.
	err := workflow.Await(ctx, func() bool { return ctx.Err() == nil && (w.changed || w.timer.fired()) })
	if w.nextPhase() != temporal.StepWaiting {
		w.background.cancel() // invitations and reminders are no longer needed
	}
	return err
}

// sealQuietly is the time that sealing may take, including the wait for a worker, before the search attribute
// EnvelopeStatus shows it. If an envelope is sealed within this time, the attribute is not updated, which saves a
// billable action in Temporal.
const sealQuietly = time.Minute

// seal seals the documents. It updates the status to show the sealing only after sealQuietly has passed. It retries
// until sealing succeeds or an operator voids the envelope.
func (w *envelope) seal(ctx workflow.Context) error {
	quiet := sealOptions("")
	quiet.ScheduleToCloseTimeout = sealQuietly
	if w.plan.Problem == "" {
		err := w.sealAttempt(ctx, quiet, false)
		if err == nil || !retryable(err) || ctx.Err() != nil {
			return err
		}
	}
	return w.sealAttempt(ctx, sealOptions("Delay after a failure"), true)
}

func (w *envelope) sealAttempt(ctx workflow.Context, opts workflow.ActivityOptions, visible bool) error {
	work, cancel := workflow.WithCancel(temporal.WithTrace(ctx, w.trace))
	defer cancel()
	sealing := execute(work, opts, acts.Seal, w.EnvelopeInput)
	for !sealing.IsReady() {
		w.describe(ctx)
		if visible || w.plan.Problem != "" {
			if err := w.showSealing(ctx); err != nil {
				return err
			}
		}
		w.changed = false
		if err := workflow.Await(ctx, func() bool { return w.changed || sealing.IsReady() }); err != nil {
			return err
		}
		if w.plan.Status == models.StatusVoided {
			return nil
		}
	}
	var sealed activities.Sealed
	if err := sealing.Get(ctx, &sealed); err != nil {
		return err
	}
	w.plan.Status, w.mailed = sealed.Status, sealed.Copied
	return w.showStatus(ctx, string(sealed.Status))
}

func sealOptions(summary string) workflow.ActivityOptions {
	opts := activityOptions(summary, time.Hour)
	opts.TaskQueue = temporal.QueueSeal
	return opts
}

// sendCopies sends the sealed documents to the recipients to whom Seal did not send them.
func (w *envelope) sendCopies(ctx workflow.Context) error {
	return w.sendLast(ctx, task{stuck: stuckCopies, activity: acts.SendCopies, in: w.EnvelopeInput, options: mailOptions("Send the sealed documents")})
}

// sendClosing notifies the invited recipients that the envelope has closed.
func (w *envelope) sendClosing(ctx workflow.Context) error {
	return w.sendLast(ctx, task{stuck: stuckClosing, activity: acts.SendClosing, in: w.EnvelopeInput, options: mailOptions("Notify the recipients that the envelope has closed")})
}

func (w *envelope) sendLast(ctx workflow.Context, t task) error {
	if err := w.showStatus(ctx, string(w.plan.Status)); err != nil {
		return err
	}
	w.describe(ctx)
	if err := w.stuck.run(temporal.WithTrace(ctx, w.trace), t, nil); err != nil {
		return err
	}
	w.mailed = true
	return nil
}

// discardLateSignals reads the signals that arrived too late to have an effect, because the SDK warns about unread
// signals.
func (w *envelope) discardLateSignals(ctx workflow.Context) {
	w.phase = temporal.StepDone
	w.describe(ctx)
	for _, s := range signalHandlers {
		for workflow.GetSignalChannel(ctx, s.name).ReceiveAsync(nil) {
		}
	}
}

// showSealing sets EnvelopeStatus to sealing, or to sealing_failed together with Stuck.
func (w *envelope) showSealing(ctx workflow.Context) error {
	if w.plan.Problem == "" {
		return w.showStatus(ctx, string(models.StatusSealing))
	}
	return w.showStatus(ctx, temporal.StepSealingFailed, temporal.AttrStuck.ValueSet(stuckSealing))
}

// showStatus updates the search attribute EnvelopeStatus and the given other attributes in one action if the status has
// changed. A workflow with a new status is no longer stuck.
func (w *envelope) showStatus(ctx workflow.Context, status string, others ...sdktemporal.SearchAttributeUpdate) error {
	if status == w.shown {
		return nil
	}
	updates := []sdktemporal.SearchAttributeUpdate{temporal.AttrEnvelopeStatus.ValueSet(status)}
	if w.stuck.reported {
		updates = append(updates, temporal.AttrStuck.ValueUnset())
	}
	w.stuck = stuckTracker{reported: len(others) > 0, changed: w.stuck.changed}
	if err := workflow.UpsertTypedSearchAttributes(ctx, append(updates, others...)...); err != nil {
		return fmt.Errorf("show status: %w", err)
	}
	w.shown = status
	return nil
}
