//go:build !failpoints

package failpoint

import "time"

// Inject is a place where a fault may be injected.
func Inject(string) {}

// InjectError is a place where an error may be injected.
func InjectError(string) error { return nil }

// Skew is how far the clock is off.
func Skew() time.Duration { return 0 }
