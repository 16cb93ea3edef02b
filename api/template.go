package api

import (
	"net/http"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"

	"countersign/models"
	"countersign/store"
)

// canSeeTemplate reports whether the caller may read and use a template. A template for all tenants is visible to every
// tenant.
func (c caller) canSeeTemplate(t *models.Template) bool {
	return t.TenantID == "" || c.CheckTenant(t.TenantID) == nil
}

// checkTemplate returns an error if the caller must not change a template, or if the template has changed since the
// caller read it.
func checkTemplate(c *gin.Context, app caller, t *models.Template) error {
	if !app.canSeeTemplate(t) {
		return models.ErrNotFound
	}
	if err := app.CheckTenant(t.TenantID); err != nil {
		return err
	}
	return checkTag(c, templateTag(t), "The template has changed. Reload it and try again.")
}

// callerTemplate returns a version of the template whose ID is in the path. Version 0 selects the newest one.
func (s *templateHandler) callerTemplate(c *gin.Context, app caller, version int) (*models.LoadedTemplate, error) {
	t, err := s.store.Template(c.Request.Context(), app.ID, checkedID(c, "id"), version)
	if err == nil && !app.canSeeTemplate(&t.Template) {
		return nil, models.ErrNotFound
	}
	return t, err
}

// versionQuery reads the requested version. It returns 0, which selects the newest one, if the parameter is absent.
func versionQuery(c *gin.Context, p models.Problems) int {
	return query(c, p, "version", 0, 1_000_000_000)
}

func (s *templateHandler) getTemplate(c *gin.Context, app caller) error {
	p := models.Problems{}
	version := versionQuery(c, p)
	if err := p.Err(); err != nil {
		return err
	}
	t, err := s.callerTemplate(c, app, version)
	if err != nil {
		return err
	}
	c.Header("ETag", templateTag(&t.Template))
	return respond(c, http.StatusOK, viewTemplateVersion(t))
}

// listTemplates responds with a page of templates, newest first.
func (s *templateHandler) listTemplates(c *gin.Context, app caller) error {
	p := models.Problems{}
	f := store.TemplateFilter{
		App: app.ID, Tenant: c.Query("tenantId"), ExternalID: queryText(c, p, "externalId", models.MaxExternalID),
		Text: queryText(c, p, "q", maxSearch), Archived: queryFlag(c, p, "archived"), Label: labelQuery(c, p),
	}
	const list = "templates"
	size := sizeQuery(c, p)
	f.After, f.Limit = cursorQuery(c, p, app, list).ID, size+1
	if _, present := c.GetQuery("tenantId"); f.Tenant == "" && (present || len(app.Tenants) > 0) {
		p.Add("tenantId", "must not be empty")
	}
	if err := checkTenantQuery(p, app, f.Tenant); err != nil {
		return err
	}
	found, err := s.store.Templates(c.Request.Context(), f)
	if err != nil {
		return err
	}
	found, next := cutPage(found, size, app, list, func(t *models.Template) listPosition { return listPosition{ID: t.ID} })
	return respondCursorList(c, viewEach(found, viewTemplate), next)
}

// templateDocument streams a document of a template version. It sends the first document, or the one selected by
// documentId, either as uploaded or as prepared.
func (s *templateHandler) templateDocument(c *gin.Context, app caller) error {
	p := models.Problems{}
	version, id, kind := versionQuery(c, p), queryID(c, p, "documentId"), models.DocumentOriginal
	if given, ok := c.GetQuery("kind"); ok {
		kind = models.DocumentKind(given)
	}
	if kind != models.DocumentOriginal && kind != kindPrepared {
		p.Add("kind", "must be original or prepared")
	}
	if err := p.Err(); err != nil {
		return err
	}
	t, err := s.callerTemplate(c, app, version)
	if err != nil {
		return err
	}
	if err := checkTemplateFiles(t); err != nil {
		return err
	}
	holder := templateHolder(app, t)
	for _, d := range t.Documents {
		switch {
		case id != uuid.Nil && d.ID != id:
		case kind == kindPrepared && !d.IsPrepared():
		case kind == kindPrepared:
			return s.sendFile(c, holder, d.Presented(), "attachment")
		default:
			return s.sendFile(c, holder, &d.Document, "attachment")
		}
	}
	return models.ErrNotFound
}

// checkTemplateFiles returns an error if a template is archived, because the files of an archived template must no
// longer be read.
func checkTemplateFiles(t *models.LoadedTemplate) error {
	if t.ArchivedAt != nil {
		return models.Reject(models.KindGone, "template_archived", "The template is archived; its files are kept only for the envelopes that were created from it.")
	}
	return nil
}

// templateHolder returns an envelope that contains the documents of a template, for use with functions that read files
// of envelopes.
func templateHolder(app caller, t *models.LoadedTemplate) *models.Envelope {
	holder := &models.Envelope{AppID: app.ID}
	for _, d := range t.Documents {
		holder.Documents = append(holder.Documents, &d.Document)
	}
	return holder
}

// archiveTemplate archives a template. It does not affect envelopes that were created from it.
func (s *templateHandler) archiveTemplate(c *gin.Context, app caller) error {
	files, err := execute(s.subject, c, func(st templateStore) ([]string, error) {
		return st.ArchiveTemplate(c.Request.Context(), app.ID, checkedID(c, "id"), func(t *models.Template) error { return checkTemplate(c, app, t) })
	}, noContent)
	if err == nil {
		s.uploads.discardUnreferenced(c, files...)
	}
	return err
}
