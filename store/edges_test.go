package store_test

import (
	"context"
	"crypto/rand"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"countersign/internal/testkit"
	"countersign/models"
	"countersign/seal"
	"countersign/store"
)

// TestADatabaseThatDoesNotAnswer is an error of every call: none takes it for an
// answer.
func TestADatabaseThatDoesNotAnswer(t *testing.T) {
	t.Parallel()
	testkit.OnBoth(t, func(t *testing.T, s *store.Store, clock *testkit.Clock) {
		f := newFixture(t, s, clock)
		_, ada, _ := newUsers(t, s)
		p := newEndpoint(f)
		e, d := f.sent(1, nil), p.ping()
		secret, _ := confirmFactor(t, s, clock, ada)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		app, id := f.app.ID, uuid.New()
		for name, call := range map[string]func() error{
			"ping the database": func() error { return s.Ping(ctx) },
			"delete a contact":  func() error { return s.DeleteContact(ctx, app, id) },
			"save a contact": func() error {
				return must2(s.SaveContact(ctx, models.Contact{AppID: app, Name: "A", Email: "a@example.com"}, false))
			},
			"disable a user":     func() error { return s.DisableUser(ctx, ada.AppID, ada.ID) },
			"end a session":      func() error { return s.EndConsoleSession(ctx, ada.ID, id) },
			"end sessions":       func() error { return s.EndConsoleSessions(ctx, ada.ID, id) },
			"delete an endpoint": func() error { return s.DeleteWebhook(ctx, app, p.hook.ID) },
			"enrol a factor":     func() error { return must2(s.EnrolFactor(ctx, ada)) },
			"use a code":         func() error { return s.ConsumeCode(ctx, ada.ID, codeAt(t, secret, clock.Now())) },
			"remove a factor":    func() error { return s.RemoveFactor(ctx, ada.ID, id) },
			"add a secret":       func() error { return must2(s.AddSecret(ctx, app, time.Hour)) },
			"client secrets":     func() error { return must2(s.ClientSecrets(ctx, app)) },
			"authenticate":       func() error { return must2(s.Authenticate(ctx, f.app.ClientID.String(), "x")) },
			"log in":             func() error { return must2(s.Login(ctx, "ada@example.com", "x")) },
			"confirm a password": func() error { return s.ConfirmPassword(ctx, ada.ID, "x") },
			"add an anchor":      func() error { return s.AddAnchor(ctx, store.Anchor{Number: 1, Token: []byte("t")}) },
			"the last anchor":    func() error { return must2(s.LastAnchor(ctx)) },
			"chain heads":        func() error { return s.EachChainHead(ctx, time.Time{}, func(store.ChainHead) error { return nil }) },
			"chain links":        func() error { return must2(s.ChainLinks(ctx, []store.ChainHead{{EnvelopeID: id, Seq: 1}})) },
			"claim a key": func() error {
				_, _, err := s.ClaimKey(ctx, store.IdempotentRequest{Fingerprint: []byte("f")}, time.Hour)
				return err
			},
			"release a key":    func() error { return s.ReleaseKey(ctx, id, true) },
			"store a response": func() error { return s.StoreResponse(ctx, id, store.StoredResponse{}) },
			"change":           func() error { return change(ctx, f, e.ID, func(*models.Envelope) error { return nil }) },
			"load":             func() error { return must2(s.Envelope(ctx, app, e.ID)) },
			"list":             func() error { return must2nd2(s.Envelopes(ctx, store.EnvelopeFilter{App: app, Page: 1, Size: 1})) },
			"search": func() error {
				return must2nd2(s.Envelopes(ctx, store.EnvelopeFilter{App: app, Search: "x", Page: 1, Size: 1}))
			},
			"deliveries": func() error { return must2nd2(s.Deliveries(ctx, store.DeliveryFilter{App: app, Page: 1, Size: 1})) },
			"record an attempt": func() error {
				return must2(s.RecordAttempt(ctx, models.DeliveryAttempt{DeliveryID: d}, models.DeliveryOutcome{WebhookID: p.hook.ID}))
			},
			"load a delivery job": func() error { return must2(s.DeliveryJob(ctx, d)) },
			"settings":            func() error { _, _, err := s.Settings(ctx, app, "t"); return err },
			"seal certificates":   func() error { return must2(s.SealCertificates(ctx)) },
			"compact counts":      func() error { return must2(s.CompactCounts(ctx)) },
			"remove expired rows": func() error { return must2(s.RemoveExpired(ctx, store.ExpiredKeys)) },
			"unfinished":          func() error { return must2nd2(s.Unfinished(ctx, store.WorkEnvelopes, uuid.Nil, 1)) },
			"claim outbox rows":   func() error { return must2(s.ClaimOutbox(ctx, 1, time.Minute)) },
			"rewrap":              func() error { return must2(s.Rewrap(ctx)) },
			"migrated":            func() error { return s.Migrated(ctx) },
		} {
			err := call()
			require.Error(t, err, name)
			require.NotErrorIs(t, err, models.ErrNotFound, name)
			assert.False(t, models.IsRefusal(err), "%s: %v", name, err)
		}
		// Nothing was changed by any of them.
		assert.Len(t, must(s.Webhooks(t.Context(), app)), 1)
		assert.NotNil(t, load(t, s, ada.ID))
	})
}

