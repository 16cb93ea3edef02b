package workflows

import (
	"fmt"
	"time"

	sdktemporal "go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"countersign/models"
	"countersign/temporal"
)

// The steps of an envelope's workflow, as Progress and the Temporal UI show them.
const (
	stepWaiting       = temporal.StepWaiting
	stepExpiring      = "expiring"
	stepSealing       = temporal.StepSealing
	stepSealingFailed = temporal.StepSealingFailed
	stepCopies        = "sending_copies"
	stepClosing       = "closing"
	stepDone          = temporal.StepDone
)

// enter begins a step and tells operators in the Temporal UI, in plain words, what
// the workflow waits for.
func (w *envelope) enter(ctx workflow.Context, step string) {
	w.step = step
	switch step {
	case stepWaiting:
		workflow.SetCurrentDetails(ctx, w.waitingDetails())
	case stepExpiring:
		workflow.SetCurrentDetails(ctx, "The deadline has passed; closing the envelope.")
	case stepSealing:
		workflow.SetCurrentDetails(ctx, "Everyone has signed. Sealing the documents; if this stays, see the pending activity's last failure.")
	case stepSealingFailed:
		workflow.SetCurrentDetails(ctx, "Everyone has signed, but the documents CANNOT BE SEALED: see the pending activity's last failure. It is tried again; "+
			"mend the cause, or close the envelope with `countersign envelope void-stuck`.")
	case stepCopies:
		workflow.SetCurrentDetails(ctx, "Sealed. Sending the copies; if this stays, see the pending activity's last failure: the mail server does not take them.")
	case stepClosing:
		workflow.SetCurrentDetails(ctx, "The envelope was "+string(w.outcome)+". Telling those who were asked to sign.")
	}
}

func (w *envelope) waitingDetails() string {
	signed := 0
	for _, s := range w.plan.Signers {
		if s.Signed {
			signed++
		}
	}
	until := "without a deadline"
	if w.plan.Deadline != nil {
		until = "until " + formatTime(*w.plan.Deadline)
	}
	text := fmt.Sprintf("%d of %d signed. Waiting for %d signer(s) of routing group %d since %s, %s.",
		signed, len(w.plan.Signers), len(w.awaited()), w.group, formatTime(w.groupOpenedAt), until)
	if w.plan.RemindAt != nil {
		text += " Next reminder: " + formatTime(*w.plan.RemindAt) + "."
	}
	return text
}

// formatTime writes a time for operators.
func formatTime(t time.Time) string { return t.UTC().Format("2 January 2006 15:04 UTC") }

// progress answers the query of that name.
func (w *envelope) progress() (temporal.Progress, error) {
	p := temporal.Progress{Step: w.step, Awaiting: w.awaited()}
	if w.step == stepWaiting {
		p.OpenGroup, p.Deadline, p.NextReminder = w.openGroup(), w.plan.Deadline, w.plan.RemindAt
	}
	return p, nil
}

// showSealing tells operators that the documents are being sealed, or cannot be.
func (w *envelope) showSealing(ctx workflow.Context) error {
	if !w.stuck {
		w.enter(ctx, stepSealing)
		return w.showStatus(ctx, string(models.StatusSealing))
	}
	w.enter(ctx, stepSealingFailed)
	if err := w.showStatus(ctx, stepSealingFailed, temporal.AttrStuck.ValueSet(stuckSealing)); err != nil {
		return err
	}
	w.shownStuck = true
	return nil
}

// showStatus sets the search attribute EnvelopeStatus, and others with it in the
// same action; none if it says so already. What has a new status is not stuck any
// more.
func (w *envelope) showStatus(ctx workflow.Context, status string, others ...sdktemporal.SearchAttributeUpdate) error {
	if status == w.shownStatus {
		return nil
	}
	updates := []sdktemporal.SearchAttributeUpdate{temporal.AttrEnvelopeStatus.ValueSet(status)}
	if w.shownStuck {
		updates, w.shownStuck = append(updates, temporal.AttrStuck.ValueUnset()), false
	}
	if err := workflow.UpsertTypedSearchAttributes(ctx, append(updates, others...)...); err != nil {
		return fmt.Errorf("show status: %w", err)
	}
	w.shownStatus = status
	return nil
}
