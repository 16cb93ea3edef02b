package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgconn"

	"countersign/models"
)

// removeRows adds the removal of the parts that a draft does not have any more. A
// deleted draft is not searched for either.
func removeRows(b *batch, e *models.Envelope, was *loadedState) {
	remove(b, "fields", e.Fields, was.fields) // first: they name their signer
	remove(b, "signers", e.Recipients(), was.signers)
	remove(b, "documents", e.Documents, was.documents)
	if e.Status == models.StatusDeleted {
		b.exec("DELETE FROM envelope_search WHERE envelope_id = $1", e.ID)
	}
}

func remove[T identified](b *batch, table string, rows []*T, old map[uuid.UUID]T) {
	if len(old) == 0 {
		return
	}
	kept := setOf(mapSlice(rows, idOf[T]))
	var gone []uuid.UUID
	for id := range old {
		if !kept[id] {
			gone = append(gone, id)
		}
	}
	for page := range slices.Chunk(gone, insertPage) {
		in, args := inList(page)
		b.exec("DELETE FROM "+table+" WHERE id "+in, args...)
	}
}

// makeRoomInOrder moves documents that change places out of the way: no two of an
// envelope may have one place, not even between two statements.
func makeRoomInOrder(b *batch, e *models.Envelope, was *loadedState) {
	for _, d := range e.Documents {
		if old, ok := was.documents[d.ID]; ok && old.Order != d.Order {
			b.exec("UPDATE documents SET document_order = -document_order WHERE id = $1", d.ID)
		}
	}
}

// searchChanged reports whether the envelope is found by something else than it was.
func searchChanged(e *models.Envelope, was *loadedState) bool {
	if e.Status == models.StatusDeleted {
		return false
	}
	if !equalText(e.Subject, was.envelope.Subject) || len(e.Recipients()) != len(was.signers) {
		return true
	}
	return slices.ContainsFunc(e.Recipients(), func(s *models.Signer) bool {
		old, ok := was.signers[s.ID]
		return !ok || old.Name != s.Name || old.Email != s.Email
	})
}

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
