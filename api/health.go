package api

import (
	"net/http"

	"github.com/gin-gonic/gin"

	"countersign/internal/health"
)

func (s *Server) healthz(c *gin.Context) error {
	return respond(c, http.StatusOK, gin.H{"status": "ok", "version": s.version})
}

// readyz responds with 200 if all dependencies of the service respond. With for=requests, only the database counts.
// Signers can sign while Temporal is down or the disk is full, so a load balancer must keep such processes in service.
// With for=uploads, the file store also counts.
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
	return respond(c, status, result)
}
