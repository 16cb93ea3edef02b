package api

import (
	_ "embed"
	"net/http"

	"github.com/gin-gonic/gin"
)

// The contract has two documents: what applications call, and how console users sign in and manage their accounts.
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
