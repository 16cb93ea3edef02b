package activities_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"countersign/activities"
	"countersign/models"
	"countersign/store"
)

// TestCleanup_IsBounded checks that a round deletes a limited number of rows of each kind, and reports whether more
// remain.
func TestCleanup_IsBounded(t *testing.T) {
	t.Parallel()
	onBothDatabases(t, func(env *fakeEnv) {
		ctx := env.t.Context()
		e, _ := env.sent("a@example.com")
		env.change(e, func(e *models.Envelope) error { return e.Void(env.act(), nil) })
		const round, more = 20 * store.CleanupBatch, 5
		db, err := env.Store.DB()
		require.NoError(env.t, err)
		tx, err := db.BeginTx(ctx, nil)
		require.NoError(env.t, err)
		for i := range round + more {
			_, err := tx.ExecContext(ctx, "INSERT INTO rate_windows (key, starts_at, used, expires_at) VALUES ($1, $2, 1, $2)", fmt.Sprint(i), env.clock.Now())
			require.NoError(env.t, err)
		}
		require.NoError(env.t, tx.Commit())
		_, err = env.Store.BeginMail(ctx, models.Mail{ID: "m", EnvelopeID: e.ID, SignerID: e.Signers[0].ID, Kind: models.MailClosed})
		require.NoError(env.t, err)
		require.NoError(env.t, env.Store.MailSent(ctx, "m"))
		log, err := env.Store.AuditEvents(ctx, e)
		require.NoError(env.t, err)

		env.clock.Add(365 * 24 * time.Hour)
		done, err := env.Cleanup(ctx)
		require.NoError(env.t, err)
		assert.True(env.t, done.More)
		assert.Contains(env.t, done.Removed, activities.RemovedRows{Kind: "rate windows", Rows: round})
		assert.Contains(env.t, done.Removed, activities.RemovedRows{Kind: "mails", Rows: 1}, "no kind waits for another")
		done, err = env.Cleanup(ctx)
		require.NoError(env.t, err)
		assert.Equal(env.t, activities.CleanupRound{Removed: []activities.RemovedRows{{Kind: "rate windows", Rows: more}}}, done)
		done, err = env.Cleanup(ctx)
		require.NoError(env.t, err)
		assert.Equal(env.t, activities.CleanupRound{}, done)
		after, err := env.Store.AuditEvents(ctx, e)
		require.NoError(env.t, err)
		assert.Equal(env.t, log, after)
	})
}
