package models

import "slices"

// Role is what a console user may do. Each role may do what those before it may. Which operation needs which role is stated
// where its route is, in the tables api/<subject>_routes.go; in which state an envelope permits it, in envelope_transitions.go.
type Role string

// The roles, from the least to the most.
const (
	RoleViewer  Role = "viewer"  // looks
	RoleSupport Role = "support" // also resends, corrects and voids envelopes
	RoleSender  Role = "sender"  // also creates, edits and sends envelopes
	RoleAdmin   Role = "admin"   // also changes settings, webhooks and users
)

// Roles lists the roles in order.
var Roles = []Role{RoleViewer, RoleSupport, RoleSender, RoleAdmin}

// Valid reports whether r is one of Roles.
func (r Role) Valid() bool { return slices.Contains(Roles, r) }

// Allows reports whether r may do what needs the role least.
func (r Role) Allows(least Role) bool {
	return slices.Index(Roles, r) >= slices.Index(Roles, least) && r.Valid()
}
