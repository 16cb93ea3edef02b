package api_test

import (
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"countersign/api"
	"countersign/models"
)

// TestReadersOfEventsAreLogged: an operator can tell who read which events; the log
// has ids and no contents.
func TestReadersOfEventsAreLogged(t *testing.T) {
	t.Parallel()
	var log logBuffer
	s := onSQLite(t, func(cfg *api.Config) {
		cfg.Log = slog.New(slog.NewTextHandler(&log, nil))
		cfg.StreamLimit = time.Minute
	})
	c := s.client(t)
	c.get("/v1/events").want(200)
	require.NotContains(t, log.String(), "events read", "nothing was there to be read")
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
	require.Contains(t, log.String(), `msg="stream of events opened" `+app+" after="+first)
	require.Eventually(t, func() bool {
		return strings.Contains(log.String(), `msg="stream of events closed" `+app+" count=1 last="+last)
	}, 30*time.Second, 10*time.Millisecond)
	require.NotContains(t, log.String(), e.str("subject"))
	require.NotContains(t, log.String(), "ada@example.com")
}
