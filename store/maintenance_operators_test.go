package store_test

import (
	"context"
	"errors"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"countersign/internal/testkit"
	"countersign/models"
	"countersign/store"
)

// completed lets an envelope of one signer be signed and sealed.
func (f *fixture) completed(timestampedUntil time.Time, days int) *models.Envelope {
	f.t.Helper()
	e := f.sent(1, nil)
	require.NoError(f.t, f.sign(e, 0))
	require.NoError(f.t, change(f.t.Context(), f, e.ID, func(e *models.Envelope) error {
		err := e.Complete(f.act(), []models.SealedFile{{OriginalID: e.Documents[0].ID, SHA256: "00", Size: 1, PageCount: 1, BlobKey: "sealed " + e.ID.String(), TimestampedUntil: timestampedUntil}})
		e.SetRetention(days)
		return err
	}))
	return e
}

// TestOperatorsLists: of all apps, by id, page after page.
func TestOperatorsLists(t *testing.T) {
	t.Parallel()
	testkit.OnBoth(t, func(t *testing.T, s *store.Store, clock *testkit.Clock) {
		f, other, ctx := newFixture(t, s, clock), newFixture(t, s, clock), t.Context()
		ids := func(refs []store.EnvelopeRef, err error) (out []uuid.UUID) {
			require.NoError(t, err)
			for _, r := range refs {
				out = append(out, r.ID)
			}
			return out
		}
		pages := func(list func(after uuid.UUID) ([]store.EnvelopeRef, error)) (out []uuid.UUID) {
			for after := uuid.Nil; ; {
				page := ids(list(after))
				if len(page) == 0 {
					return out
				}
				require.Len(t, page, 1)
				out, after = append(out, page[0]), page[0]
			}
		}
		now := clock.Now()
		open, foreign := f.sent(1, nil), other.sent(1, nil)
		unstamped, early, late := f.completed(time.Time{}, 0), f.completed(now.Add(time.Hour), 0), other.completed(now.Add(2*time.Hour), 0)
		purged := f.completed(time.Time{}, 1)
		clock.Add(24 * time.Hour)
		require.NoError(t, change(ctx, f, purged.ID, func(e *models.Envelope) error { return e.Purge(f.act()) }))
		assert.ElementsMatch(t, []uuid.UUID{open.ID, foreign.ID, unstamped.ID, early.ID, late.ID, purged.ID},
			pages(func(after uuid.UUID) ([]store.EnvelopeRef, error) { return s.AllEnvelopes(ctx, after, 1) }))
		assert.ElementsMatch(t, []uuid.UUID{open.ID, foreign.ID},
			pages(func(after uuid.UUID) ([]store.EnvelopeRef, error) {
				return s.AllEnvelopes(ctx, after, 1, models.StatusInProgress)
			}))
		assert.Empty(t, ids(s.AllEnvelopes(ctx, uuid.Nil, 9, models.StatusDraft)))
		for at, want := range map[time.Time][]uuid.UUID{
			now.Add(time.Hour): {unstamped.ID}, now.Add(time.Hour + time.Microsecond): {unstamped.ID, early.ID}, now.Add(3 * time.Hour): {unstamped.ID, early.ID, late.ID},
		} {
			assert.ElementsMatch(t, want, pages(func(after uuid.UUID) ([]store.EnvelopeRef, error) {
				return s.EnvelopesDueForTimestamp(ctx, at, after, 1)
			}))
		}
		found, err := s.FindEnvelope(ctx, foreign.ID)
		require.NoError(t, err)
		assert.Equal(t, store.EnvelopeRef{ID: foreign.ID, AppID: other.app.ID}, found)
		_, err = s.FindEnvelope(ctx, uuid.New())
		require.ErrorIs(t, err, models.ErrNotFound)

		// Files are kept, and due, only where they are still there.
		drainOutbox(t, s)
		assert.Empty(t, unfinishedWork(t, s, store.WorkRetentions), "the one that had a day was purged on it")
		kept := f.completed(time.Time{}, 7)
		drainOutbox(t, s)
		retention := unfinishedWork(t, s, store.WorkRetentions)
		require.Len(t, retention, 1)
		assert.Contains(t, retention, kept.ID)
		anchors, err := s.AnchorFiles(ctx, []string{"sealed " + kept.ID.String()})
		require.NoError(t, err)
		assert.Empty(t, anchors)
	})
}

