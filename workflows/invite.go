package workflows

import (
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	sdktemporal "go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"countersign/activities"
	"countersign/temporal"
)

// invite starts the invitation of several at once: a local activity tries each once,
// which costs one action and next to nothing of the history. Whoever it does not reach
// has an activity of its own, which operators see pending with the mail server's answer.
func (w *envelope) invite(ids []uuid.UUID) {
	ctx := temporal.WithTrace(w.mails, w.trace)
	first := workflow.ExecuteLocalActivity(workflow.WithLocalActivityOptions(ctx, onceOptions(inviteSummary(ids), time.Minute)), acts.InviteGroup,
		activities.GroupInput{EnvelopeInput: w.EnvelopeInput, SignerIDs: ids})
	w.inviting++
	workflow.Go(ctx, func(ctx workflow.Context) {
		defer func() { w.inviting-- }()
		var again []uuid.UUID
		err := first.Get(ctx, &again)
		if sdktemporal.IsCanceledError(err) {
			return
		}
		if err != nil {
			again = ids
		}
		for _, id := range again {
			w.inviteOne(ctx, id)
		}
	})
}

// maxNamed is how many ids a summary names: Temporal takes 400 bytes.
const maxNamed = 6

func inviteSummary(ids []uuid.UUID) string {
	text := "Invite signer"
	for i, id := range ids {
		if i == maxNamed {
			return fmt.Sprintf("%s and %d more", text, len(ids)-i)
		}
		text += " " + id.String()
	}
	return text
}

// inviteOne invites a signer for as long as it takes, without waiting for it.
func (w *envelope) inviteOne(ctx workflow.Context, id uuid.UUID) {
	opts := activityOptions("Invite signer "+id.String(), time.Minute)
	in := temporal.InviteInput{EnvelopeInput: w.EnvelopeInput, SignerID: id}
	first := executeFirst(ctx, opts, acts.Invite, in)
	w.inviting++
	workflow.Go(ctx, func(ctx workflow.Context) {
		defer func() { w.inviting-- }()
		err := first.Get(ctx, nil)
		if retryable(err) {
			err = w.keepInviting(ctx, opts, in)
		}
		if err != nil && !sdktemporal.IsCanceledError(err) {
			workflow.GetLogger(ctx).Warn("signer not invited", "signer", id, "error", err)
		}
	})
}

// keepInviting invites a signer whom the first attempts did not reach until it succeeds.
// The workflow is shown as stuck as long as there is such a signer.
func (w *envelope) keepInviting(ctx workflow.Context, opts workflow.ActivityOptions, in temporal.InviteInput) error {
	w.notReached++
	if w.notReached == 1 {
		w.shownStuck = true
		if err := showStuck(ctx, stuckInvitation); err != nil {
			return err
		}
	}
	err := executeFurther(ctx, opts, acts.Invite, in).Get(ctx, nil)
	if sdktemporal.IsCanceledError(err) {
		return err // nobody is awaited any more: the next status says that nothing is stuck
	}
	w.notReached--
	if w.notReached == 0 {
		w.shownStuck = false
		err = errors.Join(err, showNotStuck(ctx))
	}
	return err
}
