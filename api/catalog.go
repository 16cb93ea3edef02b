package api

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"net/http"
	"strings"
	"sync"

	"github.com/gin-gonic/gin"
	"go.yaml.in/yaml/v3"
)

//go:embed errors.yaml
var errorCatalog []byte

//go:embed errors.html
var errorTemplate string

// catalogPolicy is the content security policy of the error catalog, a single page that contains no scripts and loads
// no resources.
const catalogPolicy = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// errorGroup is a section of the catalog.
type errorGroup struct {
	Title  string
	Errors []struct {
		Code     string
		Statuses []int
		When     string
		Action   string
	}
}

// errorPage renders the catalog once and caches it.
var errorPage = sync.OnceValues(func() ([]byte, error) {
	var groups []errorGroup
	if err := yaml.Unmarshal(errorCatalog, &groups); err != nil {
		return nil, fmt.Errorf("read the catalog of errors: %w", err)
	}
	t, err := template.New("errors").Funcs(template.FuncMap{"text": withCode}).Parse(errorTemplate)
	if err != nil {
		return nil, fmt.Errorf("catalog of errors: %w", err)
	}
	var page bytes.Buffer
	if err := t.Execute(&page, groups); err != nil {
		return nil, fmt.Errorf("catalog of errors: %w", err)
	}
	return page.Bytes(), nil
})

// withCode converts text to HTML, and formats the parts between backquotes as code.
func withCode(text string) template.HTML {
	var b strings.Builder
	for i, part := range strings.Split(text, "`") {
		if i%2 == 1 {
			b.WriteString("<code>" + template.HTMLEscapeString(part) + "</code>")
		} else {
			b.WriteString(template.HTMLEscapeString(part))
		}
	}
	return template.HTML(b.String()) //nolint:gosec // every part is escaped
}

func (s *Server) errorsPage(c *gin.Context) error {
	page, err := errorPage()
	if err != nil {
		return err
	}
	c.Header("Content-Security-Policy", catalogPolicy)
	c.Data(http.StatusOK, "text/html; charset=utf-8", page)
	return nil
}
