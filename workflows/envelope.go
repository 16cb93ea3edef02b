// Package workflows drives what takes time: inviting, reminding, expiring,
// sealing and delivering. A workflow decides nothing about an envelope: it
// learns of facts by signals, and asks for changes through activities.
package workflows

import (
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	sdktemporal "go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"countersign/activities"
	"countersign/models"
	"countersign/temporal"
)

// acts names the activities; it is never called through.
var acts *activities.Activities

// The steps of an envelope's workflow, as Progress and the Temporal UI show them.
const (
	stepWaiting  = "waiting"
	stepExpiring = "expiring"
	stepSealing  = "sealing"
	stepUnsealed = "sealing_failed"
	stepCopies   = "sending_copies"
	stepClosing  = "closing"
	stepDone     = "done"
)

// Envelope drives one envelope from sent to its end. All it holds can be read
// again from the database, so a workflow that was lost is simply started anew.
func Envelope(ctx workflow.Context, in temporal.EnvelopeInput) error {
	w, err := setup(ctx, in)
	if err != nil {
		return err
	}
	return w.run(ctx)
}

type envelope struct {
	temporal.EnvelopeInput

	plan    activities.Plan
	step    string
	closed  models.Status // how it ended without completion; "" while it has not
	invited map[uuid.UUID]bool
	stuck   bool      // sealing has a problem that is recorded in the database
	shown   bool      // and the search attribute Stuck says so
	group   int       // that is awaited
	since   time.Time // when it began to be
	round   int       // reminders sent
	remind  time.Time
	timer   workflow.Future // the one that runs; nil if none does
	early   int             // times that the deadline had not passed after all

	trace string // of the last fact that a signal told; "" while none has

	cancelInvites workflow.CancelFunc
	invites       workflow.Context
}

func setup(ctx workflow.Context, in temporal.EnvelopeInput) (*envelope, error) {
	w := &envelope{EnvelopeInput: in, step: stepWaiting, invited: make(map[uuid.UUID]bool)}
	err := workflow.SetQueryHandlerWithOptions(ctx, temporal.QueryProgress, w.progress, workflow.QueryHandlerOptions{
		Description: "Which signers are awaited, until when, and what the workflow is doing",
	})
	if err != nil {
		return nil, fmt.Errorf("register query: %w", err)
	}
	local := workflow.WithLocalActivityOptions(ctx, workflow.LocalActivityOptions{
		ScheduleToCloseTimeout: 365 * 24 * time.Hour, StartToCloseTimeout: 10 * time.Second, RetryPolicy: patient(),
		Summary: "Read who is to sign, in which order and until when",
	})
	if err := workflow.ExecuteLocalActivity(local, acts.LoadPlan, in).Get(ctx, &w.plan); err != nil {
		return nil, err
	}
	if w.plan.Status.Terminal() {
		w.closed = w.plan.Status
	}
	w.stuck = w.plan.Problem != ""
	if w.plan.ReminderEvery > 0 {
		w.remind = workflow.Now(ctx).Add(w.plan.ReminderEvery)
	}
	w.invites, w.cancelInvites = workflow.WithCancel(ctx)
	return w, nil
}

func (w *envelope) run(ctx workflow.Context) error {
	if w.plan.Status == models.StatusCompleted {
		return w.finish(ctx)
	}
	for {
		w.drain(ctx)
		step := temporal.Traced(ctx, w.trace)
		switch {
		case w.closed != "":
			return w.close(step)
		case w.allSigned():
			return w.seal(step)
		case workflow.GetInfo(ctx).GetContinueAsNewSuggested():
			return workflow.NewContinueAsNewError(ctx, Envelope, w.EnvelopeInput)
		}
		w.invite()
		w.describe(ctx)
		if err := w.wait(ctx); err != nil {
			return err
		}
	}
}

// signals are the facts that the workflow listens to, and what each changes.
func (w *envelope) signals() map[string]func(temporal.SignerSignal) {
	return map[string]func(temporal.SignerSignal){
		temporal.SignalSignerSigned: func(f temporal.SignerSignal) {
			for i := range w.plan.Signers {
				if w.plan.Signers[i].ID == f.SignerID {
					w.plan.Signers[i].Signed = true
				}
			}
		},
		temporal.SignalSignerDeclined: func(temporal.SignerSignal) { w.closed = models.StatusDeclined },
		temporal.SignalVoided:         func(temporal.SignerSignal) { w.closed = models.StatusVoided },
		temporal.SignalSealingFailed:  func(temporal.SignerSignal) { w.stuck = true },
	}
}

