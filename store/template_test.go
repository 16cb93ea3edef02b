package store_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"countersign/models"
	"countersign/store"
	"countersign/test/kit"
)

// templateOf stores and returns a template with a document and one field for each of two roles.
func (f *fixture) templateOf(key string, externalID *string) *models.LoadedTemplate {
	f.t.Helper()
	act := f.act()
	made, err := f.PutTemplate(f.t.Context(), store.TemplateTarget{App: f.app.ID, Tenant: "t", ExternalID: externalID}, f.version(act, key, externalID))
	require.NoError(f.t, err)
	return made.LoadedTemplate
}

// version returns a function that builds the next version of a template. The file of this version has the given key.
func (f *fixture) version(act models.ActionContext, key string, externalID *string) func(*models.LoadedTemplate, *models.Envelope) (*models.LoadedTemplate, error) {
	return func(was *models.LoadedTemplate, _ *models.Envelope) (*models.LoadedTemplate, error) {
		if was == nil {
			was = models.NewTemplate(act, models.Template{AppID: f.app.ID, TenantID: "t", Name: "Lease", ExternalID: externalID, CreatedBy: "me"})
		}
		c := models.TemplateContent{
			Subject: ptr("Lease of {{place}}"), Roles: []models.TemplateRole{
				{Role: "landlord", RoutingOrder: 1, AuthMethod: models.AuthNone}, {Role: "tenant", RoutingOrder: 2, AuthMethod: models.AuthEmailOTP},
			},
		}
		e, err := c.Draft(act, &was.Template, nil)
		if err != nil {
			return nil, err
		}
		_, err = e.AddDocument(act, models.DocumentInput{Document: models.Document{
			Name: "a.pdf", SHA256: strings.Repeat("0", 64), Size: 9, PageCount: 1, Pages: []models.PageRun{{From: 1, Width: 595, Height: 842}}, BlobKey: key,
			SealFacts: "facts", PreparedSHA256: "11", PreparedSize: 8, PreparedKey: key + ".prepared",
			PreparedChanges: []models.PreparedChange{{Kind: "script", Count: 1}}, Preparation: "how",
		}, Warnings: []string{"odd"}}, 9)
		if err != nil {
			return nil, err
		}
		for _, role := range []string{"landlord", "tenant"} {
			_, err = e.AddFields(act, []models.FieldInput{{
				Role: role, Name: role + "_name", Type: models.FieldText, Page: 1, X: 1, Y: 1, W: 10, H: 10, Origin: models.OriginTopLeft, DefaultValue: "secret",
			}}, models.NoPrefix)
			if err != nil {
				return nil, err
			}
		}
		c.FieldsOf(e)
		was.NewVersion(act, "me", c, models.TemplateDocuments(e))
		return was, nil
	}
}

// use returns the input for creating an envelope from the template of templateOf.
func use(subject string) models.TemplateUse {
	return models.TemplateUse{
		Envelope: models.Envelope{TenantID: "t", CreatedBy: "me"}, Variables: map[string]string{"place": subject}, Values: map[string]string{"tenant_name": "Grace"},
		Signers: []models.SignerInput{
			{Role: "tenant", Name: "Grace", Email: "grace@example.com"}, {Role: "landlord", Name: "Ada", Email: "ada@example.com"},
		},
	}
}

func (f *fixture) createFromTemplate(ctx context.Context, template uuid.UUID, version int) (*store.EnvelopeWithEvents, error) {
	return f.CreateFromTemplate(ctx, f.app.ID, template, version, func(t *models.LoadedTemplate) (*models.Envelope, error) {
		e, err := t.NewEnvelope(f.act(), use("the mill"), 9)
		if err != nil {
			return nil, err
		}
		return e, e.Send(f.act(), nil)
	})
}

