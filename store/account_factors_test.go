package store_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/pquerna/otp/totp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"countersign/models"
	"countersign/store"
	"countersign/test/kit"
)

// codeAt returns the one-time code for a secret at the given time.
func codeAt(t *testing.T, secret string, at time.Time) string {
	t.Helper()
	code, err := totp.GenerateCode(secret, at)
	require.NoError(t, err)
	return code
}

func confirmFactor(t *testing.T, s *store.Store, clock *kit.Clock, u *models.ConsoleUser) (secret string, recovery []string) {
	t.Helper()
	made, err := s.EnrollFactor(t.Context(), u)
	require.NoError(t, err)
	recovery, err = s.ConfirmFactor(t.Context(), u.ID, codeAt(t, made.Text, clock.Now()), uuid.Nil)
	require.NoError(t, err)
	return made.Text, recovery
}

// TestSecondFactors checks that a factor becomes active with its first correct code, and that each code is accepted
// only once and only for its own user.
func TestSecondFactors(t *testing.T) {
	t.Parallel()
	kit.OnBoth(t, func(t *testing.T, s *store.Store, clock *kit.Clock) {
		ctx := t.Context()
		_, ada, bob := newUsers(t, s)
		state := func(u *models.ConsoleUser) store.FactorState {
			f, err := s.FactorState(ctx, u.ID)
			require.NoError(t, err)
			return f
		}
		_, err := s.ConfirmFactor(ctx, ada.ID, "000000", uuid.Nil)
		assert.Equal(t, "second_factor_none", rejectionOf(t, err))
		require.ErrorIs(t, s.ConsumeCode(ctx, ada.ID, "000000"), store.ErrCode)
		first, err := s.EnrollFactor(ctx, ada)
		require.NoError(t, err)
		assert.Equal(t, store.FactorState{}, state(ada))
		require.ErrorIs(t, s.ConsumeCode(ctx, ada.ID, codeAt(t, first.Text, clock.Now())), store.ErrCode, "the second factor is not confirmed")
		second, err := s.EnrollFactor(ctx, ada)
		require.NoError(t, err)
		require.NotEqual(t, first.Text, second.Text)
		_, err = s.ConfirmFactor(ctx, ada.ID, codeAt(t, first.Text, clock.Now()), uuid.Nil)
		require.ErrorIs(t, err, store.ErrCode)

		// Confirming the factor ends the user's other sessions, but no session of another user.
		var sessions []uuid.UUID
		for _, u := range []uuid.UUID{ada.ID, ada.ID, bob.ID} {
			v, err := s.StartConsoleSession(ctx, u, store.Device{}, time.Hour, nil)
			require.NoError(t, err)
			sessions = append(sessions, v.ID)
		}
		right := codeAt(t, second.Text, clock.Now())
		recovery, err := s.ConfirmFactor(ctx, ada.ID, right, sessions[0])
		require.NoError(t, err)
		require.Len(t, recovery, 10)
		assert.Equal(t, sessions[:1], sessionsOf(t, s, ada.ID))
		assert.Equal(t, sessions[2:], sessionsOf(t, s, bob.ID))
		assert.Equal(t, store.FactorState{Active: true, TOTP: true, RecoveryCodes: 10}, state(ada))
		assert.Equal(t, store.FactorState{}, state(bob))
		_, err = s.EnrollFactor(ctx, ada)
		assert.Equal(t, "second_factor_active", rejectionOf(t, err))
		_, err = s.ConfirmFactor(ctx, ada.ID, codeAt(t, second.Text, clock.Now().Add(time.Minute)), uuid.Nil)
		assert.Equal(t, "second_factor_none", rejectionOf(t, err), "there is no second factor to confirm")
		require.ErrorIs(t, s.ConsumeCode(ctx, ada.ID, right), store.ErrCode, "the code was already used")
		clock.Add(time.Minute)
		next := codeAt(t, second.Text, clock.Now())
		require.NoError(t, s.ConsumeCode(ctx, ada.ID, next))
		require.ErrorIs(t, s.ConsumeCode(ctx, ada.ID, next), store.ErrCode)

		// Each recovery code is accepted once, in any spelling.
		_, bobs := confirmFactor(t, s, clock, bob)
		require.ErrorIs(t, s.ConsumeCode(ctx, ada.ID, bobs[0]), store.ErrCode)
		require.NoError(t, s.ConsumeCode(ctx, ada.ID, strings.ToLower(strings.ReplaceAll(recovery[0], "-", " "))))
		require.ErrorIs(t, s.ConsumeCode(ctx, ada.ID, recovery[0]), store.ErrCode)
		assert.Equal(t, 9, state(ada).RecoveryCodes)
		assert.Equal(t, 10, state(bob).RecoveryCodes)
		fresh, err := s.RenewRecoveryCodes(ctx, ada.ID)
		require.NoError(t, err)
		require.Len(t, fresh, 10)
		assert.Regexp(t, "^([A-Z2-7]{4}-){5}[A-Z2-7]{4}$", fresh[9])
		assert.Equal(t, 10, state(ada).RecoveryCodes)
		require.ErrorIs(t, s.ConsumeCode(ctx, ada.ID, recovery[1]), store.ErrCode)
		require.NoError(t, s.ConsumeCode(ctx, bob.ID, bobs[0]))

		// Removing the factor ends the user's other sessions, but no session of another user.
		kept := sessionsOf(t, s, ada.ID)[0]
		another, err := s.StartConsoleSession(ctx, ada.ID, store.Device{}, time.Hour, nil)
		require.NoError(t, err)
		require.NoError(t, s.RemoveFactor(ctx, ada.ID, kept))
		assert.NotContains(t, sessionsOf(t, s, ada.ID), another.ID)
		assert.Equal(t, []uuid.UUID{kept}, sessionsOf(t, s, ada.ID))
		assert.Equal(t, store.FactorState{}, state(ada))
		assert.Equal(t, store.FactorState{Active: true, TOTP: true, RecoveryCodes: 9}, state(bob))
		_, err = s.EnrollFactor(ctx, ada)
		require.NoError(t, err)
	})
}

