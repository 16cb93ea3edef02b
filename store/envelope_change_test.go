package store_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"countersign/models"
	"countersign/store"
	"countersign/test/kit"
)

type fixture struct {
	*store.Store

	t     *testing.T
	clock *kit.Clock
	app   *models.App
}

func newFixture(t *testing.T, s *store.Store, clock *kit.Clock) *fixture {
	t.Helper()
	app, _, err := s.CreateApp(t.Context(), "Test", models.PlanEnterprise, nil)
	require.NoError(t, err)
	return &fixture{Store: s, t: t, clock: clock, app: app}
}

func (f *fixture) act() models.ActionContext {
	return models.ActionContext{At: f.clock.Now(), Actor: models.ActorSystem, IP: "192.0.2.1", UserAgent: "test", NewID: newID}
}

// sent stores an envelope that is waiting for n signers in the same routing group.
func (f *fixture) sent(n int, days *int) *models.Envelope {
	f.t.Helper()
	act := f.act()
	e, err := models.NewEnvelope(act, models.Envelope{AppID: f.app.ID, TenantID: "t", CreatedBy: "me", ExpiresInDays: days})
	require.NoError(f.t, err)
	_, err = e.AddDocument(act, models.DocumentInput{Document: models.Document{
		Name: "a.pdf", SHA256: strings.Repeat("0", 64), Size: 9, PageCount: 1, Pages: []models.PageRun{{From: 1, Width: 595, Height: 842}}, BlobKey: "k",
	}}, 1)
	require.NoError(f.t, err)
	for i := range n {
		s, err := e.AddSigner(act, models.SignerInput{
			Name: "S", Email: fmt.Sprintf("s%d@example.com", i), RoutingOrder: 1, AuthMethod: models.AuthNone,
		})
		require.NoError(f.t, err)
		_, err = e.AddFields(act, []models.FieldInput{{
			SignerRef: s.ID.String(), Type: models.FieldText, Page: 1, X: 1, Y: 1, W: 10, H: 10, Required: true, Origin: models.OriginTopLeft,
		}}, models.NoPrefix)
		require.NoError(f.t, err)
	}
	require.NoError(f.t, e.Send(act, nil))
	require.NoError(f.t, f.Create(f.t.Context(), e))
	for i := range n {
		_, err := f.Change(f.t.Context(), f.app.ID, e.ID, func(e *models.Envelope) error {
			_, err := e.Consent(f.act(), link(e, i), new(models.Signer).Disclosure("en"))
			return err
		})
		require.NoError(f.t, err)
	}
	got, err := f.Envelope(f.t.Context(), f.app.ID, e.ID)
	require.NoError(f.t, err)
	return got
}

func link(e *models.Envelope, i int) models.Link {
	return models.Link{EnvelopeID: e.ID, SignerID: e.Signers[i].ID, ID: *e.Signers[i].LinkID}
}

func (f *fixture) sign(e *models.Envelope, i int) error {
	value := "yes"
	_, err := f.Change(f.t.Context(), f.app.ID, e.ID, func(e *models.Envelope) error {
		_, err := e.Sign(f.act(), link(e, i), models.Submission{Fields: []models.FieldSubmission{{FieldID: e.Fields[i].ID, Text: &value}}})
		return err
	})
	return err
}

// check loads the envelope, and checks that its audit chain is valid.
func (f *fixture) check(id uuid.UUID) (*models.Envelope, []models.Event) {
	f.t.Helper()
	e, log, err := f.EnvelopeWithEvents(f.t.Context(), f.app.ID, id)
	require.NoError(f.t, err)
	require.NoError(f.t, models.VerifyChain(log, e.AuditSeq, e.AuditHead))
	return e, log
}

func count(log []models.Event, name models.EventName) (n int) {
	for i := range log {
		if log[i].Name == name {
			n++
		}
	}
	return n
}

