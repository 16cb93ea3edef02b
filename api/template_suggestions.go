package api

import (
	"github.com/gin-gonic/gin"

	"countersign/models"
)

// templateSuggestions lists the suggested fields for a document in the newest version of a template.
func (s *templateHandler) templateSuggestions(c *gin.Context, app caller) error {
	t, err := s.callerTemplate(c, app, 0)
	if err != nil {
		return err
	}
	if err := checkTemplateFiles(t); err != nil {
		return err
	}
	id := checkedID(c, "documentId")
	for _, d := range t.Documents {
		if d.ID == id {
			return s.uploads.writeSuggestions(c, templateHolder(app, t), &d.Document)
		}
	}
	return models.ErrNotFound
}
