package activities

// NonRetryable is what becomes of the errors of activities.
func NonRetryable(err error) error { return nonRetryable(err) }
