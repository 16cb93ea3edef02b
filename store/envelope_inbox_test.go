package store_test

import (
	"bytes"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"countersign/models"
	"countersign/store"
	"countersign/test/kit"
)

// TestInbox_EnvelopeIsInOneSection checks that each envelope is in the section of the inbox that corresponds to its
// state, and leaves "action needed" when the cause is resolved.
func TestInbox_EnvelopeIsInOneSection(t *testing.T) {
	t.Parallel()
	kit.OnBoth(t, func(t *testing.T, s *store.Store, clock *kit.Clock) {
		f, ctx := newFixture(t, s, clock), t.Context()
		in := func(part store.Inbox) (ids []uuid.UUID) {
			list, total, err := s.Envelopes(ctx, store.EnvelopeFilter{App: f.app.ID, Inbox: part, Page: 1, Size: 50})
			require.NoError(t, err)
			require.EqualValues(t, len(list), total)
			for _, e := range list {
				ids = append(ids, e.ID)
			}
			return ids
		}
		do := func(e *models.Envelope, fn func(*models.Envelope) error) {
			t.Helper()
			require.NoError(t, change(ctx, f, e.ID, fn))
		}
		sealing, stuck := f.sent(1, nil), f.sent(1, nil)
		for _, e := range []*models.Envelope{sealing, stuck} {
			require.NoError(t, f.sign(e, 0))
		}
		do(stuck, func(e *models.Envelope) error { return e.SealingFailed(f.act(), models.SealingRejected) })
		waiting, declined, expiring, bounced, voided := f.sent(1, nil), f.sent(1, nil), f.sent(1, nil), f.sent(1, nil), f.sent(1, nil)
		do(declined, func(e *models.Envelope) error {
			_, err := e.Decline(f.act(), link(e, 0), nil, false)
			return err
		})
		soon := clock.Now().Add(2 * 24 * time.Hour)
		do(expiring, func(e *models.Envelope) error {
			return e.Patch(f.act(), models.EnvelopeEdit{ExpiresAt: models.Change[*time.Time]{Present: true, Value: &soon}})
		})
		do(voided, func(e *models.Envelope) error { return e.Void(f.act(), nil) })
		mail := func(id string) {
			_, err := s.BeginMail(ctx, models.Mail{ID: id, EnvelopeID: bounced.ID, SignerID: bounced.Signers[0].ID, Kind: models.MailInvitation})
			require.NoError(t, err)
		}
		mail("first")
		require.NoError(t, s.MailFailed(ctx, "first", "550"))
		assert.Equal(t, []uuid.UUID{bounced.ID, expiring.ID, declined.ID, stuck.ID}, in(store.InboxActionNeeded))
		assert.Equal(t, []uuid.UUID{waiting.ID, sealing.ID}, in(store.InboxWaiting))
		assert.Empty(t, in(store.InboxDrafts))
		assert.Empty(t, in(store.InboxCompleted))
		counts, err := s.InboxCounts(ctx, store.EnvelopeFilter{App: f.app.ID})
		require.NoError(t, err)
		assert.Equal(t, map[store.Inbox]int64{store.InboxActionNeeded: 4, store.InboxWaiting: 2, store.InboxDrafts: 0, store.InboxCompleted: 0}, counts)
		counts, err = s.InboxCounts(ctx, store.EnvelopeFilter{App: f.app.ID, Tenant: "another"})
		require.NoError(t, err)
		assert.Zero(t, counts[store.InboxActionNeeded])

		// Another email is started, the deadline is extended, and a month passes.
		clock.Add(time.Minute)
		mail("second")
		later := clock.Now().Add(365 * 24 * time.Hour)
		do(expiring, func(e *models.Envelope) error {
			return e.Patch(f.act(), models.EnvelopeEdit{ExpiresAt: models.Change[*time.Time]{Present: true, Value: &later}})
		})
		assert.Equal(t, []uuid.UUID{declined.ID, stuck.ID}, in(store.InboxActionNeeded))
		assert.Equal(t, []uuid.UUID{bounced.ID, expiring.ID, waiting.ID, sealing.ID}, in(store.InboxWaiting))
		clock.Add(31 * 24 * time.Hour)
		assert.NotContains(t, in(store.InboxActionNeeded), declined.ID)
	})
}

// TestInbox_UsesIndexes checks that PostgreSQL finds envelopes that need action or are waiting without reading
// all declined envelopes or all rejected emails.
func TestInbox_UsesIndexes(t *testing.T) {
	t.Parallel()
	const n = 20_000
	kit.OnPostgres(t, func(t *testing.T, s *store.Store, clock *kit.Clock) {
		f, ctx := newFixture(t, s, clock), t.Context()
		e := f.sent(1, nil)
		others := otherColumns(t, s, "envelopes", "id", "updated_at", "status")
		execute(t, s,
			fmt.Sprintf(`INSERT INTO envelopes (id, updated_at, status, %[1]s)
				SELECT gen_random_uuid(), updated_at - make_interval(mins => 30 * g), CASE WHEN mod(g, 4) = 0 THEN 'declined' WHEN mod(g, 4000) = 1 THEN 'in_progress' ELSE 'completed' END, %[1]s
				FROM envelopes, generate_series(1, %[2]d) AS g WHERE id = '%[3]s'`, others, n, e.ID),
			`INSERT INTO mails (id, envelope_id, signer_id, kind, created_at, failed_at) SELECT id::text, id, id, 'invitation', updated_at, CASE status WHEN 'completed' THEN NULL ELSE updated_at END FROM envelopes`,
			"VACUUM (ANALYZE) envelopes", "VACUUM (ANALYZE) mails",
		)
		for _, part := range []store.Inbox{store.InboxActionNeeded, store.InboxWaiting} {
			plans, err := s.Plans(ctx, store.EnvelopeFilter{App: f.app.ID, Inbox: part, Page: 1, Size: 20})
			require.NoError(t, err)
			for _, plan := range plans {
				require.Contains(t, plan, `"mails_failed"`, part)
				if part == store.InboxActionNeeded {
					require.Contains(t, plan, `"envelopes_declined"`)
				} else {
					require.NotContains(t, plan, "Seq Scan")
				}
			}
		}

		// One query reads all envelopes that need action, and each envelope appears on only one page.
		var all []uuid.UUID
		total := int64(1)
		for page := 1; int64(len(all)) < total; page++ {
			list, n, err := s.Envelopes(ctx, store.EnvelopeFilter{App: f.app.ID, Inbox: store.InboxActionNeeded, Page: page, Size: 100})
			require.NoError(t, err)
			require.NotEmpty(t, list)
			for _, e := range list {
				all = append(all, e.ID)
			}
			total = n
		}
		require.Greater(t, total, int64(300))
		require.True(t, slices.IsSortedFunc(all, func(a, b uuid.UUID) int { return -bytes.Compare(a[:], b[:]) }))
		require.Len(t, slices.Compact(all), int(total))
		counts, err := s.InboxCounts(ctx, store.EnvelopeFilter{App: f.app.ID})
		require.NoError(t, err)
		require.Equal(t, total, counts[store.InboxActionNeeded])
	})
}
