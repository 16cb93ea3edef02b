package models

import "slices"

// Role is the set of permissions of a console user. Each role includes the permissions of all roles before it. The
// route tables, api/<subject>_routes.go, define the role that each operation requires; envelope_transitions.go defines
// the states that permit it.
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

// Allows reports whether r includes the permissions of the role least.
func (r Role) Allows(least Role) bool {
	return slices.Index(Roles, r) >= slices.Index(Roles, least) && r.Valid()
}
