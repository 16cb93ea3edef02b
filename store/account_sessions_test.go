package store_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"countersign/models"
	"countersign/store"
	"countersign/test/kit"
)

// TestSession_EndsDespiteActivity checks that activity prevents a session from becoming idle, but does not extend the
// session's maximum lifetime.
func TestSession_EndsDespiteActivity(t *testing.T) {
	t.Parallel()
	kit.OnBoth(t, func(t *testing.T, s *store.Store, clock *kit.Clock) {
		ctx := t.Context()
		app, _, err := s.CreateApp(ctx, "A", models.PlanEnterprise, nil)
		require.NoError(t, err)
		user, err := s.CreateUser(ctx, app.ID, "ada@example.com", "Ada", "correct horse", models.RoleViewer)
		require.NoError(t, err)
		const lifetime, idle = 8 * time.Hour, time.Hour
		session, err := s.StartConsoleSession(ctx, user.ID, store.Device{IP: "192.0.2.7"}, lifetime, nil)
		require.NoError(t, err)
		for range 15 {
			clock.Add(lifetime / 16)
			in, err := s.ConsoleSession(ctx, session.ID, idle, true)
			require.NoError(t, err)
			assert.Equal(t, user.ID, in.User.ID)
		}
		rows, _, err := s.ConsoleSessions(ctx, user.ID, idle)
		require.NoError(t, err)
		assert.Len(t, rows, 1)
		clock.Add(lifetime/16 - time.Microsecond)
		_, err = s.ConsoleSession(ctx, session.ID, idle, true)
		require.NoError(t, err)
		clock.Add(time.Microsecond)
		_, err = s.ConsoleSession(ctx, session.ID, idle, true)
		require.ErrorIs(t, err, models.ErrNotFound)
		rows, _, err = s.ConsoleSessions(ctx, user.ID, idle)
		require.NoError(t, err)
		assert.Empty(t, rows)

		// An idle session ends earlier.
		session, err = s.StartConsoleSession(ctx, user.ID, store.Device{IP: "192.0.2.7"}, lifetime, nil)
		require.NoError(t, err)
		clock.Add(idle - time.Minute)
		_, err = s.ConsoleSession(ctx, session.ID, idle, false)
		require.NoError(t, err, "background requests keep the user signed in, but do not count as activity")
		clock.Add(time.Minute)
		_, err = s.ConsoleSession(ctx, session.ID, idle, true)
		require.ErrorIs(t, err, models.ErrNotFound)
	})
}
