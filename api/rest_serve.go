package api

import (
	"cmp"
	"strings"

	"github.com/gin-gonic/gin"
)

// handle returns the handler of a route. It verifies the credential that the route requires, replays the response to a
// retried request, and renders errors.
func (s *shared) handle(r route) gin.HandlerFunc {
	return func(c *gin.Context) {
		if err := s.serve(c, r); err != nil {
			s.fail(c, err)
		}
	}
}

func (s *shared) serve(c *gin.Context, r route) error {
	path := c.Request.URL.Path
	defer s.newRequestBody(c, r).release()
	switch r.access {
	case bearer, console, consoleUser:
		var app caller
		var err error
		if token, bearerErr := bearerToken(c); bearerErr == nil && strings.HasPrefix(token, builderTokenPrefix) {
			app, err = s.authenticateBuilder(c, token, r.builder)
		} else if r.access == bearer {
			app, err = s.authenticate(c)
		} else {
			app, err = s.authenticateConsole(c, r)
		}
		if err != nil {
			return s.countRejected(c, err)
		}
		if err := cmp.Or(s.checkPath(c, app), checkQuery(c)); err != nil {
			return err
		}
		return s.idempotent(c, r, app.actor(), path, func() error { return r.app(c, app) })
	case signing:
		l, err := s.authenticateSigner(c, r.allowExpiredLink)
		if err == nil {
			err = checkQuery(c)
		}
		if err != nil {
			return err
		}
		tagEnvelope(c, l.EnvelopeID)
		// The path contains the token, so use the route instead.
		return s.idempotent(c, r, "link:"+l.ID.String(), c.FullPath(), func() error { return r.signer(c, l) })
	case public:
		if r.before != nil {
			if err := r.before(c); err != nil {
				return err
			}
		}
	}
	return s.idempotent(c, r, publicScope(c), path, func() error { return r.public(c) })
}
