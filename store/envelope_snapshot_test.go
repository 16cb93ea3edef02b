package store_test

import (
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"countersign/internal/testkit"
	"countersign/models"
	"countersign/store"
)

// signSnapshot lets the i-th signer sign on a snapshot, and counts how often that
// was decided.
func (f *fixture) signSnapshot(snapshot *store.Snapshot, i int) (decided int, err error) {
	value := "yes"
	_, err = f.ChangeSnapshot(f.t.Context(), snapshot, func(e *models.Envelope) error {
		decided++
		_, err := e.Sign(f.act(), link(e, i), models.Submission{Fields: []models.FieldSubmission{{FieldID: e.Fields[i].ID, Text: &value}}})
		return err
	})
	return decided, err
}

func (f *fixture) snapshot(id uuid.UUID) *store.Snapshot {
	f.t.Helper()
	s, err := f.Snapshot(f.t.Context(), f.app.ID, id)
	require.NoError(f.t, err)
	return s
}

// TestAChangeOfASnapshotErasesNothing: whatever happened since the snapshot stays,
// and decides anew whether the change is allowed.
func TestAChangeOfASnapshotErasesNothing(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		meanwhile func(t *testing.T, f *fixture, e *models.Envelope)
		decided   int
		refused   bool
		signed    int
	}{
		"nothing happened": {func(*testing.T, *fixture, *models.Envelope) {}, 1, false, 1},
		"another signed":   {func(t *testing.T, f *fixture, e *models.Envelope) { t.Helper(); require.NoError(t, f.sign(e, 1)) }, 2, false, 2},
		"it was voided": {func(t *testing.T, f *fixture, e *models.Envelope) {
			t.Helper()
			require.NoError(t, change(t.Context(), f, e.ID, func(e *models.Envelope) error { return e.Void(f.act(), nil) }))
		}, 2, true, 0},
		"the signer signed already": {func(t *testing.T, f *fixture, e *models.Envelope) { t.Helper(); require.NoError(t, f.sign(e, 0)) }, 2, true, 1},
		"it became old":             {func(_ *testing.T, f *fixture, _ *models.Envelope) { f.clock.Add(time.Minute) }, 1, false, 1},
		"the clock was set back":    {func(_ *testing.T, f *fixture, _ *models.Envelope) { f.clock.Add(-time.Minute) }, 1, false, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			testkit.OnBoth(t, func(t *testing.T, s *store.Store, clock *testkit.Clock) {
				f := newFixture(t, s, clock)
				e := f.sent(2, nil)
				snapshot := f.snapshot(e.ID)
				tt.meanwhile(t, f, e)
				before, _ := f.check(e.ID)
				decided, err := f.signSnapshot(snapshot, 0)
				assert.Equal(t, tt.decided, decided)
				after, log := f.check(e.ID)
				assert.Equal(t, tt.signed, count(log, models.EventSignerSigned))
				if tt.refused {
					var refusal *models.Error
					require.ErrorAs(t, err, &refusal)
					assert.Equal(t, before, after)
					return
				}
				require.NoError(t, err)
				assert.Equal(t, before.Version+1, after.Version)
				assert.Equal(t, models.SignerSigned, after.Signers[0].Status)
				values, err := s.Values(t.Context(), e)
				require.NoError(t, err)
				assert.Len(t, values, tt.signed)
			})
		})
	}
}

// TestManySignOnSnapshots: all have read the envelope before anyone signs.
func TestManySignOnSnapshots(t *testing.T) {
	t.Parallel()
	testkit.OnBoth(t, func(t *testing.T, s *store.Store, clock *testkit.Clock) {
		f := newFixture(t, s, clock)
		const n = 16
		e := f.sent(n, nil)
		var wg sync.WaitGroup
		for i := range n {
			snapshot := f.snapshot(e.ID)
			wg.Go(func() {
				_, err := f.signSnapshot(snapshot, i)
				assert.NoError(t, err)
			})
		}
		wg.Wait()
		got, log := f.check(e.ID)
		assert.Equal(t, models.StatusSealing, got.Status)
		assert.Equal(t, n, count(log, models.EventSignerSigned))
	})
}

// TestASnapshotOfATakenOverRequest: a request whose key was taken over by a repeat
// changes nothing, on a snapshot either.
func TestASnapshotOfATakenOverRequest(t *testing.T) {
	t.Parallel()
	testkit.OnBoth(t, func(t *testing.T, s *store.Store, clock *testkit.Clock) {
		f := newFixture(t, s, clock)
		e := f.sent(1, nil)
		before, _ := f.check(e.ID)
		snapshot := f.snapshot(e.ID)
		_, err := s.ForKey(uuid.New(), nil).ChangeSnapshot(t.Context(), snapshot, func(e *models.Envelope) error { return e.Void(f.act(), nil) })
		require.Error(t, err)
		after, _ := f.check(e.ID)
		assert.Equal(t, before, after)
	})
}

// TestASnapshotIsOfItsApp: another app's envelope is not found.
func TestASnapshotIsOfItsApp(t *testing.T) {
	t.Parallel()
	testkit.OnBoth(t, func(t *testing.T, s *store.Store, clock *testkit.Clock) {
		f := newFixture(t, s, clock)
		e := f.sent(1, nil)
		_, err := s.Snapshot(t.Context(), uuid.New(), e.ID)
		require.ErrorIs(t, err, models.ErrNotFound)
	})
}
