package api

import (
	"slices"
	"strings"
)

// ownRoutes returns the routes that belong to no subject.
func (s *Server) ownRoutes() []route {
	return []route{
		forPublic(get, "/healthz", s.healthz),
		forPublic(get, "/readyz", s.readyz),
		forPublic(get, "/openapi.yaml", serveContract(contract)),
		forPublic(get, "/console.yaml", serveContract(consoleContract)),
		forPublic(get, catalogPath, s.errorsPage),
	}
}

// Routes lists the endpoints of the API in the contract's notation, such as "GET /v1/envelopes/{id}". It omits pages.
func (s *Server) Routes() []string {
	var out []string
	for _, r := range s.publishedRoutes() {
		parts := strings.Split(r.path, "/")
		for i, p := range parts {
			if name, ok := strings.CutPrefix(p, ":"); ok {
				parts[i] = "{" + name + "}"
			}
		}
		out = append(out, r.method+" "+strings.Join(parts, "/"))
	}
	return out
}

// publishedRoutes returns the routes that appear in the contract.
func (s *Server) publishedRoutes() []route {
	return slices.DeleteFunc(slices.Clone(s.routes), func(r route) bool {
		return slices.Contains([]string{"/openapi.yaml", "/console.yaml", catalogPath, "/embed/:token", "/embed/build/:token"}, r.path) ||
			r.method == get && r.path == "/unsubscribe/:token"
	})
}

// isAPI reports whether a path belongs to the API. For an unknown path in the API, the response is an API error instead
// of a page.
func isAPI(path string) bool {
	return strings.HasPrefix(path, "/v1/") || strings.HasPrefix(path, "/oauth/") || strings.HasPrefix(path, "/.well-known/")
}
