package webhook

import "time"

// The maximum numbers of concurrent deliveries to one endpoint in one process. The limit for failing endpoints is low,
// so that even a hundred unresponsive endpoints leave capacity for all others.
const (
	maxInFlight        = 20
	maxInFlightFailing = 2
)

// maxWait is the maximum wait for a delivery that exceeds the concurrency limit.
const maxWait = 10 * time.Minute
