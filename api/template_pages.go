package api

import (
	"github.com/gin-gonic/gin"

	"countersign/models"
)

// templatePage sends a picture of a page of a template's document.
func (s *templateHandler) templatePage(c *gin.Context, app caller) error {
	level, err := pageLevel(c)
	if err != nil {
		return err
	}
	return s.sendTemplatePage(c, app, level)
}

// templatePageText sends the text of a page of a template's document.
func (s *templateHandler) templatePageText(c *gin.Context, app caller) error {
	return s.sendTemplatePage(c, app, models.TextLevel)
}

func (s *templateHandler) sendTemplatePage(c *gin.Context, app caller, level int) error {
	p := models.Problems{}
	version := versionQuery(c, p)
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
	holder, id := templateHolder(app, t), checkedID(c, "documentId")
	for _, d := range t.Documents {
		if d.ID != id {
			continue
		}
		r, err := newPageRequest(c, holder, &d.Document, level)
		if err != nil {
			return err
		}
		return s.pages.send(c, r, nil)
	}
	return models.ErrNotFound
}
