package api

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/gin-gonic/gin"
)

func indexed(name string, i int) string { return fmt.Sprintf("%s[%d]", name, i) }

func (s *Server) healthz(c *gin.Context) error {
	c.JSON(http.StatusOK, gin.H{"status": "ok", "version": s.Version})
	return nil
}

// readyz answers 200 when everything that a request may need answers.
func (s *Server) readyz(c *gin.Context) error {
	ctx, cancel := context.WithTimeout(c.Request.Context(), 3*time.Second)
	defer cancel()
	checks := map[string]func(context.Context) error{
		"database": s.Store.Ping, "files": s.Blobs.Check, "temporal": s.Workflows.Check,
	}
	status, result := http.StatusOK, gin.H{}
	for name, check := range checks {
		result[name] = "ok"
		if err := check(ctx); err != nil {
			s.log.WarnContext(ctx, "not ready", "part", name, "error", err)
			status, result[name] = http.StatusServiceUnavailable, "down"
		}
	}
	c.JSON(status, result)
	return nil
}
