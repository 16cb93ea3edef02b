package store_test

import (
	"context"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"countersign/internal/testkit"
	"countersign/models"
	"countersign/store"
)

// TestUnfinished: what a restored database still needs workflows for.
func TestUnfinished(t *testing.T) {
	t.Parallel()
	testkit.OnBoth(t, func(t *testing.T, s *store.Store, clock *testkit.Clock) {
		f := newFixture(t, s, clock)
		ctx := t.Context()
		unfinished := func(kind models.OutboxKind) map[uuid.UUID]models.OutboxRefs {
			t.Helper()
			out := make(map[uuid.UUID]models.OutboxRefs)
			for after := uuid.Nil; ; { // a page of one, to see the paging
				rows, err := s.Unfinished(ctx, kind, after, 1)
				require.NoError(t, err)
				if len(rows) == 0 {
					return out
				}
				assert.Equal(t, kind, rows[0].Kind)
				out[rows[0].Key], after = rows[0].Refs, rows[0].Key
			}
		}
		mailed := func(e *models.Envelope, kind models.MailKind) {
			t.Helper()
			for _, signer := range e.Signers {
				id := string(kind) + signer.ID.String()
				_, err := s.BeginMail(ctx, models.Mail{ID: id, EnvelopeID: e.ID, SignerID: signer.ID, Kind: kind})
				require.NoError(t, err)
				require.NoError(t, s.MailSent(ctx, id))
			}
		}
		hook, err := s.CreateWebhook(ctx, f.app.ID, "https://example.com/hook", []models.EventName{models.EventEnvelopeVoided}, "secret of the hook")
		require.NoError(t, err)

		open, closed, done := f.sent(1, nil), f.sent(1, nil), f.sent(1, nil)
		require.NoError(t, change(ctx, f, closed.ID, func(e *models.Envelope) error { return e.Void(f.act(), nil) }))
		require.NoError(t, f.sign(done, 0))
		assert.Len(t, unfinished(models.OutboxStart), 3, "sealing is not the end")
		require.NoError(t, change(ctx, f, done.ID, func(e *models.Envelope) error {
			err := e.Complete(f.act(), []models.SealedFile{{OriginalID: e.Documents[0].ID, SHA256: "00", Size: 1, PageCount: 1, BlobKey: "s", TimestampPending: true}})
			e.SetRetention(7)
			return err
		}))
		assert.Len(t, unfinished(models.OutboxStart), 3, "nobody has been told the end")
		mailed(closed, models.MailClosed)
		mailed(done, models.MailCompleted)
		assert.Equal(t, map[uuid.UUID]models.OutboxRefs{open.ID: {AppID: f.app.ID, TenantID: "t", Restart: true}}, unfinished(models.OutboxStart))

		assert.Contains(t, unfinished(models.OutboxRetention), done.ID)
		assert.Len(t, unfinished(models.OutboxRetention), 1)
		assert.Equal(t, map[uuid.UUID]models.OutboxRefs{done.ID: {AppID: f.app.ID, TenantID: "t", Restart: true}}, unfinished(models.OutboxTimestamp))
		require.NoError(t, change(ctx, f, done.ID, func(e *models.Envelope) error {
			return e.Timestamped(f.act(), e.Sealed()[0].ID, "00", models.SealedFile{SHA256: "01", Size: 2, BlobKey: "t", TimestampedUntil: clock.Now().AddDate(1, 0, 0)})
		}))
		assert.Empty(t, unfinished(models.OutboxTimestamp))
		refs, err := s.EnvelopesDueForTimestamp(ctx, clock.Now(), uuid.Nil, 9)
		require.NoError(t, err)
		assert.Empty(t, refs)
		refs, err = s.EnvelopesDueForTimestamp(ctx, clock.Now().AddDate(2, 0, 0), uuid.Nil, 9)
		require.NoError(t, err)
		assert.Equal(t, []store.EnvelopeRef{{ID: done.ID, AppID: f.app.ID}}, refs)
		ways := unfinished(models.OutboxDeliver)
		require.Len(t, ways, 1)
		for _, refs := range ways {
			assert.Equal(t, hook.ID, *refs.WebhookID)
		}
		_, err = s.Unfinished(ctx, models.OutboxSigned, uuid.Nil, 1)
		require.Error(t, err)

		drainOutbox(t, s)
		rows, err := s.Unfinished(ctx, models.OutboxStart, uuid.Nil, 10)
		require.NoError(t, err)
		require.NoError(t, s.Requeue(context.WithoutCancel(ctx), rows))
		told := drainOutbox(t, s)
		require.Len(t, told, 1)
		assert.Equal(t, open.ID, told[0].Key)
	})
}

