package api

import (
	"cmp"
	"net/http"

	"github.com/gin-gonic/gin"

	"countersign/models"
)

// answerArray answers with a whole list, as the first lists of the interface are.
func answerArray[V any](c *gin.Context, data []V) error { return answer(c, http.StatusOK, data) }

// answerList answers with a whole list. It has the shape of a last page.
func answerList[V any](c *gin.Context, data []V) error {
	return answerCursorList(c, data, nil)
}

// checkTenantQuery rejects an invalid query string and a tenant that the caller must not access; "" is all tenants.
func checkTenantQuery(p models.Problems, app caller, tenant string) error {
	if tenant != "" {
		models.CheckText(p, "tenantId", tenant, 1, 255)
	}
	return cmp.Or(p.Err(), app.CheckTenant(tenant))
}

// views are what rows look like in an answer; none is an empty list.
func views[T, V any](rows []T, view func(*T) V) []V {
	out := make([]V, 0, len(rows))
	for i := range rows {
		out = append(out, view(&rows[i]))
	}
	return out
}

// viewEach returns the view of each row.
func viewEach[T, V any](rows []*T, view func(*T) V) []V {
	out := make([]V, 0, len(rows))
	for _, r := range rows {
		out = append(out, view(r))
	}
	return out
}

// orNull is a value that an answer shows as null where it is the zero value.
func orNull[T comparable](v T) *T {
	if v == *new(T) {
		return nil
	}
	return &v
}
