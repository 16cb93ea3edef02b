package store

import "time"

// The delays after which work counts as late: a workflow acts within seconds, and a restarted one within minutes.
const (
	expiryNotice   = 2 * time.Minute // after the deadline
	sealingNotice  = 5 * time.Minute // after the last signature
	deliveryNotice = 5 * time.Minute // after an attempt is due
)
