package store_test

import (
	"crypto/sha512"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/bcrypt"

	"countersign/models"
	"countersign/store"
	"countersign/test/kit"
)

// rejectionOf returns the code of a rejection, followed by the paths of the invalid values.
func rejectionOf(t *testing.T, err error) string {
	t.Helper()
	var rejected *models.Error
	require.ErrorAs(t, err, &rejected)
	out := rejected.Code
	for path := range rejected.Fields {
		out += " " + path
	}
	return out
}

func newUsers(t *testing.T, s *store.Store) (app *models.App, ada, bob *models.ConsoleUser) {
	t.Helper()
	app, _, err := s.CreateApp(t.Context(), "A", models.PlanEnterprise, nil)
	require.NoError(t, err)
	ada, err = s.CreateUser(t.Context(), app.ID, "Ada@example.com", "Ada", "correct horse ada", models.RoleAdmin)
	require.NoError(t, err)
	bob, err = s.CreateUser(t.Context(), app.ID, "bob@example.com", "Bob", "correct horse bob", models.RoleViewer)
	require.NoError(t, err)
	return app, ada, bob
}

// TestConsoleUsers_AreValidated checks that every problem with a new user is reported.
func TestConsoleUsers_AreValidated(t *testing.T) {
	t.Parallel()
	kit.OnBoth(t, func(t *testing.T, s *store.Store, clock *kit.Clock) {
		ctx := t.Context()
		app, ada, _ := newUsers(t, s)
		const good = "correct horse battery"
		sum := sha512.Sum512([]byte("a password"))
		longest := hex.EncodeToString(sum[:]) // 128 characters
		for _, c := range []struct {
			email, name, password string
			role                  models.Role
			want                  string
		}{
			{"nobody", "N", good, models.RoleViewer, "validation_error email"},
			{"n@example.com", "", good, models.RoleViewer, "validation_error name"},
			{"n@example.com", "N", good, "owner", "validation_error role"},
			{"n@example.com", "N", "123456789", models.RoleViewer, "validation_error password"},
			{"n@example.com", "N", longest + "x", models.RoleViewer, "validation_error password"},
			{"n@example.com", "Maximilian", "maximilian1", models.RoleViewer, "validation_error password"},
			{"n@example.com", "N", "password123", models.RoleViewer, "validation_error password"},
			{"ADA@example.com", "N", good, models.RoleViewer, "user_exists"},
		} {
			_, err := s.CreateUser(ctx, app.ID, c.email, c.name, c.password, c.role)
			assert.Equal(t, c.want, rejectionOf(t, err), "%+v", c)
		}
		_, err := s.CreateUser(ctx, uuid.New(), "n@example.com", "N", good, models.RoleViewer)
		require.ErrorIs(t, err, models.ErrNotFound)
		for i, password := range []string{"gx7-qpl2zr", longest, "Überfluß-9"} {
			email := string(rune('k'+i)) + "@example.com"
			u, err := s.CreateUser(ctx, app.ID, email, "N", password, models.RoleViewer)
			require.NoError(t, err, password)
			in, err := s.Login(ctx, " "+strings.ToUpper(email)+" ", password) // with spaces and in a different case
			require.NoError(t, err)
			assert.Equal(t, u.ID, in.ID)
			assert.Equal(t, clock.Now(), in.CreatedAt.UTC())
			_, err = s.Login(ctx, email, password+"x")
			require.ErrorIs(t, err, models.ErrNotFound)
		}
		for _, c := range [][2]string{{"bob@example.com", "correct horse ada"}, {"nobody@example.com", good}, {"", ""}, {"nonsense", good}, {"ada@example.com", ""}} {
			_, err := s.Login(ctx, c[0], c[1])
			require.ErrorIs(t, err, models.ErrNotFound, c)
		}
		in, err := s.Login(ctx, "ada@example.com", "correct horse ada")
		require.NoError(t, err)
		assert.Equal(t, ada.ID, in.ID)
		assert.Equal(t, "Ada@example.com", in.Email)
	})
}

