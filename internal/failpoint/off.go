//go:build !failpoints

package failpoint

import "time"

// Hit is a place where a fault may be injected.
func Hit(string) {}

// Err is a place where an error may be injected.
func Err(string) error { return nil }

// Skew is how far the clock is off.
func Skew() time.Duration { return 0 }
