//go:build failpoints

package main

import (
	"time"

	"countersign/internal/failpoint"
)

// now is the clock that all others are given. Fault tests move it.
func now() time.Time { return time.Now().UTC().Add(failpoint.Skew()) }