// TestWhatCannotBeSealedIsListed: while it is being sealed, the oldest first.
func TestWhatCannotBeSealedIsListed(t *testing.T) {
	t.Parallel()
	testkit.OnBoth(t, func(t *testing.T, s *store.Store, clock *testkit.Clock) {
		f, ctx := newFixture(t, s, clock), t.Context()
		stuck := func() *models.Envelope {
			e := f.sent(1, nil)
			require.NoError(t, f.sign(e, 0))
			clock.Add(time.Minute)
			require.NoError(t, change(ctx, f, e.ID, func(e *models.Envelope) error { return e.SealingFailed(f.act(), models.SealingRefused) }))
			return e
		}
		sealing := f.sent(1, nil)
		require.NoError(t, f.sign(sealing, 0))
		first, voided, second := stuck(), stuck(), stuck()
		require.NoError(t, change(ctx, f, voided.ID, func(e *models.Envelope) error { return e.VoidStuck(f.act(), "lost") }))
		list, err := s.UnsealedEnvelopes(ctx, 9)
		require.NoError(t, err)
		require.Len(t, list, 2)
		assert.Equal(t, []uuid.UUID{first.ID, second.ID}, []uuid.UUID{list[0].ID, list[1].ID})
		assert.Equal(t, models.SealingRefused, list[0].SealingProblem)
		assert.Len(t, must(s.UnsealedEnvelopes(ctx, 1)), 1)
		assert.EqualValues(t, 2, must(s.CountUnsealed(ctx)))
	})
}

// TestWhatHasRunOutIsRemoved: and what has not is kept, each by its own day.
func TestWhatHasRunOutIsRemoved(t *testing.T) {
	t.Parallel()
	testkit.OnBoth(t, func(t *testing.T, s *store.Store, clock *testkit.Clock) {
		ctx := t.Context()
		_, ada, _ := newUsers(t, s)
		f := newFixture(t, s, clock)
		e := f.sent(1, nil)
		embedded := f.session(e, "h")
		require.NoError(t, s.CreateEmbeddedSession(ctx, embedded, f.embeds(e.Signers[0])))
		require.NotEqual(t, uuid.Nil, embedded.ID)
		r := store.IdempotentRequest{Scope: "s", Method: "POST", Path: "/", Key: "k", Fingerprint: []byte("f")}
		_, _, err := s.ClaimKey(ctx, r, time.Hour)
		require.NoError(t, err)
		_, err = s.StartConsoleSession(ctx, ada.ID, store.Device{}, time.Hour, nil)
		require.NoError(t, err)
		require.NoError(t, s.RememberCaller(ctx, "caller", clock.Now().Add(time.Hour)))
		rows := func() (out []int) {
			db, err := s.DB()
			require.NoError(t, err)
			for _, table := range []string{"idempotency_keys", "rate_windows", "console_sessions", "embedded_sessions", "envelope_count_changes"} {
				var n int
				require.NoError(t, db.QueryRowContext(ctx, "SELECT COUNT(*) FROM "+table).Scan(&n))
				out = append(out, n)
			}
			return out
		}
		require.NoError(t, testkit.RemoveExpired(ctx, s))
		assert.Equal(t, []int{1, 1, 1, 1, 0}, rows(), "nothing has run out; counts are folded")
		clock.Add(time.Hour + time.Microsecond)
		require.NoError(t, testkit.RemoveExpired(ctx, s))
		assert.Equal(t, []int{0, 0, 0, 1, 0}, rows(), "embedded sessions are remembered for a month")
		clock.Add(30 * 24 * time.Hour)
		require.NoError(t, testkit.RemoveExpired(ctx, s))
		assert.Equal(t, []int{0, 0, 0, 0, 0}, rows())
	})
}

// embeds is what is done to the envelope of an embedded session for a signer, as they were seen.
func (f *fixture) embeds(seen *models.Signer) func(*models.Envelope) error {
	return func(e *models.Envelope) error { return e.LinkUntil(f.act(), seen, f.clock.Now().Add(time.Hour)) }
}

