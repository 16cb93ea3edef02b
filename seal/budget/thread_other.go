//go:build !linux

package budget

import "time"

// threadTime returns zeros: the system does not measure the time of a thread.
func threadTime() (thread int, used time.Duration) { return 0, 0 }
