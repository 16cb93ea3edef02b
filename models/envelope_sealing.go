package models

import (
	"time"

	"github.com/google/uuid"
)

// SealingProblem is the reason why the documents of an envelope cannot be sealed.
type SealingProblem string

// The sealing problems. All except SealingFailing persist until an operator fixes the cause.
const (
	SealingOriginalMissing SealingProblem = "original_missing"
	SealingOriginalChanged SealingProblem = "original_changed"
	SealingRejected        SealingProblem = "document_refused"
	SealingChainBroken     SealingProblem = "audit_chain_broken"
	SealingFailing         SealingProblem = "sealing_failing"
)

// SealingGracePeriod is the time for which sealing can fail before the failure counts as a problem. It is long enough
// for a server to be restarted.
const SealingGracePeriod = 15 * time.Minute

// Message returns an explanation of the problem for the sender.
func (p SealingProblem) Message() string {
	switch p {
	case SealingOriginalMissing:
		return "An uploaded document is missing from the file store."
	case SealingOriginalChanged:
		return "The file of an uploaded document has changed."
	case SealingRejected:
		return "A document cannot be sealed in its current form, or with the values entered in it."
	case SealingChainBroken:
		return "The audit trail does not match its record."
	case SealingFailing:
		return "Sealing has been failing for some time and will be retried."
	}
	return "The documents cannot be sealed."
}

// Permanent reports whether sealing cannot succeed until an operator has fixed the cause.
func (p SealingProblem) Permanent() bool { return p != SealingFailing }

// SealingFailed records that the documents cannot be sealed. Recording the same problem again has no effect.
func (e *Envelope) SealingFailed(act ActionContext, problem SealingProblem) error {
	if err := e.check(ActionFailSealing); err != nil {
		return err
	}
	if e.SealingProblem != nil && *e.SealingProblem == problem {
		return nil
	}
	if e.SealingProblem == nil {
		e.SealingProblemAt = new(act.At)
	}
	e.SealingProblem = &problem
	e.record(act, EventSealingFailed, uuid.Nil, Detail{"problem": string(problem)})
	return nil
}

// AllSignedAt returns the time of the last signature, or the zero time if a signature is missing.
func (e *Envelope) AllSignedAt() time.Time {
	var last time.Time
	for _, s := range e.Signers {
		if s.SignedAt == nil {
			return time.Time{}
		}
		if s.SignedAt.After(last) {
			last = *s.SignedAt
		}
	}
	return last
}

// VoidStuck closes a fully signed envelope whose documents cannot be sealed, on an operator's behalf. Without a
// recorded problem it returns an error, because sealing may still succeed.
func (e *Envelope) VoidStuck(act ActionContext, reason string) error {
	if err := e.check(ActionVoidStuck); err != nil {
		return err
	}
	p := Problems{}
	CheckParagraph(p, "reason", reason, 1, 1000)
	if err := p.Err(); err != nil {
		return err
	}
	if e.SealingProblem == nil {
		return Reject(KindConflict, "envelope_not_stuck", "The documents are being sealed, and no sealing problem has been recorded.")
	}
	e.transition(ActionVoidStuck)
	e.VoidedAt = new(act.At)
	e.record(act, EventEnvelopeVoided, uuid.Nil, Detail{"reason": reason, "problem": string(*e.SealingProblem)})
	return nil
}
