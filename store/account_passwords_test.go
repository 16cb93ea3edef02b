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

// TestPasswords_AreHashedUnchanged checks that passwords within bcrypt's limit are hashed directly, so that any program
// can verify them, and that a longer password is replaced by its digest before hashing.
func TestPasswords_AreHashedUnchanged(t *testing.T) {
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

// TestPasswords_IgnoreSpaces checks that spaces and invisible characters do not count toward the length of a
// password.
func TestPasswords_IgnoreSpaces(t *testing.T) {
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