// signalOrder fixes the order in which the channels are read, for replay.
var signalOrder = []string{temporal.SignalSignerSigned, temporal.SignalSignerDeclined, temporal.SignalVoided, temporal.SignalSealingFailed}

// drain takes the signals that are there already.
func (w *envelope) drain(ctx workflow.Context) {
	apply := w.signals()
	for _, name := range signalOrder {
		var f temporal.SignerSignal
		for ch := workflow.GetSignalChannel(ctx, name); ch.ReceiveAsync(&f); f = (temporal.SignerSignal{}) {
			apply[name](f)
			w.trace = f.Trace
		}
	}
}

// wait sleeps until a signal arrives or something is due, and does what is due.
func (w *envelope) wait(ctx workflow.Context) error {
	due := false
	sel := workflow.NewSelector(ctx)
	w.listen(ctx, sel)
	w.arm(ctx)
	if w.timer != nil {
		sel.AddFuture(w.timer, func(workflow.Future) { w.timer, due = nil, true })
	}
	sel.Select(ctx)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case !due:
		return nil
	case w.deadlinePassed(ctx):
		return w.expire(ctx)
	case w.renewalDue(ctx):
		return w.renewLinks(ctx)
	default:
		return w.sendReminders(ctx)
	}
}

// renewalDue reports that a link ends soon. Renewing comes before reminding: a
// reminder then carries the new link.
func (w *envelope) renewalDue(ctx workflow.Context) bool {
	return w.plan.RenewAt != nil && !workflow.Now(ctx).Before(*w.plan.RenewAt)
}

// renewLinks replaces the links that end soon, whether or not there are
// reminders, and learns when the next one does. Histories from before have no
// time for it in their plan, so that they replay as they were.
func (w *envelope) renewLinks(ctx workflow.Context) error {
	w.plan.RenewAt = nil
	return run(temporal.Untraced(ctx), options("Renew the links that end soon", time.Minute), acts.RenewLinks, w.EnvelopeInput).Get(ctx, &w.plan.RenewAt)
}

// listen lets a selector take signals.
func (w *envelope) listen(ctx workflow.Context, sel workflow.Selector) {
	apply := w.signals()
	for _, name := range signalOrder {
		sel.AddReceive(workflow.GetSignalChannel(ctx, name), func(ch workflow.ReceiveChannel, _ bool) {
			var f temporal.SignerSignal
			ch.Receive(ctx, &f)
			apply[name](f)
			w.trace = f.Trace
		})
	}
}

// arm starts the one timer, for the deadline or the next reminder, whichever
// comes first. A timer that runs is left alone: signals do not move it.
func (w *envelope) arm(ctx workflow.Context) {
	if w.timer != nil {
		return
	}
	at, summary := w.remind, "Next reminder"
	if r := w.plan.RenewAt; r != nil && (at.IsZero() || r.Before(at)) {
		at, summary = *r, "A link is to be renewed"
	}
	if d := w.plan.Deadline; d != nil && (at.IsZero() || d.Before(at)) {
		at, summary = *d, "Deadline"
	}
	if at.IsZero() {
		return
	}
	// At least a second, should the database's clock be behind Temporal's, and more if it is far behind.
	wait := max(at.Sub(workflow.Now(ctx)), time.Second<<min(w.early, 6))
	w.timer = workflow.NewTimerWithOptions(ctx, wait, workflow.TimerOptions{Summary: summary})
}

func (w *envelope) deadlinePassed(ctx workflow.Context) bool {
	return w.plan.Deadline != nil && !workflow.Now(ctx).Before(*w.plan.Deadline)
}

// invite starts the invitation of everyone who is awaited and has none yet. It
// does not wait: a mail server that is down must not keep a void from being seen.
func (w *envelope) invite() {
	for _, id := range w.awaiting() {
		if w.invited[id] {
			continue
		}
		w.invited[id] = true
		ctx, opts := temporal.Traced(w.invites, w.trace), options("Invite signer "+id.String(), time.Minute)
		in := activities.SignerInput{EnvelopeInput: w.EnvelopeInput, SignerID: id}
		first := runFirst(ctx, opts, acts.Invite, in)
		workflow.Go(ctx, func(ctx workflow.Context) {
			if err := showStuck(ctx, stuckInvitation, opts, acts.Invite, in, first); err != nil && !sdktemporal.IsCanceledError(err) {
				workflow.GetLogger(ctx).Warn("signer not invited", "signer", id, "error", err)
			}
		})
	}
}

