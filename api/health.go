package api

import (
	"net/http"

	"github.com/gin-gonic/gin"

	"countersign/internal/health"
)

func (s *Server) healthz(c *gin.Context) error {
	return answer(c, http.StatusOK, gin.H{"status": "ok", "version": s.Version})
}

// readyz answers 200 when everything that a request may need answers.
func (s *Server) readyz(c *gin.Context) error {
	parts := health.Checks{"database": s.Store.Ping, "files": s.Blobs.Check, "temporal": s.Workflows.Check}
	status, result := parts.Report(c.Request.Context(), s.Log)
	return answer(c, status, result)
}
