package activities_test

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	sdktemporal "go.temporal.io/sdk/temporal"

	"countersign/activities"
	"countersign/models"
	"countersign/store"
	"countersign/temporal"
)

func (env *fakeEnv) template() *models.LoadedTemplate {
	env.t.Helper()
	e := env.prepared(func(int) int { return 1 }, "of-the-template@example.com")
	e.Signers[0].Role = "signer"
	out, err := env.Store.PutTemplate(env.t.Context(), store.TemplateTarget{App: env.app.ID, Tenant: "t"},
		func(*models.LoadedTemplate, *models.Envelope) (*models.LoadedTemplate, error) {
			made := models.NewTemplate(env.act(), models.Template{AppID: env.app.ID, TenantID: "t", Name: "Lease", CreatedBy: "me"})
			content := models.TemplateContent{Roles: []models.TemplateRole{{Role: "signer", RoutingOrder: 1, AuthMethod: models.AuthNone}}}
			content.FieldsOf(e)
			made.NewVersion(env.act(), "me", content, models.TemplateDocuments(e))
			return made, nil
		})
	require.NoError(env.t, err)
	return out.LoadedTemplate
}

func (env *fakeEnv) bulk(n int) temporal.BulkInput {
	env.t.Helper()
	return env.bulkOf(slices.Repeat([]string{"signer"}, n)...)
}

// bulkOf creates a bulk send with one row for each role. Each row's signer has the corresponding role.
func (env *fakeEnv) bulkOf(roles ...string) temporal.BulkInput {
	env.t.Helper()
	n := len(roles)
	of := env.template()
	b := &models.BulkSend{
		ID: newID(), AppID: env.app.ID, TenantID: "t", TemplateID: of.ID, TemplateVersion: of.Version, Status: models.BulkQueued,
		Total: n, Actor: models.AppActor(env.app.ID), CreatedBy: "me", CreatedAt: env.clock.Now(),
	}
	var rows []*models.BulkRow
	for i, role := range roles {
		r := &models.BulkRow{ID: newID(), Row: i + 1, Status: models.BulkRowPending}
		require.NoError(env.t, r.SetData(models.BulkRowData{Signers: []models.SignerInput{{Role: role, Name: "Ada", Email: fmt.Sprintf("row%d@example.com", i)}}}))
		rows = append(rows, r)
	}
	require.NoError(env.t, env.Store.CreateBulkSend(env.t.Context(), b, rows))
	return temporal.BulkInput{AppID: env.app.ID, BulkSendID: b.ID}
}

// TestBulkSend_WaitsAtTheInvitationLimit checks that no row is sent while the maximum number of envelopes are awaiting
// their invitations.
func TestBulkSend_WaitsAtTheInvitationLimit(t *testing.T) {
	t.Parallel()
	for _, inFlight := range []int{0, 1, 3} {
		onBothDatabases(t, func(env *fakeEnv) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			var looked atomic.Int32
			env.BulkThrottle.InFlight = inFlight
			env.Now = func() time.Time { // each call advances the time by the maximum pause between two rows
				return env.clock.Now().Add(time.Duration(looked.Add(1)) * 75 * time.Millisecond)
			}
			room := max(1, inFlight)
			for range room - 1 {
				env.sent("other@example.com")
			}
			require.NoError(t, env.AwaitThrottle(ctx, time.Hour), "the limit allows one more row")
			last, in := env.sent("last@example.com")
			looked.Store(0)
			var begun atomic.Bool
			done := make(chan error, 1)
			go func() {
				err := env.AwaitThrottle(ctx, time.Hour)
				if err == nil && !begun.Load() {
					err = fmt.Errorf("%d envelopes are in flight, although the limit allowed another", room)
				}
				done <- err
			}()
			for looked.Load() < 3 {
				require.NoError(t, ctx.Err(), "the limit must not be checked")
				select {
				case err := <-done:
					t.Fatalf("sending did not wait: %v", err)
				case <-time.After(time.Millisecond):
				}
			}
			begun.Store(true)
			require.NoError(t, env.Invite(ctx, temporal.InviteInput{EnvelopeInput: in, SignerID: last.Signers[0].ID}))
			require.NoError(t, <-done)
		})
	}
}

