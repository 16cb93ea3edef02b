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

// TestUnresponsiveDatabase_FailsCalls checks that every call returns an error if the database does not respond.
func TestUnresponsiveDatabase_FailsCalls(t *testing.T) {
	t.Parallel()
	kit.OnBoth(t, func(t *testing.T, s *store.Store, clock *kit.Clock) {
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
				return errOf(s.SaveContact(ctx, models.Contact{AppID: app, Name: "A", Email: "a@example.com"}, false))
			},
			"disable a user":     func() error { return s.DisableUser(ctx, ada.AppID, ada.ID) },
			"end a session":      func() error { return s.EndConsoleSession(ctx, ada.ID, id) },
			"end sessions":       func() error { return s.EndConsoleSessions(ctx, ada.ID, id) },
			"delete an endpoint": func() error { return s.DeleteWebhook(ctx, app, p.hook.ID) },
			"enrol a factor":     func() error { return errOf(s.EnrollFactor(ctx, ada)) },
			"use a code":         func() error { return s.ConsumeCode(ctx, ada.ID, codeAt(t, secret, clock.Now())) },
			"remove a factor":    func() error { return s.RemoveFactor(ctx, ada.ID, id) },
			"add a secret":       func() error { return errOf(s.AddSecret(ctx, app, time.Hour)) },
			"client secrets":     func() error { return errOf(s.ClientSecrets(ctx, app)) },
			"authenticate":       func() error { return errOf(s.Authenticate(ctx, f.app.ClientID.String(), "x")) },
			"log in":             func() error { return errOf(s.Login(ctx, "ada@example.com", "x")) },
			"confirm a password": func() error { return s.ConfirmPassword(ctx, ada.ID, "x") },
			"add an anchor":      func() error { return s.AddAnchor(ctx, store.Anchor{Number: 1, Token: []byte("t")}) },
			"the last anchor":    func() error { return errOf(s.LastAnchor(ctx)) },
			"chain heads":        func() error { return s.EachChainHead(ctx, time.Time{}, func(store.ChainHead) error { return nil }) },
			"chain links":        func() error { return errOf(s.ChainLinks(ctx, []store.ChainHead{{EnvelopeID: id, Seq: 1}})) },
			"claim a key": func() error {
				_, _, err := s.ClaimKey(ctx, store.IdempotentRequest{Fingerprint: []byte("f")}, time.Hour)
				return err
			},
			"release a key":    func() error { return s.ReleaseKey(ctx, id, true) },
			"store a response": func() error { return s.StoreResponse(ctx, id, store.StoredResponse{}) },
			"change":           func() error { return change(ctx, f, e.ID, func(*models.Envelope) error { return nil }) },
			"load":             func() error { return errOf(s.Envelope(ctx, app, e.ID)) },
			"list":             func() error { return lastErrOf(s.Envelopes(ctx, store.EnvelopeFilter{App: app, Page: 1, Size: 1})) },
			"search": func() error {
				return lastErrOf(s.Envelopes(ctx, store.EnvelopeFilter{App: app, Search: "x", Page: 1, Size: 1}))
			},
			"deliveries": func() error { return lastErrOf(s.Deliveries(ctx, store.DeliveryFilter{App: app, Page: 1, Size: 1})) },
			"record an attempt": func() error {
				return errOf(s.RecordAttempt(ctx, models.DeliveryAttempt{DeliveryID: d}, models.DeliveryOutcome{WebhookID: p.hook.ID}))
			},
			"load a delivery job": func() error { return errOf(s.DeliveryJob(ctx, d)) },
			"settings":            func() error { _, _, err := s.Settings(ctx, app, "t"); return err },
			"seal certificates":   func() error { return errOf(s.SealCertificates(ctx)) },
			"compact counts":      func() error { return errOf(s.CompactCounts(ctx)) },
			"remove expired rows": func() error { return errOf(s.RemoveExpired(ctx, store.ExpiredKeys)) },
			"unfinished":          func() error { return lastErrOf(s.Unfinished(ctx, store.WorkEnvelopes, uuid.Nil, 1)) },
			"claim outbox rows":   func() error { return errOf(s.ClaimOutbox(ctx, 1, time.Minute)) },
			"rewrap":              func() error { return errOf(s.Rewrap(ctx)) },
			"migrated":            func() error { return s.Migrated(ctx) },
		} {
			err := call()
			require.Error(t, err, name)
			require.NotErrorIs(t, err, models.ErrNotFound, name)
			assert.False(t, models.IsRejection(err), "%s: %v", name, err)
		}
		// None of the calls has changed anything.
		assert.Len(t, must(s.Webhooks(t.Context(), app)), 1)
		assert.NotNil(t, load(t, s, ada.ID))
	})
}

// lastErrOf returns the error of a call that also returns two unused results.
func lastErrOf[T, U any](_ []T, _ U, err error) error { return err }
