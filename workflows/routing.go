package workflows

import "github.com/google/uuid"

// awaited are the signers who are to act now.
func (w *envelope) awaited() []uuid.UUID {
	ids := []uuid.UUID{}
	if w.outcome != "" {
		return ids
	}
	group := w.openGroup()
	for _, s := range w.plan.Signers {
		if !s.Signed && s.Group == group && w.hasSigned(s.After) {
			ids = append(ids, s.ID)
		}
	}
	return ids
}

// hasSigned reports whether the signer that another one waits for has signed; nil is
// nobody.
func (w *envelope) hasSigned(id *uuid.UUID) bool {
	for _, s := range w.plan.Signers {
		if id != nil && s.ID == *id {
			return s.Signed
		}
	}
	return true
}

// reachedCopies are those who will get copies and whose group was reached.
func (w *envelope) reachedCopies() []uuid.UUID {
	ids := []uuid.UUID{}
	for _, s := range w.plan.Copies {
		if s.Group <= w.openGroup() {
			ids = append(ids, s.ID)
		}
	}
	return ids
}