// TestEnvelopesOfTemplates_KeepTheirVersion checks that an envelope is created from the requested version of its
// template and references the template's files.
func TestEnvelopesOfTemplates_KeepTheirVersion(t *testing.T) {
	t.Parallel()
	kit.OnBoth(t, func(t *testing.T, s *store.Store, clock *kit.Clock) {
		f, ctx := newFixture(t, s, clock), t.Context()
		first := f.templateOf("templates/1.pdf", ptr("lease"))
		second := f.templateOf("templates/2.pdf", ptr("lease"))
		require.Equal(t, first.ID, second.ID)
		assert.Equal(t, 2, second.Version)

		for version, want := range []int{2, 1, 2} {
			key := fmt.Sprintf("templates/%d.pdf", want)
			made, err := f.createFromTemplate(ctx, first.ID, version)
			require.NoError(t, err)
			e, _ := f.check(made.ID)
			assert.Equal(t, models.StatusSent, e.Status)
			assert.Equal(t, first.ID, *e.TemplateID)
			assert.Equal(t, want, e.TemplateVersion)
			assert.Equal(t, "Lease of the mill", *e.Subject)
			require.Len(t, e.Documents, 1)
			d := e.Documents[0]
			assert.Equal(t, []any{key, key + ".prepared", "facts", "how", true}, []any{d.BlobKey, d.PreparedKey, d.SealFacts, d.Preparation, d.Shared})
			assert.Equal(t, []string{"landlord", "tenant"}, []string{e.Signers[0].Role, e.Signers[1].Role})
			assert.Equal(t, []string{"secret", "Grace"}, []string{e.Fields[0].DefaultValue, e.Fields[1].DefaultValue})
			assert.Equal(t, d.ID, e.Fields[0].DocumentID)
			assert.NotEmpty(t, made.Log[len(made.Log)-1].Hash, "the chain is complete")
		}
		old, err := s.Template(ctx, f.app.ID, first.ID, 1)
		require.NoError(t, err)
		assert.Equal(t, first.Content, old.Content)
		for _, d := range first.Documents {
			d.Notes = nil // set for an envelope's document; a template's document has Warnings
		}
		assert.Equal(t, first.Documents, old.Documents)

		for _, bad := range []struct {
			app, id uuid.UUID
			version int
			path    string
		}{{f.app.ID, uuid.New(), 0, "templateId"}, {uuid.New(), first.ID, 0, "templateId"}, {f.app.ID, first.ID, 3, "templateVersion"}} {
			_, err := s.CreateFromTemplate(ctx, bad.app, bad.id, bad.version, func(*models.LoadedTemplate) (*models.Envelope, error) {
				return nil, errors.New("called")
			})
			var rejected *models.Error
			require.ErrorAs(t, err, &rejected)
			assert.Contains(t, rejected.Fields, bad.path)
		}
	})
}

// TestPlanLimit_RollsBackEnvelopeOfTemplate checks that an envelope rejected by the plan's limit leaves no rows.
func TestPlanLimit_RollsBackEnvelopeOfTemplate(t *testing.T) {
	t.Parallel()
	kit.OnBoth(t, func(t *testing.T, s *store.Store, clock *kit.Clock) {
		app, _, err := s.CreateApp(t.Context(), "Free", models.PlanFree, nil)
		require.NoError(t, err)
		f := &fixture{Store: s, t: t, clock: clock, app: app}
		template := f.templateOf("templates/1.pdf", nil)
		most := s.PlanLimits(models.PlanFree).EnvelopesPerMonth
		for range most {
			_, err := f.createFromTemplate(t.Context(), template.ID, 0)
			require.NoError(t, err)
		}
		_, err = f.createFromTemplate(t.Context(), template.ID, 0)
		var rejected *models.Error
		require.ErrorAs(t, err, &rejected)
		assert.Equal(t, "plan_limit_reached", rejected.Code)
		list, total, err := s.Envelopes(t.Context(), store.EnvelopeFilter{App: app.ID, Page: 1, Size: 100})
		require.NoError(t, err)
		assert.Len(t, list, most)
		assert.EqualValues(t, most, total)
		pool, err := s.DB()
		require.NoError(t, err)
		for table, want := range map[string]int{"envelopes": most, "documents": most, "outbox": most, "envelope_search": most, "envelope_count_changes": most} {
			var n int
			require.NoError(t, pool.QueryRowContext(t.Context(), "SELECT count(*) FROM "+table).Scan(&n))
			assert.Equal(t, want, n, table)
		}
	})
}