// TestBulkSend_AloneHasAHigherLimit checks that the limit is six times as high while no single envelopes are sent. The
// lower limit applies for ten seconds after each single envelope.
func TestBulkSend_AloneHasAHigherLimit(t *testing.T) {
	t.Parallel()
	onBothDatabases(t, func(env *fakeEnv) {
		room := func() bool {
			t.Helper()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			looks := 0
			env.Now = func() time.Time {
				if looks++; looks == 3 {
					cancel()
				}
				return env.clock.Now()
			}
			err := env.AwaitThrottle(ctx, time.Hour)
			if err != nil {
				require.ErrorIs(t, err, context.Canceled)
			}
			return err == nil
		}
		_, err := env.SendBulkRows(t.Context(), env.bulk(1))
		require.NoError(t, err)
		assert.True(t, room(), "one row is in flight, and no other app is sending")
		single, in := env.sent("other@example.com")
		require.NoError(t, env.Invite(t.Context(), temporal.InviteInput{EnvelopeInput: in, SignerID: single.Signers[0].ID}))
		assert.False(t, room(), "the row is in flight, and another app is sending")
	})
	began := time.Now()
	for _, c := range []struct{ inFlight, alone, others int }{{0, 6, 1}, {1, 6, 1}, {3, 18, 3}} {
		r := &activities.BulkThrottle{InFlight: c.inFlight}
		assert.True(t, r.Admit(began, store.Awaiting{All: c.alone - 1}))
		assert.True(t, r.Admit(began, store.Awaiting{All: c.alone - 1}), "there must be no pause after the row")
		assert.False(t, r.Admit(began, store.Awaiting{All: c.alone}))
		others := began.Add(time.Minute)
		assert.True(t, r.Admit(others, store.Awaiting{All: c.others - 1, Singles: 1}))
		for _, after := range []time.Duration{time.Second, 10*time.Second - 1} {
			assert.False(t, r.Admit(others.Add(after), store.Awaiting{All: c.others}))
			assert.True(t, r.Admit(others.Add(after), store.Awaiting{All: c.others - 1}))
		}
		assert.True(t, r.Admit(others.Add(10*time.Second), store.Awaiting{All: c.alone - 1}))
	}
}

// TestBulkSend_PausesForOthers checks that rows are at least 75 milliseconds apart while single envelopes are being
// sent. A higher limit shortens this interval proportionally.
func TestBulkSend_PausesForOthers(t *testing.T) {
	t.Parallel()
	began := time.Now()
	for inFlight, rest := range map[int]time.Duration{0: 75 * time.Millisecond, 1: 75 * time.Millisecond, 3: 25 * time.Millisecond} {
		r := &activities.BulkThrottle{InFlight: inFlight}
		single := store.Awaiting{Singles: 1}
		assert.True(t, r.Admit(began, single))
		assert.False(t, r.Admit(began.Add(rest-1), single), "a rejected row does not restart the pause")
		assert.True(t, r.Admit(began.Add(rest), single))
		assert.False(t, r.Admit(began.Add(rest+1), single))
	}
}

// TestAwaitThrottle_EndsWithTheActivity checks that awaitThrottle returns when the activity is canceled.
func TestAwaitThrottle_EndsWithTheActivity(t *testing.T) {
	t.Parallel()
	onBothDatabases(t, func(env *fakeEnv) {
		env.sent("other@example.com")
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		require.ErrorIs(t, env.AwaitThrottle(ctx, time.Hour), context.Canceled)
	})
}

