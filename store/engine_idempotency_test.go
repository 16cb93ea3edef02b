package store_test

import (
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"countersign/models"
	"countersign/store"
	"countersign/test/kit"
)

// TestRepeatedRequests_ReturnTheFirstResponse checks that a retry returns the stored response, and that a retry is
// rejected while the first request is running.
func TestRepeatedRequests_ReturnTheFirstResponse(t *testing.T) {
	t.Parallel()
	kit.OnBoth(t, func(t *testing.T, s *store.Store, clock *kit.Clock) {
		ctx := t.Context()
		const keep, inFlight = 24 * time.Hour, 30 * time.Second
		r := store.IdempotentRequest{Scope: "app", Method: "POST", Path: "/v1/envelopes", Key: "k", Fingerprint: []byte("body")}
		another := r
		another.Fingerprint = []byte("another body")
		claim := func(r store.IdempotentRequest) (uuid.UUID, *store.StoredResponse, error) {
			return s.ClaimKey(ctx, r, keep)
		}
		rejected := func(want string, r store.IdempotentRequest) {
			t.Helper()
			_, answer, err := claim(r)
			assert.Equal(t, want, rejectionOf(t, err))
			assert.Nil(t, answer)
		}
		id, answer, err := claim(r)
		require.NoError(t, err)
		require.Nil(t, answer)
		require.NotEqual(t, uuid.Nil, id)
		rejected("idempotency_in_flight", r)
		rejected("idempotency_key_reused", another)
		clock.Add(inFlight - time.Microsecond)
		rejected("idempotency_in_flight", r)

		// The process is now considered dead. A retry replaces its request, which can no longer commit.
		clock.Add(time.Microsecond)
		second, answer, err := claim(r)
		require.NoError(t, err)
		require.Nil(t, answer)
		require.NotEqual(t, id, second)
		createApp := func(s *store.Store) error { _, _, err := s.CreateApp(ctx, "Late", models.PlanFree, nil); return err }
		require.Error(t, withIdempotencyKey(ctx, s, id, createApp))
		require.NoError(t, s.ReleaseKey(ctx, id, true), "the stored response belongs to another request")
		rejected("idempotency_in_flight", r)

		want := store.StoredResponse{Status: http.StatusCreated, Header: http.Header{"Location": {"/v1/envelopes/1"}}, Body: []byte(`{"a":1}`)}
		require.NoError(t, s.StoreResponse(ctx, second, want))
		for range 2 {
			got, answer, err := claim(r)
			require.NoError(t, err)
			assert.Equal(t, second, got)
			assert.Equal(t, &want, answer)
		}
		rejected("idempotency_key_reused", another)
		clock.Add(keep - time.Microsecond)
		_, answer, err = claim(r)
		require.NoError(t, err)
		require.NotNil(t, answer)
		clock.Add(time.Microsecond)
		third, answer, err := claim(another)
		require.NoError(t, err, "the key has expired, and belongs to another request")
		require.Nil(t, answer)
		require.NotEqual(t, second, third)

		// A request handled by a process whose clock is behind is not blocked.
		clock.Add(-time.Hour)
		_, _, err = claim(another)
		require.NoError(t, err)
	})
}

