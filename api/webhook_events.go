package api

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"

	"countersign/models"
	"countersign/store"
)

const (
	defaultEvents = 100
	maxEvents     = 500
	// streamPoll is the interval at which a stream queries the database for new events.
	streamPoll = time.Second
	// streamSilence is the time without events after which a stream sends a comment, so that proxies do not close the
	// connection.
	streamSilence = 15 * time.Second
	// streamWrite is the time limit for each write to the client.
	streamWrite = 30 * time.Second
	// streamLimit is the maximum duration of a stream. After that time, the client must reconnect with its credential.
	streamLimit = 15 * time.Minute
	// maxStreams is the maximum number of streams that an app may have open in each process.
	maxStreams = 20
)

// listEvents responds with a page of the app's events, oldest first.
func (s *webhookHandler) listEvents(c *gin.Context, app caller) error {
	p := models.Problems{}
	q := s.eventQuery(c, p, app)
	q.Limit = query(c, p, "limit", defaultEvents, maxEvents)
	q.Since = queryTime(c, p, "since")
	if err := p.Err(); err != nil {
		return err
	}
	page, err := s.store.Events(c.Request.Context(), q)
	if err != nil {
		return err
	}
	data := make([]json.RawMessage, 0, len(page.Events))
	for _, ev := range page.Events {
		data = append(data, ev.Body)
	}
	if n := len(page.Events); n > 0 {
		s.logSecurityEvent(c, "events read", "app", app.ID, "count", n, "first", page.Events[0].ID, "last", page.Events[n-1].ID)
	}
	return respond(c, http.StatusOK, gin.H{"data": data, "nextCursor": nilIfZero(page.Cursor), "hasMore": page.More})
}

func (s *webhookHandler) eventQuery(c *gin.Context, p models.Problems, app caller) store.EventQuery {
	q := store.EventQuery{App: app.ID, Tenants: app.Tenants}
	if text, present := c.GetQuery("cursor"); present {
		q.After = eventID(p, "cursor", text)
	}
	if name, present := c.GetQuery("event"); present {
		q.Name = models.EventName(name)
		if !q.Name.IsWebhookEvent() {
			p.Add("event", "is not a webhook event")
		}
	}
	return q
}

func eventID(p models.Problems, name, text string) uuid.UUID {
	id, err := uuid.Parse(text)
	if err != nil || len(text) != 36 || id == uuid.Nil {
		p.Add(name, "must be the id of an event")
	}
	return id
}

// streamEvents sends the app's events as server-sent events as they occur. The stream begins after the event in
// Last-Event-ID or cursor, or otherwise with the next new event.
func (s *webhookHandler) streamEvents(c *gin.Context, app caller) error {
	p := models.Problems{}
	q := s.eventQuery(c, p, app)
	q.Limit = defaultEvents
	if last := c.GetHeader("Last-Event-ID"); last != "" {
		q.After = eventID(p, "Last-Event-ID", last)
	}
	q.Latest = q.After == uuid.Nil
	if err := p.Err(); err != nil {
		return err
	}
	if !s.streams.open(app.ID) {
		return &models.Error{
			Kind: models.KindRateLimited, Code: "too_many_streams", RetryAfter: streamPoll,
			Message: fmt.Sprintf("An app can have at most %d open event streams. Close one first.", maxStreams),
		}
	}
	defer s.streams.close(app.ID)
	page, err := s.store.Events(c.Request.Context(), q) // done before the response begins, so that an error can still be sent
	if err != nil {
		return err
	}
	c.Header("Content-Type", "text/event-stream; charset=utf-8")
	c.Header("X-Accel-Buffering", "no")
	out := &eventStream{ResponseController: http.NewResponseController(c.Writer), w: c.Writer, now: s.now}
	if c.Request.Method == http.MethodHead {
		return nil
	}
	if err := out.SetReadDeadline(time.Time{}); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return nil //nolint:nilerr // the client has disconnected
	}
	s.logSecurityEvent(c, "event stream opened", "app", app.ID, "after", q.After)
	defer func() {
		s.logSecurityEvent(c, "event stream closed", "app", app.ID, "count", out.count, "last", out.last)
	}()
	// Any later failure ends the stream. The client reconnects and continues after the last event that it received.
	if err := s.follow(c.Request.Context(), out, q, page); err != nil && c.Request.Context().Err() == nil && !errors.Is(err, errStreamWrite) {
		s.log.WarnContext(c.Request.Context(), "event stream failed", "request", requestID(c), "error", err)
	}
	return nil
}

