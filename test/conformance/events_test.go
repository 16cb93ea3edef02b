package conformance_test

import (
	"bufio"
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	countersign "countersign/clients/go"
	"countersign/clients/go/api"
)

// checkEvents reads events as pages and as a stream.
func checkEvents(t *testing.T, s *target) {
	t.Helper()
	e, _ := s.sent(t, s.contract())
	id := e.str("id")
	var names []string
	var cursor string
	for path := "/v1/events?limit=500"; ; path = "/v1/events?limit=500&cursor=" + cursor {
		a := s.app().get(t, path).want(t, 200)
		for _, ev := range a.body["data"].([]any) {
			if ev.(object)["envelopeId"] == id {
				names = append(names, ev.(object)["event"].(string))
			}
		}
		cursor, _ = a.body["nextCursor"].(string)
		if a.body["hasMore"] == false {
			break
		}
	}
	require.Equal(t, []string{"envelope.created", "envelope.sent"}, names, "in order, even without a subscription")
	s.app().get(t, "/v1/events?cursor=01900000-0000-7000-8000-000000000000").rejected(t, 410, "cursor_expired")

	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.BaseURL+"/v1/events/stream?event=envelope.voided", http.NoBody)
	require.NoError(t, err)
	req.Header.Set("Authorization", "Bearer "+s.token)
	req.Header.Set("Last-Event-ID", cursor)
	res, err := http.DefaultTransport.RoundTrip(req)
	require.NoError(t, err)
	defer func() { _ = res.Body.Close() }()
	s.app().post(t, "/v1/envelopes/"+id+"/void", object{}).want(t, 200)
	var got strings.Builder
	lines := bufio.NewScanner(res.Body)
	for lines.Scan() {
		got.WriteString(lines.Text() + "\n")
		if strings.HasPrefix(lines.Text(), "data: ") && strings.Contains(lines.Text(), id) {
			break
		}
	}
	require.Contains(t, got.String(), "event: envelope.voided\n")
	require.Contains(t, got.String(), id)
	s.check(t, &answer{request: req, response: res, raw: []byte(got.String())}, false)

	// The Go client returns the same events, both from pages and from the stream.
	names = nil
	for ev, err := range s.api.ReadEvents(t.Context(), countersign.EventOptions{}) {
		require.NoError(t, err)
		if ev.EnvelopeID.String() == id {
			names = append(names, string(ev.Event.Event))
		}
	}
	require.Equal(t, []string{"envelope.created", "envelope.sent", "envelope.voided"}, names)
	after, err := uuid.Parse(cursor)
	require.NoError(t, err)
	for ev, err := range s.api.Follow(ctx, countersign.EventOptions{After: after, Name: api.WebhookEventNameEnvelopeVoided}) {
		require.NoError(t, err)
		if ev.EnvelopeID.String() == id {
			break
		}
	}
	s.mu.Lock()
	s.byApps["GET /v1/events/stream"] = true
	s.mu.Unlock()
}
