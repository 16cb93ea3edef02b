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

	"countersign/internal/testkit"
	"countersign/models"
	"countersign/operate/reconcile"
	"countersign/temporal"
)

// fakeStore lists what is unfinished and notes what is requeued.
type fakeStore struct {
	unfinished map[models.OutboxKind][]models.OutboxRow
	requeued   []models.OutboxRow
}

func (s *fakeStore) Unfinished(_ context.Context, kind models.OutboxKind, after uuid.UUID, n int) ([]models.OutboxRow, error) {
	rows := slices.SortedFunc(slices.Values(s.unfinished[kind]), func(a, b models.OutboxRow) int { return bytes.Compare(a.Key[:], b.Key[:]) })
	rows = slices.DeleteFunc(rows, func(r models.OutboxRow) bool { return bytes.Compare(r.Key[:], after[:]) <= 0 })
	return rows[:min(n, len(rows))], nil
}

func (s *fakeStore) Requeue(_ context.Context, rows []models.OutboxRow) error {
	s.requeued = append(s.requeued, rows...)
	return nil
}

// TestWhatDoesNotRunIsRequeued: of each kind, a workflow that runs is left alone; one
// that was terminated, or that Temporal does not know, is started anew.
func TestWhatDoesNotRunIsRequeued(t *testing.T) {
	t.Parallel()
	c, err := client.Dial(testkit.Temporal(t))
	require.NoError(t, err)
	t.Cleanup(c.Close)
	start := func(id string) {
		// Nobody works on it: it runs until it is terminated.
		_, err := c.ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{ID: id, TaskQueue: "nobody"}, "Any")
		require.NoError(t, err)
	}
	ids := map[models.OutboxKind]func(uuid.UUID) string{
		models.OutboxStart:     temporal.EnvelopeWorkflowID,
		models.OutboxRetention: temporal.RetentionWorkflowID,
		models.OutboxTimestamp: temporal.TimestampWorkflowID,
		models.OutboxBulk:      temporal.BulkWorkflowID,
		models.OutboxCopies:    temporal.CopiesWorkflowID,
		models.OutboxDeliver:   func(id uuid.UUID) string { return temporal.DeliveryWorkflowID(id, 2) },
	}
	s := &fakeStore{unfinished: map[models.OutboxKind][]models.OutboxRow{}}
	var lost []uuid.UUID
	for kind, id := range ids {
		running, terminated, unknown := uuid.New(), uuid.New(), uuid.New()
		start(id(running))
		start(id(terminated))
		require.NoError(t, c.TerminateWorkflow(t.Context(), id(terminated), "", "a test"))
		for _, key := range []uuid.UUID{running, terminated, unknown} {
			s.unfinished[kind] = append(s.unfinished[kind], models.OutboxRow{ID: key, Key: key, Kind: kind, Refs: models.OutboxRefs{Resend: 2}})
		}
		lost = append(lost, terminated, unknown)
	}
	want := map[models.OutboxKind]reconcile.Count{}
	for kind := range ids {
		want[kind] = reconcile.Count{Unfinished: 3, Started: 2}
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
}

// TestTemporalIsDown: nothing is taken for lost because nobody can be asked.
func TestTemporalIsDown(t *testing.T) {
	t.Parallel()
	c, err := client.NewLazyClient(client.Options{HostPort: "127.0.0.1:1"})
	require.NoError(t, err)
	t.Cleanup(c.Close)
	s := &fakeStore{unfinished: map[models.OutboxKind][]models.OutboxRow{models.OutboxStart: {{Key: uuid.New(), Kind: models.OutboxStart}}}}
	_, err = (&reconcile.Reconciler{Store: s, Client: c}).Run(t.Context())
	require.Error(t, err)
	assert.Empty(t, s.requeued)
}