func TestEnvelope_SurvivesTheDatabase(t *testing.T) {
	t.Parallel()
	kit.OnBoth(t, func(t *testing.T, s *store.Store, clock *kit.Clock) {
		f := newFixture(t, s, clock)
		days := 7
		e := f.sent(2, &days)
		require.NoError(t, f.sign(e, 0))
		got, log := f.check(e.ID)
		assert.Equal(t, models.StatusInProgress, got.Status)
		assert.Equal(t, clock.Now(), got.Signers[0].SignedAt.UTC(), "microseconds survive")
		assert.Equal(t, time.UTC, got.CreatedAt.Location())
		assert.Equal(t, clock.Now().AddDate(0, 0, 7), got.ExpiresAt.UTC())
		assert.Equal(t, 1, count(log, models.EventSignerSigned))
		values, err := s.Values(t.Context(), e)
		require.NoError(t, err)
		require.Len(t, values, 1)
		assert.Equal(t, "yes", values[0].Text)
	})
}

func TestRejectedChange_WritesNothing(t *testing.T) {
	t.Parallel()
	kit.OnBoth(t, func(t *testing.T, s *store.Store, clock *kit.Clock) {
		f := newFixture(t, s, clock)
		e := f.sent(1, nil)
		before, logBefore := f.check(e.ID)
		boom := errors.New("boom")
		_, err := s.Change(t.Context(), f.app.ID, e.ID, func(e *models.Envelope) error {
			require.NoError(t, e.Void(f.act(), nil))
			return boom
		})
		require.ErrorIs(t, err, boom)
		after, logAfter := f.check(e.ID)
		assert.Equal(t, before, after)
		assert.Len(t, logAfter, len(logBefore))
	})
}

func TestEnvelopeOfAnotherApp_IsNotFound(t *testing.T) {
	t.Parallel()
	kit.OnBoth(t, func(t *testing.T, s *store.Store, clock *kit.Clock) {
		f := newFixture(t, s, clock)
		e := f.sent(1, nil)
		for _, app := range []uuid.UUID{uuid.New(), uuid.Nil} {
			_, err := s.Change(t.Context(), app, e.ID, func(*models.Envelope) error { return nil })
			require.ErrorIs(t, err, models.ErrNotFound)
			_, err = s.Envelope(t.Context(), app, e.ID)
			require.ErrorIs(t, err, models.ErrNotFound)
		}
	})
}

// TestClosingActions_HaveOneWinner checks that if sign, decline, void and expire run concurrently on an envelope,
// exactly one of them succeeds.
func TestClosingActions_HaveOneWinner(t *testing.T) {
	t.Parallel()
	kit.OnBoth(t, func(t *testing.T, s *store.Store, clock *kit.Clock) {
		f := newFixture(t, s, clock)
		days := 1
		winners := map[models.Status]int{}
		for range 25 {
			e := f.sent(2, &days)
			due := f.act()
			due.At = e.ExpiresAt.Add(time.Microsecond)
			racers := []func() error{
				func() error { return f.sign(e, 0) },
				func() error { return f.sign(e, 1) },
				func() error { return f.sign(e, 1) },
				func() error {
					return change(t.Context(), f, e.ID, func(e *models.Envelope) error { _, err := e.Decline(f.act(), link(e, 0), nil, false); return err })
				},
				func() error {
					return change(t.Context(), f, e.ID, func(e *models.Envelope) error { return e.Void(f.act(), nil) })
				},
				func() error {
					return change(t.Context(), f, e.ID, func(e *models.Envelope) error { return e.Expire(due) })
				},
			}
			results := make([]error, len(racers))
			var wg sync.WaitGroup
			ready := make(chan struct{})
			for i, race := range racers {
				wg.Go(func() { <-ready; results[i] = race() })
			}
			close(ready)
			wg.Wait()

			got, log := f.check(e.ID)
			ends := 0
			for name, status := range map[models.EventName]models.Status{
				models.EventEnvelopeDeclined: models.StatusDeclined, models.EventEnvelopeVoided: models.StatusVoided,
				models.EventEnvelopeExpired: models.StatusExpired,
			} {
				n := count(log, name)
				ends += n
				assert.Equal(t, n == 1, got.Status == status, "%s while %s", name, got.Status)
			}
			if got.Status == models.StatusSealing {
				ends++
			}
			assert.Equal(t, 1, ends, "exactly one final status")
			winners[got.Status]++
			ok := 0
			for _, err := range results {
				if err == nil {
					ok++
					continue
				}
				assert.True(t, models.IsRejection(err), "the losing call must be rejected, not fail: %v", err)
			}
			signed := count(log, models.EventSignerSigned)
			closed := 0
			if got.Status != models.StatusSealing {
				closed = 1
			}
			assert.Equal(t, signed+closed, ok, "exactly the acknowledged calls took effect")
		}
		t.Logf("winners: %v", winners)
	})
}

