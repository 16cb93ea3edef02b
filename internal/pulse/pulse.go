// Package pulse passes progress signals from code that performs a long task to code that monitors it. It is a
// separate package because sealing, audits and cleanups make progress in packages that must not depend on Temporal.
package pulse

import "context"

type key struct{}

// With returns a context with which Beat calls beat.
func With(ctx context.Context, beat func()) context.Context {
	return context.WithValue(ctx, key{}, beat)
}

// Beat reports progress, for example after a document was read, an email was sent, or a row was removed. It does
// nothing if the task is not monitored.
func Beat(ctx context.Context) {
	if beat, ok := ctx.Value(key{}).(func()); ok {
		beat()
	}
}
