package store_test

import (
	"context"
	"database/sql"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/bcrypt"
	"golang.org/x/sync/errgroup"

	"countersign/internal/testkit"
	"countersign/models"
	"countersign/store"
)

func pool(t *testing.T, s *store.Store) *sql.DB {
	t.Helper()
	db, err := s.DB()
	require.NoError(t, err)
	return db
}

func rowsIn(t *testing.T, s *store.Store, table string) (n int) {
	t.Helper()
	require.NoError(t, pool(t, s).QueryRowContext(t.Context(), "SELECT count(*) FROM "+table).Scan(&n))
	return n
}

// TestNothingIsWrittenForNothing: what stays as it is leaves no row, wakes nobody and
// costs no connection.
func TestNothingIsWrittenForNothing(t *testing.T) {
	t.Parallel()
	testkit.OnBoth(t, func(t *testing.T, s *store.Store, clock *testkit.Clock) {
		f, ctx := newFixture(t, s, clock), t.Context()
		e := f.sent(2, nil)
		const changes = "envelope_count_changes"
		before := rowsIn(t, s, changes)
		require.NoError(t, change(ctx, f, e.ID, func(e *models.Envelope) error { return e.Invited(f.act(), e.Signers[0].ID, false, "") }))
		assert.Equal(t, before, rowsIn(t, s, changes), "the envelope is in the same status as before")
		require.NoError(t, f.sign(e, 0))
		assert.Equal(t, before, rowsIn(t, s, changes))

		f.awake()
		require.NoError(t, s.Requeue(ctx, nil))
		assert.False(t, f.awake(), "there is nothing to take")

		open := pool(t, s).Stats().OpenConnections
		refused := models.Refuse(models.KindConflict, "no", "No.")
		_, err := s.ChangeSnapshot(ctx, f.snapshot(e.ID), func(*models.Envelope) error { return refused })
		require.ErrorIs(t, err, refused)
		assert.Equal(t, open, pool(t, s).Stats().OpenConnections)
	})
}

// TestAnEventWithoutDetail keeps its hash.
func TestAnEventWithoutDetail(t *testing.T) {
	t.Parallel()
	testkit.OnBoth(t, func(t *testing.T, s *store.Store, clock *testkit.Clock) {
		f := newFixture(t, s, clock)
		e := f.sent(1, nil)
		for _, detail := range []models.Detail{{}, nil} {
			require.NoError(t, change(t.Context(), f, e.ID, func(e *models.Envelope) error {
				err := e.Invited(f.act(), e.Signers[0].ID, false, "")
				e.Events[0].Detail = detail
				return err
			}))
			_, log := f.check(e.ID) // that the chain holds
			assert.Equal(t, detail, log[len(log)-1].Detail)
		}
	})
}

// TestChangesOfCountsAreFolded by who counts, once there are many.
func TestChangesOfCountsAreFolded(t *testing.T) {
	t.Parallel()
	testkit.OnBoth(t, func(t *testing.T, s *store.Store, clock *testkit.Clock) {
		f := newFixture(t, s, clock)
		for n := 1; n <= 200; n++ {
			_, err := pool(t, s).ExecContext(t.Context(),
				"INSERT INTO envelope_count_changes (app_id, tenant_id, status, change) VALUES ('"+f.app.ID.String()+"', 't', 'draft', 1)")
			require.NoError(t, err)
			if n < 199 {
				continue
			}
			for range 2 {
				_, total, err := s.Envelopes(t.Context(), store.EnvelopeFilter{App: f.app.ID, Page: 2, Size: 1000})
				require.NoError(t, err)
				assert.EqualValues(t, n, total)
			}
			assert.Equal(t, map[int]int{199: 199, 200: 0}[n], rowsIn(t, s, "envelope_count_changes"))
		}
	})
}

// TestPasswordsAreHashedAsTheyAre up to what bcrypt reads, so that any program can check them; and as a digest beyond.
func TestPasswordsAreHashedAsTheyAre(t *testing.T) {
	t.Parallel()
	testkit.OnBoth(t, func(t *testing.T, s *store.Store, _ *testkit.Clock) {
		app, _, _ := newUsers(t, s)
		for _, length := range []int{12, 71, 72, 73} {
			password := strings.Repeat("Zq7-kP2_", 10)[:length]
			email := fmt.Sprintf("user%d@example.com", length)
			u, err := s.CreateUser(t.Context(), app.ID, email, "User", password, models.RoleViewer)
			require.NoError(t, err)
			if length <= 72 {
				require.NoError(t, bcrypt.CompareHashAndPassword(u.PasswordHash, []byte(password)), length)
			}
			_, err = s.Login(t.Context(), email, password)
			require.NoError(t, err)
			_, err = s.Login(t.Context(), email, password[:length-1]+"!")
			require.ErrorIs(t, err, models.ErrNotFound, length)
		}
	})
}