func (w *envelope) sendReminders(ctx workflow.Context) error {
	w.round++
	w.remind = workflow.Now(ctx).Add(w.plan.ReminderEvery)
	// The awaited are asked in the background too, for the same reason.
	run(temporal.Untraced(w.invites), options(fmt.Sprintf("Reminder %d", w.round), 5*time.Minute), acts.Remind, activities.RemindInput{EnvelopeInput: w.EnvelopeInput, Round: w.round})
	return nil
}

// expire asks for the envelope to be closed. Whoever was first has won: if all
// have signed meanwhile, their signal is on its way.
func (w *envelope) expire(ctx workflow.Context) error {
	w.step = stepExpiring
	w.describe(ctx)
	var status models.Status
	if err := run(temporal.Untraced(ctx), options("Close at the deadline", time.Minute), acts.Expire, w.EnvelopeInput).Get(ctx, &status); err != nil {
		return err
	}
	w.step = stepWaiting
	switch {
	case status == models.StatusSealing || status == models.StatusCompleted:
		w.plan.Deadline = nil
	case status.Terminal():
		w.closed = status
	default:
		w.early++ // by the clock that the database is told the time by
	}
	return nil
}

// seal makes the sealed documents and sends them out. It tries for as long as it
// takes, unless an operator voids an envelope that cannot be sealed.
func (w *envelope) seal(ctx workflow.Context) error {
	w.cancelInvites()
	opts := options("Seal the documents", time.Hour)
	opts.TaskQueue = temporal.QueueSeal
	work, cancel := workflow.WithCancel(ctx)
	defer cancel()
	sealing := run(work, opts, acts.Seal, w.EnvelopeInput)
	for !sealing.IsReady() {
		if err := w.showSealing(ctx); err != nil {
			return err
		}
		sel := workflow.NewSelector(ctx)
		sel.AddFuture(sealing, func(workflow.Future) {})
		w.listen(ctx, sel)
		sel.Select(ctx)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		w.drain(ctx)
		if w.stuck && w.closed == models.StatusVoided && !sealing.IsReady() {
			cancel()
			return w.close(ctx)
		}
	}
	var status models.Status // "" by a worker of an older version, which seals or fails
	if err := sealing.Get(ctx, &status); err != nil {
		return err
	}
	if status == models.StatusVoided { // the signal is on its way
		w.closed = status
		return w.close(ctx)
	}
	w.closed = "" // whatever else was told came too late
	return w.finish(ctx)
}

// showSealing tells operators that the documents are being sealed, or cannot be.
func (w *envelope) showSealing(ctx workflow.Context) error {
	step := stepSealing
	if w.stuck {
		step = stepUnsealed
	}
	if w.step != step && w.stuck {
		if err := w.status(ctx, stepUnsealed, temporal.AttrStuck.ValueSet(stuckSealing)); err != nil {
			return err
		}
		w.shown = true
	}
	w.step = step
	w.describe(ctx)
	return nil
}

// finish sends the sealed documents to the signers.
func (w *envelope) finish(ctx workflow.Context) error {
	w.step = stepCopies
	w.describe(ctx)
	if err := w.status(ctx, models.StatusCompleted); err != nil {
		return err
	}
	if err := runShown(ctx, stuckCopies, options("Send the sealed documents", 10*time.Minute), acts.SendCopies, w.EnvelopeInput); err != nil {
		return err
	}
	return w.end(ctx, "Completed: sealed, and everyone has a copy.")
}

// close tells those who were asked that there is nothing left to sign.
func (w *envelope) close(ctx workflow.Context) error {
	w.cancelInvites()
	w.step = stepClosing
	w.describe(ctx)
	if err := w.status(ctx, w.closed); err != nil {
		return err
	}
	if err := runShown(ctx, stuckClosing, options("Tell the signers that it is "+string(w.closed), 5*time.Minute), acts.SendClosing, w.EnvelopeInput); err != nil {
		return err
	}
	return w.end(ctx, "The envelope was "+string(w.closed)+".")
}

func (w *envelope) end(ctx workflow.Context, words string) error {
	w.step = stepDone
	workflow.SetCurrentDetails(ctx, words)
	if err := workflow.Await(ctx, func() bool { return workflow.AllHandlersFinished(ctx) }); err != nil {
		return err
	}
	// What came too late to change anything is taken all the same, or the SDK warns
	// of every envelope whose end was told twice.
	for _, name := range signalOrder {
		for late := (temporal.SignerSignal{}); workflow.GetSignalChannel(ctx, name).ReceiveAsync(&late); {
			workflow.GetLogger(ctx).Debug("a signal after the end", "signal", name)
		}
	}
	return nil
}

