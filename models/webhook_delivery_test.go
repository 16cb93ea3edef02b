package models_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"countersign/models"
)

// TestLateAttempt_DoesNotFailAResend checks that the last attempt of an earlier run does not fail a resent delivery,
// and that no attempt fails a successful one.
func TestLateAttempt_DoesNotFailAResend(t *testing.T) {
	t.Parallel()
	d := &models.Delivery{Status: models.DeliveryPending, Run: 1, RunAttempts: 2, Attempts: 7}
	d.Record(&models.DeliveryAttempt{At: start}, models.DeliveryOutcome{Run: 0, Last: true})
	assert.Equal(t, &models.Delivery{Status: models.DeliveryPending, Run: 1, RunAttempts: 2, Attempts: 8}, d)
	d.Record(&models.DeliveryAttempt{At: start}, models.DeliveryOutcome{Run: 0, Delivered: true})
	d.Record(&models.DeliveryAttempt{At: start.Add(1)}, models.DeliveryOutcome{Run: 1, Last: true})
	assert.Equal(t, &models.Delivery{Status: models.DeliveryDelivered, DeliveredAt: &start, Run: 1, RunAttempts: 3, Attempts: 10}, d)
}
