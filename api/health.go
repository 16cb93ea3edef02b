package api

import (
	"net/http"

	"github.com/gin-gonic/gin"

	"countersign/internal/health"
)

func (s *Server) healthz(c *gin.Context) error {
	return answer(c, http.StatusOK, gin.H{"status": "ok", "version": s.version})
}

// readyz answers 200 when everything answers that the service needs. With for=requests it asks only what requests rest
// on: while Temporal is down signers sign, so that a balancer must not take all processes away for it.
func (s *Server) readyz(c *gin.Context) error {
	parts := health.Checks{"database": s.database, "files": s.blobs.Check, "temporal": s.workflows.Check}
	if c.Query("for") == "requests" {
		delete(parts, "temporal")
	}
	status, result := parts.Report(c.Request.Context(), s.log)
	return answer(c, status, result)
}
