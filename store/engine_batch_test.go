package store_test

import (
	"database/sql"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"countersign/models"
	"countersign/store"
	"countersign/test/kit"
)

// TestChange_WithMissingRowWritesNothing checks that a change writes nothing if another writer deleted one of its rows
// without holding the envelope's lock.
func TestChange_WithMissingRowWritesNothing(t *testing.T) {
	t.Parallel()
	url := kit.MigratedURL(t, "postgres")
	s, err := store.Open(t.Context(), store.Config{
		URL: url, BaseURL: "https://sign.example.com", PasswordCost: kit.PasswordCost, Vault: kit.Vault(t), Now: clock, NewID: uuid.New,
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	db, err := sql.Open("pgx", url)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	app, _, err := s.CreateApp(t.Context(), "Acme", models.PlanPro, nil)
	require.NoError(t, err)
	made := draft(t, s, app.ID, "t", "Missed")

	before, log, err := s.EnvelopeWithEvents(t.Context(), app.ID, made.ID)
	require.NoError(t, err)
	_, err = s.Change(t.Context(), app.ID, made.ID, func(e *models.Envelope) error {
		_, err := db.ExecContext(t.Context(), "DELETE FROM signers WHERE envelope_id = $1", made.ID)
		require.NoError(t, err)
		e.Signers[0].Name = "Another"
		_, err = e.AddSigner(models.ActionContext{At: clock(), Actor: "system", NewID: uuid.New}, models.SignerInput{
			Name: "New", Email: "new@example.com", RoutingOrder: 1, AuthMethod: models.AuthNone,
		})
		return err
	})
	require.Error(t, err)
	after, logAfter, err := s.EnvelopeWithEvents(t.Context(), app.ID, made.ID)
	require.NoError(t, err)
	require.Equal(t, before.Version, after.Version)
	require.Equal(t, log, logAfter)
	require.Empty(t, after.Signers, "only the removed rows are deleted")
}
