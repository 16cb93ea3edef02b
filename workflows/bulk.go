package workflows

import (
	"fmt"
	"time"

	"go.temporal.io/sdk/workflow"

	"countersign/activities"
	"countersign/models"
	"countersign/temporal"
)

// BulkSend sends the rows of a bulk send in batches until no rows are pending. It is stateless: each batch reads its
// work from the database, so a workflow that was lost or started twice continues with the pending rows.
func BulkSend(ctx workflow.Context, in temporal.BulkInput) error {
	w := &bulkSend{BulkInput: in}
	err := workflow.SetQueryHandlerWithOptions(ctx, temporal.QueryProgress, w.progress, workflow.QueryHandlerOptions{
		Description: "Numbers of sent, failed and pending rows",
	})
	if err != nil {
		return fmt.Errorf("register query: %w", err)
	}
	return w.run(ctx)
}

func (w *bulkSend) run(ctx workflow.Context) error {
	workflow.Go(ctx, w.listen)
	for {
		if err := w.applyCommands(ctx); err != nil {
			return err
		}
		if workflow.GetInfo(ctx).GetContinueAsNewSuggested() {
			return workflow.NewContinueAsNewError(ctx, BulkSend, w.BulkInput)
		}
		w.changed = false
		if err := w.sendBatch(ctx); err != nil {
			return err
		}
		workflow.SetCurrentDetails(ctx, w.details())
		w.receive(ctx)
		if w.step.Status.Ended() && !w.changed {
			return nil
		}
		if err := w.await(ctx); err != nil {
			return err
		}
	}
}

// await waits until a signal arrives or the next batch may be sent.
func (w *bulkSend) await(ctx workflow.Context) error {
	if w.step.Status == models.BulkPaused {
		return workflow.Await(ctx, func() bool { return w.changed })
	}
	if w.step.Wait <= 0 || w.changed {
		return nil
	}
	ctx, cancel := workflow.WithCancel(ctx)
	defer cancel()
	timer := workflow.NewTimerWithOptions(ctx, w.step.Wait, workflow.TimerOptions{Summary: "Delay before the next rows"})
	return workflow.Await(ctx, func() bool { return w.changed || timer.IsReady() })
}

type bulkSend struct {
	temporal.BulkInput

	step     activities.BulkStep // the result of the last batch
	commands []models.BulkAction // operator commands that have not been applied yet
	changed  bool                // whether a signal has arrived since the last batch began

	stuck stuckTracker
}

// signals returns a selector that handles the signals from operators and from the API.
func (w *bulkSend) signals(ctx workflow.Context) workflow.Selector {
	sel := workflow.NewSelector(ctx)
	for _, s := range []struct {
		name    string
		command models.BulkAction // empty if the next batch reads the change from the database
	}{{temporal.SignalChanged, ""}, {temporal.SignalPause, models.BulkPause}, {temporal.SignalResume, models.BulkResume}, {temporal.SignalCancel, models.BulkCancel}} {
		sel.AddReceive(workflow.GetSignalChannel(ctx, s.name), func(ch workflow.ReceiveChannel, _ bool) {
			ch.Receive(ctx, nil)
			w.changed = true
			if s.command != "" {
				w.commands = append(w.commands, s.command)
			}
		})
	}
	return sel
}

// listen handles the signals in order of arrival, even during a batch, so that an operator's last command takes effect.
// It waits in Await rather than in Select, where a signal that arrives at the end of a run would be consumed but never
// handled.
func (w *bulkSend) listen(ctx workflow.Context) {
	sel := w.signals(ctx)
	for workflow.Await(ctx, sel.HasPending) == nil {
		sel.Select(ctx)
	}
}

// receive handles the signals that arrived with the current workflow task and that listen has not handled yet.
func (w *bulkSend) receive(ctx workflow.Context) {
	for sel := w.signals(ctx); sel.HasPending(); {
		sel.Select(ctx)
	}
}

func (w *bulkSend) applyCommands(ctx workflow.Context) error {
	for w.receive(ctx); len(w.commands) > 0; w.receive(ctx) {
		in := activities.ChangeBulkInput{BulkInput: w.BulkInput, Action: w.commands[0]}
		w.commands = w.commands[1:]
		if err := execute(ctx, activityOptions("Operator: "+string(in.Action), time.Minute), acts.ChangeBulk, in).Get(ctx, nil); err != nil {
			return err
		}
	}
	return nil
}

func (w *bulkSend) sendBatch(ctx workflow.Context) error {
	opts := activityOptions("Send the next rows", 10*time.Minute)
	opts.TaskQueue = temporal.QueueBulk
	var step activities.BulkStep
	if err := w.stuck.run(ctx, task{stuck: stuckBulk, activity: acts.SendBulkRows, in: w.BulkInput, options: opts}, &step); err != nil {
		return err
	}
	w.step = step
	return nil
}

func (w *bulkSend) details() string {
	c := w.step.Counts
	text := fmt.Sprintf("%s: %d sent, %d failed, %d cancelled, %d pending.", w.step.Status, c.Sent, c.Failed, c.Canceled, c.Pending)
	if !w.step.Status.Ended() {
		text += " The signals pause, resume and cancel take effect between batches."
	}
	return text
}

// progress handles the query temporal.QueryProgress.
func (w *bulkSend) progress() (temporal.BulkProgress, error) {
	return temporal.BulkProgress{Status: w.step.Status, Counts: w.step.Counts}, nil
}
