//go:build !failpoints

package failpoint

// Inject is a place where a fault may be injected.
func Inject(string) {}

// InjectError is a place where an error may be injected.
func InjectError(string) error { return nil }
