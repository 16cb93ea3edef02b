package reconcile_test

import (
	"bytes"
	"context"
	"slices"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"

	"countersign/models"
	"countersign/operate/reconcile"
	"countersign/store"
	"countersign/temporal"
	"countersign/test/kit"
)

// fakeStore lists unfinished work and records the requeued rows.
type fakeStore struct {
	unfinished map[store.Work][]models.OutboxRow
	requeued   []models.OutboxRow
	calls      map[store.Work]int
	// finished identifies work that the second query reports as finished.
	finished uuid.UUID
}

func (s *fakeStore) Unfinished(_ context.Context, work store.Work, after uuid.UUID, n int) ([]models.OutboxRow, uuid.UUID, error) {
	if s.calls == nil {
		s.calls = make(map[store.Work]int)
	}
	s.calls[work]++
	rows := slices.SortedFunc(slices.Values(s.unfinished[work]), func(a, b models.OutboxRow) int { return bytes.Compare(a.Key[:], b.Key[:]) })
	rows = slices.DeleteFunc(rows, func(r models.OutboxRow) bool {
		return bytes.Compare(r.Key[:], after[:]) <= 0 || s.calls[work] > 1 && r.Key == s.finished
	})
	if len(rows) > n {
		return rows[:n], rows[n-1].Key, nil
	}
	return rows, uuid.Nil, nil
}

func (s *fakeStore) Requeue(_ context.Context, rows []models.OutboxRow) error {
	s.requeued = append(s.requeued, rows...)
	return nil
}

func dial(t *testing.T) client.Client {
	t.Helper()
	c, err := client.Dial(kit.Temporal(t))
	require.NoError(t, err)
	t.Cleanup(c.Close)
	return c
}

// TestRun_MissingWorkflowsAreRequeued checks, for each kind of work, that a terminated or unknown workflow is requeued
// unless its work was finished in the meantime.
func TestRun_MissingWorkflowsAreRequeued(t *testing.T) {
	t.Parallel()
	c := dial(t)
	start := func(id string) {
		// There is no worker, so the workflow runs until it is terminated.
		_, err := c.ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{ID: id, TaskQueue: "nobody"}, "Any")
		require.NoError(t, err)
	}
	works := map[store.Work]struct {
		kind models.OutboxKind
		id   func(uuid.UUID) string
	}{
		store.WorkEnvelopes:  {models.OutboxStart, temporal.EnvelopeWorkflowID},
		store.WorkClosings:   {models.OutboxStart, temporal.EnvelopeWorkflowID},
		store.WorkTimestamps: {models.OutboxTimestamp, temporal.TimestampWorkflowID},
		store.WorkBulkSends:  {models.OutboxBulk, temporal.BulkWorkflowID},
		store.WorkCopies:     {models.OutboxCopies, temporal.CopiesWorkflowID},
		store.WorkDeliveries: {models.OutboxDeliver, func(id uuid.UUID) string { return temporal.DeliveryWorkflowID(id, 2) }},
	}
	require.Len(t, works, len(reconcile.Order))
	s := &fakeStore{unfinished: map[store.Work][]models.OutboxRow{}}
	var lost []uuid.UUID
	want := reconcile.Counts{}
	for work, w := range works {
		running, terminated, unknown := uuid.New(), uuid.New(), uuid.New()
		start(w.id(running))
		start(w.id(terminated))
		require.NoError(t, c.TerminateWorkflow(t.Context(), w.id(terminated), "", "a test"))
		for _, key := range []uuid.UUID{running, terminated, unknown} {
			s.unfinished[work] = append(s.unfinished[work], models.OutboxRow{ID: key, Key: key, Kind: w.kind, Refs: models.OutboxRefs{Resend: 2}})
		}
		want[work] = reconcile.Count{Unfinished: 3, Missing: 2}
		if work == store.WorkCopies { // copies include reminders
			reminder := uuid.New()
			start(temporal.ReinviteWorkflowID(reminder))
			s.unfinished[work] = append(s.unfinished[work],
				models.OutboxRow{ID: reminder, Key: uuid.New(), Kind: models.OutboxReinvite, Refs: models.OutboxRefs{Reminder: true}})
			want[work] = reconcile.Count{Unfinished: 4, Missing: 2}
		}
		lost = append(lost, terminated, unknown)
	}

	found, err := (&reconcile.Reconciler{Store: s, Client: c, DryRun: true}).Run(t.Context())
	require.NoError(t, err)
	assert.Equal(t, want, found)
	assert.Empty(t, s.requeued)

	found, err = (&reconcile.Reconciler{Store: s, Client: c}).Run(t.Context())
	require.NoError(t, err)
	assert.Equal(t, want, found)
	var requeued []uuid.UUID
	for _, r := range s.requeued {
		requeued = append(requeued, r.Key)
	}
	assert.ElementsMatch(t, lost, requeued)

	ended := s.unfinished[store.WorkClosings][2].Key
	s.requeued, s.calls, s.finished = nil, nil, ended
	found, err = (&reconcile.Reconciler{Store: s, Client: c}).Run(t.Context())
	require.NoError(t, err)
	assert.Equal(t, reconcile.Count{Unfinished: 3, Missing: 1}, found[store.WorkClosings], "finished when checked again")
	assert.Len(t, s.requeued, len(lost)-1)
}

// TestRound_ContinuesWhereTheLastEnded checks that rounds of one page examine all work once and then start over at the
// beginning.
func TestRound_ContinuesWhereTheLastEnded(t *testing.T) {
	t.Parallel()
	s := &fakeStore{unfinished: map[store.Work][]models.OutboxRow{}}
	for range 450 { // three pages
		s.unfinished[store.WorkDeliveries] = append(s.unfinished[store.WorkDeliveries], models.OutboxRow{Key: uuid.New(), Kind: models.OutboxDeliver})
	}
	r := &reconcile.Reconciler{Store: s, Client: dial(t)}
	var at reconcile.Position
	rounds, unfinished := 0, 0
	for rounds == 0 || at != (reconcile.Position{}) {
		counts, next, err := r.Round(t.Context(), at, 1)
		require.NoError(t, err)
		unfinished += counts[store.WorkDeliveries].Unfinished
		at = next
		rounds++
		require.LessOrEqual(t, rounds, 20)
	}
	assert.Equal(t, 450, unfinished)
	assert.Len(t, s.requeued, 450)
	assert.Equal(t, len(reconcile.Order)+2, rounds, "one page for each kind, and two more for deliveries")
}

// TestRun_TemporalIsDown checks that no workflow is reported as missing while Temporal is unavailable.
func TestRun_TemporalIsDown(t *testing.T) {
	t.Parallel()
	c, err := client.NewLazyClient(client.Options{HostPort: "127.0.0.1:1"})
	require.NoError(t, err)
	t.Cleanup(c.Close)
	s := &fakeStore{unfinished: map[store.Work][]models.OutboxRow{store.WorkEnvelopes: {{Key: uuid.New(), Kind: models.OutboxStart}}}}
	_, err = (&reconcile.Reconciler{Store: s, Client: c}).Run(t.Context())
	require.Error(t, err)
	assert.Empty(t, s.requeued)
}