// TestFiles_AreKeptWhileReferenced checks that a file is kept until all templates, versions and envelopes that
// reference it have been removed, in any order.
func TestFiles_AreKeptWhileReferenced(t *testing.T) {
	t.Parallel()
	kit.OnBoth(t, func(t *testing.T, s *store.Store, clock *kit.Clock) {
		f, ctx := newFixture(t, s, clock), t.Context()
		purge := func(id uuid.UUID) {
			t.Helper()
			_, err := s.Change(ctx, f.app.ID, id, func(e *models.Envelope) error {
				for _, d := range e.Documents {
					d.PurgeStatus = models.PurgePurged
				}
				return nil
			})
			require.NoError(t, err)
		}
		gone := func(key string, want bool) {
			t.Helper()
			keys := []string{key, key + ".prepared"}
			got, err := s.Unreferenced(ctx, append(keys, keys...)...)
			require.NoError(t, err)
			if want {
				assert.Equal(t, keys, got)
			} else {
				assert.Empty(t, got)
			}
		}
		archive := func(id uuid.UUID) {
			t.Helper()
			_, err := s.ArchiveTemplate(ctx, f.app.ID, id, func(*models.Template) error { return nil })
			require.NoError(t, err)
		}
		gone("templates/none.pdf", true)

		one := f.templateOf("templates/1.pdf", nil)
		a, b := must(f.createFromTemplate(ctx, one.ID, 0)), must(f.createFromTemplate(ctx, one.ID, 0))
		purge(a.ID)
		gone("templates/1.pdf", false)
		archive(one.ID)
		gone("templates/1.pdf", false)
		_, err := f.createFromTemplate(ctx, one.ID, 0)
		require.ErrorContains(t, err, "archived")
		purge(b.ID)
		gone("templates/1.pdf", true)

		two := f.templateOf("templates/2.pdf", nil)
		c := must(f.createFromTemplate(ctx, two.ID, 0))
		purge(c.ID)
		gone("templates/2.pdf", false)
		keys, err := s.ArchiveTemplate(ctx, f.app.ID, two.ID, func(*models.Template) error { return nil })
		require.NoError(t, err)
		assert.Equal(t, []string{"templates/2.pdf", "templates/2.pdf.prepared"}, keys)
		gone("templates/2.pdf", true)

		// A template created from an envelope keeps the envelope's file.
		e := f.prepared()
		key := "envelopes/" + e.ID.String() + "/original/1.pdf"
		_, err = s.Change(ctx, f.app.ID, e.ID, func(e *models.Envelope) error {
			e.Documents[0].BlobKey, e.Documents[0].PreparedKey = key, key+".prepared"
			return nil
		})
		require.NoError(t, err)
		gone(key, false)
		three, err := s.PutTemplate(ctx, store.TemplateTarget{App: f.app.ID, Tenant: "t", Envelope: e.ID}, func(_ *models.LoadedTemplate, from *models.Envelope) (*models.LoadedTemplate, error) {
			made := models.NewTemplate(f.act(), models.Template{AppID: f.app.ID, TenantID: "t", Name: "n", CreatedBy: "me"})
			made.NewVersion(f.act(), "me", models.TemplateContent{}, models.TemplateDocuments(from))
			return made, nil
		})
		require.NoError(t, err)
		purge(e.ID)
		gone(key, false)
		archive(three.ID)
		gone(key, true)
	})
}

// TestArchiveTemplate_WaitsForEnvelopes checks that an envelope created while its template is being archived never
// references a released file.
func TestArchiveTemplate_WaitsForEnvelopes(t *testing.T) {
	t.Parallel()
	kit.OnBoth(t, func(t *testing.T, s *store.Store, clock *kit.Clock) {
		f, ctx := newFixture(t, s, clock), t.Context()
		for range 5 {
			template := f.templateOf("templates/race.pdf", nil)
			begun := make(chan struct{}, 4)
			var wg sync.WaitGroup
			for range 4 {
				wg.Go(func() {
					for range 25 { // SQLite assigns its lock to waiting writers at random
						_, err := f.createFromTemplate(ctx, template.ID, 0)
						select {
						case begun <- struct{}{}:
						default:
						}
						if err != nil {
							assert.ErrorContains(t, err, "archived")
							return
						}
					}
				})
			}
			<-begun
			_, err := s.ArchiveTemplate(ctx, f.app.ID, template.ID, func(*models.Template) error { return nil })
			require.NoError(t, err)
			after := envelopesOf(ctx, f, template.ID)
			wg.Wait()
			assert.Equal(t, after, envelopesOf(ctx, f, template.ID), "no envelope was created after archiving")
		}
	})
}

func envelopesOf(ctx context.Context, f *fixture, template uuid.UUID) int {
	f.t.Helper()
	pool, err := f.DB()
	require.NoError(f.t, err)
	var n int
	require.NoError(f.t, pool.QueryRowContext(ctx, "SELECT count(*) FROM envelopes WHERE template_id = '"+template.String()+"'").Scan(&n))
	return n
}

