package temporal

import (
	"errors"
	"time"

	"github.com/google/uuid"

	"countersign/models"
)

// The phases of an envelope's workflow, as Progress names them. StepExpiring and StepSealingFailed are how Progress shows
// an expiry that runs, and sealing with a problem.
const (
	StepWaiting       = "waiting"
	StepExpiring      = "expiring"
	StepSealing       = "sealing"
	StepSealingFailed = "sealing_failed"
	StepCopies        = "sending_copies"
	StepClosing       = "closing"
	StepDone          = "done"
)

// ErrNoWorkflow reports that an envelope has no workflow to query: it has not started yet, was removed some time after
// its end, has failed, or was ended by an operator.
var ErrNoWorkflow = errors.New("no workflow runs for the envelope")

// ProgressOf returns the progress of a sent envelope according to the database, for one without a workflow.
// nextReminder is the envelope's (see models.Envelope.NextReminder).
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