// TestConsoleSessions checks that a user can have a limited number of sessions, and that activity keeps them valid.
func TestConsoleSessions(t *testing.T) {
	t.Parallel()
	kit.OnBoth(t, func(t *testing.T, s *store.Store, clock *kit.Clock) {
		ctx := t.Context()
		_, ada, bob := newUsers(t, s)
		start := func(u uuid.UUID) uuid.UUID {
			clock.Add(time.Second)
			v, err := s.StartConsoleSession(ctx, u, store.Device{IP: "192.0.2.7", UserAgent: "Test/1"}, 8*time.Hour, nil)
			require.NoError(t, err)
			return v.ID
		}
		bobs := start(bob.ID)
		var all []uuid.UUID
		for range 21 {
			all = append([]uuid.UUID{start(ada.ID)}, all...)
		}
		assert.Equal(t, all[:20], sessionsOf(t, s, ada.ID), "the oldest session has ended")
		assert.Equal(t, []uuid.UUID{bobs}, sessionsOf(t, s, bob.ID))
		_, devices, err := s.ConsoleSessions(ctx, bob.ID, time.Hour)
		require.NoError(t, err)
		assert.Equal(t, []store.Device{{IP: "192.0.2.7", UserAgent: "Test/1"}}, devices)

		require.ErrorIs(t, s.EndConsoleSession(ctx, bob.ID, all[0]), models.ErrNotFound)
		require.NoError(t, s.EndConsoleSession(ctx, ada.ID, all[0]))
		require.ErrorIs(t, s.EndConsoleSession(ctx, ada.ID, all[0]), models.ErrNotFound)
		assert.Equal(t, all[1:20], sessionsOf(t, s, ada.ID))
		require.NoError(t, s.EndConsoleSessions(ctx, ada.ID, all[3]))
		assert.Equal(t, all[3:4], sessionsOf(t, s, ada.ID))
		assert.Len(t, sessionsOf(t, s, bob.ID), 1)

		// Activity is recorded at most once per minute.
		seen := func(after time.Duration, acting bool) time.Time {
			clock.Add(after)
			_, err := s.ConsoleSession(ctx, bobs, time.Hour, acting)
			require.NoError(t, err)
			rows, _, err := s.ConsoleSessions(ctx, bob.ID, time.Hour)
			require.NoError(t, err)
			return rows[0].SeenAt.UTC()
		}
		begun := seen(0, false)
		assert.Equal(t, begun, seen(10*time.Minute, false), "background requests do not count as activity")
		worked := seen(0, true)
		assert.Equal(t, clock.Now(), worked)
		assert.Equal(t, worked, seen(time.Minute-time.Microsecond, true))
		assert.Equal(t, worked.Add(time.Minute), seen(time.Microsecond, true))
		adas, err := s.ConsoleSession(ctx, all[3], time.Hour, false)
		require.NoError(t, err)
		assert.True(t, adas.Session.SeenAt.Before(worked), "another user's session does not change")
		assert.False(t, adas.Factor)
		assert.Equal(t, ada.ID, adas.User.ID)

		// The session ends exactly when the idle timeout expires.
		clock.Add(time.Hour - time.Microsecond)
		assert.Len(t, sessionsOf(t, s, bob.ID), 1)
		_, err = s.ConsoleSession(ctx, bobs, time.Hour, false)
		require.NoError(t, err)
		clock.Add(time.Microsecond)
		assert.Empty(t, sessionsOf(t, s, bob.ID))
		_, err = s.ConsoleSession(ctx, bobs, time.Hour, false)
		require.ErrorIs(t, err, models.ErrNotFound)
		require.NoError(t, s.EndAllConsoleSessions(ctx))
		_, err = s.ConsoleSession(ctx, bobs, 100*time.Hour, false)
		require.ErrorIs(t, err, models.ErrNotFound)
	})
}

