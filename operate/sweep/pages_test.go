package sweep_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"countersign/models"
	"countersign/operate/sweep"
	"countersign/store"
	"countersign/store/blob"
	"countersign/test/kit"
)

// TestSweep_Pages checks that page images and extracted text are removed only when neither an envelope nor a template
// references their file.
func TestSweep_Pages(t *testing.T) {
	t.Parallel()
	kit.OnBoth(t, func(t *testing.T, s *store.Store, clock *kit.Clock) {
		ctx := t.Context()
		app, _, err := s.CreateApp(ctx, "Acme", models.PlanEnterprise, nil)
		require.NoError(t, err)
		pool, err := s.DB()
		require.NoError(t, err)
		for name, open := range stores(t) {
			b, age := open()
			_, active := envelope(t, s, clock, app.ID)
			p, purged := envelope(t, s, clock, app.ID)
			_, err = pool.ExecContext(ctx, "UPDATE documents SET purge_status = 'purged' WHERE id = '"+p.Documents[0].ID.String()+"'")
			require.NoError(t, err)
			d, deleted := envelope(t, s, clock, app.ID)
			act := models.ActionContext{At: clock.Now(), Actor: models.ActorSystem, NewID: uuid.New}
			_, err = s.Change(ctx, app.ID, d.ID, func(e *models.Envelope) error {
				_, err := e.Delete(act)
				return err
			})
			require.NoError(t, err)
			source, ofTemplate := envelope(t, s, clock, app.ID)
			template, err := s.PutTemplate(ctx, store.TemplateTarget{App: app.ID, Tenant: "t", Envelope: source.ID}, func(_ *models.LoadedTemplate, e *models.Envelope) (*models.LoadedTemplate, error) {
				made := models.NewTemplate(act, models.Template{AppID: app.ID, TenantID: "t", Name: "n " + name, CreatedBy: "me"})
				made.NewVersion(act, "me", models.TemplateContent{}, models.TemplateDocuments(e))
				return made, nil
			})
			require.NoError(t, err)
			_, err = s.Change(ctx, app.ID, source.ID, func(e *models.Envelope) error {
				_, err := e.Delete(act)
				return err
			})
			require.NoError(t, err)

			// pages stores the image and the text of a page of a file, and returns their keys.
			pages := func(file string, old time.Duration) (keys []string) {
				for _, level := range []int{models.TextLevel, 2} {
					p := store.PageFile{BlobKey: file, Profile: 1, Page: 1, Level: level}
					_, err := s.AddPageFile(ctx, p)
					require.NoError(t, err)
					put(t, b, p.Key())
					age(p.Key(), old)
					keys = append(keys, p.Key())
				}
				return keys
			}
			const old = 2 * sweep.Age
			stray := fmt.Sprintf("envelopes/%s/original/%s.pdf", uuid.New(), uuid.New())
			young := fmt.Sprintf("envelopes/%s/original/%s.pdf", uuid.New(), uuid.New())
			stays := append(append(pages(active, old), pages(ofTemplate, old)...), pages(young, sweep.Age/2)...)
			goes := append(append(pages(purged, old), pages(deleted, old)...), pages(stray, old)...)
			for _, file := range []string{active, ofTemplate} {
				put(t, b, file)
				age(file, old)
			}
			run := func(remove bool) (found []string) {
				require.NoError(t, sweep.Sweeper{Store: s, Blobs: b, Delete: remove}.Run(ctx, func(o sweep.Orphan) error {
					assert.Equal(t, sweep.ReasonUnreferenced, o.Reason, o.Key)
					found = append(found, o.Key)
					return nil
				}))
				return found
			}
			recorded := func(file string) bool {
				p, err := s.PageFile(ctx, file, 1, 1, 2)
				require.NoError(t, err)
				return p != nil
			}
			assert.ElementsMatch(t, goes, run(false), name)
			assert.True(t, recorded(purged), "a report removes no files")
			assert.ElementsMatch(t, goes, run(true), name)
			assert.Empty(t, run(true), name)
			left, err := b.List(ctx, "")
			require.NoError(t, err)
			assert.ElementsMatch(t, append(stays, active, ofTemplate), left, name)
			for file, want := range map[string]bool{active: true, ofTemplate: true, young: true, purged: false, deleted: false, stray: false} {
				assert.Equal(t, want, recorded(file), file)
			}

			// Archiving the template removes the last reference to the file.
			_, err = s.ArchiveTemplate(ctx, app.ID, template.ID, func(*models.Template) error { return nil })
			require.NoError(t, err)
			found := make(map[string]bool)
			require.NoError(t, sweep.Sweeper{Store: s, Blobs: b, Delete: true}.Run(ctx, func(o sweep.Orphan) error {
				found[o.Key] = true
				return nil
			}))
			left, err = b.List(ctx, blob.PagesOf(ofTemplate))
			require.NoError(t, err)
			assert.Empty(t, left, name)
			assert.True(t, found[(&store.PageFile{BlobKey: ofTemplate, Profile: 1, Page: 1, Level: 2}).Key()], name)
			assert.False(t, recorded(ofTemplate))
		}
	})
}
