package sweep_test

import (
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"countersign/models"
	"countersign/operate/sweep"
	"countersign/store"
	"countersign/test/kit"
)

// TestSweep_Templates checks that a template's file is reported only once it is no longer referenced, even if it is in
// the folder of a deleted or purged envelope.
func TestSweep_Templates(t *testing.T) {
	t.Parallel()
	kit.OnBoth(t, func(t *testing.T, s *store.Store, clock *kit.Clock) {
		ctx := t.Context()
		app, _, err := s.CreateApp(ctx, "Acme", models.PlanEnterprise, nil)
		require.NoError(t, err)
		b, age := stores(t)["directory"]()
		e, original := envelope(t, s, clock, app.ID)
		act := models.ActionContext{At: clock.Now(), Actor: models.ActorSystem, NewID: uuid.New}
		from, err := s.PutTemplate(ctx, store.TemplateTarget{App: app.ID, Tenant: "t", Envelope: e.ID}, func(_ *models.LoadedTemplate, e *models.Envelope) (*models.LoadedTemplate, error) {
			made := models.NewTemplate(act, models.Template{AppID: app.ID, TenantID: "t", Name: "n", CreatedBy: "me"})
			documents := models.TemplateDocuments(e)
			own := *documents[0]
			own.BlobKey = "templates/own/original.pdf"
			own.PreparedKey, own.PreparedSHA256 = "templates/own/prepared.pdf", own.SHA256
			made.NewVersion(act, "me", models.TemplateContent{}, append(documents, &own))
			return made, nil
		})
		require.NoError(t, err)
		keys := []string{original, "templates/own/original.pdf", "templates/own/prepared.pdf", "templates/stray/original.pdf"}
		for _, key := range keys {
			put(t, b, key)
			age(key, 2*sweep.Age)
		}
		put(t, b, "templates/young/original.pdf")
		found := func() map[string]string {
			out := make(map[string]string)
			require.NoError(t, sweep.Sweeper{Store: s, Blobs: b}.Run(ctx, func(o sweep.Orphan) error {
				out[o.Key] = o.Reason
				return nil
			}))
			return out
		}
		assert.Equal(t, map[string]string{keys[3]: sweep.ReasonUnreferenced}, found())
		_, err = s.Change(ctx, app.ID, e.ID, func(e *models.Envelope) error {
			_, err := e.Delete(act)
			return err
		})
		require.NoError(t, err)
		assert.Equal(t, map[string]string{keys[3]: sweep.ReasonUnreferenced}, found())

		// After a change of the master key, an encrypted file is marked in every record that references it.
		for _, key := range keys[:3] {
			require.NoError(t, s.MarkEncrypted(ctx, key))
		}
		now, err := s.Template(ctx, app.ID, from.ID, 0)
		require.NoError(t, err)
		assert.Equal(t, []bool{true, false, true, true}, []bool{
			now.Documents[0].Encrypted, now.Documents[0].PreparedEncrypted, now.Documents[1].Encrypted, now.Documents[1].PreparedEncrypted,
		})

		_, err = s.ArchiveTemplate(ctx, app.ID, from.ID, func(*models.Template) error { return nil })
		require.NoError(t, err)
		assert.Equal(t, map[string]string{
			original: sweep.ReasonUnrecorded, keys[1]: sweep.ReasonUnreferenced, keys[2]: sweep.ReasonUnreferenced, keys[3]: sweep.ReasonUnreferenced,
		}, found())
	})
}
