package store_test

import (
	"database/sql"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	_ "github.com/jackc/pgx/v5/stdlib" // "pgx"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	_ "modernc.org/sqlite" // "sqlite"

	"countersign/internal/testkit"
	"countersign/models"
	"countersign/store"
)

// drainOutbox claims everything in the outbox and takes it out.
func drainOutbox(t *testing.T, s *store.Store) []models.OutboxRow {
	t.Helper()
	var all []models.OutboxRow
	for {
		rows, err := s.ClaimOutbox(t.Context(), 100, time.Minute)
		require.NoError(t, err)
		if len(rows) == 0 {
			return all
		}
		for _, r := range rows {
			require.NoError(t, s.FinishOutbox(t.Context(), r.Seq))
		}
		all = append(all, rows...)
	}
}

func TestWebhooksMatchEvents(t *testing.T) {
	t.Parallel()
	testkit.OnBoth(t, func(t *testing.T, s *store.Store, clock *testkit.Clock) {
		f := newFixture(t, s, clock)
		ctx := t.Context()
		all, err := s.CreateWebhook(ctx, f.app.ID, "https://example.com/all", models.WebhookEvents, "")
		require.NoError(t, err)
		_, err = s.CreateWebhook(ctx, f.app.ID, "https://example.com/one", []models.EventName{models.EventEnvelopeVoided}, "own secret")
		require.NoError(t, err)
		other, _, err := s.CreateApp(ctx, "Other", models.PlanFree, nil)
		require.NoError(t, err)
		_, err = s.CreateWebhook(ctx, other.ID, "https://example.com/other", models.WebhookEvents, "")
		require.NoError(t, err)

		e := f.sent(2, nil)
		require.NoError(t, f.sign(e, 0))
		reason := "changed our mind"
		require.NoError(t, change(ctx, f, e.ID, func(e *models.Envelope) error { return e.Void(f.act(), &reason) }))
		_, log := f.check(e.ID)
		want := map[uuid.UUID]models.EventName{}
		for _, ev := range log {
			if ev.Name.IsWebhookEvent() {
				want[ev.ID] = ev.Name
			}
		}
		perHook := map[uuid.UUID]int{}
		for _, row := range drainOutbox(t, s) {
			if row.Kind != models.OutboxDeliver {
				continue
			}
			job, err := s.DeliveryJob(ctx, row.Key)
			require.NoError(t, err)
			perHook[job.Delivery.WebhookID]++
			assert.Equal(t, want[job.Event.ID], job.Event.Name)
			var body models.WebhookPayload
			require.NoError(t, json.Unmarshal(job.Event.Body, &body))
			assert.Equal(t, job.Event.ID, body.ID)
			assert.Equal(t, e.ID, body.EnvelopeID)
			assert.Equal(t, e.ID, body.Data.EnvelopeID)
			if job.Delivery.WebhookID != all.ID {
				assert.Equal(t, models.EventEnvelopeVoided, body.Event)
				assert.Equal(t, [][]byte{[]byte("own secret")}, job.Secrets)
				assert.Equal(t, reason, *body.Data.Reason)
			} else {
				assert.True(t, strings.HasPrefix(string(job.Secrets[0]), "cs_"), "without a secret of its own the client secret signs")
			}
		}
		assert.Equal(t, len(want), perHook[all.ID])
		assert.Len(t, perHook, 2, "another app's endpoint hears nothing")
	})
}

func TestOutboxDeliversInOrder(t *testing.T) {
	t.Parallel()
	testkit.OnBoth(t, func(t *testing.T, s *store.Store, clock *testkit.Clock) {
		f := newFixture(t, s, clock)
		e := f.sent(2, nil)
		require.NoError(t, f.sign(e, 1))
		require.NoError(t, change(t.Context(), f, e.ID, func(e *models.Envelope) error { return e.Void(f.act(), nil) }))

		first, err := s.ClaimOutbox(t.Context(), 10, time.Minute)
		require.NoError(t, err)
		require.Len(t, first, 1, "the next row waits for the one before it")
		assert.Equal(t, models.OutboxStart, first[0].Kind)
		none, err := s.ClaimOutbox(t.Context(), 10, time.Minute)
		require.NoError(t, err)
		assert.Empty(t, none, "leased")
		clock.Add(2 * time.Minute)
		again, err := s.ClaimOutbox(t.Context(), 10, time.Minute)
		require.NoError(t, err)
		require.Len(t, again, 1, "a lease that ran out is taken over")
		assert.Equal(t, first[0].ID, again[0].ID, "under the same request id")
		require.NoError(t, s.RetryOutbox(t.Context(), again[0].Seq, 4*time.Minute))
		clock.Add(3 * time.Minute)
		none, err = s.ClaimOutbox(t.Context(), 10, time.Minute)
		require.NoError(t, err)
		assert.Empty(t, none)
		clock.Add(time.Hour)
		var kinds []models.OutboxKind
		for _, r := range drainOutbox(t, s) {
			kinds = append(kinds, r.Kind)
		}
		assert.Equal(t, []models.OutboxKind{models.OutboxStart, models.OutboxSigned, models.OutboxVoided}, kinds)
	})
}

// Rows that were written before the clock was set back are told all the same.
func TestOutboxSurvivesAClockSetBack(t *testing.T) {
	t.Parallel()
	testkit.OnBoth(t, func(t *testing.T, s *store.Store, clock *testkit.Clock) {
		newFixture(t, s, clock).sent(2, nil)
		clock.Add(-time.Hour)
		rows, err := s.ClaimOutbox(t.Context(), 10, time.Minute)
		require.NoError(t, err)
		assert.Len(t, rows, 1)
	})
}

