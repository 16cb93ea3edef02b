package store_test

import (
	"context"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"countersign/models"
	"countersign/store"
	"countersign/test/kit"
)

// unfinishedWork returns all work of a kind by ID, read in pages of one item.
func unfinishedWork(t *testing.T, s *store.Store, work store.Work) map[uuid.UUID]models.OutboxRefs {
	t.Helper()
	out := make(map[uuid.UUID]models.OutboxRefs)
	for after := uuid.Nil; ; {
		rows, next, err := s.Unfinished(t.Context(), work, after, 1)
		require.NoError(t, err)
		for _, row := range rows {
			out[row.ListedBy()] = row.Refs
		}
		if next == uuid.Nil {
			return out
		}
		after = next
	}
}

// TestAllWork_HasEachKindOnce checks that AllWork contains every kind of work once.
func TestAllWork_HasEachKindOnce(t *testing.T) {
	t.Parallel()
	require.ElementsMatch(t, []store.Work{
		"envelopes", "closings", "timestamps", "deliveries", "bulk_sends", "copies",
	}, store.AllWork)
}

// TestUnfinished checks that Unfinished lists all work for which a restored database needs workflows.
func TestUnfinished(t *testing.T) {
	t.Parallel()
	kit.OnBoth(t, func(t *testing.T, s *store.Store, clock *kit.Clock) {
		f := newFixture(t, s, clock)
		ctx := t.Context()
		unfinished := func(work store.Work) map[uuid.UUID]models.OutboxRefs {
			t.Helper()
			drainOutbox(t, s) // work in the outbox is not lost
			return unfinishedWork(t, s, work)
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
		assert.Len(t, unfinished(store.WorkEnvelopes), 2, "sealing is not a final status")
		assert.Contains(t, unfinished(store.WorkClosings), closed.ID)
		require.NoError(t, change(ctx, f, done.ID, func(e *models.Envelope) error {
			err := e.Complete(f.act(), []models.SealedFile{{OriginalID: e.Documents[0].ID, SHA256: "00", Size: 1, PageCount: 1, BlobKey: "s", TimestampPending: true}})
			e.SetRetention(7)
			return err
		}))
		assert.Len(t, unfinished(store.WorkClosings), 2, "no recipient was notified that the envelope ended")
		mailed(closed, models.MailClosed)
		mailed(done, models.MailCompleted)
		assert.Equal(t, map[uuid.UUID]models.OutboxRefs{open.ID: {AppID: f.app.ID, TenantID: "t", Restart: true}}, unfinished(store.WorkEnvelopes))

		assert.Empty(t, unfinished(store.WorkClosings))

		assert.Equal(t, map[uuid.UUID]models.OutboxRefs{done.ID: {AppID: f.app.ID, TenantID: "t", Restart: true}}, unfinished(store.WorkTimestamps))
		require.NoError(t, change(ctx, f, done.ID, func(e *models.Envelope) error {
			return e.Timestamped(f.act(), e.Sealed()[0].ID, "00", models.SealedFile{SHA256: "01", Size: 2, BlobKey: "t", TimestampedUntil: clock.Now().AddDate(1, 0, 0)})
		}))
		assert.Empty(t, unfinished(store.WorkTimestamps))
		refs, err := s.EnvelopesDueForTimestamp(ctx, clock.Now(), uuid.Nil, 9)
		require.NoError(t, err)
		assert.Empty(t, refs)
		refs, err = s.EnvelopesDueForTimestamp(ctx, clock.Now().AddDate(2, 0, 0), uuid.Nil, 9)
		require.NoError(t, err)
		assert.Equal(t, []store.EnvelopeRef{{ID: done.ID, AppID: f.app.ID}}, refs)
		ways := unfinished(store.WorkDeliveries)
		require.Len(t, ways, 1)
		for _, refs := range ways {
			assert.Equal(t, hook.ID, *refs.WebhookID)
		}
		_, _, err = s.Unfinished(ctx, "signatures", uuid.Nil, 1)
		require.Error(t, err)

		drainOutbox(t, s)
		rows, _, err := s.Unfinished(ctx, store.WorkEnvelopes, uuid.Nil, 10)
		require.NoError(t, err)
		require.NoError(t, s.Requeue(context.WithoutCancel(ctx), rows))
		assert.Empty(t, unfinishedWork(t, s, store.WorkEnvelopes), "the dispatcher starts workflows from the outbox")
		told := drainOutbox(t, s)
		require.Len(t, told, 1)
		assert.Equal(t, open.ID, told[0].Key)
	})
}

// TestUnfinishedCopies checks that each recipient's copy is tracked separately, even if it is requested again.
func TestUnfinishedCopies(t *testing.T) {
	t.Parallel()
	kit.OnBoth(t, func(t *testing.T, s *store.Store, clock *kit.Clock) {
		f := newFixture(t, s, clock)
		ctx := t.Context()
		e := f.sent(2, nil)
		f.sealed(e)
		unfinished := func() int {
			t.Helper()
			drainOutbox(t, s)
			return len(unfinishedWork(t, s, store.WorkClosings))
		}
		mailed := func(id string, signer int) {
			t.Helper()
			_, err := s.BeginMail(ctx, models.Mail{ID: id, EnvelopeID: e.ID, SignerID: e.Signers[signer].ID, Kind: models.MailCompleted})
			require.NoError(t, err)
			require.NoError(t, s.MailSent(ctx, id))
		}
		mailed("a", 0)
		mailed("a, again", 0)
		assert.Equal(t, 1, unfinished(), "the other recipient has not received a copy")
		mailed("b", 1)
		assert.Zero(t, unfinished())
	})
}

// TestUnfinishedRequestsForCopies checks that each request with an unsettled email is listed with the row that
// restarts its workflow, even if an envelope has several such requests.
func TestUnfinishedRequestsForCopies(t *testing.T) {
	t.Parallel()
	kit.OnBoth(t, func(t *testing.T, s *store.Store, clock *kit.Clock) {
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
		begin("not requested", 0, nil)
		require.NoError(t, s.MailSent(ctx, "sent"))
		require.NoError(t, s.MailFailed(ctx, "refused", "550"))
		drainOutbox(t, s)
		for i, request := range requests[:2] {
			after := uuid.Nil
			if i > 0 {
				after = requests[i-1]
			}
			rows, _, err := s.Unfinished(ctx, store.WorkCopies, after, 1)
			require.NoError(t, err)
			require.Len(t, rows, 1)
			assert.Equal(t, request, rows[0].ID)
			assert.Equal(t, request, rows[0].ListedBy())
			assert.Equal(t, e.ID, rows[0].Key)
			assert.Equal(t, models.OutboxRefs{AppID: f.app.ID, TenantID: "t", SignerID: &e.Signers[i].ID, Restart: true}, rows[0].Refs)
		}
		rows, _, err := s.Unfinished(ctx, store.WorkCopies, requests[1], 1)
		require.NoError(t, err)
		assert.Empty(t, rows)
	})
}

// TestUnfinished_RequestedEmails checks that a requested reminder or copy is listed as soon as its outbox row is gone,
// and is no longer listed once the email has been dropped.
func TestUnfinished_RequestedEmails(t *testing.T) {
	t.Parallel()
	kit.OnBoth(t, func(t *testing.T, s *store.Store, clock *kit.Clock) {
		f := newFixture(t, s, clock)
		ctx := t.Context()
		open, completed := f.sent(2, nil), f.sent(1, nil)
		f.sealed(completed)
		drainOutbox(t, s)
		for kind, request := range map[models.OutboxKind]struct {
			e      *models.Envelope
			change func(*models.Envelope) error
		}{
			models.OutboxReinvite: {open, func(e *models.Envelope) error { _, err := e.Remind(f.act(), e.Signers[1].ID); return err }},
			models.OutboxCopies:   {completed, func(e *models.Envelope) error { _, err := e.RequestCopies(f.act(), e.Signers[0].Email); return err }},
		} {
			require.NoError(t, change(ctx, f, request.e.ID, request.change))
			unfinished := func() []models.OutboxRow {
				rows, _, err := s.Unfinished(ctx, store.WorkCopies, uuid.Nil, 10)
				require.NoError(t, err)
				return rows
			}
			assert.Empty(t, unfinished(), "%s: the row is still in the outbox", kind)
			queued := drainOutbox(t, s)
			require.Len(t, queued, 1)
			lost := unfinished()
			require.Len(t, lost, 1, kind)
			assert.Equal(t, queued[0].ID, lost[0].ID)
			assert.Equal(t, kind, lost[0].Kind)
			assert.Equal(t, queued[0].Refs.SignerID, lost[0].Refs.SignerID)
			require.NoError(t, s.DropRequestedMail(ctx, queued[0].ID))
			assert.Empty(t, unfinished(), kind)
		}
	})
}

// TestUnfinishedClosings_PagesAreBounded checks that each page examines a limited number of envelopes, and that all
// pages together list each closing exactly once.
func TestUnfinishedClosings_PagesAreBounded(t *testing.T) {
	t.Parallel()
	kit.OnBoth(t, func(t *testing.T, s *store.Store, clock *kit.Clock) {
		f := newFixture(t, s, clock)
		var want []uuid.UUID
		for i := range 25 {
			e := f.sent(1, nil)
			if i%12 == 11 {
				require.NoError(t, change(t.Context(), f, e.ID, func(e *models.Envelope) error { return e.Void(f.act(), nil) }))
				want = append(want, e.ID)
			}
		}
		drainOutbox(t, s)
		var found []uuid.UUID
		pages := 0
		for after := uuid.Nil; pages == 0 || after != uuid.Nil; pages++ {
			rows, next, err := s.Unfinished(t.Context(), store.WorkClosings, after, 1)
			require.NoError(t, err)
			for _, row := range rows {
				found = append(found, row.Key)
			}
			after = next
		}
		assert.Equal(t, want, found)
		assert.Greater(t, pages, 2, "ten envelopes per page")
	})
}
