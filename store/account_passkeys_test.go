package store_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"countersign/models"
	"countersign/store"
	"countersign/test/kit"
)

// TestResetFactors_ConcernsOneUser checks that ResetFactors removes the factors and ends the other sessions of a
// single user.
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

// TestPasskeys_LimitAndReplay checks that a user can have a limited number of passkeys. Each state of a
// passkey is accepted only once and only from its own user.
func TestPasskeys_LimitAndReplay(t *testing.T) {
	t.Parallel()
	kit.OnBoth(t, func(t *testing.T, s *store.Store, _ *kit.Clock) {
		ctx := t.Context()
		_, ada, bob := newUsers(t, s)
		add := func(u *models.ConsoleUser, n int) error {
			_, err := s.AddPasskey(ctx, &models.ConsolePasskey{UserID: u.ID, CredentialID: fmt.Append(nil, u.ID, n), Credential: []byte("{}"), Name: fmt.Sprint(n)}, uuid.Nil)
			return err
		}
		n := 0
		for ; n < 10; n++ {
			require.NoError(t, add(ada, n))
		}
		require.Equal(t, "too_many_passkeys", rejectionOf(t, add(ada, n)))
		require.NoError(t, add(bob, n))
		keys, err := s.Passkeys(ctx, ada.ID)
		require.NoError(t, err)
		require.Len(t, keys, 10)
		require.Equal(t, []string{"0", "9"}, []string{keys[0].Name, keys[9].Name}, "oldest first")

		require.NoError(t, s.UsePasskey(ctx, &keys[0], []byte("{1}")))
		require.ErrorIs(t, s.UsePasskey(ctx, &keys[0], []byte("{2}")), store.ErrCode)
		of, err := s.Passkeys(ctx, bob.ID)
		require.NoError(t, err)
		of[0].UserID = ada.ID
		require.ErrorIs(t, s.UsePasskey(ctx, &of[0], []byte("{3}")), store.ErrCode, "another user's")
	})
}
