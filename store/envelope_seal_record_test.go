package store_test

import (
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"countersign/models"
	"countersign/store"
	"countersign/test/kit"
)

// TestSealRecord checks that the record of a document is returned after sealing, and only for its own envelope.
func TestSealRecord(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, s *store.Store) {
		f := newFixture(t, s, kit.NewClock())
		e, other := f.sent(1, nil), f.sent(1, nil)
		original := e.Originals()[0]
		_, err := s.SealRecord(t.Context(), e.ID, original.ID, 1)
		require.ErrorIs(t, err, models.ErrNotFound, "the document is not sealed yet")
		require.NoError(t, f.sign(e, 0))
		sealed := strings.Repeat("5e", 32)
		_, err = s.Change(t.Context(), e.AppID, e.ID, func(e *models.Envelope) error {
			return e.Complete(f.act(), []models.SealedFile{{OriginalID: original.ID, SHA256: sealed, Size: 1, PageCount: 1, BlobKey: "x"}})
		})
		require.NoError(t, err)
		_, log := f.check(e.ID)
		for _, ev := range log {
			rec, err := s.SealRecord(t.Context(), e.ID, original.ID, int(ev.Seq))
			require.NoError(t, err)
			require.Equal(t, &store.SealRecord{OriginalSHA256: original.SHA256, SealedSHA256: sealed, ChainHead: ev.Hash}, rec)
		}
		rec, err := s.SealRecord(t.Context(), e.ID, original.ID, len(log)+1)
		require.NoError(t, err)
		require.Empty(t, rec.ChainHead, "there is no such event")
		for _, ids := range [][2]uuid.UUID{{other.ID, original.ID}, {e.ID, other.Originals()[0].ID}, {uuid.New(), original.ID}, {e.ID, uuid.Nil}} {
			_, err := s.SealRecord(t.Context(), ids[0], ids[1], 1)
			require.ErrorIs(t, err, models.ErrNotFound)
		}
	})
}