// TestBulkSend_SendsDespiteStuckInvitations checks that each row is sent once and in order, even if no invitation
// ever begins.
func TestBulkSend_SendsDespiteStuckInvitations(t *testing.T) {
	t.Parallel()
	onBothDatabases(t, func(env *fakeEnv) {
		const rows = 3
		in := env.bulk(rows)
		env.sent("never-invited@example.com")
		step, err := env.SendBulkRows(t.Context(), in)
		require.NoError(t, err)
		assert.Equal(t, activities.BulkStep{Status: models.BulkCompleted, Counts: models.BulkCounts{Sent: rows}}, step)
		sent, err := env.Store.BulkRows(t.Context(), in.BulkSendID, models.BulkRowSent, 0, 10)
		require.NoError(t, err)
		require.Len(t, sent, rows)
		for i, r := range sent {
			e, err := env.Store.Envelope(t.Context(), in.AppID, *r.EnvelopeID)
			require.NoError(t, err)
			assert.Equal(t, []string{fmt.Sprintf("row%d@example.com", i)}, []string{e.Signers[0].Email})
		}
		step, err = env.SendBulkRows(t.Context(), in)
		require.NoError(t, err)
		assert.Equal(t, models.BulkCounts{Sent: rows}, step.Counts, "no row is sent twice")
	})
}

// TestBulkSend_PausedWhileWaitingSendsNothing checks that no row is sent if the bulk send is paused while its rows wait
// for capacity.
func TestBulkSend_PausedWhileWaitingSendsNothing(t *testing.T) {
	t.Parallel()
	onBothDatabases(t, func(env *fakeEnv) {
		in := env.bulk(3)
		began := false
		env.Now = func() time.Time { // called when capacity is checked, after the rows were read
			if work, err := env.Store.BulkSend(t.Context(), in.AppID, in.BulkSendID); err == nil && work.Status == models.BulkRunning && !began {
				began = true
				_, err := env.Store.ChangeBulkSend(t.Context(), in.AppID, in.BulkSendID, models.BulkPause, nil)
				assert.NoError(t, err)
			}
			return env.clock.Now()
		}
		step, err := env.SendBulkRows(t.Context(), in)
		require.NoError(t, err)
		assert.Equal(t, activities.BulkStep{Status: models.BulkPaused, Counts: models.BulkCounts{Pending: 3}}, step)
	})
}

// TestBulkSend_KeepsItsRate checks that rows are sent in batches ten seconds apart, and never exceed the limit of the
// bulk send in any minute.
func TestBulkSend_KeepsItsRate(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 2, 10, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		perMinute, settled, pending int
		since                       time.Duration // time since the first row of this minute was settled
		rows                        int
		wait                        time.Duration
	}{
		{0, 5000, 9, time.Second, 9, 0}, // no limit
		{60, 0, 100, 0, 10, 10 * time.Second},
		{60, 55, 100, 30 * time.Second, 5, 5 * time.Second}, // capacity for five
		{60, 0, 3, 0, 3, 3 * time.Second},                   // fewer rows remain
		{3, 0, 9, 0, 1, 20 * time.Second},
		{60, 60, 100, 45 * time.Second, 0, 15 * time.Second}, // no capacity
		{60, 61, 100, 45 * time.Second, 0, 15 * time.Second},
		{60, 60, 100, time.Minute, 0, time.Millisecond}, // capacity becomes available shortly
		{60, 60, 100, time.Hour, 0, time.Millisecond},
	} {
		work := &store.BulkWork{BulkSend: &models.BulkSend{PerMinute: c.perMinute}, Settled: c.settled, SettledSince: now.Add(-c.since), Rows: make([]*models.BulkRow, c.pending)}
		rows, wait := activities.RowsWithinRate(work, now)
		assert.Len(t, rows, c.rows, "%+v", c)
		assert.Equal(t, c.wait, wait, "%+v", c)
	}
}