// TestPasswordsOfSpaces: what cannot be seen makes no password longer.
func TestPasswordsOfSpaces(t *testing.T) {
	t.Parallel()
	testkit.OnBoth(t, func(t *testing.T, s *store.Store, _ *testkit.Clock) {
		app, _, _ := newUsers(t, s)
		for _, bad := range []string{"          ", "\u3000\u3000\u3000\u3000\u3000\u3000\u3000\u3000\u3000\u3000", "Zq7-kP2         ", "Zq7          kP2", "Zq7-kP2\u200b\u200b\u200b\u200b"} {
			_, err := s.CreateUser(t.Context(), app.ID, uuid.NewString()+"@example.com", "User", bad, models.RoleViewer)
			require.ErrorContains(t, err, "must have at least 10 characters", "%q", bad)
		}
		_, err := s.CreateUser(t.Context(), app.ID, uuid.NewString()+"@example.com", "User", "four tall old trees", models.RoleViewer)
		require.NoError(t, err)
	})
}

// TestOneOfManyAtOnce: of what there may be once, one is made, and the others learn which.
func TestOneOfManyAtOnce(t *testing.T) {
	t.Parallel()
	testkit.OnBoth(t, func(t *testing.T, s *store.Store, clock *testkit.Clock) {
		f, ctx := newFixture(t, s, clock), t.Context()
		const rounds, racers = 8, 6
		for round := range rounds {
			email := fmt.Sprintf("n%d@example.com", round)
			var contacts [racers]*models.Contact
			var users, envelopes [racers]error
			var drafts [racers]*models.Envelope
			race := func(run func(i int) error) {
				t.Helper()
				var all errgroup.Group
				for i := range racers {
					all.Go(func() error { return run(i) })
				}
				require.NoError(t, all.Wait())
			}
			race(func(i int) (err error) {
				contacts[i], err = s.SaveContact(ctx, models.Contact{AppID: f.app.ID, Name: "N", Email: email}, false)
				return err
			})
			for _, c := range contacts {
				assert.Equal(t, contacts[0].ID, c.ID)
			}
			_, total, err := s.Contacts(ctx, f.app.ID, email, 1, 9)
			require.NoError(t, err)
			assert.Equal(t, 1, total)

			race(func(i int) error {
				_, users[i] = s.CreateUser(ctx, f.app.ID, email, "N", "correct horse battery", models.RoleViewer)
				return nil
			})
			race(func(i int) error {
				drafts[i], envelopes[i] = f.draft(models.Envelope{ExternalID: &email})
				return nil
			})
			made := 0
			var holder uuid.UUID
			for i := range racers {
				if users[i] == nil {
					made++
				} else {
					assert.Equal(t, "user_exists", refusalOf(t, users[i]))
				}
				if envelopes[i] == nil {
					assert.Equal(t, uuid.Nil, holder)
					holder = drafts[i].ID
				}
			}
			assert.Equal(t, 1, made)
			for _, err := range envelopes {
				if err != nil {
					var refused *models.Error
					require.ErrorAs(t, err, &refused)
					assert.Equal(t, []any{"external_id_taken", map[string]any{"envelopeId": holder}}, []any{refused.Code, refused.Details})
				}
			}
		}
		// Another row that is there already is another fault.
		e := f.sent(1, nil)
		e.ExternalID = ptr("unused")
		err := s.Create(ctx, e)
		require.Error(t, err)
		assert.False(t, models.IsRefusal(err), "%v", err)
	})
}

// TestAReplacedSecretConfirmsNothing: a code of the secret that was there when its
// request began does not confirm one that was made meanwhile.
func TestAReplacedSecretConfirmsNothing(t *testing.T) {
	t.Parallel()
	ctx, clock := t.Context(), testkit.NewClock()
	s := testkit.Store(t, "postgres", clock.Now)
	_, ada, _ := newUsers(t, s)
	former := must(s.EnrolFactor(ctx, ada))
	db := pool(t, s)
	tx, err := db.BeginTx(ctx, nil)
	require.NoError(t, err)
	defer func() { _ = tx.Rollback() }() // it is over by then
	_, err = tx.ExecContext(ctx, "UPDATE console_factors SET secret = secret || 'x'::bytea WHERE id = $1", ada.ID)
	require.NoError(t, err)
	confirmed, code := make(chan error, 1), codeAt(t, former.Text, clock.Now())
	go func() {
		confirmed <- must2(s.ConfirmFactor(ctx, ada.ID, code, uuid.Nil))
	}()
	require.Eventually(t, func() bool {
		var waiting bool
		err := db.QueryRowContext(context.WithoutCancel(ctx), "SELECT EXISTS (SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE 'UPDATE%console_factors%')").Scan(&waiting)
		return err == nil && waiting
	}, time.Minute, 10*time.Millisecond)
	require.NoError(t, tx.Commit())
	assert.Equal(t, "invalid_code", refusalOf(t, <-confirmed))
	state, err := s.FactorState(ctx, ada.ID)
	require.NoError(t, err)
	assert.False(t, state.Active)
}