// TestConfirmPassword_OnlyOfItsUser checks that a password is confirmed only for its own user, and only while that user
// can sign in with a password.
func TestConfirmPassword_OnlyOfItsUser(t *testing.T) {
	t.Parallel()
	kit.OnBoth(t, func(t *testing.T, s *store.Store, _ *kit.Clock) {
		ctx := t.Context()
		app, ada, bob := newUsers(t, s)
		require.NoError(t, s.ConfirmPassword(ctx, ada.ID, "correct horse ada"))
		for id, password := range map[uuid.UUID]string{ada.ID: "correct horse ada ", bob.ID: "correct horse ada", newID(): "correct horse ada"} {
			require.ErrorIs(t, s.ConfirmPassword(ctx, id, password), models.ErrNotFound)
		}
		require.NoError(t, s.ConfirmPassword(ctx, bob.ID, "correct horse bob"))
		_, err := s.LinkProvider(ctx, bob.ID, store.ProviderIdentity{Issuer: "https://login.example.com", Subject: "bob", App: app.ID, Role: models.RoleViewer})
		require.NoError(t, err)
		require.ErrorIs(t, s.ConfirmPassword(ctx, bob.ID, "correct horse bob"), models.ErrNotFound)
		require.NoError(t, s.DisableUser(ctx, app.ID, ada.ID))
		require.ErrorIs(t, s.ConfirmPassword(ctx, ada.ID, "correct horse ada"), models.ErrNotFound)
	})
}

// TestLinkProvider_KeepsOtherDisabledUsers checks that linking does not remove the identity of an unrelated disabled
// user.
func TestLinkProvider_KeepsOtherDisabledUsers(t *testing.T) {
	t.Parallel()
	kit.OnBoth(t, func(t *testing.T, s *store.Store, _ *kit.Clock) {
		ctx := t.Context()
		app, ada, bob := newUsers(t, s)
		identity := func(subject string) store.ProviderIdentity {
			return store.ProviderIdentity{
				Issuer: "https://login.example.com", Subject: subject, App: app.ID, Role: models.RoleViewer, Email: subject + "@elsewhere.example", EmailVerified: true, Name: "N",
			}
		}
		_, err := s.LinkProvider(ctx, ada.ID, identity("ada"))
		require.NoError(t, err)
		require.NoError(t, s.DisableUser(ctx, app.ID, ada.ID))
		_, err = s.LinkProvider(ctx, bob.ID, identity("bob"))
		require.NoError(t, err)
		_, _, err = s.UserOfProvider(ctx, identity("ada"))
		require.Equal(t, "account_disabled", rejectionOf(t, err))
	})
}

// TestLinkProvider_UnsuitableIdentity_IsRejected checks that an unsuitable identity cannot be linked, and
// that the user keeps the password in that case.
func TestLinkProvider_UnsuitableIdentity_IsRejected(t *testing.T) {
	t.Parallel()
	kit.OnBoth(t, func(t *testing.T, s *store.Store, _ *kit.Clock) {
		ctx := t.Context()
		has, err := s.HasUsers(ctx)
		require.NoError(t, err)
		require.False(t, has)
		app, ada, bob := newUsers(t, s)
		has, err = s.HasUsers(ctx)
		require.NoError(t, err)
		require.True(t, has)
		identity := func(app uuid.UUID, subject string) store.ProviderIdentity {
			return store.ProviderIdentity{Issuer: "https://login.example.com", Subject: subject, App: app, Role: models.RoleViewer}
		}
		_, err = s.LinkProvider(ctx, ada.ID, identity(newID(), "ada"))
		require.Equal(t, "account_elsewhere", rejectionOf(t, err))
		u, err := s.LinkProvider(ctx, ada.ID, identity(app.ID, "ada"))
		require.NoError(t, err)
		require.Equal(t, models.RoleViewer, u.Role)
		_, err = s.LinkProvider(ctx, ada.ID, identity(app.ID, "ada again"))
		require.Equal(t, "provider_account", rejectionOf(t, err))
		_, err = s.LinkProvider(ctx, bob.ID, identity(app.ID, "ada"))
		require.Equal(t, "identity_taken", rejectionOf(t, err))
		require.NoError(t, s.ConfirmPassword(ctx, bob.ID, "correct horse bob"))
		require.NoError(t, s.DisableUser(ctx, app.ID, bob.ID))
		_, err = s.LinkProvider(ctx, bob.ID, identity(app.ID, "bob"))
		require.ErrorIs(t, err, models.ErrNotFound)
	})
}

// TestLongPasswords_AreDistinguished checks that two passwords that begin with the same 72 bytes are distinguished.
func TestLongPasswords_AreDistinguished(t *testing.T) {
	t.Parallel()
	kit.OnBoth(t, func(t *testing.T, s *store.Store, _ *kit.Clock) {
		ctx := t.Context()
		app, _, _ := newUsers(t, s)
		base := strings.Repeat("gx7-qpl2z", 8) // 72 bytes
		for i, password := range []string{base, base + "1"} {
			email := string(rune('k'+i)) + "@example.com"
			_, err := s.CreateUser(ctx, app.ID, email, "N", password, models.RoleViewer)
			require.NoError(t, err)
			_, err = s.Login(ctx, email, password)
			require.NoError(t, err)
			for _, wrong := range []string{base + "2", base[:71], base + "12"} {
				_, err = s.Login(ctx, email, wrong)
				require.ErrorIs(t, err, models.ErrNotFound)
			}
		}
	})
}

