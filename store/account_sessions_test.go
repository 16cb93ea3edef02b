package store_test

import (
	"bytes"
	"encoding/base64"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/pquerna/otp/totp"
	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/bcrypt"

	"countersign/internal/testkit"
	"countersign/internal/vault"
	"countersign/models"
	"countersign/store"
)

// TestRewrapOfSignIns: second factors and sessions outlive a replaced master key.
func TestRewrapOfSignIns(t *testing.T) {
	t.Parallel()
	for _, kind := range testkit.Databases {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			url := testkit.DatabaseURL(t, kind)
			open := func(masterKeys ...byte) *store.Store {
				t.Helper()
				var all []string
				for _, k := range masterKeys {
					all = append(all, base64.StdEncoding.EncodeToString(bytes.Repeat([]byte{k}, 32)))
				}
				v, err := vault.New(strings.Join(all, ","))
				require.NoError(t, err)
				s, err := store.Open(t.Context(), store.Config{
					URL: url, Vault: v, PasswordCost: bcrypt.MinCost, Now: time.Now, NewID: func() uuid.UUID { return uuid.Must(uuid.NewV7()) },
				})
				require.NoError(t, err)
				t.Cleanup(func() { require.NoError(t, s.Close()) })
				return s
			}
			first := open(1)
			_, err := first.Migrate(t.Context())
			require.NoError(t, err)
			app, _, err := first.CreateApp(t.Context(), "A", models.PlanEnterprise, nil)
			require.NoError(t, err)
			user, err := first.CreateUser(t.Context(), app.ID, "ada@example.com", "Ada", "correct horse", models.RoleViewer)
			require.NoError(t, err)
			secret, err := first.EnrolFactor(t.Context(), user)
			require.NoError(t, err)
			on := store.Device{IP: "192.0.2.7", UserAgent: "Test/1"}
			session, err := first.StartConsoleSession(t.Context(), user.ID, on, time.Hour, nil)
			require.NoError(t, err)

			_, err = open(2, 1).Rewrap(t.Context())
			require.NoError(t, err)
			fresh := open(2)
			code, err := totp.GenerateCode(secret.Text, time.Now())
			require.NoError(t, err)
			_, err = fresh.ConfirmFactor(t.Context(), user.ID, code, session.ID)
			require.NoError(t, err)
			sessions, devices, err := fresh.ConsoleSessions(t.Context(), user.ID, time.Hour)
			require.NoError(t, err)
			require.Len(t, sessions, 1)
			require.Equal(t, []store.Device{on}, devices)
			in, err := fresh.ConsoleSession(t.Context(), session.ID, time.Hour, true)
			require.NoError(t, err)
			require.True(t, in.Factor)
			require.Equal(t, "ada@example.com", in.User.Email)
		})
	}
}