// TestResponses_AreStoredInTheTransaction checks that a response is encrypted and stored in the transaction that it
// describes, and that it is not stored if the transaction fails.
func TestResponses_AreStoredInTheTransaction(t *testing.T) {
	t.Parallel()
	kit.OnBoth(t, func(t *testing.T, s *store.Store, clock *kit.Clock) {
		f, ctx := newFixture(t, s, clock), t.Context()
		e := f.sent(1, nil)
		n := 0
		request := func() store.IdempotentRequest {
			n++
			return store.IdempotentRequest{Scope: "app", Method: "POST", Path: "/p", Key: string(rune('a' + n)), Fingerprint: []byte("f")}
		}
		hook, err := s.CreateWebhook(ctx, f.app.ID, "https://example.com", models.WebhookEvents, "")
		require.NoError(t, err)
		d, err := s.PingWebhook(ctx, f.app.ID, hook.ID)
		require.NoError(t, err)
		fail := func() { // allows the delivery to be resent
			now, _, _, err := s.Delivery(ctx, f.app, d.ID)
			require.NoError(t, err)
			_, err = s.RecordAttempt(ctx, models.DeliveryAttempt{DeliveryID: d.ID, At: clock.Now(), Status: 500}, models.DeliveryOutcome{WebhookID: hook.ID, Run: now.Run, Last: true})
			require.NoError(t, err)
		}
		touch := func(e *models.Envelope) error { return e.Invited(f.act(), e.Signers[0].ID, false, "") }
		for name, do := range map[string]func(*store.Store) error{
			"change":             func(s *store.Store) error { _, err := s.Change(ctx, f.app.ID, e.ID, touch); return err },
			"change with events": func(s *store.Store) error { _, err := s.ChangeWithEvents(ctx, f.app.ID, e.ID, touch); return err },
			"create": func(s *store.Store) error {
				fresh, err := models.NewEnvelope(f.act(), models.Envelope{AppID: f.app.ID, TenantID: "t", CreatedBy: "me"})
				require.NoError(t, err)
				return s.Create(ctx, fresh)
			},
			"resend":       func(s *store.Store) error { _, err := s.Resend(ctx, f.app, d.ID); return err },
			"resend since": func(s *store.Store) error { _, err := s.ResendSince(ctx, f.app, hook.ID, clock.Now()); return err },
			"ping":         func(s *store.Store) error { _, err := s.PingWebhook(ctx, f.app.ID, hook.ID); return err },
			"make": func(s *store.Store) error {
				_, err := s.CreateWebhook(ctx, f.app.ID, "https://example.com/2", models.WebhookEvents, "")
				return err
			},
		} {
			fail()
			r := request()
			id, _, err := s.ClaimKey(ctx, r, time.Hour)
			require.NoError(t, err)
			answer := store.StoredResponse{Status: 200, Header: http.Header{}, Body: []byte(name)}
			given, err := s.Execute(ctx, id, func(s *store.Store) (*store.StoredResponse, error) { return &answer, do(s) })
			require.NoError(t, err, name)
			require.Equal(t, &answer, given, name)
			_, got, err := s.ClaimKey(ctx, r, time.Hour)
			require.NoError(t, err, name)
			assert.Equal(t, &answer, got, name)
		}

		// If a response cannot be rendered, the transaction that it describes is rolled back.
		r := request()
		id, _, err := s.ClaimKey(ctx, r, time.Hour)
		require.NoError(t, err)
		before, _ := f.check(e.ID)
		boom := errors.New("boom")
		require.ErrorIs(t, withIdempotencyKey(ctx, s, id, func(s *store.Store) error {
			require.NoError(t, errOf(s.Change(ctx, f.app.ID, e.ID, touch)))
			return boom
		}), boom)
		after, _ := f.check(e.ID)
		assert.Equal(t, before, after)
		require.NoError(t, s.ReleaseKey(ctx, id, false))
		_, answer, err := s.ClaimKey(ctx, r, time.Hour)
		require.NoError(t, err)
		require.Nil(t, answer)

		// A response that was not rendered is not stored, although the request was committed.
		r = request()
		id, _, err = s.ClaimKey(ctx, r, time.Hour)
		require.NoError(t, err)
		change := func(s *store.Store) error { return errOf(s.Change(ctx, f.app.ID, e.ID, touch)) }
		require.NoError(t, withIdempotencyKey(ctx, s, id, change))
		clock.Add(time.Minute)
		_, _, err = s.ClaimKey(ctx, r, time.Hour)
		assert.Equal(t, "idempotency_interrupted", rejectionOf(t, err))

		// A request without a key returns its response, and leaves no record.
		given, err := s.Execute(ctx, uuid.Nil, func(s *store.Store) (*store.StoredResponse, error) {
			return &store.StoredResponse{Status: 200}, change(s)
		})
		require.NoError(t, err)
		assert.Equal(t, 200, given.Status)
	})
}

