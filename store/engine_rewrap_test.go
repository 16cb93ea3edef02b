package store_test

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"countersign/internal/testkit"
	"countersign/internal/vault"
	"countersign/models"
	"countersign/store"
)

// TestRewrap replaces the master key: secrets encrypted with the former are encrypted
// with the new one, and the former can be thrown away.
func TestRewrap(t *testing.T) {
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
					URL: url, BaseURL: "https://sign.example.com", PasswordCost: testkit.PasswordCost, Vault: v, Now: time.Now, NewID: func() uuid.UUID { return uuid.Must(uuid.NewV7()) },
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
			_, err = first.CreateWebhook(t.Context(), app.ID, "https://example.com/1", []models.EventName{models.EventEnvelopeSent}, "secret of the hook")
			require.NoError(t, err)
			_, err = first.CreateWebhook(t.Context(), app.ID, "https://example.com/2", []models.EventName{models.EventEnvelopeSent}, "")
			require.NoError(t, err)
			const apps = 150 // more than are looked at in one transaction
			for range apps - 1 {
				_, _, err = first.CreateApp(t.Context(), "B", models.PlanEnterprise, nil)
				require.NoError(t, err)
			}
			before, err := first.Keys(t.Context(), models.KeyTokens)
			require.NoError(t, err)
			_, err = open(2).Keys(t.Context(), models.KeyTokens)
			require.ErrorIs(t, err, vault.ErrUnknownKey)

			both := open(2, 1)
			n, err := both.Rewrap(t.Context())
			require.NoError(t, err)
			assert.Equal(t, store.RewrapCounts{Secrets: apps + 2}, n, "client secrets, a signing key and a webhook's secret")
			n, err = both.Rewrap(t.Context())
			require.NoError(t, err)
			assert.Zero(t, n, "once is enough")

			after := open(2)
			keys, err := after.Keys(t.Context(), models.KeyTokens)
			require.NoError(t, err)
			assert.True(t, keys[0].Private.Equal(before[0].Private))
			n, err = after.Rewrap(t.Context())
			require.NoError(t, err, "every secret opens with the new key")
			assert.Zero(t, n)
			_, err = first.Keys(t.Context(), models.KeyTokens)
			require.ErrorIs(t, err, vault.ErrUnknownKey)
		})
	}
}

// TestRewrap_NamesUnreadableRows: a row that was encrypted with a key that is not given is named, and all others are re-encrypted.
func TestRewrap_NamesUnreadableRows(t *testing.T) {
	t.Parallel()
	for _, kind := range testkit.Databases {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			clock := testkit.NewClock()
			url := testkit.DatabaseURL(t, kind)
			first := openStore(t, url, masterKeys(t, 1), clock)
			_, err := first.Migrate(t.Context())
			require.NoError(t, err)
			_, _, err = first.CreateApp(t.Context(), "Good", models.PlanEnterprise, nil)
			require.NoError(t, err)
			stranger, _, err := openStore(t, url, masterKeys(t, 9), clock).CreateApp(t.Context(), "Stranger", models.PlanEnterprise, nil)
			require.NoError(t, err)
			contact, err := openStore(t, url, masterKeys(t, 9), clock).SaveContact(t.Context(), models.Contact{AppID: stranger.ID, Name: "Ada", Email: "ada@example.com"}, false)
			require.NoError(t, err)

			n, err := openStore(t, url, masterKeys(t, 2, 1), clock).Rewrap(t.Context())
			require.NoError(t, err)
			assert.Equal(t, 1, n.Secrets, "the client secret of the other app")
			require.Len(t, n.Unreadable, 2)
			assert.Regexp(t, "^client_secrets ", n.Unreadable[0])
			assert.Equal(t, "contacts "+contact.ID.String(), n.Unreadable[1])
			again, err := openStore(t, url, masterKeys(t, 2), clock).Rewrap(t.Context())
			require.NoError(t, err)
			assert.Equal(t, n.Unreadable, again.Unreadable)
		})
	}
}

// TestKeysOfArchivesAreReadByTheirPrimaryKey: neither a page of the keys of archives nor one of them is looked for among all.
func TestKeysOfArchivesAreReadByTheirPrimaryKey(t *testing.T) {
	t.Parallel()
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		clock := testkit.NewClock()
		s := testkit.Store(t, "postgres", clock.Now)
		f := newFixture(t, s, clock)
		e := f.prepared()
		execute(t, s,
			fmt.Sprintf(`INSERT INTO envelope_archives (id, envelope_id, sha256, size, key, events, last_event_at, created_at, released_at)
				SELECT gen_random_uuid(), '%s', '', 1, 'k', 1, now(), now(), now() FROM generate_series(1, 20000)`, e.ID),
			"ANALYZE envelope_archives",
		)
		plans, err := s.PlansOfArchiveKeys(t.Context(), "70000000-0000-4000-8000-000000000000")
		require.NoError(t, err)
		for _, plan := range plans {
			require.Contains(t, plan, `"Index Name": "envelope_archives_pkey"`)
			require.Contains(t, plan, `"Index Cond"`)
			require.NotContains(t, plan, `"Sort"`)
		}
	})
}
