package webhook

import "errors"

// CheckURL reports why raw cannot be registered as an endpoint, or nil. It
// resolves no names: that is done, and guarded, at each delivery.
func CheckURL(raw string, allowPrivate bool) error { return errors.New("not implemented") }
