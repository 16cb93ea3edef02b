package store_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"countersign/models"
	"countersign/store"
	"countersign/test/kit"
)

// TestUserOfProvider checks that the first sign-in through the provider creates a user, and that later sign-ins find
// this user. No sign-in can take over or reactivate another account.
func TestUserOfProvider(t *testing.T) {
	t.Parallel()
	kit.OnBoth(t, func(t *testing.T, s *store.Store, _ *kit.Clock) {
		ctx := t.Context()
		app, ada, bob := newUsers(t, s)
		other, _, err := s.CreateApp(ctx, "Other", models.PlanEnterprise, nil)
		require.NoError(t, err)
		identity := func(subject, email, name string) store.ProviderIdentity {
			return store.ProviderIdentity{
				Issuer: "https://login.example.com", Subject: subject, App: app.ID, Email: email, EmailVerified: true, Name: name, Role: models.RoleSender,
			}
		}
		eve := identity("eve", "eve@example.com", "Eve")
		made, created, err := s.UserOfProvider(ctx, eve)
		require.NoError(t, err)
		require.True(t, created)
		require.Equal(t, []any{app.ID, "eve@example.com", "Eve", models.RoleSender}, []any{made.AppID, made.Email, made.Name, made.Role})
		_, err = s.Login(ctx, "eve@example.com", "")
		require.ErrorIs(t, err, models.ErrNotFound, "the account has no password")

		eve.Role, eve.Email, eve.EmailVerified = models.RoleViewer, "", false
		found, created, err := s.UserOfProvider(ctx, eve)
		require.NoError(t, err)
		require.False(t, created)
		require.Equal(t, []any{made.ID, models.RoleViewer, "eve@example.com"}, []any{found.ID, found.Role, found.Email})
		stored, err := s.UserOfApp(ctx, app.ID, made.ID)
		require.NoError(t, err)
		require.Equal(t, models.RoleViewer, stored.Role)

		nameless, created, err := s.UserOfProvider(ctx, identity("nameless", "n@example.com", ""))
		require.NoError(t, err)
		require.True(t, created)
		require.Equal(t, "n@example.com", nameless.Name)

		elsewhere := eve
		elsewhere.App = other.ID
		unverified := identity("u", "u@example.com", "U")
		unverified.EmailVerified = false
		require.NoError(t, s.DisableUser(ctx, app.ID, bob.ID))
		require.NoError(t, s.DisableUser(ctx, app.ID, nameless.ID))
		for code, id := range map[string]store.ProviderIdentity{
			"account_elsewhere": elsewhere, "email_unverified": unverified, "account_exists": identity("ada", "ADA@example.com", "Ada"),
			"account_disabled": identity("bob", "Bob@example.com", "Bob"),
		} {
			_, created, err := s.UserOfProvider(ctx, id)
			require.Equal(t, code, rejectionOf(t, err))
			require.False(t, created)
		}
		_, _, err = s.UserOfProvider(ctx, identity("x", "nobody", "X"))
		require.Equal(t, "email_unverified", rejectionOf(t, err))
		_, _, err = s.UserOfProvider(ctx, identity("nameless", "n@example.com", ""))
		require.Equal(t, "account_disabled", rejectionOf(t, err))
		kept, err := s.Login(ctx, "ada@example.com", "correct horse ada")
		require.NoError(t, err)
		require.Equal(t, ada.ID, kept.ID)
	})
}
