package store_test

import (
	"fmt"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"countersign/models"
	"countersign/store"
	"countersign/test/kit"
)

// TestEventWithoutDetail_KeepsItsHash checks that loading an event without detail does not change its hash.
func TestEventWithoutDetail_KeepsItsHash(t *testing.T) {
	t.Parallel()
	kit.OnBoth(t, func(t *testing.T, s *store.Store, clock *kit.Clock) {
		f := newFixture(t, s, clock)
		e := f.sent(1, nil)
		for _, detail := range []models.Detail{{}, nil} {
			require.NoError(t, change(t.Context(), f, e.ID, func(e *models.Envelope) error {
				err := e.Invited(f.act(), e.Signers[0].ID, false, "")
				e.Events[0].Detail = detail
				return err
			}))
			_, log := f.check(e.ID) // checks that the chain is valid
			assert.Equal(t, detail, log[len(log)-1].Detail)
		}
	})
}

// TestLoad_EqualsSeparateQueries checks that an envelope loaded by one query equals the same envelope loaded by
// separate queries.
func TestLoad_EqualsSeparateQueries(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, s *store.Store) {
		app, _, err := s.CreateApp(t.Context(), "Acme", models.PlanPro, nil)
		require.NoError(t, err)
		made := draft(t, s, app.ID, "t", "Whole")
		phone := "+442079460958"
		act := models.ActionContext{At: clock().Truncate(1000), Actor: "system", IP: "192.0.2.1", UserAgent: "test", NewID: uuid.New}
		_, err = s.Change(t.Context(), app.ID, made.ID, func(e *models.Envelope) error {
			_, err := e.AddDocument(act, models.DocumentInput{Document: models.Document{Name: "a.pdf", SHA256: "0", PageCount: 1, Pages: []models.PageRun{{From: 1, Width: 595, Height: 842}}}}, 5)
			if err != nil {
				return err
			}
			if _, err := e.AddSigner(act, models.SignerInput{Name: "Bob", Email: "bob@example.com", Phone: &phone, RoutingOrder: 1, AuthMethod: models.AuthSMSOTP}); err != nil {
				return err
			}
			_, err = e.AddFields(act, []models.FieldInput{{SignerRef: "1", Type: models.FieldText, Page: 1, X: 1.5, Y: 2, W: 9, H: 9, Origin: models.OriginTopLeft}}, models.NoPrefix)
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

		list, _, err := s.Envelopes(t.Context(), store.EnvelopeFilter{App: app.ID, Page: 1, Size: 1})
		require.NoError(t, err)
		want := list[0]
		log, err := s.AuditEvents(t.Context(), want)
		require.NoError(t, err)
		got, gotLog, err := s.EnvelopeWithEvents(t.Context(), app.ID, made.ID)
		require.NoError(t, err)
		require.Equal(t, want, got)
		require.Equal(t, log, gotLog)
		require.NoError(t, models.VerifyChain(gotLog, got.AuditSeq, got.AuditHead))
		_, _, err = s.EnvelopeWithEvents(t.Context(), uuid.New(), made.ID)
		require.ErrorIs(t, err, models.ErrNotFound)
	})
}

// TestLoad_IsOneSnapshot checks that an envelope loaded during concurrent writes is consistent.
func TestLoad_IsOneSnapshot(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, s *store.Store) {
		app, _, err := s.CreateApp(t.Context(), "Acme", models.PlanPro, nil)
		require.NoError(t, err)
		id := draft(t, s, app.ID, "t", "Moment").ID
		first, _, err := s.EnvelopeWithEvents(t.Context(), app.ID, id)
		require.NoError(t, err)
		before := first.AuditSeq - int64(len(first.Signers)) // adding a signer records one event

		const more = 30
		whileWriting(t, more, func(i int) error {
			_, err := s.Change(t.Context(), app.ID, id, func(e *models.Envelope) error {
				act := models.ActionContext{At: clock(), Actor: "system", NewID: uuid.New}
				_, err := e.AddSigner(act, models.SignerInput{
					Name: "N", Email: fmt.Sprintf("n%d@example.com", i), RoutingOrder: 1, AuthMethod: models.AuthNone,
				})
				return err
			})
			return err
		}, func() {
			e, log, err := s.EnvelopeWithEvents(t.Context(), app.ID, id)
			require.NoError(t, err)
			require.NoError(t, models.VerifyChain(log, e.AuditSeq, e.AuditHead))
			require.Equal(t, e.AuditSeq, before+int64(len(e.Signers)))
			list, _, err := s.Envelopes(t.Context(), store.EnvelopeFilter{App: app.ID, Page: 1, Size: 10})
			require.NoError(t, err)
			require.Equal(t, list[0].AuditSeq, before+int64(len(list[0].Signers)))
		})
		last, err := s.Envelope(t.Context(), app.ID, id)
		require.NoError(t, err)
		require.Len(t, last.Signers, len(first.Signers)+more)
	})
}