// TestBulkSend_WaitsForItsBacklog checks that no row is sent while 200 envelopes of the app's bulk sends wait for
// their workflows to start.
func TestBulkSend_WaitsForItsBacklog(t *testing.T) {
	t.Parallel()
	onBothDatabases(t, func(env *fakeEnv) {
		ctx := env.t.Context()
		in := env.bulk(2)
		waiting := func(n int) []models.OutboxRow {
			rows := make([]models.OutboxRow, n)
			for i := range rows {
				rows[i] = models.OutboxRow{
					ID: newID(), Key: newID(), Kind: models.OutboxStart, Refs: models.OutboxRefs{AppID: env.app.ID, TenantID: "t", Bulk: true},
					NotBefore: env.clock.Now(), CreatedAt: env.clock.Now(),
				}
			}
			return rows
		}
		require.NoError(env.t, env.Store.Requeue(ctx, waiting(200)))
		step, err := env.SendBulkRows(ctx, in)
		require.NoError(env.t, err)
		require.Equal(env.t, activities.BulkStep{Status: models.BulkRunning, Counts: models.BulkCounts{Pending: 2}, Wait: time.Second}, step)
		taken, err := env.Store.ClaimOutbox(ctx, 2, time.Minute) // two rows, one of which starts the bulk send
		require.NoError(env.t, err)
		require.Len(env.t, taken, 2)
		for _, row := range taken {
			require.NoError(env.t, env.Store.FinishOutbox(ctx, row.Seq))
		}
		step, err = env.SendBulkRows(ctx, in)
		require.NoError(env.t, err)
		require.Equal(env.t, models.BulkCounts{Sent: 2}, step.Counts)
	})
}

// TestChangeBulk_AppliesAllowedActions checks that operators' signals pause, resume and cancel a bulk send, and that a
// signal is ignored if the status does not allow it.
func TestChangeBulk_AppliesAllowedActions(t *testing.T) {
	t.Parallel()
	onBothDatabases(t, func(env *fakeEnv) {
		ctx := env.t.Context()
		in := env.bulk(2)
		for _, c := range []struct {
			action models.BulkAction
			want   models.BulkStatus
		}{
			{models.BulkPause, models.BulkPaused},
			{models.BulkResume, models.BulkRunning},
			{models.BulkCancel, models.BulkCanceled},
			{models.BulkResume, models.BulkCanceled},
			{models.BulkPause, models.BulkCanceled},
		} {
			require.NoError(env.t, env.ChangeBulk(ctx, activities.ChangeBulkInput{BulkInput: in, Action: c.action}))
			b, err := env.Store.BulkSend(ctx, in.AppID, in.BulkSendID)
			require.NoError(env.t, err)
			require.Equal(env.t, c.want, b.Status, c.action)
		}
		ended, cancel := context.WithCancel(ctx)
		cancel()
		require.ErrorIs(env.t, env.ChangeBulk(ended, activities.ChangeBulkInput{BulkInput: in, Action: models.BulkPause}), context.Canceled)
	})
}

// TestSendBulkRows_RejectedRow_FailsAlone checks that a row that cannot be sent fails with the reason, and that the
// rows after it are sent.
func TestSendBulkRows_RejectedRow_FailsAlone(t *testing.T) {
	t.Parallel()
	onBothDatabases(t, func(env *fakeEnv) {
		ctx := env.t.Context()
		in := env.bulkOf("signer", "nobody", "signer")
		step, err := env.SendBulkRows(ctx, in)
		require.NoError(env.t, err)
		require.Equal(env.t, activities.BulkStep{Status: models.BulkCompleted, Counts: models.BulkCounts{Sent: 2, Failed: 1}}, step)
		failed, err := env.Store.BulkRows(ctx, in.BulkSendID, models.BulkRowFailed, 0, 10)
		require.NoError(env.t, err)
		require.Len(env.t, failed, 1)
		require.Equal(env.t, []any{2, "validation_error"}, []any{failed[0].Row, failed[0].ErrorCode})
		require.NotEmpty(env.t, failed[0].Error)

		in.BulkSendID = newID()
		_, err = env.SendBulkRows(ctx, in)
		var final *sdktemporal.ApplicationError
		require.ErrorAs(env.t, err, &final)
		require.True(env.t, final.NonRetryable(), "the file will not appear later")
	})
}
