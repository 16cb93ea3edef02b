package api

import "countersign/models"

func (s *templateHandler) routes() []route {
	return []route{
		withFile(s.uploadLimit, forAppOrRole(sender, post, "/v1/templates", s.createTemplate)),
		forAppOrRole(viewer, get, "/v1/templates", s.listTemplates),
		withBuilderFeature(models.BuilderAlways, forAppOrRole(viewer, get, "/v1/templates/:id", s.getTemplate)),
		withBuilderFeature(models.BuilderAlways, forAppOrRole(viewer, get, "/v1/templates/:id/document", s.templateDocument)),
		withBuilderFeature(models.BuilderAlways, forAppOrRole(viewer, get, "/v1/templates/:id/documents/:documentId/suggestions", s.templateSuggestions)),
		withBuilderFeature(models.BuilderAlways, forAppOrRole(viewer, get, "/v1/templates/:id/documents/:documentId/pages/:page", s.templatePage)),
		withBuilderFeature(models.BuilderAlways, forAppOrRole(viewer, get, "/v1/templates/:id/documents/:documentId/pages/:page/text", s.templatePageText)),
		withBuilderFeature(models.BuilderAlways, forAppOrRole(viewer, get, "/v1/templates/:id/documents/:documentId/pages/:page/lines", s.templatePageLines)),
		withFile(s.uploadLimit, withBuilderFeature(models.BuilderAlways, forAppOrRole(sender, patch, "/v1/templates/:id", s.patchTemplate))),
		forAppOrRole(sender, del, "/v1/templates/:id", s.archiveTemplate),
	}
}
