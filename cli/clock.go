package cli

import "time"

// now returns the clock of the commands.
func now() time.Time { return time.Now().UTC() } //nolint:forbidigo // the clock that all others are given
