package api

import (
	"cmp"
	"net/http"

	"github.com/gin-gonic/gin"

	"countersign/models"
	"countersign/store"
)

// change calls do to change the caller's envelope, and responds with the result of view. If there is an error in the
// request body, the parameter invalid contains it. This error is returned only after the caller's access and the
// expected version of the envelope were checked.
func change[T any](s *envelopeHandler, c *gin.Context, app caller, invalid error,
	do func(*models.Envelope, models.ActionContext) (T, error), view func(T) (*store.StoredResponse, error),
) error {
	return command(s.subject, c, func(st envelopeStore) (out changeResult[T], err error) {
		out.envelope, err = st.Change(c.Request.Context(), app.ID, checkedID(c, "id"), s.checkedChange(c, app, invalid, func(e *models.Envelope, act models.ActionContext) (err error) {
			out.result, err = do(e, act)
			return err
		}))
		return out, err
	}, func(out changeResult[T]) (*store.StoredResponse, error) {
		r, err := view(out.result)
		return withETag(r, out.envelope), err
	})
}

// changeResult contains a changed envelope and the result of the change.
type changeResult[T any] struct {
	envelope *models.Envelope
	result   T
}

// withETag adds an ETag with the version of the envelope to a response.
func withETag(r *store.StoredResponse, e *models.Envelope) *store.StoredResponse {
	if r != nil {
		r.Header.Set("ETag", etag(e))
	}
	return r
}

// changeAndReturnEnvelope is like change, but responds with the complete envelope. If the parameter links is set, the
// response contains the links of awaited signers.
func (s *envelopeHandler) changeAndReturnEnvelope(c *gin.Context, app caller, links bool, do func(*models.Envelope, models.ActionContext) error) error {
	return command(s.subject, c, func(st envelopeStore) (*store.EnvelopeWithEvents, error) {
		return st.ChangeWithEvents(c.Request.Context(), app.ID, checkedID(c, "id"), s.checkedChange(c, app, nil, do))
	}, func(e *store.EnvelopeWithEvents) (*store.StoredResponse, error) {
		log := e.Log
		if app.builder != nil {
			log = nil // the embedded page must not see the audit trail
		}
		return s.envelopeResponse(http.StatusOK, e.Envelope, log, links)
	})
}

// envelopeResponse returns a response that contains an envelope. If the parameter links is set, it contains the links
// of awaited signers.
func (s *envelopeHandler) envelopeResponse(status int, e *models.Envelope, log []models.Event, links bool) (*store.StoredResponse, error) {
	v := viewEnvelope(e, log)
	showFieldWarnings(&v, e, nil) // files must not be read in a transaction
	if links {
		if err := s.showLinks(&v, e); err != nil {
			return nil, err
		}
	}
	r, err := inJSON(status, v)
	return withETag(r, e), err
}

// checkedChange returns a function that calls do, but first checks the caller's access to the envelope, and then the
// request.
func (s *envelopeHandler) checkedChange(c *gin.Context, app caller, invalid error, do func(*models.Envelope, models.ActionContext) error) func(*models.Envelope) error {
	return func(e *models.Envelope) error {
		if app.CheckTenant(e.TenantID) != nil {
			return models.ErrNotFound
		}
		if err := cmp.Or(checkIfMatch(c, e), invalid); err != nil {
			return err
		}
		return do(e, s.actionContext(c, app.actor()))
	}
}
