package api

import (
	"strings"

	"github.com/gin-gonic/gin"

	"countersign/internal/plaintext"
	"countersign/models"
)

func (o *object) labels(name string) []string {
	var out []string
	for i, v := range o.list(name, 0, models.MaxLabels) {
		label, ok := v.(string)
		if !ok {
			o.bad(indexedPath(name, i), "must be a string")
			return nil
		}
		out = append(out, strings.TrimSpace(plaintext.Visible(label)))
	}
	return out
}

// labelQuery reads the label filter. It returns "" if the parameter is absent.
func labelQuery(c *gin.Context, p models.Problems) string {
	return queryText(c, p, "label", models.MaxLabelLength)
}
