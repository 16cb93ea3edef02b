//go:build !failpoints

package main

import "time"

// now is the clock that all others are given.
func now() time.Time { return time.Now().UTC() } //nolint:forbidigo // see above