// TestEmbeddedSessionsOfOnePerson: a session that was checked for a person who is replaced
// before it is stored is not the successor's.
func TestEmbeddedSessionsOfOnePerson(t *testing.T) {
	t.Parallel()
	testkit.OnBoth(t, func(t *testing.T, s *store.Store, clock *testkit.Clock) {
		ctx := t.Context()
		f := newFixture(t, s, clock)
		e := f.sent(1, nil)
		embed := func(seen *models.Signer) error {
			return s.CreateEmbeddedSession(ctx, f.session(e, "h"), f.embeds(seen))
		}
		var successor models.Signer
		require.NoError(t, change(ctx, f, e.ID, func(e *models.Envelope) error {
			now, err := e.Replace(f.act(), e.Signers[0].ID, models.Replacement{Name: "Grete", Email: "grete@navy.example"})
			successor = *now
			return err
		}))
		assert.Equal(t, "signer_changed", refusalOf(t, embed(e.Signers[0])))
		require.NoError(t, embed(&successor))
	})
}

// session is an embedded session of the envelope's first signer.
func (f *fixture) session(e *models.Envelope, hash string) *models.EmbeddedSession {
	return &models.EmbeddedSession{EnvelopeID: e.ID, SignerID: e.Signers[0].ID, PageSession: models.PageSession{
		AppID: f.app.ID, TenantID: "t", AllowedOrigin: "https://example.com", TokenHash: []byte(hash), CreatedAt: f.clock.Now(), ExpiresAt: f.clock.Now().Add(time.Hour),
	}}
}

// TestEmbeddedSessionsAndTheirLinks: a session that is refused, or could not be stored, has not ended the signer's link.
func TestEmbeddedSessionsAndTheirLinks(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"sqlite", "postgres"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			ctx, clock := t.Context(), testkit.NewClock()
			s := testkit.Store(t, kind, clock.Now)
			f := newFixture(t, s, clock)
			e := f.sent(1, nil)
			seen := e.Signers[0]
			require.NoError(t, change(ctx, f, e.ID, func(e *models.Envelope) error {
				e.ExpiresAt = nil
				return nil
			}))
			clock.Add(models.LinkLifetime - time.Minute)
			link := func() uuid.UUID {
				now, err := s.Envelope(ctx, f.app.ID, e.ID)
				require.NoError(t, err)
				return *now.Signers[0].LinkID
			}
			issued := func() (n int) {
				_, log, err := s.EnvelopeWithEvents(ctx, f.app.ID, e.ID)
				require.NoError(t, err)
				for _, ev := range log {
					if ev.Name == models.EventLinkIssued {
						n++
					}
				}
				return n
			}
			mend := breakTable(ctx, t, pool(t, s), kind, "INSERT", "embedded_sessions")
			require.ErrorContains(t, s.CreateEmbeddedSession(ctx, f.session(e, "a"), f.embeds(seen)), "broken on purpose")
			mend()
			require.Equal(t, *seen.LinkID, link())
			require.Zero(t, issued())

			require.NoError(t, s.CreateEmbeddedSession(ctx, f.session(e, "b"), f.embeds(seen)))
			require.NotEqual(t, *seen.LinkID, link())
			require.Equal(t, 1, issued())
			second := link()
			require.NoError(t, s.CreateEmbeddedSession(ctx, f.session(e, "c"), f.embeds(seen)), "the same person, with another link")
			require.Equal(t, second, link(), "which lasts")

			require.NoError(t, change(ctx, f, e.ID, func(e *models.Envelope) error { return e.Void(f.act(), nil) }))
			require.Equal(t, "envelope_closed", refusalOf(t, s.CreateEmbeddedSession(ctx, f.session(e, "d"), f.embeds(seen))), "voided since the signer was seen")
		})
	}
}