// TestRestore_IsNotAnEffectOfTheRequest checks that a request that only restores an archived envelope counts as having
// no effect.
func TestRestore_IsNotAnEffectOfTheRequest(t *testing.T) {
	t.Parallel()
	kit.OnBoth(t, func(t *testing.T, s *store.Store, clock *kit.Clock) {
		f, ctx := newArchiveFixture(t, s, clock), t.Context()
		require.NoError(t, s.Archive(ctx, f.ended[0]))
		r := store.IdempotentRequest{Scope: "app", Method: "POST", Path: "/v1/envelopes/1/copies", Key: "k", Fingerprint: []byte("body")}
		id, _, err := s.ClaimKey(ctx, r, time.Hour)
		require.NoError(t, err)
		tries, boom := 0, errors.New("boom")
		require.ErrorIs(t, withIdempotencyKey(ctx, s, id, func(s *store.Store) error {
			return errOf(s.Change(ctx, f.app.ID, f.completed.ID, func(e *models.Envelope) error {
				if tries++; tries > 1 {
					return boom
				}
				return e.Downloaded(f.act(), e.Signers[0].ID, e.Sealed()[0].ID)
			}))
		}), boom)
		require.Equal(t, 2, tries)
		require.Zero(t, f.rows("envelopes WHERE archived AND id = $1", f.completed.ID), "the archive is restored")
		clock.Add(time.Minute) // the process is now considered dead
		_, answer, err := s.ClaimKey(ctx, r, time.Hour)
		require.NoError(t, err)
		require.Nil(t, answer)
	})
}

// TestCommittedRequest_KeepsItsResponse checks that a released request can be executed again only if it had no effect,
// or if repeating it is explicitly permitted.
func TestCommittedRequest_KeepsItsResponse(t *testing.T) {
	t.Parallel()
	kit.OnBoth(t, func(t *testing.T, s *store.Store, clock *kit.Clock) {
		ctx := t.Context()
		r := store.IdempotentRequest{Scope: "x", Method: "POST", Path: "/p", Key: "k", Fingerprint: []byte("f")}
		id, _, err := s.ClaimKey(ctx, r, time.Hour)
		require.NoError(t, err)
		require.NoError(t, s.ReleaseKey(ctx, id, false))
		again, _, err := s.ClaimKey(ctx, r, time.Hour)
		require.NoError(t, err, "the request had not changed anything")
		require.NotEqual(t, id, again)
		require.NoError(t, withIdempotencyKey(ctx, s, again, func(s *store.Store) error { _, _, err := s.CreateApp(ctx, "Made", models.PlanFree, nil); return err }))
		require.NoError(t, s.ReleaseKey(ctx, again, false))
		clock.Add(time.Minute)
		_, _, err = s.ClaimKey(ctx, r, time.Hour)
		require.ErrorContains(t, err, "idempotency_interrupted")
		require.NoError(t, s.ReleaseKey(ctx, again, true))
		_, _, err = s.ClaimKey(ctx, r, time.Hour)
		require.NoError(t, err)

		// Requests are distinguished by scope, path, method and key.
		for _, other := range []store.IdempotentRequest{
			{Scope: "y", Method: "POST", Path: "/p", Key: "k"},
			{Scope: "x", Method: "PUT", Path: "/p", Key: "k"},
			{Scope: "x", Method: "POST", Path: "/q", Key: "k"},
			{Scope: "x", Method: "POST", Path: "/p", Key: "l"},
		} {
			other.Fingerprint = r.Fingerprint
			_, answer, err := s.ClaimKey(ctx, other, time.Hour)
			require.NoError(t, err, "%+v", other)
			require.Nil(t, answer)
		}
	})
}

// TestIdempotencyKeys_HaveSeparateResponses checks that concurrent requests do not share responses, and that the event
// feeds of two apps do not share positions.
func TestIdempotencyKeys_HaveSeparateResponses(t *testing.T) {
	t.Parallel()
	kit.OnBoth(t, func(t *testing.T, s *store.Store, clock *kit.Clock) {
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
		assert.False(t, models.IsRejection(err), "a row rejected by the database is not a request in progress: %v", err)

		// The events of each app are numbered independently, regardless of the order in which they are read.
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