func change(ctx context.Context, f *fixture, id uuid.UUID, fn func(*models.Envelope) error) error {
	_, err := f.Change(ctx, f.app.ID, id, fn)
	return err
}

// TestSign_ConcurrentSigners checks that concurrent signatures do not overwrite each other.
func TestSign_ConcurrentSigners(t *testing.T) {
	t.Parallel()
	kit.OnBoth(t, func(t *testing.T, s *store.Store, clock *kit.Clock) {
		f := newFixture(t, s, clock)
		const n = 16
		e := f.sent(n, nil)
		var wg sync.WaitGroup
		for i := range n {
			wg.Go(func() { assert.NoError(t, f.sign(e, i)) })
		}
		wg.Wait()
		got, log := f.check(e.ID)
		assert.Equal(t, models.StatusSealing, got.Status)
		assert.Equal(t, n, count(log, models.EventSignerSigned))
		values, err := s.Values(t.Context(), e)
		require.NoError(t, err)
		assert.Len(t, values, n)
	})
}

// TestOneTimeCodes_UnderParallelGuessing checks that only three of fifty concurrent guesses are evaluated.
func TestOneTimeCodes_UnderParallelGuessing(t *testing.T) {
	t.Parallel()
	kit.OnBoth(t, func(t *testing.T, s *store.Store, clock *kit.Clock) {
		f := newFixture(t, s, clock)
		e := f.sent(1, nil)
		l := link(e, 0)
		require.NoError(t, change(t.Context(), f, e.ID, func(e *models.Envelope) error {
			e.Signers[0].AuthMethod = models.AuthEmailOTP
			_, err := e.RequestCode(f.act(), l, []byte("right"))
			return err
		}))
		var wg sync.WaitGroup
		for range 50 {
			wg.Go(func() {
				assert.NoError(t, change(t.Context(), f, e.ID, func(e *models.Envelope) error {
					ok, err := e.VerifyCode(f.act(), l, []byte("wrong"), nil)
					assert.False(t, ok)
					return err
				}))
			})
		}
		wg.Wait()
		got, log := f.check(e.ID)
		assert.Equal(t, models.OTPTries, got.Signers[0].OTPWrong, "attempts after the code became invalid are not counted")
		assert.Nil(t, got.Signers[0].OTPHash)
		assert.Equal(t, 1, count(log, models.EventSignerOTPFailed))
	})
}

// TestUnchangedState_WritesNothing checks that a change without effect writes no row, wakes no worker and uses no
// connection.
func TestUnchangedState_WritesNothing(t *testing.T) {
	t.Parallel()
	kit.OnBoth(t, func(t *testing.T, s *store.Store, clock *kit.Clock) {
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
		assert.False(t, f.awake(), "there is no row to claim")

		open := pool(t, s).Stats().OpenConnections
		rejected := models.Reject(models.KindConflict, "no", "No.")
		_, err := s.Change(ctx, f.app.ID, e.ID, func(*models.Envelope) error { return rejected })
		require.ErrorIs(t, err, rejected)
		assert.Equal(t, open, pool(t, s).Stats().OpenConnections)
	})
}

