package api_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"countersign/api"
	"countersign/models"
	"countersign/store"
	"countersign/test/kit"
)

// readAll reads all of an app's events after a cursor, in pages of the given size.
func readAll(c *client, cursor string, limit int, more string) (events []object, next string) {
	c.t.Helper()
	for next = cursor; ; {
		path := fmt.Sprintf("/v1/events?limit=%d%s", limit, more)
		if next != "" {
			path += "&cursor=" + next
		}
		a := c.get(path).want(200)
		for _, e := range a.body["data"].([]any) {
			events = append(events, e.(object))
		}
		next, _ = a.body["nextCursor"].(string)
		if a.body["hasMore"] == false {
			return events, next
		}
	}
}

func eventNames(events []object) (names []string) {
	for _, e := range events {
		names = append(names, e["event"].(string))
	}
	return names
}

func TestEvents_AreInOrder(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, s *service) {
		c := s.client(t)
		a := c.get("/v1/events").want(200)
		require.Empty(t, a.body["data"])
		require.Nil(t, a.body["nextCursor"])

		e, _ := c.sent(contract())
		c.post("/v1/envelopes/"+e.str("id")+"/void", object{"reason": "No."}).want(200)
		want := []string{"envelope.created", "envelope.sent", "envelope.voided"}
		events, cursor := readAll(c, "", 100, "")
		require.Equal(t, want, eventNames(events), "even without a subscription")
		require.Equal(t, cursor, events[2]["id"])
		one, _ := readAll(c, "", 1, "")
		require.Equal(t, events, one, "also one event at a time")
		none, same := readAll(c, cursor, 100, "")
		require.Empty(t, none)
		require.Equal(t, cursor, same)

		// The events equal the webhook bodies.
		data := events[2]["data"].(object)
		require.Equal(t, e.str("id"), data["envelopeId"])
		require.Equal(t, "voided", data["status"])
		require.Equal(t, "No.", data["reason"])

		// If a filter is set, the cursor also advances past events that do not match.
		sent, after := readAll(c, "", 100, "&event=envelope.sent")
		require.Equal(t, []string{"envelope.sent"}, eventNames(sent))
		require.Equal(t, cursor, after)
		none, _ = readAll(c, after, 100, "&event=envelope.sent")
		require.Empty(t, none)

		// The parameter "since" selects events after the given time.
		s.clock.advance(time.Minute)
		since := s.clock.now().Format(time.RFC3339)
		c.sent(contract())
		late, _ := readAll(c, "", 100, "&since="+since)
		require.Equal(t, want[:2], eventNames(late))
		none, _ = readAll(c, "", 100, "&since="+s.clock.now().Add(time.Hour).Format(time.RFC3339))
		require.Empty(t, none)
	})
}

func TestEvents_OfOthersAreHidden(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, s *service) {
		c := s.client(t)
		c.sent(contract())
		mine, cursor := readAll(c, "", 100, "")
		require.Len(t, mine, 2)

		other := s.other(t)
		theirs, _ := readAll(other, "", 100, "")
		require.Empty(t, theirs)
		other.get("/v1/events?cursor="+cursor).rejected(410, "cursor_expired")
		other.head = http.Header{"Last-Event-Id": {cursor}}
		other.get("/v1/events/stream").rejected(410, "cursor_expired")

		// A client restricted to certain tenants reads only their events and skips all others.
		app, _, err := s.store.CreateApp(t.Context(), "Narrow", models.PlanPro, nil)
		require.NoError(t, err)
		token, err := s.cfg.Tokens.IssueAccess(app.ID)
		require.NoError(t, err)
		narrow := &client{t: t, s: s, token: token}
		narrow.sent(contract())
		all, cursor := readAll(narrow, "", 100, "")
		require.Len(t, all, 2)
		tenants := []string{"globex"}
		_, err = s.store.UpdateApp(t.Context(), app.ID, store.AppChange{Tenants: &tenants})
		require.NoError(t, err)
		s.clock.advance(2 * time.Second) // makes the cached app expire
		visible, end := readAll(narrow, "", 100, "")
		require.Empty(t, visible)
		require.Equal(t, cursor, end)
	})
}

