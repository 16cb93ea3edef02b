//go:build !failpoints

package main

import "time"

// now returns the current time in UTC. All parts of the program receive it as their clock.
func now() time.Time { return time.Now().UTC() } //nolint:forbidigo // see above
