package activities

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	sdktemporal "go.temporal.io/sdk/temporal"
)

// TestRejectedMails_NextAttempt checks that rejected emails are retried when the first of them is due, and that any
// other failure follows the retry policy.
func TestRejectedMails_NextAttempt(t *testing.T) {
	t.Parallel()
	rejected := func(wait time.Duration) error { return &rejectedError{error: errors.New("451 later"), wait: wait} }
	delay := func(all ...error) time.Duration {
		app, ok := errors.AsType[*sdktemporal.ApplicationError](withRetryDelay(errors.Join(all...)))
		if !ok {
			return 0
		}
		return app.NextRetryDelay()
	}
	require.Equal(t, 5*time.Minute, delay(rejected(20*time.Minute), rejected(5*time.Minute)))
	require.Equal(t, longestWait, delay(rejected(longestWait)))
	require.Zero(t, delay(rejected(20*time.Minute), rejected(time.Minute)), "the retry policy's delay suffices")
	require.Zero(t, delay(rejected(20*time.Minute), errors.New("connection refused")))
}