// TestValuesGoToWhoAskedForThem: endpoints that did not ask for them get an event without.
func TestValuesGoToWhoAskedForThem(t *testing.T) {
	t.Parallel()
	testkit.OnBoth(t, func(t *testing.T, s *store.Store, clock *testkit.Clock) {
		f, ctx := newFixture(t, s, clock), t.Context()
		plain := newEndpoint(f)
		with, err := s.CreateWebhook(ctx, f.app.ID, "https://example.com/values", models.WebhookEvents, "secret", models.IncludeValues)
		require.NoError(t, err)
		e := f.sent(1, nil)
		require.NoError(t, f.sign(e, 0))
		require.NoError(t, change(ctx, f, e.ID, func(e *models.Envelope) error {
			return e.Complete(f.act(), []models.SealedFile{{OriginalID: e.Documents[0].ID, SHA256: "00", Size: 1, PageCount: 1, BlobKey: "s"}})
		}))
		list, _, err := s.Deliveries(ctx, store.DeliveryFilter{App: f.app.ID, Event: models.EventEnvelopeCompleted, Page: 1, Size: 9})
		require.NoError(t, err)
		require.Len(t, list, 2)
		for _, d := range list {
			job, err := s.DeliveryJob(ctx, d.ID)
			require.NoError(t, err)
			assert.Equal(t, d.WebhookID == with.ID, strings.Contains(string(job.Event.Body), `"values"`))
			assert.Contains(t, []uuid.UUID{plain.hook.ID, with.ID}, d.WebhookID)
			assert.Nil(t, job.Event.ValuesBody)
		}
	})
}

// TestEachKeyHasItsAnswer: of two requests that are answered, and two feeds that are read.
func TestEachKeyHasItsAnswer(t *testing.T) {
	t.Parallel()
	testkit.OnBoth(t, func(t *testing.T, s *store.Store, clock *testkit.Clock) {
		ctx := t.Context()
		claim := func(key string) (uuid.UUID, *store.StoredResponse) {
			id, answer, err := s.ClaimKey(ctx, store.IdempotentRequest{Key: key, Fingerprint: []byte("f")}, time.Hour)
			require.NoError(t, err)
			return id, answer
		}
		keys := []string{"a", "b", "c"}
		for i, key := range keys {
			id, _ := claim(key)
			require.NoError(t, s.StoreResponse(ctx, id, store.StoredResponse{Status: 200 + i, Header: http.Header{}, Body: []byte(key)}))
		}
		for i, key := range keys {
			_, answer := claim(key)
			assert.Equal(t, []any{200 + i, key}, []any{answer.Status, string(answer.Body)})
		}
		_, _, err := s.ClaimKey(ctx, store.IdempotentRequest{Key: "without a body"}, time.Hour)
		require.Error(t, err)
		assert.False(t, models.IsRefusal(err), "a row that the database refuses is not a request that is worked on: %v", err)

		// The positions of two apps' events are counted apart, whoever is read first.
		a, b := newFixture(t, s, clock), newFixture(t, s, clock)
		var read [2]int
		last := [2]uuid.UUID{}
		for range 3 {
			for i, f := range []*fixture{b, a} {
				for range i + 2 {
					must(f.draft(models.Envelope{}))
				}
				page, err := s.Events(ctx, store.EventQuery{App: f.app.ID, After: last[i], Limit: 99})
				require.NoError(t, err)
				assert.Len(t, page.Events, i+2)
				last[i], read[i] = page.Cursor, read[i]+len(page.Events)
			}
		}
		assert.Equal(t, [2]int{6, 9}, read)
		for i, f := range []*fixture{b, a} {
			page, err := s.Events(ctx, store.EventQuery{App: f.app.ID, Limit: 99})
			require.NoError(t, err)
			assert.Len(t, page.Events, read[i])
		}
	})
}
