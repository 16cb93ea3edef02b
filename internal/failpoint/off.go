//go:build !failpoints

package failpoint

// Inject marks a point at which a fault can be injected.
func Inject(string) {}

// InjectError marks a point at which an error can be injected.
func InjectError(string) error { return nil }
