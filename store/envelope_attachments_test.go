package store_test

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"countersign/models"
	"countersign/store"
	"countersign/test/kit"
)

// TestAttachments_BelongToTheirEnvelope checks that attachments are listed in order of upload, and can be deleted
// until a signature uses them. Purging an envelope purges only its own attachments.
func TestAttachments_BelongToTheirEnvelope(t *testing.T) {
	t.Parallel()
	kit.OnBoth(t, func(t *testing.T, s *store.Store, clock *kit.Clock) {
		f, ctx := newFixture(t, s, clock), t.Context()
		e, other := f.sent(1, nil), f.sent(1, nil)
		attach := func(e *models.Envelope, name string, want int) uuid.UUID {
			clock.Add(time.Second)
			a := &models.Attachment{
				ID: newID(), EnvelopeID: e.ID, FieldID: e.Fields[0].ID, SignerID: e.Signers[0].ID, Name: name, MimeType: "application/pdf", SHA256: "00",
				Size: 9, BlobKey: name, CreatedAt: clock.Now(),
			}
			_, err := s.ChangeAttachments(ctx, f.app.ID, e.ID, func(e *models.Envelope, known []*models.Attachment) error {
				assert.Len(t, known, want)
				e.Attached = append(e.Attached, a)
				return nil
			})
			require.NoError(t, err)
			return a.ID
		}
		names := func(e *models.Envelope) (out []string) {
			list, err := s.Attachments(ctx, e.ID)
			require.NoError(t, err)
			for _, a := range list {
				out = append(out, a.Name)
			}
			return out
		}
		one, two, three := attach(e, "one", 0), attach(e, "two", 1), attach(e, "three", 2)
		foreign := attach(other, "foreign", 0)
		assert.Equal(t, []string{"one", "two", "three"}, names(e))
		use := func() error {
			return change(ctx, f, e.ID, func(e *models.Envelope) error {
				e.Attached = []*models.Attachment{{ID: one, Used: true}}
				return nil
			})
		}
		require.NoError(t, use())
		require.Error(t, use(), "the file was used or removed in the meantime")
		for id, want := range map[uuid.UUID]bool{one: false, two: true, newID(): false} {
			removed, err := s.RemoveAttachment(ctx, id)
			require.NoError(t, err)
			assert.Equal(t, want, removed)
		}
		assert.Equal(t, []string{"one", "three"}, names(e))
		unused, err := s.UnusedAttachments(ctx, clock.Now(), 9)
		require.NoError(t, err)
		require.Len(t, unused, 1, "the newest file was just uploaded, and one file was used")
		assert.Equal(t, []any{three, "three"}, []any{unused[0].ID, unused[0].Name})
		unused, err = s.UnusedAttachments(ctx, clock.Now().Add(time.Microsecond), 1)
		require.NoError(t, err)
		require.Len(t, unused, 1)

		purged := clock.Now()
		require.NoError(t, s.PurgeAttachments(ctx, e.ID, purged))
		require.NoError(t, s.PurgeAttachments(ctx, e.ID, purged.Add(time.Hour)), "once")
		list, err := s.Attachments(ctx, e.ID)
		require.NoError(t, err)
		for _, a := range list {
			assert.Equal(t, []any{"", purged}, []any{a.Name, a.PurgedAt.UTC()})
		}
		assert.Equal(t, []string{"foreign"}, names(other))
		removed, err := s.RemoveAttachment(ctx, foreign)
		require.NoError(t, err)
		assert.True(t, removed)
		_, err = s.ChangeAttachments(ctx, uuid.New(), e.ID, func(*models.Envelope, []*models.Attachment) error { return nil })
		require.ErrorIs(t, err, models.ErrNotFound)
	})
}
