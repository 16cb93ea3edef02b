package models_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"countersign/models"
)

// TestBulkSend_EveryStateAndAction checks that each action in each status either leads to the listed status or is
// rejected.
func TestBulkSend_EveryStateAndAction(t *testing.T) {
	t.Parallel()
	start, later := time.Date(2026, 11, 22, 8, 0, 0, 0, time.UTC), time.Date(2026, 11, 22, 9, 0, 0, 0, time.UTC)
	actions := []models.BulkAction{models.BulkStart, models.BulkPause, models.BulkResume, models.BulkCancel, models.BulkRetry, models.BulkFinish}
	for from, next := range map[models.BulkStatus][]models.BulkStatus{
		"queued":    {"running", "paused", "queued", "cancelled", "queued", "completed"},
		"running":   {"running", "paused", "running", "cancelled", "running", "completed"},
		"paused":    {"", "paused", "running", "cancelled", "paused", ""},
		"completed": {"", "", "", "", "running", ""},
		"cancelled": {"", "", "", "cancelled", "", ""},
	} {
		assert.Equal(t, from == "completed" || from == "cancelled", from.Ended(), from)
		for i, want := range next {
			b := models.BulkSend{Status: from}
			if from.Ended() {
				b.CompletedAt = &start
			}
			changed, err := b.Apply(actions[i], later)
			if want == "" {
				var rejected *models.Error
				require.ErrorAs(t, err, &rejected, "%s of %s", actions[i], from)
				assert.Equal(t, "bulk_send_"+string(from), rejected.Code)
				assert.Equal(t, from, b.Status)
				continue
			}
			require.NoError(t, err, "%s of %s", actions[i], from)
			assert.Equal(t, []any{want, want != from}, []any{b.Status, changed}, "%s of %s", actions[i], from)
			switch {
			case !want.Ended():
				assert.Nil(t, b.CompletedAt, "%s of %s", actions[i], from)
			case want == from:
				assert.Equal(t, start, *b.CompletedAt, "a bulk send ends only once")
			default:
				assert.Equal(t, later, *b.CompletedAt)
			}
		}
	}
}

// TestBulkSend_CountsRowsByStatus checks that rows are counted by status, including in the completion event.
func TestBulkSend_CountsRowsByStatus(t *testing.T) {
	t.Parallel()
	var counts models.BulkCounts
	for i, s := range models.BulkRowStatuses {
		assert.True(t, s.Valid())
		counts.Add(s, i+1)
	}
	assert.False(t, models.BulkRowStatus("lost").Valid())
	assert.Equal(t, models.BulkCounts{Pending: 1, Sent: 2, Failed: 3, Canceled: 4}, counts)
	id, bulk, at := uuid.New(), uuid.New(), time.Date(2026, 11, 22, 8, 0, 0, 0, time.UTC)
	body, err := models.BulkCompletedPayload(id, bulk, counts, at)
	require.NoError(t, err)
	var got map[string]any
	require.NoError(t, json.Unmarshal(body, &got))
	assert.Equal(t, map[string]any{
		"event": "bulk.completed", "id": id.String(), "createdAt": "2026-11-22T08:00:00Z",
		"data": map[string]any{"bulkSendId": bulk.String(), "counts": map[string]any{"pending": 1.0, "sent": 2.0, "failed": 3.0, "cancelled": 4.0}},
	}, got)
	app := uuid.New()
	assert.NotEqual(t, app, models.BulkFairnessKey(app))
	for n, ok := range map[int]bool{-1: false, 0: true, models.MaxBulkPerMinute: true, models.MaxBulkPerMinute + 1: false} {
		p := models.Problems{}
		(&models.BulkSend{TenantID: "t", PerMinute: n}).Check(p)
		assert.Equal(t, ok, len(p) == 0, n)
	}
}
