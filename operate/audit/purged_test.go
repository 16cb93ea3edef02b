package audit_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"countersign/models"
	"countersign/operate/audit"
	"countersign/test/kit"
)

// TestVerify_PurgedEnvelope_HasNoProblems checks that purging prefilled and entered values does not cause a finding,
// although the chain contains their hashes. A prefilled value that was missing before the purge still causes a finding.
func TestVerify_PurgedEnvelope_HasNoProblems(t *testing.T) {
	t.Parallel()
	kit.EachDatabase(t, func(t *testing.T, kind string) {
		a := newAuditFixture(t, kind)
		id := a.envelope(a.Store, a.clock)
		// The chain of an edited draft contains a hash of the fields, including prefilled values.
		e, err := a.Store.Envelope(t.Context(), a.app, id)
		require.NoError(t, err)
		draft, err := models.NewEnvelope(act(a.clock), models.Envelope{AppID: a.app, TenantID: "t", CreatedBy: "me"})
		require.NoError(t, err)
		original := e.Originals()[0]
		_, err = draft.AddDocument(act(a.clock), models.DocumentInput{Document: models.Document{SHA256: original.SHA256, Size: original.Size, PageCount: 1, Pages: original.Pages, BlobKey: original.BlobKey}}, 1)
		require.NoError(t, err)
		signer, err := draft.AddSigner(act(a.clock), models.SignerInput{Name: "Name", Email: "ada@example.com", RoutingOrder: 1, AuthMethod: models.AuthNone})
		require.NoError(t, err)
		in := models.FieldInput{SignerRef: signer.ID.String(), Type: models.FieldText, Page: 1, X: 50, Y: 50, W: 90, H: 20, Required: true, Origin: models.OriginTopLeft, DefaultValue: "prefilled"}
		fields, err := draft.AddFields(act(a.clock), []models.FieldInput{in}, models.NoPrefix)
		require.NoError(t, err)
		in.X = 60
		_, err = draft.EditField(act(a.clock), fields[0].ID, in)
		require.NoError(t, err)
		require.NoError(t, draft.Send(act(a.clock), nil))
		require.NoError(t, a.Store.Create(t.Context(), draft))
		change := func(fn func(e *models.Envelope) error) {
			t.Helper()
			_, err := a.Store.Change(t.Context(), a.app, draft.ID, fn)
			require.NoError(t, err)
		}
		problems := func() (out []string) {
			require.NoError(t, a.One(t.Context(), draft.ID, func(r *audit.Report) error { out = append(out, r.Problems...); return nil }))
			return out
		}
		require.Empty(t, problems())
		value := "entered"
		change(func(e *models.Envelope) error {
			l := models.Link{EnvelopeID: e.ID, SignerID: signer.ID, ID: *e.Signers[0].LinkID}
			if _, err := e.Consent(act(a.clock), l, new(models.Signer).Disclosure("en")); err != nil {
				return err
			}
			by := act(a.clock)
			by.Actor = models.SignerActor(signer.ID)
			_, err := e.Sign(by, l, models.Submission{Fields: []models.FieldSubmission{{FieldID: fields[0].ID, Text: &value}}})
			return err
		})
		change(func(e *models.Envelope) error {
			err := e.Complete(act(a.clock), []models.SealedFile{{OriginalID: e.Originals()[0].ID, SHA256: original.SHA256, Size: original.Size, PageCount: 1, BlobKey: "sealed"}})
			e.SetRetention(1)
			return err
		})
		a.exec("UPDATE fields SET default_value = '' WHERE envelope_id = $1", draft.ID)
		assert.Contains(t, problems(), "the fields differ from those that were sent according to the chain")
		a.clock.Add(25 * time.Hour)
		change(func(e *models.Envelope) error { return e.Purge(act(a.clock)) })
		require.NoError(t, a.Blobs.Delete(t.Context(), original.BlobKey))
		assert.Empty(t, problems())
	})
}