// TestEvents_AreNeverMissed checks that a reader receives each event exactly once, even if concurrent writers commit
// events in a different order.
func TestEvents_AreNeverMissed(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, s *service) {
		const writers, each = 8, 6
		done := make(chan struct{})
		for range writers {
			c := s.client(t)
			go func() {
				defer func() { done <- struct{}{} }()
				for range each {
					c.sent(contract())
				}
			}()
		}
		reader := s.client(t)
		seen := map[string]int{}
		lastOf := map[string]string{} // last event of each envelope
		cursor := ""
		left := writers
		for {
			select {
			case <-done:
				left--
			default:
			}
			ended := left == 0
			var events []object
			events, cursor = readAll(reader, cursor, 7, "")
			for _, e := range events {
				seen[e["id"].(string)]++
				id := e["envelopeId"].(string)
				if e["event"] == "envelope.sent" {
					require.Equal(t, "envelope.created", lastOf[id], "the order of an envelope's events is preserved")
				}
				lastOf[id] = e["event"].(string)
			}
			if ended {
				break
			}
		}
		require.Len(t, seen, 2*writers*each)
		for id, n := range seen {
			require.Equal(t, 1, n, id)
		}
		again, _ := readAll(reader, "", 500, "")
		require.Len(t, again, len(seen), "a second reader receives the same events")
	})
}

func TestEvents_Expire(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, s *service) {
		c := s.client(t)
		c.sent(contract())
		old, last := readAll(c, "", 100, "")
		require.Len(t, old, 2)
		const day = 24 * time.Hour
		s.clock.advance(92 * day)
		c = s.client(t)
		none, cursor := readAll(c, last, 100, "")
		require.Empty(t, none)
		require.Equal(t, last, cursor, "no event followed the cursor, so none was missed")
		require.NoError(t, kit.RemoveExpired(t.Context(), s.store))
		none, _ = readAll(c, last, 100, "")
		require.Empty(t, none, "the newest event is retained for readers that use its id as cursor")
		c.get("/v1/events?cursor="+old[0]["id"].(string)).rejected(410, "cursor_expired")

		c.sent(contract())
		fresh, _ := readAll(c, last, 100, "")
		require.Len(t, fresh, 2)
		s.clock.advance(92 * day)
		require.NoError(t, kit.RemoveExpired(t.Context(), s.store))
		c = s.client(t)
		c.get("/v1/events?cursor="+last).rejected(410, "cursor_expired")
		c.get("/v1/events?cursor="+fresh[0]["id"].(string)).rejected(410, "cursor_expired")
		none, _ = readAll(c, fresh[1]["id"].(string), 100, "")
		require.Empty(t, none)
		c.get("/v1/events?cursor="+uuid.NewString()).rejected(410, "cursor_expired")
	})
}

// TestEvents_UnreadExpire checks that unread events are eventually deleted, and that a later reader is notified of the
// gap.
func TestEvents_UnreadExpire(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, s *service) {
		c := s.client(t)
		c.sent(contract())
		_, last := readAll(c, "", 100, "")
		c.sent(contract()) // this event is not read
		s.clock.advance(92 * 24 * time.Hour)
		require.NoError(t, kit.RemoveExpired(t.Context(), s.store))
		c = s.client(t)
		c.get("/v1/events?cursor="+last).rejected(410, "cursor_expired")
		events, next := readAll(c, "", 100, "")
		require.Empty(t, events)
		require.NotEmpty(t, next)
		c.sent(contract())
		events, _ = readAll(c, next, 100, "")
		require.Len(t, events, 2)
	})
}

// stream reads an event stream until it has received n events or the stream ends.
func stream(t *testing.T, s *service, token, last string, query string, n int) (ids, names []string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.URL+"/v1/events/stream"+query, http.NoBody)
	require.NoError(t, err)
	req.Header.Set("Authorization", "Bearer "+token)
	if last != "" {
		req.Header.Set("Last-Event-ID", last)
	}
	res, err := http.DefaultTransport.RoundTrip(req)
	require.NoError(t, err)
	defer func() { _ = res.Body.Close() }()
	require.Equal(t, 200, res.StatusCode)
	require.Contains(t, res.Header.Get("Content-Type"), "text/event-stream")
	lines := bufio.NewScanner(res.Body)
	for lines.Scan() {
		name, value, _ := strings.Cut(lines.Text(), ": ")
		switch name {
		case "id":
			ids = append(ids, value)
		case "event":
			names = append(names, value)
		case "data":
			require.True(t, json.Valid([]byte(value)))
			if len(names) == n {
				return ids, names
			}
		}
	}
	return ids, names
}

