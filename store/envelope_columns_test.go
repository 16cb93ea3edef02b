package store_test

import (
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"gorm.io/gorm/schema"

	"countersign/models"
	"countersign/store"
)

// TestRecipients_AreEncryptedAtRest checks that loading recipients returns the saved values. The addresses of hosts
// and former signers are encrypted, and are re-encrypted with a new master key.
func TestRecipients_AreEncryptedAtRest(t *testing.T) {
	t.Parallel()
	onBothDatabases(t, func(t *testing.T, d database) {
		ctx := t.Context()
		former := d.open(t, 1)
		f := newFixture(t, former, d.clock)
		act := f.act()
		e, err := models.NewEnvelope(act, models.Envelope{AppID: f.app.ID, TenantID: "t", CreatedBy: "me"})
		require.NoError(t, err)
		_, err = e.AddDocument(act, models.DocumentInput{Document: models.Document{
			Name: "a.pdf", SHA256: strings.Repeat("0", 64), Size: 9, PageCount: 1, Pages: []models.PageRun{{From: 1, Width: 595, Height: 842}}, BlobKey: "k",
		}}, 1)
		require.NoError(t, err)
		for _, in := range []models.SignerInput{
			{Name: "Cora", Email: "cora@kitchen.example", Kind: models.RecipientCopy, AuthMethod: models.AuthEmailOTP, RoutingOrder: 1, Language: "de"},
			{
				Name: "Ida", Email: "ida@kitchen.example", Kind: models.RecipientInPerson, AuthMethod: models.AuthNone, RoutingOrder: 1, Role: "Tenant",
				Host: &models.Host{Name: "Hal", Email: "hal@staff.example"},
			},
			{Name: "Will", Email: "will@kitchen.example", AuthMethod: models.AuthNone, WitnessFor: "Tenant", Silent: true},
			{Name: "Vic", Email: "vic@kitchen.example", Kind: models.RecipientViewer, AuthMethod: models.AuthNone, RoutingOrder: 1},
		} {
			_, err = e.AddSigner(act, in)
			require.NoError(t, err)
		}
		_, err = e.AddFields(act, []models.FieldInput{{
			SignerRef: "1", Type: models.FieldText, Page: 1, X: 1, Y: 1, W: 9, H: 9, Origin: models.OriginTopLeft,
		}}, models.NoPrefix)
		require.NoError(t, err)
		require.NoError(t, e.Send(act, nil))
		require.NoError(t, former.Create(ctx, e))
		_, err = former.Change(ctx, f.app.ID, e.ID, func(e *models.Envelope) error {
			l := models.Link{EnvelopeID: e.ID, SignerID: e.Signers[2].ID, ID: *e.Signers[2].LinkID}
			if err := e.ViewPage(act, l, e.Originals()[0].ID, 1, 1, nil); err != nil {
				return err
			}
			_, err := e.Replace(act, e.Signers[0].ID, models.Replacement{Name: "Grete", Email: "grete@navy.example"})
			return err
		})
		require.NoError(t, err)
		assertNoPlaintext(t, dumpTables(t, d.kind, d.url))

		_, err = d.open(t, 2, 1).Rewrap(ctx)
		require.NoError(t, err)
		after := d.open(t, 2)
		got, err := after.Envelope(ctx, f.app.ID, e.ID)
		require.NoError(t, err, "no value remains encrypted with the former key")
		require.Len(t, got.Signers, 3)
		require.Len(t, got.Copies, 1)
		cora, ida, will, vic := got.Copies[0], got.Signers[0], got.Signers[1], got.Signers[2]
		require.Equal(t, []any{models.RecipientCopy, "de", models.SignerSent}, []any{cora.Kind, cora.Language, cora.Status})
		require.Equal(t, []any{models.RecipientInPerson, &models.Host{Name: "Hal", Email: "hal@staff.example"}}, []any{ida.Kind, ida.Host()})
		require.Equal(t, "ida@kitchen.example", ida.Previous()[0].Email)
		require.Equal(t, []any{"Tenant", true, models.SignerPending, ida}, []any{will.WitnessFor, will.Silent, will.Status, got.Principal(will)})
		require.Equal(t, []any{models.RecipientViewer, got.Originals()[0].ID}, []any{vic.Kind, vic.Opened[0]})
		require.Equal(t, []*models.Signer{cora, ida, will, vic}, got.Recipients())
		assertNoPlaintext(t, dumpTables(t, d.kind, d.url))
	})
}

// TestColumns_AreComplete checks that loading and saving a model omits none of its columns.
func TestColumns_AreComplete(t *testing.T) {
	t.Parallel()
	for model, columns := range store.ColumnsOf() {
		known, err := schema.Parse(model, &sync.Map{}, schema.NamingStrategy{})
		require.NoError(t, err)
		require.ElementsMatch(t, known.DBNames, columns, "%T", model)
	}
}
