package store

import (
	"context"
	"maps"
	"slices"

	"github.com/google/uuid"
	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"countersign/models"
)

// rewrapSaved replaces the row of a saved signature, because the row's key is a hash.
func (s *EnvelopeRepository) rewrapSaved(tx *gorm.DB, row *models.SavedSignature) error {
	if err := decrypt(s.engine, row); err != nil {
		return err
	}
	if err := tx.Delete(&models.SavedSignature{}, "app_id = ? AND email_key = ?", row.AppID, row.EmailKey).Error; err != nil {
		return err
	}
	row.EmailKey = s.savedKeys(row)[0]
	// If a row with the new key exists, it contains a newer signature.
	return tx.Clauses(clause.OnConflict{DoNothing: true}).Create(encrypt(s.engine, row)).Error
}

// rewrapSigners re-encrypts the signers of one page of envelopes, which begins after the given ID. It returns the ID of
// the last envelope. The envelopes are locked, as for any change.
func (s *EnvelopeRepository) rewrapSigners(ctx context.Context, result *rewrapping, after uuid.UUID) (last uuid.UUID, n int, err error) {
	var ids []uuid.UUID
	db := s.db.WithContext(ctx)
	if err := db.Model(&models.Envelope{}).Where("id > ?", after).Order("id").Limit(rewrapPage).Pluck("id", &ids).Error; err != nil || len(ids) == 0 {
		return last, 0, err
	}
	last = ids[len(ids)-1]
	signers, err := find[*models.Signer](db.Select("id", "envelope_id", "email", "phone", "previous", "host_email").Where("envelope_id IN ?", ids))
	if err != nil {
		return last, 0, err
	}
	stale, unreadable := make(map[uuid.UUID]bool), make(map[uuid.UUID]bool)
	for _, v := range signers {
		if !s.needsRewrap(s.encryptedRowOf(v)) {
			continue
		}
		if result.skip("signers of envelope", v.EnvelopeID.String(), decrypt(s.engine, v)) {
			unreadable[v.EnvelopeID] = true
		}
		stale[v.EnvelopeID] = true
		n++
	}
	maps.DeleteFunc(stale, func(id uuid.UUID, _ bool) bool { return unreadable[id] })
	if len(stale) == 0 {
		return last, 0, nil
	}
	return last, n, s.transact(ctx, readWrite, func(t *transaction) error { return s.reencryptSigners(t, stale) })
}

// reencryptSigners re-encrypts the signers of the given envelopes, and recalculates the hashes of their addresses.
func (s *EnvelopeRepository) reencryptSigners(t *transaction, of map[uuid.UUID]bool) error {
	l := s.lists.queueEnvelopes(t, "id", true, slices.Collect(maps.Keys(of))...)
	if err := t.send(); err != nil {
		return err
	}
	if err := l.assemble(s.engine); err != nil {
		return err
	}
	for _, e := range l.envelopes {
		for _, v := range e.Recipients() {
			row := encrypt(s.engine, v)
			t.update("signers", []column{{"id", &row.ID}}, []column{
				{"email", &row.Email}, {"phone", &row.Phone}, {"previous", &row.PreviousJSON}, {"host_email", &row.HostEmail},
			})
		}
		s.lists.indexForSearch(&t.batch, e)
	}
	return nil
}