// TestEmbeddedSessionsWaitForAReplacement: also one that is not committed yet.
func TestEmbeddedSessionsWaitForAReplacement(t *testing.T) {
	t.Parallel()
	ctx, clock := t.Context(), testkit.NewClock()
	s := testkit.Store(t, "postgres", clock.Now)
	f := newFixture(t, s, clock)
	e := f.sent(1, nil)
	made := make(chan error, 1)
	require.NoError(t, change(ctx, f, e.ID, func(now *models.Envelope) error {
		go func() { made <- s.CreateEmbeddedSession(ctx, f.session(e, "h"), f.embeds(e.Signers[0])) }()
		require.Eventually(t, func() bool {
			var waiting bool
			err := pool(t, s).QueryRowContext(context.WithoutCancel(ctx), "SELECT EXISTS (SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock')").Scan(&waiting)
			return err == nil && waiting
		}, time.Minute, 10*time.Millisecond)
		_, err := now.Replace(f.act(), now.Signers[0].ID, models.Replacement{Name: "Grete", Email: "grete@navy.example"})
		return err
	}))
	assert.Equal(t, "signer_changed", refusalOf(t, <-made))
}

// TestEmbeddedSessions: found by their token, ended by their own app and tenant.
func TestEmbeddedSessions(t *testing.T) {
	t.Parallel()
	testkit.OnBoth(t, func(t *testing.T, s *store.Store, clock *testkit.Clock) {
		ctx := t.Context()
		f := newFixture(t, s, clock)
		app, e := f.app, f.sent(1, nil)
		other, _, err := s.CreateApp(ctx, "Other", models.PlanFree, nil)
		require.NoError(t, err)
		embed := func(hash string) *models.EmbeddedSession {
			v := f.session(e, hash)
			require.NoError(t, s.CreateEmbeddedSession(ctx, v, f.embeds(e.Signers[0])))
			return v
		}
		one, two := embed("one"), embed("two")
		require.NotEqual(t, one.ID, two.ID)
		for _, want := range []*models.EmbeddedSession{one, two} {
			got, err := s.EmbeddedSessionByToken(ctx, want.TokenHash)
			require.NoError(t, err)
			assert.Equal(t, want.ID, got.ID)
			got, err = s.EmbeddedSession(ctx, want.ID)
			require.NoError(t, err)
			assert.Equal(t, want.SignerID, got.SignerID)
		}
		_, err = s.EmbeddedSessionByToken(ctx, []byte("three"))
		require.ErrorIs(t, err, models.ErrNotFound)
		_, err = s.EmbeddedSession(ctx, uuid.New())
		require.ErrorIs(t, err, models.ErrNotFound)
		elsewhere := *app
		elsewhere.Tenants = []string{"u"}
		require.ErrorIs(t, s.RevokeEmbeddedSession(ctx, other, one.ID), models.ErrNotFound)
		require.ErrorIs(t, s.RevokeEmbeddedSession(ctx, &elsewhere, one.ID), models.ErrNotFound)
		require.NoError(t, s.RevokeEmbeddedSession(ctx, app, one.ID))
		first := clock.Now()
		clock.Add(time.Minute)
		require.NoError(t, s.RevokeEmbeddedSession(ctx, app, one.ID))
		assert.Equal(t, first, must(s.EmbeddedSession(ctx, one.ID)).RevokedAt.UTC(), "it ended the first time")
		assert.Nil(t, must(s.EmbeddedSession(ctx, two.ID)).RevokedAt)
	})
}

