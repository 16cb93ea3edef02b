package api

import (
	"github.com/gin-gonic/gin"

	"countersign/models"
)

// templatePage sends an image of a page of a template's document.
func (s *templateHandler) templatePage(c *gin.Context, app caller) error {
	level, err := pageLevel(c)
	if err != nil {
		return err
	}
	return s.sendTemplatePage(c, app, level)
}

func (s *templateHandler) templatePageText(c *gin.Context, app caller) error {
	return s.sendTemplatePage(c, app, models.TextLevel)
}

func (s *templateHandler) templatePageLines(c *gin.Context, app caller) error {
	r, err := s.templatePageRequest(c, app, models.TextLevel)
	if err != nil {
		return err
	}
	return s.pages.sendLines(c, r)
}

func (s *templateHandler) sendTemplatePage(c *gin.Context, app caller, level int) error {
	r, err := s.templatePageRequest(c, app, level)
	if err != nil {
		return err
	}
	return s.pages.send(c, r, nil)
}

func (s *templateHandler) templatePageRequest(c *gin.Context, app caller, level int) (pageRequest, error) {
	p := models.Problems{}
	version := versionQuery(c, p)
	if err := p.Err(); err != nil {
		return pageRequest{}, err
	}
	t, err := s.callerTemplate(c, app, version)
	if err != nil {
		return pageRequest{}, err
	}
	if err := checkTemplateFiles(t); err != nil {
		return pageRequest{}, err
	}
	holder, id := templateHolder(app, t), checkedID(c, "documentId")
	for _, d := range t.Documents {
		if d.ID == id {
			return newPageRequest(c, holder, &d.Document, level)
		}
	}
	return pageRequest{}, models.ErrNotFound
}
