//go:build failpoints

package main

import (
	"time"

	"countersign/internal/failpoint"
)

// now returns the current time in UTC, shifted by the skew that fault tests set. All parts of the program receive it as
// their clock.
func now() time.Time { return time.Now().UTC().Add(failpoint.Skew()) }
