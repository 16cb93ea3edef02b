package temporal

import (
	"errors"
	"time"

	"github.com/google/uuid"

	"countersign/models"
)

// Steps of an envelope's workflow, as reported in Progress. StepExpiring is reported while an expiry is running, and
// StepSealingFailed while there is a sealing problem.
const (
	StepWaiting       = "waiting"
	StepExpiring      = "expiring"
	StepSealing       = "sealing"
	StepSealingFailed = "sealing_failed"
	StepCopies        = "sending_copies"
	StepClosing       = "closing"
	StepDone          = "done"
)

// ErrNoWorkflow means that an envelope has no workflow to query. The workflow has not started yet, has failed, was
// terminated by an operator, or was removed some time after it ended.
var ErrNoWorkflow = errors.New("no workflow is running for the envelope")

// ProgressOf returns the progress of a sent envelope according to the database, for an envelope without a workflow. The
// parameter nextReminder is the result of models.Envelope.NextReminder.
func ProgressOf(e *models.Envelope, nextReminder *time.Time) Progress {
	p := Progress{Step: StepDone, Awaiting: []uuid.UUID{}}
	switch {
	case e.Status == models.StatusSealing && e.SealingProblem != nil:
		p.Step = StepSealingFailed
	case e.Status == models.StatusSealing:
		p.Step = StepSealing
	case e.Status.Open():
		p.Step, p.Deadline, p.NextReminder = StepWaiting, e.ExpiresAt, nextReminder
		for _, s := range e.Signers {
			if s.Awaited() {
				p.OpenGroup, p.Awaiting = s.RoutingOrder, append(p.Awaiting, s.ID)
			}
		}
	}
	return p
}
