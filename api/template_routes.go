package api

import "countersign/models"

func (s *templateHandler) routes() []route {
	return []route{
		withFile(s.uploadLimit, forConsole(sender, post, "/v1/templates", s.createTemplate)),
		forConsole(viewer, get, "/v1/templates", s.listTemplates),
		withBuilderFeature(models.BuilderAlways, forConsole(viewer, get, "/v1/templates/:id", s.getTemplate)),
		withBuilderFeature(models.BuilderAlways, forConsole(viewer, get, "/v1/templates/:id/document", s.templateDocument)),
		withBuilderFeature(models.BuilderAlways, forConsole(viewer, get, "/v1/templates/:id/documents/:documentId/suggestions", s.templateSuggestions)),
		withBuilderFeature(models.BuilderAlways, forConsole(viewer, get, "/v1/templates/:id/documents/:documentId/pages/:page", s.templatePage)),
		withBuilderFeature(models.BuilderAlways, forConsole(viewer, get, "/v1/templates/:id/documents/:documentId/pages/:page/text", s.templatePageText)),
		withBuilderFeature(models.BuilderAlways, forConsole(viewer, get, "/v1/templates/:id/documents/:documentId/pages/:page/lines", s.templatePageLines)),
		withFile(s.uploadLimit, withBuilderFeature(models.BuilderAlways, forConsole(sender, patch, "/v1/templates/:id", s.patchTemplate))),
		forConsole(sender, del, "/v1/templates/:id", s.archiveTemplate),
	}
}
