package store

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgconn"

	"countersign/models"
)

// externalIDHolder finds the envelope that has an external id: one that has not failed.
const externalIDHolder = "SELECT id FROM envelopes WHERE app_id = $1 AND tenant_id = $2 AND external_id = $3 AND status NOT IN ('voided', 'declined', 'expired', 'deleted')"

// queueExternalID adds the query for the envelope that has e's external id already;
// uuid.Nil: there is none.
func queueExternalID(b *batch, e *models.Envelope) *uuid.UUID {
	taken := new(uuid.UUID)
	if e.ExternalID != nil {
		b.query(func(r row) error { return r.Scan(taken) }, externalIDHolder, e.AppID, e.TenantID, *e.ExternalID)
	}
	return taken
}

// externalIDTaken refuses an external id that another envelope has.
func externalIDTaken(by uuid.UUID) error {
	err := models.Refuse(models.KindConflict, "external_id_taken", "Another envelope of the tenant has this externalId.")
	err.Details = map[string]any{"envelopeId": by}
	return err
}

// externalIDConflict is the error of making e, and the refusal of its external id where another
// envelope got that at the same time.
func (s *EnvelopeRepository) externalIDConflict(ctx context.Context, e *models.Envelope, err error) error {
	if !isExternalIDConflict(err, "envelopes") {
		return err
	}
	var taken *uuid.UUID
	err = s.transact(ctx, readOnly, func(t *transaction) error {
		taken = queueExternalID(&t.batch, e)
		return nil
	})
	if err != nil {
		return fmt.Errorf("look for the external id: %w", err)
	}
	return externalIDTaken(*taken)
}

// isExternalIDConflict reports that the index of a table's external ids refused a row.
func isExternalIDConflict(err error, table string) bool {
	if refused, ok := errors.AsType[*pgconn.PgError](err); ok {
		return refused.ConstraintName == table+"_external_id"
	}
	return err != nil && strings.Contains(err.Error(), fmt.Sprintf("UNIQUE constraint failed: %[1]s.app_id, %[1]s.tenant_id, %[1]s.external_id", table))
}
