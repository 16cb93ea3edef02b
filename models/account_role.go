package models

import "slices"

// Role is the set of permissions of a console user. Each role includes the permissions of all lower roles. The route
// tables in api/<subject>_routes.go define the role that each operation requires, and envelope_transitions.go defines
// the states that permit it.
type Role string

// The roles, from the fewest to the most permissions.
const (
	RoleViewer  Role = "viewer"  // only views
	RoleSupport Role = "support" // also resends, corrects and voids envelopes
	RoleSender  Role = "sender"  // also creates, edits and sends envelopes
	RoleAdmin   Role = "admin"   // also changes settings, webhooks and users
)

// Roles lists the roles in ascending order.
var Roles = []Role{RoleViewer, RoleSupport, RoleSender, RoleAdmin}

// Valid reports whether r is one of Roles.
func (r Role) Valid() bool { return slices.Contains(Roles, r) }

// Allows reports whether r is a valid role with at least the permissions of the given role.
func (r Role) Allows(least Role) bool {
	return slices.Index(Roles, r) >= slices.Index(Roles, least) && r.Valid()
}
