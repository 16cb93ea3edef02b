package store_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"countersign/internal/testkit"
	"countersign/models"
	"countersign/store"
)

// TestSearch finds by any part of the subject or of a name, and by an address or
// its domain, in any case of any script, on both databases.
func TestSearch(t *testing.T) {
	t.Parallel()
	for _, kind := range testkit.Databases {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			url := testkit.MigratedURL(t, kind)
			s, err := store.Open(t.Context(), store.Config{URL: url, BaseURL: "https://sign.example.com", PasswordCost: testkit.PasswordCost, Vault: testkit.Vault(t), Now: clock, NewID: newID})
			require.NoError(t, err)
			defer func() { require.NoError(t, s.Close()) }()
			app, _, err := s.CreateApp(t.Context(), "Acme", models.PlanEnterprise, nil)
			require.NoError(t, err)
			other, _, err := s.CreateApp(t.Context(), "Other", models.PlanEnterprise, nil)
			require.NoError(t, err)
			house := draft(t, s, app.ID, "t", "Mietvertrag Straße 50%_\\")
			greek := draft(t, s, app.ID, "t", "ΟΔΟΣ Ἀθῆναι")
			draft(t, s, other.ID, "t", "Straße")
			_, err = s.Change(t.Context(), app.ID, greek.ID, func(e *models.Envelope) error {
				_, err := e.AddSigner(models.ActionContext{At: clock(), Actor: "system", NewID: newID}, models.SignerInput{Name: "Łukasz É\u0301", Email: "Late@Example.com", RoutingOrder: 1, AuthMethod: models.AuthNone})
				return err
			})
			require.NoError(t, err)
			_, err = s.SaveContact(t.Context(), models.Contact{AppID: app.ID, Name: "Ἀδελφός", Email: "A@example.com"}, false)
			require.NoError(t, err)
			for text, want := range map[string][]*models.Envelope{
				"STRASSE": {house}, "straße 50%": {house}, `%_\`: {house}, "%%": nil, "οδος": {greek}, "ΆΘ": nil, "ŁUKASZ": {greek},
				"LATE@example": nil, "late@EXAMPLE.com ": {greek}, "ada mietvertrag": {house}, "vertrag\nada": nil, "ADA@EXAMPLE.COM": {greek, house},
				"@example.com": {greek, house}, "Example.COM": {greek, house}, "example.co": nil, "nobody": nil,
				house.ID.String(): {house}, " " + strings.ToUpper(greek.ID.String()): {greek},
			} {
				found, total, err := s.Envelopes(t.Context(), store.EnvelopeFilter{App: app.ID, Search: text, Page: 1, Size: 10})
				require.NoError(t, err)
				require.EqualValues(t, len(want), total, "%q", text)
				require.Len(t, found, len(want), "%q", text)
				for i := range found {
					require.Equal(t, want[i].ID, found[i].ID, "%q, newest first", text)
				}
			}
			contacts, _, err := s.Contacts(t.Context(), app.ID, "ἀδελφΌΣ", 1, 1000)
			require.NoError(t, err)
			require.Len(t, contacts, 1)
			if kind != "postgres" {
				return
			}
			plan := ""
			db := openRaw(t, kind, url)
			conn, err := db.Conn(t.Context())
			require.NoError(t, err)
			defer func() { require.NoError(t, conn.Close()) }()
			_, err = conn.ExecContext(t.Context(), "SET enable_seqscan = off")
			require.NoError(t, err)
			err = conn.QueryRowContext(t.Context(), `EXPLAIN (FORMAT JSON) SELECT envelope_id FROM envelope_search WHERE text LIKE '%strasse%' ESCAPE '\'`).Scan(&plan)
			require.NoError(t, err)
			require.Contains(t, plan, "envelope_search_text")
		})
	}
}
