package api

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"countersign/models"
	"countersign/store"
)

// TestEventStreams checks that a stream sends each event with its ID, and sends only an ID if the filter excludes all
// new events.
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

// quietEvents is a store without events that counts how often it is read.
type quietEvents struct {
	webhookStore

	reads int
}

func (q *quietEvents) Events(context.Context, store.EventQuery) (*store.EventPage, error) {
	q.reads++
	return &store.EventPage{}, nil
}

// TestEventStream_Quiet checks that a stream without events sends a comment every 15 seconds and ends at its maximum
// duration.
func TestEventStream_Quiet(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		events := &quietEvents{}
		stopping := make(chan struct{})
		h := &webhookHandler{subject: subject[webhookStore]{store: events}, streamLimit: 44500 * time.Millisecond, stopping: stopping}
		w := httptest.NewRecorder()
		follow := func(ctx context.Context) time.Duration {
			began := time.Now()
			out := &eventStream{ResponseController: http.NewResponseController(w), w: w, now: time.Now}
			require.NoError(t, h.follow(ctx, out, store.EventQuery{}, &store.EventPage{}))
			return time.Since(began)
		}
		require.Equal(t, h.streamLimit, follow(t.Context()))
		require.Equal(t, 44, events.reads)
		require.Equal(t, "retry: 1000\n\n"+strings.Repeat(": \n\n", 2), w.Body.String())
		h.streamLimit = time.Hour
		ctx, cancel := context.WithTimeout(t.Context(), 1500*time.Millisecond)
		defer cancel()
		require.Equal(t, 1500*time.Millisecond, follow(ctx))
		close(stopping)
		require.Less(t, follow(t.Context()), time.Second)
	})
}

// failingEvents is a store whose queries fail after the first page. If cancel is set, the client disconnects when a
// query fails.
type failingEvents struct {
	webhookStore

	cancel context.CancelFunc
	reads  int
}

func (f *failingEvents) Events(context.Context, store.EventQuery) (*store.EventPage, error) {
	if f.reads++; f.reads == 1 {
		return &store.EventPage{}, nil
	}
	if f.cancel != nil {
		f.cancel()
	}
	return nil, errors.New("connection lost")
}

// TestEventStream_Fails checks that a failure that ends a stream is logged, unless the client has disconnected.
func TestEventStream_Fails(t *testing.T) {
	t.Parallel()
	for _, disconnects := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			events := &failingEvents{}
			if disconnects {
				events.cancel = cancel
			}
			var log strings.Builder
			h := &webhookHandler{subject: subject[webhookStore]{shared: &shared{log: slog.New(slog.NewTextHandler(&log, nil)), now: time.Now}, store: events}, streamLimit: time.Minute}
			h.streams.n = map[uuid.UUID]int{}
			c, _ := gin.CreateTestContext(httptest.NewRecorder())
			c.Request = httptest.NewRequestWithContext(ctx, http.MethodGet, "/v1/events/stream", nil)
			require.NoError(t, h.streamEvents(c, caller{App: &models.App{ID: uuid.New()}}))
			require.Equal(t, 2, events.reads)
			require.Equal(t, !disconnects, strings.Contains(log.String(), `level=WARN msg="event stream failed"`))
			require.Contains(t, log.String(), "event stream closed")
		})
	}
}

// slowReader is a client that has not read the data in time.
type slowReader struct {
	http.ResponseWriter

	deadline time.Time
}

func (s *slowReader) SetWriteDeadline(at time.Time) error { s.deadline = at; return nil }
func (s *slowReader) FlushError() error                   { return context.DeadlineExceeded }

// TestEventStream_SlowClient checks that a client has half a minute to read the data, after which the stream ends.
func TestEventStream_SlowClient(t *testing.T) {
	t.Parallel()
	now := time.Now()
	w := &slowReader{ResponseWriter: httptest.NewRecorder()}
	out := eventStream{ResponseController: http.NewResponseController(w), w: w, now: func() time.Time { return now }}
	require.ErrorIs(t, out.send("x"), errStreamWrite)
	require.Equal(t, now.Add(30*time.Second), w.deadline)
}
