package api

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"countersign/models"
	"countersign/store"
)

// TestEventStreams checks that events are sent with IDs, that only an ID is sent if the filter excludes all new events,
// that nothing is sent if there are no new events, and that the number of streams of an app is limited.
func TestEventStreams(t *testing.T) {
	t.Parallel()
	a, b := uuid.New(), uuid.New()
	event := &models.WebhookEvent{ID: a, Name: "envelope.sent", Body: []byte(`{"x":1}`)}
	line := "id: " + a.String() + "\nevent: envelope.sent\ndata: {\"x\":1}\n\n"
	for _, c := range []struct {
		page store.EventPage
		sent uuid.UUID
		want string
	}{
		{store.EventPage{Events: []*models.WebhookEvent{event}, Cursor: a}, uuid.Nil, line},
		{store.EventPage{Events: []*models.WebhookEvent{event}, Cursor: b}, uuid.Nil, line + "id: " + b.String() + "\n\n"},
		{store.EventPage{Cursor: b}, a, "id: " + b.String() + "\n\n"},
		{store.EventPage{Cursor: b}, b, ""},
		{store.EventPage{}, uuid.Nil, ""},
	} {
		w := httptest.NewRecorder()
		out := eventStream{ResponseController: http.NewResponseController(w), w: w, now: time.Now}
		require.NoError(t, out.sendPage(&c.page, c.sent))
		require.Equal(t, c.want, w.Body.String())
		require.Equal(t, c.want != "", w.Flushed)
	}
	var streams openStreams
	for range maxStreams {
		require.True(t, streams.open(a))
	}
	require.False(t, streams.open(a))
	require.True(t, streams.open(b))
	streams.close(b)
	require.NotContains(t, streams.n, b)
	streams.close(a)
	require.True(t, streams.open(a))
}

// TestEventID checks that only the canonical form of an ID is accepted, and that the nil UUID is rejected.
func TestEventID(t *testing.T) {
	t.Parallel()
	id := uuid.New()
	for text, ok := range map[string]bool{
		id.String(): true, "": false, uuid.Nil.String(): false, "{" + id.String() + "}": false, strings.ReplaceAll(id.String(), "-", ""): false, "x": false,
	} {
		p := models.Problems{}
		eventID(p, "cursor", text)
		require.Equal(t, ok, len(p) == 0, "%q", text)
	}
}
