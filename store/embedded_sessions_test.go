package store_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"countersign/models"
	"countersign/store"
	"countersign/test/kit"
)

// embeds returns the change that extends the link of a signer for an embedded session. The parameter seen is the signer
// as it was loaded.
func (f *fixture) embeds(seen *models.Signer) func(*models.Envelope) error {
	return func(e *models.Envelope) error { return e.LinkUntil(f.act(), seen, f.clock.Now().Add(time.Hour)) }
}

// TestEmbeddedSession_ReplacedSigner_IsRejected checks that a session is rejected if its signer was replaced after
// being loaded, so that the successor cannot use it.
func TestEmbeddedSession_ReplacedSigner_IsRejected(t *testing.T) {
	t.Parallel()
	kit.OnBoth(t, func(t *testing.T, s *store.Store, clock *kit.Clock) {
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
		assert.Equal(t, "signer_changed", rejectionOf(t, embed(e.Signers[0])))
		require.NoError(t, embed(&successor))
	})
}

func (f *fixture) session(e *models.Envelope, hash string) *models.EmbeddedSession {
	return &models.EmbeddedSession{EnvelopeID: e.ID, SignerID: e.Signers[0].ID, PageSession: models.PageSession{
		AppID: f.app.ID, TenantID: "t", AllowedOrigin: "https://example.com", TokenHash: []byte(hash), CreatedAt: f.clock.Now(), ExpiresAt: f.clock.Now().Add(time.Hour),
	}}
}

// TestEmbeddedSessions_KeepTheirLinks checks that the signer's link stays valid if a session is rejected or cannot be
// stored.
func TestEmbeddedSessions_KeepTheirLinks(t *testing.T) {
	t.Parallel()
	kit.EachDatabase(t, func(t *testing.T, kind string) {
		ctx, clock := t.Context(), kit.NewClock()
		s := kit.Store(t, kind, clock.Now)
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
		require.NoError(t, s.CreateEmbeddedSession(ctx, f.session(e, "c"), f.embeds(seen)), "the signer is the same person with another link")
		require.Equal(t, second, link(), "the current link is kept")

		require.NoError(t, change(ctx, f, e.ID, func(e *models.Envelope) error { return e.Void(f.act(), nil) }))
		require.Equal(t, "envelope_closed", rejectionOf(t, s.CreateEmbeddedSession(ctx, f.session(e, "d"), f.embeds(seen))), "the envelope was voided after the signer was loaded")
	})
}

// TestEmbeddedSessions_WaitForReplacement checks that creating a session waits for an uncommitted replacement of its
// signer.
func TestEmbeddedSessions_WaitForReplacement(t *testing.T) {
	t.Parallel()
	ctx, clock := t.Context(), kit.NewClock()
	s := kit.Store(t, "postgres", clock.Now)
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
	assert.Equal(t, "signer_changed", rejectionOf(t, <-made))
}

// TestEmbeddedSessions_FoundByToken checks that sessions are found by their token, and that only the app and tenant of
// a session can end it.
func TestEmbeddedSessions_FoundByToken(t *testing.T) {
	t.Parallel()
	kit.OnBoth(t, func(t *testing.T, s *store.Store, clock *kit.Clock) {
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
		assert.Equal(t, first, must(s.EmbeddedSession(ctx, one.ID)).RevokedAt.UTC(), "the session has already ended")
		assert.Nil(t, must(s.EmbeddedSession(ctx, two.ID)).RevokedAt)
	})
}

// TestBuilderSessions_EndForTheirApp checks that a builder session is found by its token, and that only its app and
// tenant can end it.
func TestBuilderSessions_EndForTheirApp(t *testing.T) {
	t.Parallel()
	kit.OnBoth(t, func(t *testing.T, s *store.Store, clock *kit.Clock) {
		f, ctx := newFixture(t, s, clock), t.Context()
		e := f.prepared()
		made := map[string]uuid.UUID{}
		for _, token := range []string{"one", "two"} {
			b := &models.BuilderSession{EnvelopeID: &e.ID, PageSession: f.session(f.sent(1, nil), token).PageSession}
			require.NoError(t, s.CreateBuilderSession(ctx, b))
			made[token] = b.ID
		}
		for token, id := range made {
			assert.Equal(t, id, must(s.BuilderSessionByToken(ctx, []byte(token))).ID)
		}
		require.ErrorIs(t, errOf(s.BuilderSessionByToken(ctx, []byte("three"))), models.ErrNotFound)
		for _, foreign := range []*models.App{{ID: newID()}, {ID: f.app.ID, Tenants: []string{"u"}}} {
			require.ErrorIs(t, s.RevokeBuilderSession(ctx, foreign, made["two"]), models.ErrNotFound)
		}
		require.ErrorIs(t, s.RevokeBuilderSession(ctx, f.app, newID()), models.ErrNotFound)
		assert.Nil(t, must(s.BuilderSessionByToken(ctx, []byte("two"))).RevokedAt)
		at := clock.Now()
		for range 2 {
			require.NoError(t, s.RevokeBuilderSession(ctx, f.app, made["two"]))
			assert.Equal(t, at, must(s.BuilderSessionByToken(ctx, []byte("two"))).RevokedAt.UTC(), "the first request ends the session")
			clock.Add(time.Minute)
		}
		assert.Nil(t, must(s.BuilderSessionByToken(ctx, []byte("one"))).RevokedAt)
	})
}