// must2nd2 is the error of a list that also says how many there are.
func must2nd2[T, U any](_ []T, _ U, err error) error { return err }

// TestAnEndpointIsSwitchedOffByOneDelivery: of many that find it gone at once.
func TestAnEndpointIsSwitchedOffByOneDelivery(t *testing.T) {
	t.Parallel()
	testkit.OnBoth(t, func(t *testing.T, s *store.Store, clock *testkit.Clock) {
		f := newFixture(t, s, clock)
		for range 5 {
			p := newEndpoint(f)
			var ds []uuid.UUID
			for range 8 {
				ds = append(ds, p.ping())
			}
			var switched atomic.Int32
			var all errgroup.Group
			for _, d := range ds {
				all.Go(func() error {
					why, err := s.RecordAttempt(t.Context(), models.DeliveryAttempt{DeliveryID: d, At: clock.Now(), Status: 410}, models.DeliveryOutcome{WebhookID: p.hook.ID, Gone: true, Last: true})
					if why != "" {
						switched.Add(1)
					}
					return err
				})
			}
			require.NoError(t, all.Wait())
			require.EqualValues(t, 1, switched.Load())
		}
	})
}

// TestSmallPromises: each of a few lines.
func TestSmallPromises(t *testing.T) {
	t.Parallel()
	testkit.OnBoth(t, func(t *testing.T, s *store.Store, clock *testkit.Clock) {
		f, ctx := newFixture(t, s, clock), t.Context()
		// A new envelope's events are the database's, and whoever waits is woken.
		f.awake()
		e := f.sent(1, nil)
		fresh, err := models.NewEnvelope(f.act(), models.Envelope{AppID: f.app.ID, TenantID: "t", CreatedBy: "me"})
		require.NoError(t, err)
		f.awake()
		require.NoError(t, s.Create(ctx, fresh))
		assert.Empty(t, fresh.Events)
		assert.True(t, f.awake())

		// What was delivered is no job any more.
		p := newEndpoint(f)
		f.awake()
		d := p.ping()
		assert.True(t, f.awake())
		p.attempt(d, 200, models.DeliveryOutcome{})
		_, err = s.DeliveryJob(ctx, d)
		require.ErrorIs(t, err, models.ErrNotFound)

		// Giving back to a window that is not there makes none.
		_, _, err = s.ReserveQuota(ctx, "k", clock.Now(), time.Minute, -2, 10)
		require.NoError(t, err)
		_, left, err := s.ReserveQuota(ctx, "k", clock.Now(), time.Minute, 0, 10)
		require.NoError(t, err)
		assert.Equal(t, 10, left)

		// A key that is not there is not revoked because a certificate is.
		_, certificate, _, err := seal.SelfSigned("Test", clock.Now(), rand.Reader)
		require.NoError(t, err)
		chain, err := seal.LoadChain(certificate)
		require.NoError(t, err)
		require.NoError(t, s.RecordSealCertificate(ctx, chain[0]))
		assert.Equal(t, "not_found", refusalOf(t, s.RevokeKey(ctx, "no-such-key", clock.Now(), "lost")))

		// A key is replaced by one of its own purpose, and no other is.
		tokens := must(s.Keys(ctx, models.KeyTokens))
		manifests := must(s.Keys(ctx, models.KeyManifests))
		made, err := s.RotateKey(ctx, models.KeyManifests)
		require.NoError(t, err)
		keys := must(s.Keys(ctx, models.KeyManifests))
		require.Len(t, keys, len(manifests)+1)
		assert.Equal(t, []any{made, false, true}, []any{keys[0].ID, keys[0].Retired, keys[1].Retired})
		keys = must(s.Keys(ctx, models.KeyTokens))
		require.Len(t, keys, len(tokens))
		assert.Equal(t, []any{tokens[0].ID, false}, []any{keys[0].ID, keys[0].Retired})

		// A purged file needs no time-stamp.
		require.NoError(t, f.sign(e, 0))
		require.NoError(t, change(ctx, f, e.ID, func(e *models.Envelope) error {
			err := e.Complete(f.act(), []models.SealedFile{{OriginalID: e.Documents[0].ID, SHA256: "00", Size: 1, PageCount: 1, BlobKey: "s", TimestampPending: true}})
			e.SetRetention(1)
			return err
		}))
		drainOutbox(t, s)
		assert.Len(t, unfinishedWork(t, s, store.WorkTimestamps), 1)
		clock.Add(24 * time.Hour)
		require.NoError(t, change(ctx, f, e.ID, func(e *models.Envelope) error { return e.Purge(f.act()) }))
		assert.Empty(t, unfinishedWork(t, s, store.WorkTimestamps))
		assert.Empty(t, unfinishedWork(t, s, store.WorkRetentions))

		// A list is empty, and no error, where the kept count is ahead of it.
		lonely := newFixture(t, s, clock)
		db, err := s.DB()
		require.NoError(t, err)
		_, err = db.ExecContext(ctx, "INSERT INTO envelope_counts (app_id, tenant_id, status, n) VALUES ('"+lonely.app.ID.String()+"', 't', 'draft', 3)")
		require.NoError(t, err)
		list, total, err := s.Envelopes(ctx, store.EnvelopeFilter{App: lonely.app.ID, Page: 1, Size: 5})
		require.NoError(t, err)
		assert.Empty(t, list)
		assert.EqualValues(t, 3, total)

		// An unknown client is answered no sooner than a wrong secret.
		began := time.Now()
		_, err = s.Authenticate(ctx, uuid.NewString(), "secret")
		require.ErrorIs(t, err, models.ErrNotFound)
		assert.Greater(t, time.Since(began), 10*time.Millisecond)
	})
}