// TestAnchorsOfTheAuditTrail: each number once, in order, and every chain that has
// changed since.
func TestAnchorsOfTheAuditTrail(t *testing.T) {
	t.Parallel()
	testkit.OnBoth(t, func(t *testing.T, s *store.Store, clock *testkit.Clock) {
		f, ctx := newFixture(t, s, clock), t.Context()
		last, err := s.LastAnchor(ctx)
		require.NoError(t, err)
		assert.Nil(t, last)
		for n := int64(1); n <= 3; n++ {
			require.NoError(t, s.AddAnchor(ctx, store.Anchor{Number: n, At: clock.Now(), Digest: "d", Token: []byte("token"), BlobKey: "anchors/" + string(rune('0'+n))}))
		}
		require.ErrorIs(t, s.AddAnchor(ctx, store.Anchor{Number: 2, At: clock.Now(), Digest: "another", Token: []byte("token")}), store.ErrAnchored)
		last, err = s.LastAnchor(ctx)
		require.NoError(t, err)
		assert.EqualValues(t, 3, last.Number)
		list, err := s.Anchors(ctx, 1, 1)
		require.NoError(t, err)
		require.Len(t, list, 1)
		assert.Equal(t, []any{int64(2), "d"}, []any{list[0].Number, list[0].Digest})
		assert.Len(t, must(s.Anchors(ctx, 0, 9)), 3)
		files, err := s.AnchorFiles(ctx, []string{"anchors/2", "anchors/9"})
		require.NoError(t, err)
		assert.Equal(t, map[string]bool{"anchors/2": true}, files)

		early := f.sent(1, nil)
		clock.Add(time.Minute)
		since := clock.Now()
		late := f.sent(1, nil)
		heads := func(since time.Time) (out []store.ChainHead) {
			require.NoError(t, s.EachChainHead(ctx, since, func(h store.ChainHead) error { out = append(out, h); return nil }))
			return out
		}
		all := heads(time.Time{})
		require.Len(t, all, 2)
		assert.Less(t, all[0].EnvelopeID.String(), all[1].EnvelopeID.String())
		e, log := f.check(late.ID)
		assert.Equal(t, []store.ChainHead{{EnvelopeID: late.ID, Seq: e.AuditSeq, Hash: e.AuditHead}}, heads(since))
		assert.Empty(t, heads(since.Add(time.Microsecond)))
		boom := errors.New("boom")
		require.ErrorIs(t, s.EachChainHead(ctx, time.Time{}, func(store.ChainHead) error { return boom }), boom)

		none, err := s.ChainLinks(ctx, nil)
		require.NoError(t, err)
		assert.Empty(t, none)
		at := store.ChainHead{EnvelopeID: late.ID, Seq: 2, Hash: log[1].Hash}
		links, err := s.ChainLinks(ctx, []store.ChainHead{at, {EnvelopeID: early.ID, Seq: 99, Hash: "x"}})
		require.NoError(t, err)
		assert.Equal(t, map[store.ChainHead]bool{at: true}, links)
	})
}

// TestOpening: what is no database is named, and connections are as many as were
// asked for.
func TestOpening(t *testing.T) {
	t.Parallel()
	open := func(url string, conns int) (*store.Store, error) {
		s, err := store.Open(t.Context(), store.Config{URL: url, Vault: testkit.Vault(t), Now: clock, NewID: newID, MaxConns: conns})
		if err == nil {
			t.Cleanup(func() { require.NoError(t, s.Close()) })
		}
		return s, err
	}
	_, err := open("sqlite://", 0)
	require.ErrorContains(t, err, "needs a path")
	_, err = open("mysql://localhost/x", 0)
	require.ErrorContains(t, err, `unknown scheme "mysql"`)
	_, err = open("postgres://user:secret@local host/x", 0)
	require.Error(t, err)
	require.NotContains(t, err.Error(), "secret")
	for url, want := range map[string]int{testkit.DatabaseURL(t, "postgres"): 20, "sqlite://" + filepath.Join(t.TempDir(), "deeper", "test.db"): 8} {
		s, err := open(url, 0)
		require.NoError(t, err)
		require.Error(t, s.Migrated(t.Context()))
		_, err = s.Migrate(t.Context())
		require.NoError(t, err)
		db, err := s.DB()
		require.NoError(t, err)
		assert.Equal(t, want, db.Stats().MaxOpenConnections)
		ahead, within, err := s.ClockSkew(t.Context())
		require.NoError(t, err)
		assert.Less(t, ahead.Abs(), time.Minute)
		assert.GreaterOrEqual(t, within, time.Duration(0))

		// As many connections as may be open wait for work, so that none is made anew.
		var held []interface{ Close() error }
		for range want {
			c, err := db.Conn(t.Context())
			require.NoError(t, err)
			held = append(held, c)
		}
		for _, c := range held {
			require.NoError(t, c.Close())
		}
		assert.Equal(t, want, db.Stats().Idle)
	}
	s, err := open(testkit.DatabaseURL(t, "postgres"), 3)
	require.NoError(t, err)
	db, err := s.DB()
	require.NoError(t, err)
	assert.Equal(t, 3, db.Stats().MaxOpenConnections)
}