func TestPlanLimit(t *testing.T) {
	t.Parallel()
	testkit.OnBoth(t, func(t *testing.T, s *store.Store, clock *testkit.Clock) {
		f := newFixture(t, s, clock)
		free, _, err := s.CreateApp(t.Context(), "Free", models.PlanFree, nil)
		require.NoError(t, err)
		f.app = free
		for range 5 {
			f.sent(1, nil)
		}
		e, err := models.NewEnvelope(f.act(), models.Envelope{AppID: free.ID, TenantID: "t", CreatedBy: "me"})
		require.NoError(t, err)
		e.Events = append(e.Events, models.Event{ID: uuid.New(), EnvelopeID: e.ID, Name: models.EventEnvelopeSent, Timestamp: clock.Now(), Actor: "system"})
		err = s.Create(t.Context(), e)
		var refusal *models.Error
		require.ErrorAs(t, err, &refusal)
		assert.Equal(t, "plan_limit_reached", refusal.Code)
		_, err = s.Envelope(t.Context(), free.ID, e.ID)
		require.ErrorIs(t, err, models.ErrNotFound, "nothing was half done")
	})
}

func TestCredentials(t *testing.T) {
	t.Parallel()
	testkit.OnBoth(t, func(t *testing.T, s *store.Store, _ *testkit.Clock) {
		app, secret, err := s.CreateApp(t.Context(), "A", models.PlanFree, []string{"t1"})
		require.NoError(t, err)
		require.NotEqual(t, app.ID, app.ClientID, "the id in records is not what one logs in with")
		got, err := s.Authenticate(t.Context(), app.ClientID.String(), secret)
		require.NoError(t, err)
		assert.Equal(t, app.ID, got.ID)
		assert.Equal(t, []string{"t1"}, got.Tenants)
		for _, c := range [][2]string{{app.ClientID.String(), "wrong"}, {app.ID.String(), secret}, {uuid.NewString(), secret}, {"nonsense", secret}, {"", ""}} {
			_, err := s.Authenticate(t.Context(), c[0], c[1])
			require.ErrorIs(t, err, models.ErrNotFound)
		}
		_, _, err = s.CreateApp(t.Context(), "", "gold", nil)
		var refusal *models.Error
		require.ErrorAs(t, err, &refusal)
		assert.Contains(t, refusal.Fields, "name")
		assert.Contains(t, refusal.Fields, "plan")
	})
}

func TestKeysAreMadeOnce(t *testing.T) {
	t.Parallel()
	testkit.OnBoth(t, func(t *testing.T, s *store.Store, _ *testkit.Clock) {
		a, err := s.Keys(t.Context(), models.KeyTokens)
		require.NoError(t, err)
		b, err := s.Keys(t.Context(), models.KeyTokens)
		require.NoError(t, err)
		require.Len(t, b, 1)
		assert.True(t, a[0].Private.Equal(b[0].Private))
		m, err := s.Keys(t.Context(), models.KeyManifests)
		require.NoError(t, err)
		assert.False(t, m[0].Private.Equal(a[0].Private))
	})
}

func TestMailsGoOutOnce(t *testing.T) {
	t.Parallel()
	testkit.OnBoth(t, func(t *testing.T, s *store.Store, _ *testkit.Clock) {
		m := models.Mail{ID: "m1", EnvelopeID: uuid.New(), SignerID: uuid.New(), Kind: models.MailCompleted}
		begun, err := s.BeginMail(t.Context(), m)
		require.NoError(t, err)
		assert.False(t, begun.Settled())
		begun, err = s.BeginMail(t.Context(), m)
		require.NoError(t, err)
		assert.False(t, begun.Settled(), "it may not have gone out")
		require.NoError(t, s.MailSent(t.Context(), m.ID))
		begun, err = s.BeginMail(t.Context(), m)
		require.NoError(t, err)
		assert.True(t, begun.Settled())
	})
}

// TestAuditIsAppendOnly asks the databases themselves to forget.
func TestAuditIsAppendOnly(t *testing.T) {
	t.Parallel()
	for _, kind := range testkit.Databases {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			url := testkit.DatabaseURL(t, kind)
			clock := testkit.NewClock()
			s, err := store.Open(t.Context(), store.Config{
				URL: url, PasswordCost: testkit.PasswordCost, Vault: testkit.Vault(t), Now: clock.Now, NewID: func() uuid.UUID { return uuid.Must(uuid.NewV7()) },
			})
			require.NoError(t, err)
			t.Cleanup(func() { require.NoError(t, s.Close()) })
			require.Error(t, s.Migrated(t.Context()))
			v, err := s.Migrate(t.Context())
			require.NoError(t, err)
			assert.Positive(t, v)
			require.NoError(t, s.Migrated(t.Context()))
			f := newFixture(t, s, clock)
			e := f.sent(1, nil)

			driver, dsn := "pgx", url
			if kind == "sqlite" {
				driver, dsn = "sqlite", strings.TrimPrefix(url, "sqlite://")
			}
			db, err := sql.Open(driver, dsn)
			require.NoError(t, err)
			t.Cleanup(func() { require.NoError(t, db.Close()) })
			keys, err := s.Keys(t.Context(), models.KeyManifests)
			require.NoError(t, err)
			require.NoError(t, s.RevokeKey(t.Context(), keys[0].ID, clock.Now(), "lost"))
			for _, q := range []string{"UPDATE key_revocations SET reason = 'x'", "DELETE FROM key_revocations", "UPDATE audit_events SET actor = 'x'", "DELETE FROM audit_events", "UPDATE audit_events SET hash = hash WHERE seq = 1"} {
				_, err := db.ExecContext(t.Context(), q)
				require.ErrorContains(t, err, "append-only", q)
			}
			f.check(e.ID)
		})
	}
}