// TestFormerMasterKeys: short links made under any of them lead on, and a contact
// whose values alone are of a former one is kept when all is encrypted anew.
func TestFormerMasterKeys(t *testing.T) {
	t.Parallel()
	for _, kind := range testkit.Databases {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			url, clock, ctx := testkit.DatabaseURL(t, kind), testkit.NewClock(), t.Context()
			old := openStore(t, url, masterKeys(t, 1), clock)
			_, err := old.Migrate(ctx)
			require.NoError(t, err)
			f := newFixture(t, old, clock)
			e := f.sent(1, nil)
			short := []string{old.ShortLink(*e.Signers[0].LinkID)}
			both := openStore(t, url, masterKeys(t, 2, 1), clock)
			short = append(short, both.ShortLink(*e.Signers[0].LinkID))
			require.NotEqual(t, short[0], short[1])
			for _, link := range short {
				app, l, err := both.LinkByShortForm(ctx, link)
				require.NoError(t, err)
				assert.Equal(t, []uuid.UUID{f.app.ID, e.ID, e.Signers[0].ID}, []uuid.UUID{app, l.EnvelopeID, l.SignerID})
				_, _, err = both.LinkByShortForm(ctx, link[:len(link)-1]+"*")
				require.ErrorIs(t, err, models.ErrNotFound)
				for _, wrong := range []string{link + "a", link[:len(link)-1], link[:22], "a", ""} {
					_, _, err = both.LinkByShortForm(ctx, wrong)
					require.ErrorIs(t, err, models.ErrNotFound)
				}
			}

			c, err := old.SaveContact(ctx, models.Contact{AppID: f.app.ID, Name: "Ada", Email: "ada@example.com"}, false)
			require.NoError(t, err)
			db := openRaw(t, kind, url)
			var name, email string
			require.NoError(t, db.QueryRowContext(ctx, "SELECT name, email FROM contacts WHERE id = '"+c.ID.String()+"'").Scan(&name, &email))
			_, err = both.SaveContact(ctx, models.Contact{AppID: f.app.ID, Name: "Ada", Email: "ada@example.com"}, false)
			require.NoError(t, err)
			_, err = db.ExecContext(ctx, "UPDATE contacts SET name = '"+name+"', email = '"+email+"' WHERE id = '"+c.ID.String()+"'")
			require.NoError(t, err)
			_, err = both.Rewrap(ctx)
			require.NoError(t, err)
			list, _, err := openStore(t, url, masterKeys(t, 2), clock).Contacts(ctx, f.app.ID, "ada@", 1, 9)
			require.NoError(t, err)
			require.Len(t, list, 1)
			assert.Equal(t, c.ID, list[0].ID)
		})
	}
}
