package api

import (
	"fmt"
	"net/http"

	"github.com/gin-gonic/gin"

	"countersign/internal/health"
)

func indexedPath(name string, i int) string { return fmt.Sprintf("%s[%d]", name, i) }

func (s *Server) healthz(c *gin.Context) error {
	c.JSON(http.StatusOK, gin.H{"status": "ok", "version": s.Version})
	return nil
}

// readyz answers 200 when everything that a request may need answers.
func (s *Server) readyz(c *gin.Context) error {
	parts := health.Checks{"database": s.Store.Ping, "files": s.Blobs.Check, "temporal": s.Workflows.Check}
	status, result := parts.Report(c.Request.Context(), s.log)
	c.JSON(status, result)
	return nil
}