// follow sends the given page and all later events until the client disconnects, the process stops, or the stream
// reaches its maximum duration.
func (s *webhookHandler) follow(ctx context.Context, out *eventStream, q store.EventQuery, page *store.EventPage) error {
	defer func() { _ = out.SetWriteDeadline(time.Time{}) }() // the connection may be used for other requests
	end := time.NewTimer(s.streamLimit)
	defer end.Stop()
	ticker := time.NewTicker(streamPoll)
	defer ticker.Stop()
	if err := out.send("retry: 1000\n\n"); err != nil {
		return err
	}
	quiet := time.Duration(0)
	sent := q.After
	for {
		if err := out.sendPage(page, sent); err != nil {
			return err
		}
		if page.Cursor != sent {
			quiet = 0
		}
		sent = page.Cursor
		q.After, q.Latest = page.Cursor, false // if the app had no events at first, all later events are new
		if !page.More {
			select {
			case <-ctx.Done():
				return nil
			case <-s.stopping:
				return nil
			case <-end.C:
				return nil
			case <-ticker.C:
			}
			if quiet += streamPoll; quiet >= streamSilence {
				quiet = 0
				if err := out.send(": \n\n"); err != nil {
					return err
				}
			}
		}
		var err error
		if page, err = s.store.Events(ctx, q); err != nil {
			return err
		}
	}
}

// errStreamWrite reports that the client did not read the data in time.
var errStreamWrite = errors.New("the client is not reading")

type eventStream struct {
	*http.ResponseController

	w   http.ResponseWriter
	now func() time.Time

	count int       // number of events sent
	last  uuid.UUID // ID of the last event sent
}

// sendPage sends the events of a page. If the page's cursor is beyond the last event sent, it also sends the cursor as
// an ID without data. The client does not receive such an ID as an event, but continues from it after reconnecting.
func (o *eventStream) sendPage(page *store.EventPage, sent uuid.UUID) error {
	var b bytes.Buffer
	for _, ev := range page.Events {
		fmt.Fprintf(&b, "id: %s\nevent: %s\ndata: %s\n\n", ev.ID, ev.Name, ev.Body)
		sent = ev.ID
	}
	if page.Cursor != sent {
		fmt.Fprintf(&b, "id: %s\n\n", page.Cursor)
	}
	if b.Len() == 0 {
		return nil
	}
	if err := o.send(b.String()); err != nil {
		return err
	}
	if n := len(page.Events); n > 0 {
		o.count, o.last = o.count+n, page.Events[n-1].ID
	}
	return nil
}

func (o *eventStream) send(text string) error {
	err := o.SetWriteDeadline(o.now().Add(streamWrite))
	if err == nil || errors.Is(err, http.ErrNotSupported) {
		_, err = io.WriteString(o.w, text)
	}
	if err == nil {
		err = o.Flush()
	}
	if err != nil && !errors.Is(err, http.ErrNotSupported) {
		return fmt.Errorf("%w: %w", errStreamWrite, err)
	}
	return nil
}

// openStreams counts the open streams of each app.
type openStreams struct {
	mu sync.Mutex
	n  map[uuid.UUID]int
}

func (o *openStreams) open(app uuid.UUID) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.n[app] >= maxStreams {
		return false
	}
	if o.n == nil {
		o.n = make(map[uuid.UUID]int)
	}
	o.n[app]++
	return true
}

func (o *openStreams) close(app uuid.UUID) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.n[app]--; o.n[app] == 0 {
		delete(o.n, app)
	}
}