// TestUnfinishedCopies: each person of an envelope has to have a copy. That one has got it twice, as
// it was asked for again, says nothing of another.
func TestUnfinishedCopies(t *testing.T) {
	t.Parallel()
	testkit.OnBoth(t, func(t *testing.T, s *store.Store, clock *testkit.Clock) {
		f := newFixture(t, s, clock)
		ctx := t.Context()
		e := f.sent(2, nil)
		f.sealed(e)
		unfinished := func() int {
			t.Helper()
			rows, err := s.Unfinished(ctx, models.OutboxStart, uuid.Nil, 10)
			require.NoError(t, err)
			return len(rows)
		}
		mailed := func(id string, signer int) {
			t.Helper()
			_, err := s.BeginMail(ctx, models.Mail{ID: id, EnvelopeID: e.ID, SignerID: e.Signers[signer].ID, Kind: models.MailCompleted})
			require.NoError(t, err)
			require.NoError(t, s.MailSent(ctx, id))
		}
		mailed("a", 0)
		mailed("a, again", 0)
		assert.Equal(t, 1, unfinished(), "the other has none")
		mailed("b", 1)
		assert.Zero(t, unfinished())
	})
}

// TestUnfinishedRequestsForCopies are those whose mail was begun and not settled, each of them though
// they are of one envelope, with what starts their workflow anew.
func TestUnfinishedRequestsForCopies(t *testing.T) {
	t.Parallel()
	testkit.OnBoth(t, func(t *testing.T, s *store.Store, clock *testkit.Clock) {
		f := newFixture(t, s, clock)
		ctx := t.Context()
		e := f.sent(2, nil)
		f.sealed(e)
		begin := func(id string, signer int, request *uuid.UUID) {
			t.Helper()
			_, err := s.BeginMail(ctx, models.Mail{ID: id, EnvelopeID: e.ID, SignerID: e.Signers[signer].ID, Kind: models.MailCompleted, RequestID: request})
			require.NoError(t, err)
		}
		var requests []uuid.UUID
		for i, id := range []string{"a", "b", "sent", "refused"} {
			requests = append(requests, uuid.Must(uuid.NewV7()))
			begin(id, i%2, &requests[i])
		}
		begin("not asked for", 0, nil)
		require.NoError(t, s.MailSent(ctx, "sent"))
		require.NoError(t, s.MailFailed(ctx, "refused", "550"))
		for i, request := range requests[:2] {
			after := uuid.Nil
			if i > 0 {
				after = requests[i-1]
			}
			rows, err := s.Unfinished(ctx, models.OutboxCopies, after, 1)
			require.NoError(t, err)
			require.Len(t, rows, 1)
			assert.Equal(t, request, rows[0].ID)
			assert.Equal(t, request, rows[0].ListedBy())
			assert.Equal(t, e.ID, rows[0].Key)
			assert.Equal(t, models.OutboxRefs{AppID: f.app.ID, TenantID: "t", SignerID: &e.Signers[i].ID, Restart: true}, rows[0].Refs)
		}
		rows, err := s.Unfinished(ctx, models.OutboxCopies, requests[1], 1)
		require.NoError(t, err)
		assert.Empty(t, rows)
	})
}
