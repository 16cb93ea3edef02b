package store_test

import (
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"countersign/models"
	"countersign/store"
)

// TestWhole: read in one go, an envelope is the same in every member.
func TestWhole(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, s *store.Store) {
		app, _, err := s.CreateApp(t.Context(), "Acme", models.PlanPro, nil)
		require.NoError(t, err)
		made := draft(t, s, app.ID, "t", "Whole")
		phone := "+442079460958"
		act := models.Act{At: clock().Truncate(1000), Actor: "system", IP: "192.0.2.1", UserAgent: "test", NewID: uuid.New}
		_, err = s.Change(t.Context(), app.ID, made.ID, func(e *models.Envelope) error {
			_, err := e.AddDocument(act, models.DocumentInput{Name: "a.pdf", SHA256: "0", Count: 1, Pages: []models.PageRun{{From: 1, Width: 595, Height: 842}}}, 5)
			if err != nil {
				return err
			}
			if _, err := e.AddSigner(act, models.SignerInput{Name: "Bob", Email: "bob@example.com", Phone: &phone, RoutingOrder: 1, AuthMethod: models.AuthSMSOTP}); err != nil {
				return err
			}
			_, err = e.AddFields(act, []models.FieldInput{{SignerRef: "1", Type: models.FieldText, Page: 1, X: 1.5, Y: 2, W: 9, H: 9, Origin: models.OriginTopLeft}}, models.NoPath)
			if err != nil {
				return err
			}
			return e.Send(act, nil)
		})
		require.NoError(t, err)
		sent, err := s.Envelope(t.Context(), app.ID, made.ID)
		require.NoError(t, err)
		link := models.Link{EnvelopeID: sent.ID, SignerID: sent.Signers[1].ID, ID: *sent.Signers[1].LinkID}
		_, err = s.Change(t.Context(), app.ID, made.ID, func(e *models.Envelope) error {
			_, err := e.RequestCode(act, link, []byte{0, 1, 255})
			return err
		})
		require.NoError(t, err)

		want, err := s.Envelope(t.Context(), app.ID, made.ID)
		require.NoError(t, err)
		log, err := s.AuditEvents(t.Context(), made.ID)
		require.NoError(t, err)
		got, gotLog, err := s.Whole(t.Context(), app.ID, made.ID)
		require.NoError(t, err)
		require.Equal(t, want, got)
		require.Equal(t, log, gotLog)
		require.NoError(t, models.VerifyChain(gotLog, got.AuditSeq, got.AuditHead))
		_, _, err = s.Whole(t.Context(), uuid.New(), made.ID)
		require.ErrorIs(t, err, models.ErrNotFound)
	})
}
