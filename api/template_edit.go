package api

import (
	"net/http"
	"slices"

	"github.com/gin-gonic/gin"

	"countersign/internal/plaintext"
	"countersign/models"
	"countersign/store"
)

// contentMembers lists the members of a template that create a new version when edited.
var contentMembers = []string{"subject", "message", "expiresInDays", "reminderHours", "metadata", "roles", "fields", "documents", "documentOptions"}

// patchTemplate edits a template. If the edit affects the content of future envelopes, it creates a new version.
func (s *templateHandler) patchTemplate(c *gin.Context, app caller) error {
	seen, err := s.callerTemplate(c, app, 0)
	if err != nil {
		return err
	}
	if err := checkTemplate(c, app, &seen.Template); err != nil {
		return err
	}
	o, file, err := s.readTemplate(c)
	if err != nil {
		return err
	}
	defer file.discard()
	if err := app.allowTemplateEdit(o, file != nil); err != nil {
		return err
	}
	head := seen.Template
	name := changed(o, "name", func(member string) string { return plaintext.Visible(o.str(member)) })
	externalID := changed(o, "externalId", o.strippedText)
	labels := changed(o, "labels", o.labels)
	name.Apply(&head.Name)
	externalID.Apply(&head.ExternalID)
	labels.Apply(&head.Labels)
	head.Check(o.p)
	by := app.ID.String()
	if app.builder != nil {
		by = app.actor()
	} else {
		by = createdBy(o, by)
	}
	draft, err := s.edited(c, app, o, file, seen)
	if err != nil {
		return err
	}
	if draft != nil {
		if err := app.allowTemplateFields(seen.Content.Fields, draft.Fields); err != nil {
			return s.afterExamining(c, draft, err)
		}
	}
	err = command(s.subject, c, func(st templateStore) (*models.LoadedTemplate, error) {
		return st.ChangeTemplate(c.Request.Context(), app.ID, seen.ID, func(t *models.LoadedTemplate) error {
			if err := checkTemplate(c, app, &t.Template); err != nil {
				return err
			}
			switch {
			case t.ArchivedAt != nil:
				return models.ErrTemplateArchived
			case draft != nil && t.Version != seen.Version:
				return models.Reject(models.KindConflict, "template_changed", "The template now has version %d. Reload it and try again.", t.Version)
			}
			name.Apply(&t.Name)
			externalID.Apply(&t.ExternalID)
			labels.Apply(&t.Labels)
			if draft != nil {
				t.ShareFiles(draft.documents)
				t.NewVersion(s.actionContext(c, app.actor()), by, draft.TemplateContent, draft.documents)
			}
			return nil
		})
	}, func(t *models.LoadedTemplate) (*store.StoredResponse, error) {
		return templateResponse(http.StatusOK, t)
	})
	return s.afterExamining(c, draft, err)
}

// edited returns the version that results from an edit of the previous one, or nil if the edit does not affect the
// content.
func (s *templateHandler) edited(c *gin.Context, app caller, o *object, file *upload, seen *models.LoadedTemplate) (*templateDraft, error) {
	if file == nil && !slices.ContainsFunc(contentMembers, o.has) {
		return nil, o.err()
	}
	d := &templateDraft{TemplateContent: seen.Content, documents: seen.Documents, file: file}
	switch {
	case o.has("documents"):
		d.documents = editedDocuments(o, seen.Documents)
	case file != nil:
		d.documents = nil
	}
	origin := seen.Content.FieldOrigin
	if o.has("origin") || origin == "" {
		origin = s.templateOrigin(c, app, o, seen.TenantID)
	}
	d.read(s, o, origin)
	if d.paths == nil {
		if o.has("documents") {
			d.Fields = slices.DeleteFunc(slices.Clone(d.Fields), func(f models.TemplateField) bool {
				removed := func(t *models.TemplateDocument) bool { return t.ID == f.DocumentID }
				return slices.ContainsFunc(seen.Documents, removed) && !slices.ContainsFunc(d.documents, removed)
			})
		}
		d.fields = d.FieldsFor(d.documents)
	}
	if err := o.err(); err != nil {
		return nil, err
	}
	return d, s.examine(c, app, d)
}

// editedDocuments returns the documents that an edit lists, in the order and with the names in the edit. The documents
// must belong to the previous version.
func editedDocuments(o *object, before []*models.TemplateDocument) []*models.TemplateDocument {
	if o.get("documents") == nil {
		o.bad("documents", "must be an array")
		return nil
	}
	var out []*models.TemplateDocument
	for _, in := range o.objects("documents", 0, models.MaxDocuments) {
		id := in.id("id")
		at := slices.IndexFunc(before, func(d *models.TemplateDocument) bool { return d.ID == id })
		switch {
		case in.badUnder("id"):
			continue
		case at < 0:
			in.bad("id", "must be the id of a document of the template")
			continue
		case slices.ContainsFunc(out, func(d *models.TemplateDocument) bool { return d.ID == id }):
			in.bad("id", "must not repeat")
			continue
		}
		d := *before[at]
		if name := in.optStr("name"); name != nil {
			d.Name = fileName(plaintext.Visible(*name))
		}
		out = append(out, &d)
	}
	return out
}
