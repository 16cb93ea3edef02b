// Package pulse passes progress signals from a long task to the code that monitors it. It is a separate package
// because tasks such as sealing, audits and cleanups belong to packages that must not depend on Temporal.
package pulse

import "context"

type key struct{}

// With returns a context for which Beat calls the function beat.
func With(ctx context.Context, beat func()) context.Context {
	return context.WithValue(ctx, key{}, beat)
}

// Beat reports progress, such as a document that was read, an email that was sent, or a row that was removed. It does
// nothing if the task is not monitored.
func Beat(ctx context.Context) {
	if beat, ok := ctx.Value(key{}).(func()); ok {
		beat()
	}
}