// TestChange_WithoutEffectWritesNothing checks that a change is saved if it records an event or modifies any part of
// the envelope, and otherwise writes nothing.
func TestChange_WithoutEffectWritesNothing(t *testing.T) {
	t.Parallel()
	kit.OnBoth(t, func(t *testing.T, s *store.Store, clock *kit.Clock) {
		f, ctx := newFixture(t, s, clock), t.Context()
		e := f.sent(2, nil)
		f.awake()
		got, err := s.Change(ctx, f.app.ID, e.ID, func(*models.Envelope) error { return nil })
		require.NoError(t, err)
		assert.Equal(t, e.Version, got.Version)
		drainOutbox(t, s)
		assert.False(t, f.awake(), "the outbox must be empty")
		version := e.Version
		for _, c := range []struct {
			name   string
			change func(e *models.Envelope)
		}{
			{"event", func(e *models.Envelope) { require.NoError(t, e.Invited(f.act(), e.Signers[0].ID, false, "")) }},
			{"envelope", func(e *models.Envelope) { e.CreatedBy += "x" }},
			{"signer", func(e *models.Envelope) { e.Signers[1].UserAgent += "x" }},
			{"document", func(e *models.Envelope) { e.Documents[0].SealFacts += "x" }},
			{"field", func(e *models.Envelope) { e.Fields[1].Page++ }},
			{"address", func(e *models.Envelope) { e.Signers[0].Email = "other@example.com" }},
			{"phone", func(e *models.Envelope) { p := "+442079460958"; e.Signers[0].Phone = &p }},
			{"no phone", func(e *models.Envelope) { e.Signers[0].Phone = nil }},
			{"a value", func(e *models.Envelope) {
				e.Values = []models.FieldValue{{FieldID: e.Fields[0].ID, EnvelopeID: e.ID, SignerID: e.Signers[0].ID, Text: "v"}}
			}},
			{"a signature", func(e *models.Envelope) {
				e.Adopted = &models.SavedSignature{AppID: e.AppID, TenantID: "t", Email: "a@example.com", Image: []byte("png")}
			}},
			{"a new signer", func(e *models.Envelope) {
				e.Signers = append(e.Signers, &models.Signer{ID: newID(), EnvelopeID: e.ID, Position: 2, Name: "New", Email: "new@example.com"})
			}},
		} {
			changed, err := s.ChangeWithEvents(ctx, f.app.ID, e.ID, func(e *models.Envelope) error { c.change(e); return nil })
			require.NoError(t, err, c.name)
			version++
			assert.Equal(t, version, changed.Version, c.name)
			assert.Empty(t, changed.Events, c.name)
			assert.Empty(t, changed.Values, c.name)
			assert.Nil(t, changed.Adopted, c.name)
			stored, log := f.check(e.ID)
			assert.Equal(t, stored, changed.Envelope, c.name)
			assert.Len(t, changed.Log, len(log), c.name)
			assert.Equal(t, len(drainOutbox(t, s)) > 0, f.awake(), c.name)
		}
		values, err := s.Values(ctx, e)
		require.NoError(t, err)
		assert.Len(t, values, 1)
		found, _, err := s.Envelopes(ctx, store.EnvelopeFilter{App: f.app.ID, Search: "new@example.com", Page: 1, Size: 5})
		require.NoError(t, err)
		assert.Len(t, found, 1, "a signer who was added later is found")
		got, err = s.Change(ctx, f.app.ID, e.ID, func(e *models.Envelope) error { return e.Invited(f.act(), e.Signers[0].ID, false, "") })
		require.NoError(t, err)
		assert.Empty(t, got.Events)
		_, err = s.Change(ctx, f.app.ID, e.ID, func(e *models.Envelope) error { return e.Void(f.act(), nil) })
		require.NoError(t, err)
		assert.True(t, f.awake())
	})
}

// TestSupersededRequest_ChangesNothing checks that a request changes nothing if a retry has taken over its key.
func TestSupersededRequest_ChangesNothing(t *testing.T) {
	t.Parallel()
	kit.OnBoth(t, func(t *testing.T, s *store.Store, clock *kit.Clock) {
		f := newFixture(t, s, clock)
		e := f.sent(1, nil)
		before, _ := f.check(e.ID)
		require.Error(t, withIdempotencyKey(t.Context(), s, uuid.New(), func(s *store.Store) error {
			return errOf(s.Change(t.Context(), f.app.ID, e.ID, func(e *models.Envelope) error { return e.Void(f.act(), nil) }))
		}))
		after, _ := f.check(e.ID)
		assert.Equal(t, before, after)
	})
}