func TestEventStream_Continues(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, s *service) {
		c := s.client(t)
		c.sent(contract())
		_, last := readAll(c, "", 100, "")
		ids, names := stream(t, s, c.token, "", "", 1)
		require.Empty(t, names, "earlier events are not sent again")
		require.Equal(t, []string{last}, ids, "the id from which to continue is sent")

		long := s.cfg
		long.StreamLimit = time.Minute
		h, err := api.New(long)
		require.NoError(t, err)
		s.Config.Handler = h
		made := make(chan struct{})
		go func() { defer close(made); c.sent(contract()) }()
		ids, names = stream(t, s, c.token, last, "", 2)
		<-made
		both := []string{"envelope.created", "envelope.sent"}
		require.Equal(t, both, names)
		_, names = stream(t, s, c.token, last, "?event=envelope.sent", 1)
		require.Equal(t, both[1:], names)
		_, names = stream(t, s, c.token, ids[0], "", 1)
		require.Equal(t, both[1:], names, "the stream continues after the last id")
		_, names = stream(t, s, c.token, "", "?cursor="+last, 2)
		require.Equal(t, both, names)

		c.head = http.Header{"Last-Event-Id": {"x"}}
		c.get("/v1/events/stream").rejected(400, "validation_error")
		nobody := &client{t: t, s: s}
		nobody.get("/v1/events/stream").want(401)
		nobody.get("/v1/events").want(401)
	})
}

func TestEventStream_LimitPerApp(t *testing.T) {
	t.Parallel()
	s := onSQLite(t, nil)
	long := s.cfg
	long.StreamLimit = time.Minute
	stop := make(chan struct{})
	long.Stopping = stop
	h, err := api.New(long)
	require.NoError(t, err)
	s.Config.Handler = h
	c := s.client(t)
	var open []*http.Response
	for range 20 {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL+"/v1/events/stream", http.NoBody)
		require.NoError(t, err)
		req.Header.Set("Authorization", "Bearer "+c.token)
		res, err := http.DefaultTransport.RoundTrip(req)
		require.NoError(t, err)
		require.Equal(t, 200, res.StatusCode)
		open = append(open, res)
	}
	a := c.get("/v1/events/stream").rejected(429, "too_many_streams")
	require.Equal(t, "1", a.header.Get("Retry-After"))
	close(stop) // the process stops, which ends the streams
	for _, res := range open {
		_, err := bufio.NewReader(res.Body).ReadString(0)
		require.ErrorContains(t, err, "EOF")
		require.NoError(t, res.Body.Close())
	}
	c.get("/v1/events/stream").want(200)
}

// TestEvents_ReadsAreLogged checks that reading events is logged with IDs but without contents.
func TestEvents_ReadsAreLogged(t *testing.T) {
	t.Parallel()
	var log logBuffer
	s := onSQLite(t, func(cfg *api.Config) {
		cfg.Log = slog.New(slog.NewTextHandler(&log, nil))
		cfg.StreamLimit = time.Minute
	})
	c := s.client(t)
	c.get("/v1/events").want(200)
	require.NotContains(t, log.String(), "events read", "there were no events to read")
	e, _ := c.sent(contract())
	events, last := readAll(c, "", 1, "")
	require.Len(t, events, 2)
	app := "app=" + s.app.ID.String()
	for _, ev := range events {
		id := ev["id"].(string)
		require.Contains(t, log.String(), `msg="events read" `+app+" count=1 first="+id+" last="+id)
	}

	s.person(t, models.RoleAdmin).get("/v1/events").want(401)

	first := events[0]["id"].(string)
	_, names := stream(t, s, c.token, first, "", 1)
	require.Equal(t, []string{"envelope.sent"}, names)
	require.Contains(t, log.String(), `msg="event stream opened" `+app+" after="+first)
	require.Eventually(t, func() bool {
		return strings.Contains(log.String(), `msg="event stream closed" `+app+" count=1 last="+last)
	}, 30*time.Second, 10*time.Millisecond)
	require.NotContains(t, log.String(), e.str("subject"))
	require.NotContains(t, log.String(), "ada@example.com")
}