// TestExternalID_HasOneTemplate checks that templates stored concurrently with the same external ID become versions of
// one template.
func TestExternalID_HasOneTemplate(t *testing.T) {
	t.Parallel()
	kit.OnBoth(t, func(t *testing.T, s *store.Store, clock *kit.Clock) {
		f, ctx := newFixture(t, s, clock), t.Context()
		const n = 6
		var wg sync.WaitGroup
		made, news := make([]int, n), make([]bool, n)
		for i := range n {
			wg.Go(func() {
				got, err := f.PutTemplate(ctx, store.TemplateTarget{App: f.app.ID, Tenant: "t", ExternalID: ptr("x")}, f.version(f.act(), "templates/x.pdf", ptr("x")))
				if assert.NoError(t, err) {
					made[i], news[i] = got.Version, got.Created
				}
			})
		}
		wg.Wait()
		assert.ElementsMatch(t, []int{1, 2, 3, 4, 5, 6}, made)
		for i, v := range made {
			assert.Equal(t, v == 1, news[i])
		}
	})
}

// TestExternalID_IsTakenOnce checks that a template cannot change to an external ID that another template of its
// tenant has.
func TestExternalID_IsTakenOnce(t *testing.T) {
	t.Parallel()
	kit.OnBoth(t, func(t *testing.T, s *store.Store, clock *kit.Clock) {
		f, ctx := newFixture(t, s, clock), t.Context()
		x, y := f.templateOf("templates/x.pdf", ptr("x")), f.templateOf("templates/y.pdf", ptr("y"))
		changeTo := func(id string) error {
			return errOf(s.ChangeTemplate(ctx, f.app.ID, y.ID, func(now *models.LoadedTemplate) error {
				now.ExternalID, now.Name = &id, "Renamed"
				return nil
			}))
		}
		assert.Equal(t, "external_id_taken", rejectionOf(t, changeTo("x")))
		require.NoError(t, changeTo("y"))
		require.NoError(t, changeTo("z"))
		require.NoError(t, errOf(s.ArchiveTemplate(ctx, f.app.ID, x.ID, func(*models.Template) error { return nil })))
		assert.Equal(t, []bool{true, false}, []bool{must(s.TemplateArchived(ctx, f.app.ID, x.ID)), must(s.TemplateArchived(ctx, f.app.ID, y.ID))})
		require.ErrorIs(t, errOf(s.TemplateArchived(ctx, newID(), x.ID)), models.ErrNotFound)
	})
}

// TestTemplates_AreFound checks that templates are listed by tenant, by external ID, by part of their name and by
// label.
func TestTemplates_AreFound(t *testing.T) {
	t.Parallel()
	kit.OnBoth(t, func(t *testing.T, s *store.Store, clock *kit.Clock) {
		f, ctx := newFixture(t, s, clock), t.Context()
		x, y := f.templateOf("templates/x.pdf", ptr("x")), f.templateOf("templates/y.pdf", ptr("y"))
		require.NoError(t, errOf(s.ChangeTemplate(ctx, f.app.ID, y.ID, func(now *models.LoadedTemplate) error {
			now.Name, now.Labels = "Mietvertrag M\u00fchle", []string{"mill"}
			return nil
		})))
		found := func(f store.TemplateFilter) (ids []uuid.UUID) {
			t.Helper()
			f.Limit = 9
			for _, v := range must(s.Templates(ctx, f)) {
				ids = append(ids, v.ID)
			}
			return ids
		}
		app := f.app.ID
		assert.Equal(t, []uuid.UUID{y.ID, x.ID}, found(store.TemplateFilter{App: app}))
		assert.Equal(t, []uuid.UUID{y.ID, x.ID}, found(store.TemplateFilter{App: app, Tenant: "t"}))
		assert.Equal(t, []uuid.UUID{x.ID}, found(store.TemplateFilter{App: app, After: y.ID}))
		assert.Equal(t, []uuid.UUID{x.ID}, found(store.TemplateFilter{App: app, ExternalID: "x"}))
		assert.Equal(t, []uuid.UUID{x.ID}, found(store.TemplateFilter{App: app, Text: "lease"}))
		assert.Equal(t, []uuid.UUID{y.ID}, found(store.TemplateFilter{App: app, Text: "m\u00dcHLE"}))
		assert.Equal(t, []uuid.UUID{y.ID}, found(store.TemplateFilter{App: app, Label: "mill"}))
		for _, none := range []store.TemplateFilter{
			{App: newID()}, {App: app, Tenant: "u"}, {App: app, Text: "nothing"}, {App: app, Label: "mil"}, {App: app, Archived: true},
		} {
			assert.Empty(t, found(none), "%+v", none)
		}
	})
}