// status shows the envelope's status, and other attributes with it in the same
// action. What has a new status is not stuck any more.
func (w *envelope) status(ctx workflow.Context, s models.Status, others ...sdktemporal.SearchAttributeUpdate) error {
	if w.shown {
		others, w.shown = append(others, temporal.AttrStuck.ValueUnset()), false
	}
	if err := workflow.UpsertTypedSearchAttributes(ctx, append(others, temporal.AttrEnvelopeStatus.ValueSet(string(s)))...); err != nil {
		return fmt.Errorf("show status: %w", err)
	}
	return nil
}

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

func (w *envelope) allSigned() bool { return w.openGroup() == 0 }

func (w *envelope) awaiting() []uuid.UUID {
	ids := []uuid.UUID{}
	if w.closed != "" {
		return ids
	}
	group := w.openGroup()
	for _, s := range w.plan.Signers {
		if !s.Signed && s.Group == group {
			ids = append(ids, s.ID)
		}
	}
	return ids
}

// progress answers the query of that name.
func (w *envelope) progress() (temporal.Progress, error) {
	p := temporal.Progress{Step: w.step, Awaiting: w.awaiting()}
	if w.step == stepWaiting {
		p.OpenGroup, p.Deadline = w.openGroup(), w.plan.Deadline
		if !w.remind.IsZero() {
			p.NextReminder = &w.remind
		}
	}
	return p, nil
}

// describe tells operators in the Temporal UI, in plain words, what goes on.
func (w *envelope) describe(ctx workflow.Context) {
	switch w.step {
	case stepWaiting:
		until := "without a deadline"
		if w.plan.Deadline != nil {
			until = "until " + moment(*w.plan.Deadline)
		}
		if group := w.openGroup(); group != w.group {
			w.group, w.since = group, workflow.Now(ctx)
		}
		n := len(w.plan.Signers) - len(slices.DeleteFunc(slices.Clone(w.plan.Signers), func(s activities.PlanSigner) bool { return s.Signed }))
		text := fmt.Sprintf("%d of %d signed. Waiting for %d signer(s) of routing group %d since %s, %s.",
			n, len(w.plan.Signers), len(w.awaiting()), w.group, moment(w.since), until)
		if !w.remind.IsZero() {
			text += " Next reminder: " + moment(w.remind) + "."
		}
		workflow.SetCurrentDetails(ctx, text)
	case stepExpiring:
		workflow.SetCurrentDetails(ctx, "The deadline has passed; closing the envelope.")
	case stepSealing:
		workflow.SetCurrentDetails(ctx, "Everyone has signed. Sealing the documents; if this stays, see the pending activity's last failure.")
	case stepUnsealed:
		workflow.SetCurrentDetails(ctx, "Everyone has signed, but the documents CANNOT BE SEALED: see the pending activity's last failure. It is tried again; "+
			"mend the cause, or close the envelope with `countersign envelope void-stuck`.")
	case stepCopies:
		workflow.SetCurrentDetails(ctx, "Sealed. Sending the copies; if this stays, see the pending activity's last failure: the mail server does not take them.")
	case stepClosing:
		workflow.SetCurrentDetails(ctx, "The envelope was "+string(w.closed)+". Telling those who were asked to sign.")
	}
}

// moment writes a time for operators.
func moment(t time.Time) string { return t.UTC().Format("2 January 2006 15:04 UTC") }

// options are those of an activity that is tried until it works; limit bounds
// each try. One whose worker has died is noticed by its silence.
func options(summary string, limit time.Duration) workflow.ActivityOptions {
	return workflow.ActivityOptions{
		StartToCloseTimeout: limit, HeartbeatTimeout: activities.Silence, RetryPolicy: patient(), Summary: summary,
	}
}

func run(ctx workflow.Context, opts workflow.ActivityOptions, activity, in any) workflow.Future {
	return workflow.ExecuteActivity(workflow.WithActivityOptions(ctx, opts), activity, in)
}

// patient never gives up: a signature that was given must not be lost to a
// server that is down for a night.
func patient() *sdktemporal.RetryPolicy {
	return &sdktemporal.RetryPolicy{InitialInterval: time.Second, BackoffCoefficient: 2, MaximumInterval: time.Minute}
}
