package cli

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"countersign/models"
)

// TestSampleEvents_MatchRealEvents checks that a sample event has the same members as a real event of the same kind.
func TestSampleEvents_MatchRealEvents(t *testing.T) {
	t.Parallel()
	about := map[models.EventName]bool{ // events about a single signer (docs/build/webhooks.md)
		models.EventEnvelopeDeclined: true, models.EventSignerViewed: true, models.EventSignerSigned: true, models.EventSignerDeclined: true, models.EventSignerOTPFailed: true,
		models.EventInvitationFailed: true, models.EventReminderSent: true, models.EventSignerReplaced: true, models.EventSignerDelegated: true, models.EventCopySent: true,
		models.EventLinkIssued: true,
	}
	completed := map[models.EventName]bool{models.EventEnvelopeCompleted: true, models.EventDocumentStamped: true, models.EventDocumentPurged: true, models.EventCopySent: true}
	for _, name := range models.WebhookEvents {
		id, body, err := sampleEvent(name)
		require.NoError(t, err, name)
		var got map[string]any
		require.NoError(t, json.Unmarshal(body, &got))
		require.Equal(t, string(name), got["event"])
		require.Equal(t, id.String(), got["id"])
		data, ok := got["data"].(map[string]any)
		require.True(t, ok, name)
		if name == models.EventBulkCompleted {
			require.NotContains(t, got, "envelopeId", name)
			require.Contains(t, data, "bulkSendId")
			require.Contains(t, data, "counts")
			continue
		}
		require.Equal(t, got["envelopeId"], data["envelopeId"], name)
		require.Equal(t, about[name], data["signer"] != nil, name)
		require.Equal(t, completed[name], data["status"] == "completed", name)
	}
}
