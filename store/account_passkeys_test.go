package store_test

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"countersign/models"
	"countersign/store"
	"countersign/test/kit"
)

// TestResetFactors_ConcernsOneUser checks that ResetFactors removes all second factors and recovery codes of a single
// user, and ends all of that user's sessions except keep.
func TestResetFactors_ConcernsOneUser(t *testing.T) {
	t.Parallel()
	kit.OnBoth(t, func(t *testing.T, s *store.Store, clock *kit.Clock) {
		ctx := t.Context()
		_, ada, bob := newUsers(t, s)
		sessions := map[uuid.UUID][]uuid.UUID{}
		for _, u := range []*models.ConsoleUser{ada, bob} {
			confirmFactor(t, s, clock, u)
			_, err := s.AddPasskey(ctx, &models.ConsolePasskey{UserID: u.ID, CredentialID: []byte(u.Name), Credential: []byte("{}"), Name: "Key"}, uuid.Nil)
			require.NoError(t, err)
			for range 2 {
				session, err := s.StartConsoleSession(ctx, u.ID, store.Device{}, time.Hour, nil)
				require.NoError(t, err)
				sessions[u.ID] = append(sessions[u.ID], session.ID)
			}
		}
		require.NoError(t, s.ResetFactors(ctx, bob.ID, sessions[bob.ID][0]))
		reset, err := s.FactorState(ctx, bob.ID)
		require.NoError(t, err)
		require.Equal(t, store.FactorState{}, reset)
		require.Equal(t, sessions[bob.ID][:1], sessionsOf(t, s, bob.ID))
		kept, err := s.FactorState(ctx, ada.ID)
		require.NoError(t, err)
		require.Equal(t, store.FactorState{Active: true, TOTP: true, Passkeys: 1, RecoveryCodes: 10}, kept)
		require.ElementsMatch(t, sessions[ada.ID], sessionsOf(t, s, ada.ID))
	})
}
