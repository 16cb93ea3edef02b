package store

import (
	"github.com/google/uuid"

	"countersign/models"
)

// externalIDHolder selects the envelope that currently holds an external ID. Envelopes that were voided, declined or
// deleted, or that have expired, do not hold one.
const externalIDHolder = "SELECT id FROM envelopes WHERE app_id = $1 AND tenant_id = $2 AND external_id = $3 AND status NOT IN ('voided', 'declined', 'expired', 'deleted')"

// queueExternalID locks e's external ID, and adds a query for the envelope that already holds it. The result is
// uuid.Nil if there is none.
func queueExternalID(t *transaction, e *models.Envelope) *uuid.UUID {
	holder := new(uuid.UUID)
	if e.ExternalID != nil {
		t.lockExternalID("envelopes", e.AppID, e.TenantID, *e.ExternalID)
		t.query(func(r row) error { return r.Scan(holder) }, externalIDHolder, e.AppID, e.TenantID, *e.ExternalID)
	}
	return holder
}

// externalIDTaken returns the error for an external ID that another envelope holds.
func externalIDTaken(by uuid.UUID) error {
	err := models.Reject(models.KindConflict, "external_id_taken", "Another envelope of the tenant has this externalId.")
	err.Details = map[string]any{"envelopeId": by}
	return err
}
