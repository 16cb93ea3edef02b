package api

import (
	"net/http"

	"github.com/gin-gonic/gin"

	"countersign/internal/health"
)

func (s *Server) healthz(c *gin.Context) error {
	return answer(c, http.StatusOK, gin.H{"status": "ok", "version": s.version})
}

// readyz answers 200 when everything answers that the service needs. With for=requests only the database decides: while
// Temporal is down or the disk is full signers sign, so that a balancer must not take all processes away for it. With
// for=uploads the file store decides, too.
func (s *Server) readyz(c *gin.Context) error {
	parts := health.Checks{"database": s.database, "files": s.blobs.Check, "temporal": s.workflows.Check}
	var required []string
	switch c.Query("for") {
	case "requests":
		required = []string{"database"}
		delete(parts, "temporal")
	case "uploads":
		required = []string{"database", "files"}
		delete(parts, "temporal")
	}
	status, result := parts.Report(c.Request.Context(), s.log, required...)
	return answer(c, status, result)
}