// TestLeakedPasswords checks that a leaked password is rejected, and that every password is rejected if the list of
// leaked passwords cannot be read.
func TestLeakedPasswords(t *testing.T) {
	t.Parallel()
	kit.EachDatabase(t, func(t *testing.T, kind string) {
		list := filepath.Join(t.TempDir(), "leaked.txt")
		// This is the SHA-1 hash of "correct horse battery staple".
		require.NoError(t, os.WriteFile(list, []byte("ABF7AAD6438836DBE526AA231ABDE2D0EEF74D42:7\n"), 0o600))
		open := func(leaked string) *store.Store {
			s, err := store.Open(t.Context(), store.Config{
				URL: kit.MigratedURL(t, kind), Vault: kit.Vault(t), Now: clock, NewID: newID, PasswordCost: bcrypt.MinCost, LeakedPasswords: leaked,
			})
			require.NoError(t, err)
			t.Cleanup(func() { require.NoError(t, s.Close()) })
			return s
		}
		s := open(list)
		app, _, _ := newUsers(t, s)
		_, err := s.CreateUser(t.Context(), app.ID, "n@example.com", "N", "correct horse battery staple", models.RoleViewer)
		assert.Equal(t, "validation_error password", rejectionOf(t, err))
		_, err = s.CreateUser(t.Context(), app.ID, "n@example.com", "N", "correct horse battery stapler", models.RoleViewer)
		require.NoError(t, err)
		s = open(list + ".gone")
		app, _, err = s.CreateApp(t.Context(), "A", models.PlanFree, nil)
		require.NoError(t, err)
		_, err = s.CreateUser(t.Context(), app.ID, "n@example.com", "N", "correct horse battery stapler", models.RoleViewer)
		require.Error(t, err)
		require.False(t, models.IsRejection(err))
	})
}

// TestConsoleUsers_ChangeOnlyNamedMembers checks that a change affects only one user and only the fields that it sets.
func TestConsoleUsers_ChangeOnlyNamedMembers(t *testing.T) {
	t.Parallel()
	kit.OnBoth(t, func(t *testing.T, s *store.Store, _ *kit.Clock) {
		ctx := t.Context()
		app, ada, bob := newUsers(t, s)
		other, _, err := s.CreateApp(ctx, "Other", models.PlanFree, nil)
		require.NoError(t, err)
		eve, err := s.CreateUser(ctx, other.ID, "eve@example.com", "Eve", "correct horse eve", models.RoleAdmin)
		require.NoError(t, err)
		name, role, long, wrong := "Robert", models.RoleSupport, strings.Repeat("x", 256), models.Role("owner")
		_, err = s.UpdateUser(ctx, app.ID, bob.ID, store.UserChange{Name: &long})
		assert.Equal(t, "validation_error name", rejectionOf(t, err))
		_, err = s.UpdateUser(ctx, app.ID, bob.ID, store.UserChange{Role: &wrong})
		assert.Equal(t, "validation_error role", rejectionOf(t, err))
		_, err = s.UpdateUser(ctx, app.ID, bob.ID, store.UserChange{Name: &name})
		require.NoError(t, err)
		changed, err := s.UpdateUser(ctx, app.ID, bob.ID, store.UserChange{Role: &role})
		require.NoError(t, err)
		for _, u := range []*models.ConsoleUser{changed, load(t, s, bob.ID)} {
			assert.Equal(t, []any{"Robert", models.RoleSupport, "bob@example.com"}, []any{u.Name, u.Role, u.Email})
		}
		assert.Equal(t, []any{"Ada", models.RoleAdmin}, []any{load(t, s, ada.ID).Name, load(t, s, ada.ID).Role})
		_, err = s.UserOfApp(ctx, app.ID, eve.ID)
		require.ErrorIs(t, err, models.ErrNotFound)
		found, err := s.UserOfApp(ctx, other.ID, eve.ID)
		require.NoError(t, err)
		assert.Equal(t, eve.ID, found.ID)
		_, err = s.UserOfApp(ctx, app.ID, uuid.New())
		require.ErrorIs(t, err, models.ErrNotFound)

		// A new password ends only the other sessions of the same user.
		for range 2 {
			_, err = s.StartConsoleSession(ctx, bob.ID, store.Device{}, time.Hour, nil)
			require.NoError(t, err)
		}
		keep, err := s.StartConsoleSession(ctx, bob.ID, store.Device{}, time.Hour, nil)
		require.NoError(t, err)
		adas, err := s.StartConsoleSession(ctx, ada.ID, store.Device{}, time.Hour, nil)
		require.NoError(t, err)
		require.Equal(t, "validation_error newPassword", rejectionOf(t, s.SetPassword(ctx, bob, "short", keep.ID)))
		require.NoError(t, s.SetPassword(ctx, bob, "another good one", keep.ID))
		_, err = s.Login(ctx, "bob@example.com", "another good one")
		require.NoError(t, err)
		_, err = s.Login(ctx, "bob@example.com", "correct horse bob")
		require.ErrorIs(t, err, models.ErrNotFound)
		_, err = s.Login(ctx, "ada@example.com", "correct horse ada")
		require.NoError(t, err)
		assert.Equal(t, []uuid.UUID{keep.ID}, sessionsOf(t, s, bob.ID))
		assert.Equal(t, []uuid.UUID{adas.ID}, sessionsOf(t, s, ada.ID))

		// A disabled user cannot be found, and the address can be reused.
		require.NoError(t, s.DisableUser(ctx, app.ID, bob.ID))
		require.ErrorIs(t, s.DisableUser(ctx, app.ID, bob.ID), models.ErrNotFound)
		_, err = s.Login(ctx, "bob@example.com", "another good one")
		require.ErrorIs(t, err, models.ErrNotFound)
		_, err = s.User(ctx, bob.ID)
		require.ErrorIs(t, err, models.ErrNotFound)
		_, err = s.UpdateUser(ctx, app.ID, bob.ID, store.UserChange{Name: &name})
		require.ErrorIs(t, err, models.ErrNotFound)
		_, err = s.ConsoleSession(ctx, keep.ID, time.Hour, true)
		require.ErrorIs(t, err, models.ErrNotFound)
		users, err := s.Users(ctx, app.ID)
		require.NoError(t, err)
		require.Len(t, users, 1)
		assert.Equal(t, "Ada@example.com", users[0].Email)
		_, err = s.CreateUser(ctx, app.ID, "bob@example.com", "Bob", "correct horse bob", models.RoleViewer)
		require.NoError(t, err)
	})
}

