// Package pulse carries the progress of a long task from the code that does the work to the code that watches it. It is
// shared because sealing, audits and cleanups make progress in packages that must not know Temporal.
package pulse

import "context"

type key struct{}

// With returns a context in which Beat calls beat.
func With(ctx context.Context, beat func()) context.Context {
	return context.WithValue(ctx, key{}, beat)
}

// Beat reports progress: a document was read, an email was sent, a row was removed. It does nothing if nobody watches.
func Beat(ctx context.Context) {
	if beat, ok := ctx.Value(key{}).(func()); ok {
		beat()
	}
}
