package workflows

import (
	"fmt"
	"time"

	"github.com/google/uuid"
	"go.temporal.io/sdk/workflow"

	"countersign/models"
	"countersign/temporal"
)

// describe sets the workflow's details in the Temporal UI. The details describe, in plain language, what the workflow
// is waiting for.
func (w *envelope) describe(ctx workflow.Context) {
	var text string
	switch {
	case w.phase == temporal.StepWaiting && w.background.expiring:
		text = "The deadline has passed; closing the envelope."
	case w.phase == temporal.StepWaiting:
		text = w.waitingDetails()
	case w.phase == temporal.StepSealing && w.plan.Problem == "":
		text = "Everyone has signed. Sealing the documents. If this text does not change, see the last failure of the pending activity."
	case w.phase == temporal.StepSealing:
		text = "Everyone has signed, but the documents CANNOT BE SEALED: see the last failure of the pending activity. Sealing is retried; " +
			"fix the cause, or close the envelope with `countersign envelope void-stuck`."
	case w.phase == temporal.StepCopies:
		text = "Sealed. Sending the copies. If this text does not change, the mail server is probably not accepting them: see the last failure of the pending activity."
	case w.phase == temporal.StepClosing:
		text = "The envelope was " + string(w.plan.Status) + ". Notifying the recipients."
	case w.plan.Status == models.StatusCompleted:
		text = "Completed: sealed, and every recipient was sent a copy, or their address was rejected."
	default:
		text = "The envelope was " + string(w.plan.Status) + "."
	}
	workflow.SetCurrentDetails(ctx, text+w.link)
}

func (w *envelope) waitingDetails() string {
	until := "without a deadline"
	if w.plan.Deadline != nil {
		until = "until " + formatTime(*w.plan.Deadline)
	}
	text := fmt.Sprintf("%d of %d signed. Waiting for %d signer(s) of routing group %d since %s, %s.",
		w.plan.Signers.SignedCount(), len(w.plan.Signers), len(w.plan.Signers.Awaited()), w.group, formatTime(w.plan.Since), until)
	if w.plan.RemindAt != nil {
		text += " Next reminder: " + formatTime(*w.plan.RemindAt) + "."
	}
	if len(w.stuck.failing) > 0 {
		text += fmt.Sprintf(" STUCK: %s fails and is retried: %s.", w.stuck.failing[0], w.stuck.message)
	}
	if w.rejection != "" {
		text += " UNREACHABLE: " + w.rejection + "."
	}
	return text
}

// formatTime formats a time for operators.
func formatTime(t time.Time) string { return t.UTC().Format("2 January 2006 15:04 UTC") }

// progress handles the query temporal.QueryProgress.
func (w *envelope) progress() (temporal.Progress, error) {
	p := temporal.Progress{Step: w.phase, Awaiting: []uuid.UUID{}}
	switch {
	case w.phase == temporal.StepWaiting:
		p.Awaiting, p.OpenGroup = w.plan.Signers.Awaited(), w.plan.Signers.OpenGroup()
		if p.Deadline, p.NextReminder = w.plan.Deadline, w.plan.RemindAt; w.background.expiring {
			p = temporal.Progress{Step: temporal.StepExpiring, Awaiting: p.Awaiting}
		}
	case w.phase == temporal.StepSealing && w.plan.Problem != "":
		p.Step = temporal.StepSealingFailed
	}
	return p, nil
}
