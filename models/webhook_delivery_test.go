package models_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"countersign/models"
)

// TestLateAttempts: the last attempt of a run before does not fail a delivery that
// was sent again, and none fails one that has arrived.
func TestLateAttempts(t *testing.T) {
	t.Parallel()
	d := &models.Delivery{Status: models.DeliveryPending, Run: 1, RunAttempts: 2, Attempts: 7}
	d.Record(&models.DeliveryAttempt{At: start}, models.DeliveryOutcome{Run: 0, Last: true})
	assert.Equal(t, &models.Delivery{Status: models.DeliveryPending, Run: 1, RunAttempts: 2, Attempts: 8}, d)
	d.Record(&models.DeliveryAttempt{At: start}, models.DeliveryOutcome{Run: 0, Delivered: true})
	d.Record(&models.DeliveryAttempt{At: start.Add(1)}, models.DeliveryOutcome{Run: 1, Last: true})
	assert.Equal(t, &models.Delivery{Status: models.DeliveryDelivered, DeliveredAt: &start, Run: 1, RunAttempts: 3, Attempts: 10}, d)
}
