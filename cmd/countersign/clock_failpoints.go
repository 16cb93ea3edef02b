//go:build failpoints

package main

import (
	"time"

	"countersign/internal/failpoint"
)

// now returns the clock that the program injects everywhere. Fault tests shift
// it.
func now() time.Time { return time.Now().UTC().Add(failpoint.Skew()) }
