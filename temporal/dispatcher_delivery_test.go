package temporal_test

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/converter"

	"countersign/models"
	"countersign/temporal"
)

// TestResend_StartsItsOwnWorkflow checks that each resend of a delivery has its own workflow, which receives the number
// of the resend.
func TestResend_StartsItsOwnWorkflow(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.Delays = []time.Duration{0, time.Minute}
	hook, delivery := uuid.New(), uuid.New()
	for run := range 3 {
		f.outbox.rows = []models.OutboxRow{{
			Seq: int64(run + 1), ID: uuid.New(), Key: delivery, Kind: models.OutboxDeliver,
			Refs: models.OutboxRefs{AppID: uuid.New(), WebhookID: &hook, Resend: run},
		}}
		f.dispatch(t)
		assert.Empty(t, f.outbox.rows)
	}
	for run := range 3 {
		it := f.c.GetWorkflowHistory(t.Context(), temporal.DeliveryWorkflowID(delivery, run), "", false, enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
		require.True(t, it.HasNext())
		ev, err := it.Next()
		require.NoError(t, err)
		var in temporal.DeliveryInput
		require.NoError(t, converter.GetDefaultDataConverter().FromPayloads(ev.GetWorkflowExecutionStartedEventAttributes().Input, &in))
		assert.Equal(t, temporal.DeliveryInput{DeliveryID: delivery, WebhookID: hook, Delays: f.Delays, Resend: run}, in)
	}
}
