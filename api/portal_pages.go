package api

import (
	"github.com/gin-gonic/gin"

	"countersign/models"
)

// downloadPage sends an image of a page of the sealed document.
func (s *portalHandler) downloadPage(c *gin.Context) error {
	if err := checkQuery(c); err != nil {
		return err
	}
	level, err := pageLevel(c)
	if err != nil {
		return err
	}
	return s.sendDownloadPage(c, level)
}

func (s *portalHandler) downloadPageText(c *gin.Context) error {
	return s.sendDownloadPage(c, models.TextLevel)
}

func (s *portalHandler) sendDownloadPage(c *gin.Context, level int) error {
	_, e, d, err := s.downloadTarget(c)
	if err != nil {
		return err
	}
	r, err := newPageRequest(c, e, d, level)
	if err != nil {
		return err
	}
	return s.pages.send(c, r, nil)
}
