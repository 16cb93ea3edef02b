package api

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"countersign/models"
)

// TestWebhookRequests checks that duplicate events are removed, and that the length of a secret is limited.
func TestWebhookRequests(t *testing.T) {
	t.Parallel()
	o := objectOf(t, `{"events":["envelope.sent","envelope.sent","envelope.completed"]}`)
	require.Equal(t, []models.EventName{"envelope.sent", "envelope.completed"}, webhookEvents(o))
	require.Empty(t, o.p)
	o = objectOf(t, `{"events":["envelope.sent","nope",7]}`)
	require.Equal(t, []models.EventName{"envelope.sent"}, webhookEvents(o))
	require.Equal(t, models.Problems{"events[1]": {"is not a webhook event"}, "events[2]": {"is not a webhook event"}}, o.p)
	for _, n := range []int{0, 1, 100, 101} {
		list := `"envelope.sent"`
		o = objectOf(t, fmt.Sprintf(`{"events":[%s]}`, strings.Trim(strings.Repeat(list+",", n), ",")))
		webhookEvents(o)
		require.Equal(t, n == 0 || n == 101, len(o.p) > 0, "%d", n)
	}
	for text, ok := range map[string]bool{"null": true, `""`: false, `"x"`: true, `"` + strings.Repeat("x", 256) + `"`: true, `"` + strings.Repeat("x", 257) + `"`: false, `7`: false} {
		o := objectOf(t, `{"secret":`+text+`}`)
		webhookSecret(o)
		require.Equal(t, ok, len(o.p) == 0, "%.20s", text)
	}
	require.Empty(t, webhookSecret(objectOf(t, "{}")))
}
