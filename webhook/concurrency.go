package webhook

import "time"

// Concurrent deliveries to one endpoint in one process. A failing endpoint has a low limit, so that a hundred hanging
// endpoints leave capacity for all others.
const (
	maxInFlight        = 20
	maxInFlightFailing = 2
)

// maxWait is the longest wait of a delivery over the concurrency limit.
const maxWait = 10 * time.Minute
