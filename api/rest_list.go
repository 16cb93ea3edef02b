package api

import (
	"cmp"
	"net/http"

	"github.com/gin-gonic/gin"

	"countersign/models"
)

// respondArray responds with a complete list as a JSON array. Only the oldest lists of the API have this format.
func respondArray[V any](c *gin.Context, data []V) error { return respond(c, http.StatusOK, data) }

// respondList responds with a complete list in the format of a last page.
func respondList[V any](c *gin.Context, data []V) error {
	return respondCursorList(c, data, nil)
}

// checkTenantQuery returns the problems found in the query string, or an error if the caller must not access the
// tenant. An empty tenant means all tenants.
func checkTenantQuery(p models.Problems, app caller, tenant string) error {
	if tenant != "" {
		models.CheckText(p, "tenantId", tenant, 1, 255)
	}
	return cmp.Or(p.Err(), app.CheckTenant(tenant))
}

// optionalTenantQuery reads the tenant filter. It returns "" for all tenants, which a restricted client cannot select.
func optionalTenantQuery(c *gin.Context, p models.Problems, app caller) string {
	switch tenant, present := c.GetQuery("tenantId"); {
	case tenant != "":
		return tenant
	case present:
		p.Add("tenantId", "must not be empty")
	case len(app.Tenants) > 0:
		p.Add("tenantId", "is required for a client that is restricted to some tenants")
	}
	return ""
}

// views returns the views of rows. If there are no rows, the result is empty but not nil.
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

// nilIfZero returns a pointer to v, or nil if v is the zero value. Nil becomes null in a response.
func nilIfZero[T comparable](v T) *T {
	if v == *new(T) {
		return nil
	}
	return &v
}
