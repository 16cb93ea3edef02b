package api

import (
	_ "embed"
	"net/http"

	"github.com/gin-gonic/gin"
)

// The contract consists of two documents: the API for applications, and the API for the sign-in and account management
// of console users.
var (
	//go:embed openapi.yaml
	contract []byte
	//go:embed console.yaml
	consoleContract []byte
)

// serveContract returns the handler that serves a document of the contract.
func serveContract(document []byte) func(*gin.Context) error {
	return func(c *gin.Context) error {
		c.Data(http.StatusOK, "application/yaml; charset=utf-8", document)
		return nil
	}
}
