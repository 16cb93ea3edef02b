package webhook

import "time"

// How many deliveries are under way to one endpoint at a time, in one process: few to one that fails, so that a hundred that hang
// leave room for all others.
const (
	maxInFlight        = 20
	maxInFlightFailing = 2
)

// maxWait is the longest time after which a delivery over the concurrency limit comes back.
const maxWait = 10 * time.Minute