func load(t *testing.T, s *store.Store, id uuid.UUID) *models.ConsoleUser {
	t.Helper()
	u, err := s.User(t.Context(), id)
	require.NoError(t, err)
	return u
}

// sessionsOf returns the IDs of a console user's sessions, newest first.
func sessionsOf(t *testing.T, s *store.Store, user uuid.UUID) (ids []uuid.UUID) {
	t.Helper()
	sessions, _, err := s.ConsoleSessions(t.Context(), user, time.Hour)
	require.NoError(t, err)
	for _, v := range sessions {
		ids = append(ids, v.ID)
	}
	return ids
}

// TestListUsers_ShowsFactorsAndLastActivity checks that the list shows whether each user has a second factor, and the
// time of the user's last activity in a valid session.
func TestListUsers_ShowsFactorsAndLastActivity(t *testing.T) {
	t.Parallel()
	kit.OnBoth(t, func(t *testing.T, s *store.Store, clock *kit.Clock) {
		ctx := t.Context()
		app, ada, bob := newUsers(t, s)
		_, err := s.EnrollFactor(ctx, bob)
		require.NoError(t, err)
		confirmFactor(t, s, clock, ada)
		first, err := s.StartConsoleSession(ctx, ada.ID, store.Device{}, time.Hour, nil)
		require.NoError(t, err)
		clock.Add(10 * time.Minute)
		_, err = s.StartConsoleSession(ctx, ada.ID, store.Device{}, time.Hour, nil)
		require.NoError(t, err)
		seen := clock.Now()
		details := func() map[string]store.UserDetail {
			list, err := s.UserDetails(ctx, app.ID)
			require.NoError(t, err)
			require.Len(t, list, 2)
			require.Equal(t, ada.ID, list[0].ID, "the oldest user comes first")
			return map[string]store.UserDetail{"ada": list[0], "bob": list[1]}
		}
		got := details()
		assert.Equal(t, []bool{true, false}, []bool{got["ada"].SecondFactor, got["bob"].SecondFactor})
		assert.Equal(t, seen, got["ada"].SeenAt.UTC(), "time of the latest activity")
		assert.Nil(t, got["bob"].SeenAt)
		assert.Equal(t, "bob@example.com", got["bob"].Email)
		clock.Add(20 * time.Minute)
		_, err = s.ConsoleSession(ctx, first.ID, time.Hour, true)
		require.NoError(t, err)
		assert.Equal(t, clock.Now(), details()["ada"].SeenAt.UTC(), "activity in any session counts")
		clock.Add(30 * time.Minute)
		assert.Equal(t, seen, details()["ada"].SeenAt.UTC(), "the first session has ended")
		clock.Add(10 * time.Minute)
		assert.Nil(t, details()["ada"].SeenAt, "both sessions have ended")
	})
}
