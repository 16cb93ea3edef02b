package api

import (
	_ "embed"
	"net/http"

	"github.com/gin-gonic/gin"
)

//go:embed openapi.yaml
var contract []byte

// openAPI serves the contract.
func (s *Server) openAPI(c *gin.Context) error {
	c.Data(http.StatusOK, "application/yaml; charset=utf-8", contract)
	return nil
}