// TestReplacedSecret_ConfirmsNoFactor checks that a code for a secret does not confirm a factor if the secret was
// replaced while the request was being processed.
func TestReplacedSecret_ConfirmsNoFactor(t *testing.T) {
	t.Parallel()
	ctx, clock := t.Context(), kit.NewClock()
	s := kit.Store(t, "postgres", clock.Now)
	_, ada, _ := newUsers(t, s)
	former := must(s.EnrollFactor(ctx, ada))
	db := pool(t, s)
	tx, err := db.BeginTx(ctx, nil)
	require.NoError(t, err)
	defer func() { _ = tx.Rollback() }() // has no effect after the commit
	_, err = tx.ExecContext(ctx, "UPDATE console_factors SET secret = secret || 'x'::bytea WHERE id = $1", ada.ID)
	require.NoError(t, err)
	confirmed, code := make(chan error, 1), codeAt(t, former.Text, clock.Now())
	go func() {
		confirmed <- errOf(s.ConfirmFactor(ctx, ada.ID, code, uuid.Nil))
	}()
	require.Eventually(t, func() bool {
		var waiting bool
		err := db.QueryRowContext(context.WithoutCancel(ctx), "SELECT EXISTS (SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE 'UPDATE%console_factors%')").Scan(&waiting)
		return err == nil && waiting
	}, time.Minute, 10*time.Millisecond)
	require.NoError(t, tx.Commit())
	assert.Equal(t, "invalid_code", rejectionOf(t, <-confirmed))
	state, err := s.FactorState(ctx, ada.ID)
	require.NoError(t, err)
	assert.False(t, state.Active)
}
