package api

import (
	"maps"
	"slices"

	"countersign/models"
)

// templateFeatures are the features that the members of a template's edit need. Those that are
// not named, such as externalId, are the application's.
var templateFeatures = map[string]models.BuilderFeature{
	"fields": models.BuilderAlways, "origin": models.BuilderAlways, "roles": models.BuilderRecipients, "documents": models.BuilderDocuments, "documentOptions": models.BuilderDocuments,
	"name": models.BuilderSend, "subject": models.BuilderSend, "message": models.BuilderSend, "expiresInDays": models.BuilderSend, "reminderHours": models.BuilderSend,
}

// allowTemplateEdit refuses an edit of a template that the caller's builder session has no feature for.
func (c caller) allowTemplateEdit(o *object, file bool) error {
	if c.builder == nil {
		return nil
	}
	if file {
		if err := c.builder.Allow(models.BuilderDocuments); err != nil {
			return err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(o.m)) {
		if err := c.builder.Allow(templateFeatures[name]); err != nil {
			return err
		}
	}
	return nil
}

// allowTemplateFields refuses fields of types that the caller's builder session does not offer, but
// for those that the version before has as well.
func (c caller) allowTemplateFields(before, after []models.TemplateField) error {
	if c.builder == nil {
		return nil
	}
	known := slices.Clone(before)
	for i := range after {
		at := slices.IndexFunc(known, func(f models.TemplateField) bool { return f.SameContent(after[i]) })
		if at >= 0 {
			known = slices.Delete(known, at, at+1)
			continue
		}
		if err := c.builder.AllowField(after[i].Type); err != nil {
			return err
		}
	}
	return nil
}
