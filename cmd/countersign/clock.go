//go:build !failpoints

package main

import "time"

// now returns the clock that the program injects everywhere.
func now() time.Time { return time.Now().UTC() } //nolint:forbidigo // see above
