package store

import "time"

// Delays after which work counts as late. A workflow normally acts within seconds, and a restarted workflow within
// minutes.
const (
	expiryNotice   = 2 * time.Minute // after the deadline
	sealingNotice  = 5 * time.Minute // after the last signature
	deliveryNotice = 5 * time.Minute // after an attempt is due
)
