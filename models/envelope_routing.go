package models

import (
	"slices"

	"github.com/google/uuid"
)

// RoutingPosition is a recipient's position in the routing order.
type RoutingPosition struct {
	ID     uuid.UUID `json:"id"`
	Group  int       `json:"group"`
	Signed bool      `json:"signed,omitempty"`
	// After is the signer in the same group whose signature this signer witnesses, or nil if this signer is not a
	// witness.
	After *uuid.UUID `json:"after,omitempty"`
}

// Routing lists the positions of recipients in the routing order. It determines who acts next, both for the envelope
// and for its workflow.
type Routing []RoutingPosition

// OpenGroup returns the lowest routing group in which a signature is missing, or zero if everyone has signed.
func (r Routing) OpenGroup() int {
	group := 0
	for _, p := range r {
		if !p.Signed && (group == 0 || p.Group < group) {
			group = p.Group
		}
	}
	return group
}

// Awaited returns the signers who can act now, which are the signers in the open group who have not signed. A witness
// can act only after the witnessed signer has signed.
func (r Routing) Awaited() []uuid.UUID {
	ids, group := []uuid.UUID{}, r.OpenGroup()
	for _, p := range r {
		if !p.Signed && p.Group == group && (p.After == nil || r.signed(*p.After)) {
			ids = append(ids, p.ID)
		}
	}
	return ids
}

// Reached returns the recipients in all routing groups up to the given one. Group zero returns all recipients.
func (r Routing) Reached(group int) []uuid.UUID {
	ids := []uuid.UUID{}
	for _, p := range r {
		if p.Group <= group || group == 0 {
			ids = append(ids, p.ID)
		}
	}
	return ids
}

// SignedCount returns the number of signatures.
func (r Routing) SignedCount() (n int) {
	for _, p := range r {
		if p.Signed {
			n++
		}
	}
	return n
}

// Sign marks a signer as signed.
func (r Routing) Sign(signer uuid.UUID) {
	for i := range r {
		if r[i].ID == signer {
			r[i].Signed = true
		}
	}
}

func (r Routing) signed(signer uuid.UUID) bool {
	return !slices.ContainsFunc(r, func(p RoutingPosition) bool { return p.ID == signer && !p.Signed })
}

// Routing returns the positions of the signers, and of the recipients who receive only the completed copies.
func (e *Envelope) Routing() (signers, copies Routing) {
	for _, s := range e.Signers {
		place := RoutingPosition{ID: s.ID, Group: s.RoutingOrder, Signed: s.Status == SignerSigned}
		if principal := e.Principal(s); principal != nil {
			place.After = &principal.ID
		}
		signers = append(signers, place)
	}
	for _, s := range e.Copies {
		copies = append(copies, RoutingPosition{ID: s.ID, Group: s.RoutingOrder})
	}
	return signers, copies
}

// openGroup issues links to awaited signers who have none, and marks the copy recipients whose group has been reached.
func (e *Envelope) openGroup(act ActionContext) {
	signers, copies := e.Routing()
	awaited, reached := signers.Awaited(), copies.Reached(signers.OpenGroup())
	for _, s := range e.Signers {
		if s.Status == SignerPending && slices.Contains(awaited, s.ID) {
			s.Status = SignerSent
			e.issueLink(act, s)
		}
	}
	for _, s := range e.Copies {
		if slices.Contains(reached, s.ID) {
			s.Status = SignerSent
		}
	}
}
