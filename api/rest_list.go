package api

import (
	"cmp"
	"net/http"

	"github.com/gin-gonic/gin"

	"countersign/models"
)

// answerArray responds with a whole list as an array, the format of the first lists of the API.
func answerArray[V any](c *gin.Context, data []V) error { return answer(c, http.StatusOK, data) }

// answerList responds with a whole list in the format of a last page.
func answerList[V any](c *gin.Context, data []V) error {
	return answerCursorList(c, data, nil)
}

// checkTenantQuery rejects an invalid query string and a tenant that the caller must not access; "" means all tenants.
func checkTenantQuery(p models.Problems, app caller, tenant string) error {
	if tenant != "" {
		models.CheckText(p, "tenantId", tenant, 1, 255)
	}
	return cmp.Or(p.Err(), app.CheckTenant(tenant))
}

// views returns the views of rows; an empty list if there are no rows.
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

// orNull returns a pointer to a value; nil, which is null in a response, for the zero value.
func orNull[T comparable](v T) *T {
	if v == *new(T) {
		return nil
	}
	return &v
}
