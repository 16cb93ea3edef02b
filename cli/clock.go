package cli

import "time"

// now returns the current time in UTC. All commands use it.
func now() time.Time { return time.Now().UTC() } //nolint:forbidigo // the only use of the system clock
