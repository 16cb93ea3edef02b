package clients_test

import (
	"bytes"
	"context"
	"math/rand/v2"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	countersign "countersign/clients/go"
	"countersign/test/kit"
)

// TestEvents_InterruptedStream_MissesNone kills the server and the reader at random times while envelopes are
// created. It checks that a reader that remembers the last ID receives every event once and in order.
func TestEvents_InterruptedStream_MissesNone(t *testing.T) {
	t.Parallel()
	s, dir, temporal := &service{}, t.TempDir(), kit.Temporal(t)
	settings := []string{"COUNTERSIGN_RATE_LIMIT=100000", "COUNTERSIGN_TEMPORAL_ADDRESS=" + temporal.HostPort, "COUNTERSIGN_TEMPORAL_NAMESPACE=" + temporal.Namespace}
	kill := s.run(t, dir, "127.0.0.1:0", settings...)
	address := strings.TrimPrefix(s.BaseURL, "http://")
	c, err := countersign.New(s.BaseURL, s.ClientID, s.ClientSecret, countersign.WithRetries(12))
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	defer cancel()

	const rounds = 4
	var made atomic.Int64
	enough := make(chan struct{})
	ended := make(chan error, 1)
	go func() {
		for {
			select {
			case <-enough:
				ended <- nil
				return
			default:
			}
			if _, err := c.Create(ctx, request("Again")); err != nil {
				ended <- err
				return
			}
			made.Add(1)
		}
	}()

	var got []uuid.UUID
	read := func(until func() bool) {
		var after uuid.UUID
		if len(got) > 0 {
			after = got[len(got)-1]
		}
		reading, stop := context.WithCancel(ctx)
		defer stop()
		watch := time.AfterFunc(time.Duration(200+rand.IntN(1500))*time.Millisecond, stop)
		defer watch.Stop()
		next := c.Follow(reading, countersign.EventOptions{After: after})
		if after == uuid.Nil {
			next = c.ReadEvents(reading, countersign.EventOptions{})
		}
		for e, err := range next {
			if err != nil {
				require.ErrorIs(t, reading.Err(), context.Canceled, "%v", err)
				return
			}
			got = append(got, e.ID)
			if until() {
				return
			}
		}
	}
	for range rounds {
		before := made.Load()
		for made.Load() < before+3 {
			require.NoError(t, ctx.Err())
			read(func() bool { return rand.IntN(20) == 0 })
		}
		kill()
		kill = s.run(t, dir, address, settings...)
	}
	close(enough)
	require.NoError(t, <-ended)

	var all []uuid.UUID
	for e, err := range c.ReadEvents(ctx, countersign.EventOptions{}) {
		require.NoError(t, err)
		all = append(all, e.ID)
	}
	require.GreaterOrEqual(t, len(all), int(made.Load()), "the events must include every acknowledged envelope")
	for len(got) < len(all) {
		require.NoError(t, ctx.Err())
		read(func() bool { return len(got) >= len(all) })
	}
	require.Equal(t, all, got)
}

// TestStream_IsReadByCurl checks the output that a user of curl sees.
func TestStream_IsReadByCurl(t *testing.T) {
	t.Parallel()
	s := start(t)
	c := s.client(t)
	e, err := c.Create(t.Context(), request("Before"))
	require.NoError(t, err)
	var first countersign.EventRecord
	for ev, err := range c.ReadEvents(t.Context(), countersign.EventOptions{}) {
		require.NoError(t, err)
		first = ev
	}
	require.Equal(t, e.ID, first.EnvelopeID)
	other, err := c.Create(t.Context(), request("After"))
	require.NoError(t, err)

	token := accessToken(t, s)
	cmd := exec.CommandContext(t.Context(), "curl", "-sN", "--max-time", "3", "-H", "@-", "-H", "Last-Event-ID: "+first.ID.String(), s.BaseURL+"/v1/events/stream")
	cmd.Stdin = strings.NewReader("Authorization: Bearer " + token)
	var out bytes.Buffer
	cmd.Stdout = &out
	err = cmd.Run()
	var exit *exec.ExitError
	require.ErrorAs(t, err, &exit, "the stream stays open until curl has received enough events")
	require.Equal(t, 28, exit.ExitCode())
	require.Contains(t, out.String(), "event: envelope.created\ndata: {")
	require.Contains(t, out.String(), other.ID.String())
	require.NotContains(t, out.String(), e.ID.String())
}
