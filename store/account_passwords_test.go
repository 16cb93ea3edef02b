package store_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/bcrypt"

	"countersign/models"
	"countersign/store"
	"countersign/test/kit"
)

// TestPasswordsAreHashedAsTheyAre up to what bcrypt reads, so that any program can check them; and as a digest beyond.
func TestPasswordsAreHashedAsTheyAre(t *testing.T) {
	t.Parallel()
	kit.OnBoth(t, func(t *testing.T, s *store.Store, _ *kit.Clock) {
		app, _, _ := newUsers(t, s)
		for _, length := range []int{12, 71, 72, 73} {
			password := strings.Repeat("Zq7-kP2_", 10)[:length]
			email := fmt.Sprintf("user%d@example.com", length)
			u, err := s.CreateUser(t.Context(), app.ID, email, "User", password, models.RoleViewer)
			require.NoError(t, err)
			if length <= 72 {
				require.NoError(t, bcrypt.CompareHashAndPassword(u.PasswordHash, []byte(password)), length)
			}
			_, err = s.Login(t.Context(), email, password)
			require.NoError(t, err)
			_, err = s.Login(t.Context(), email, password[:length-1]+"!")
			require.ErrorIs(t, err, models.ErrNotFound, length)
		}
	})
}

// TestPasswordsOfSpaces: what cannot be seen makes no password longer.
func TestPasswordsOfSpaces(t *testing.T) {
	t.Parallel()
	kit.OnBoth(t, func(t *testing.T, s *store.Store, _ *kit.Clock) {
		app, _, _ := newUsers(t, s)
		for _, bad := range []string{"          ", "\u3000\u3000\u3000\u3000\u3000\u3000\u3000\u3000\u3000\u3000", "Zq7-kP2         ", "Zq7          kP2", "Zq7-kP2\u200b\u200b\u200b\u200b"} {
			_, err := s.CreateUser(t.Context(), app.ID, uuid.NewString()+"@example.com", "User", bad, models.RoleViewer)
			require.ErrorContains(t, err, "must have at least 10 characters", "%q", bad)
		}
		_, err := s.CreateUser(t.Context(), app.ID, uuid.NewString()+"@example.com", "User", "four tall old trees", models.RoleViewer)
		require.NoError(t, err)
	})
}
