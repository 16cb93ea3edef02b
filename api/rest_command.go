package api

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"

	"countersign/models"
	"countersign/store"
)

// A response that is lost, because the process died between the commit and it,
// must not be lost to who sends the request again. So a command's response is
// computed inside its transaction and stored by it with the idempotency key.

// command runs fn and renders view of what it made: what the transaction of fn
// hands over as its result, complete and not committed yet. Where view gives nil,
// nothing is stored, and the handler answers by itself.
func command[T any](s *Server, c *gin.Context, fn func(*store.Store) (T, error), view func(T) (*store.StoredResponse, error)) error {
	var response *store.StoredResponse
	key := keyOf(c)
	_, err := fn(s.Store.ForKey(key.id, func(result any) (*store.StoredResponse, error) {
		v, ok := result.(T)
		if !ok {
			return nil, fmt.Errorf("the result of a command is a %T", result)
		}
		var err error
		response, err = view(v)
		if response != nil && len(response.Body) > maxStoredResponse {
			return nil, err // given, and not stored
		}
		return response, err
	}))
	if err != nil || response == nil {
		return err
	}
	key.stored = len(response.Body) <= maxStoredResponse
	return render(c, response)
}

// keyed is the store for what changes something but is no command: its
// transactions mark the request as having taken effect.
func (s *Server) keyed(c *gin.Context) *store.Store { return s.Store.ForKey(keyOf(c).id, nil) }

// claimedKey is the idempotency key of a request that is being executed.
type claimedKey struct {
	id     uuid.UUID // uuid.Nil: the request has none
	stored bool      // the response is stored with it
}

const claimedKeyName = "countersign/claimed-key"

func keyOf(c *gin.Context) *claimedKey {
	if v, ok := c.Get(claimedKeyName); ok {
		if key, ok := v.(*claimedKey); ok {
			return key
		}
	}
	return &claimedKey{}
}

// inJSON is a response with a JSON body.
func inJSON(status int, v any) (*store.StoredResponse, error) {
	b, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("render a response: %w", err)
	}
	return &store.StoredResponse{Status: status, Header: http.Header{"Content-Type": {jsonType}}, Body: b}, nil
}

const jsonType = "application/json; charset=utf-8"

// asJSON is the view of a command that answers with what view makes of its result.
func asJSON[T, V any](status int, view func(T) V) func(T) (*store.StoredResponse, error) {
	return func(made T) (*store.StoredResponse, error) { return inJSON(status, view(made)) }
}

// noContent is the view of a command that leaves nothing to show.
func noContent[T any](T) (*store.StoredResponse, error) {
	return &store.StoredResponse{Status: http.StatusNoContent, Header: http.Header{}}, nil
}

// withLocation names the resource that a response is about.
func (s *Server) withLocation(r *store.StoredResponse, path string) *store.StoredResponse {
	if r != nil {
		r.Header.Set("Location", s.BaseURL+path)
	}
	return r
}

// answer is what a handler that is no command ends with: a body in JSON.
func answer(c *gin.Context, status int, v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("render a response: %w", err)
	}
	c.Data(status, jsonType, b)
	return nil
}

// answerNothing is answer where there is nothing to show.
func answerNothing(c *gin.Context) error {
	return render(c, &store.StoredResponse{Status: http.StatusNoContent})
}

// render writes a response.
func render(c *gin.Context, r *store.StoredResponse) error {
	maps.Copy(c.Writer.Header(), r.Header)
	c.Status(r.Status)
	if len(r.Body) == 0 {
		return nil
	}
	_, err := c.Writer.Write(r.Body)
	return err
}

// change does one thing to the caller's envelope and answers with view of what that made.
// What is wrong with the body, invalid, is refused where the envelope is the caller's, and
// the version is the one that the caller has seen.
func change[T any](s *Server, c *gin.Context, app caller, invalid error,
	do func(*models.Envelope, models.ActionContext) (T, error), view func(T) (*store.StoredResponse, error),
) error {
	var made T
	return command(s, c, func(st *store.Store) (*models.Envelope, error) {
		return st.Change(c.Request.Context(), app.ID, checkedID(c, "id"), s.by(c, app, invalid, func(e *models.Envelope, act models.ActionContext) (err error) {
			made, err = do(e, act)
			return err
		}))
	}, func(e *models.Envelope) (*store.StoredResponse, error) {
		r, err := view(made)
		return withETag(r, e), err
	})
}

// withETag names the version of the envelope that a response shows.
func withETag(r *store.StoredResponse, e *models.Envelope) *store.StoredResponse {
	if r != nil {
		r.Header.Set("ETag", etag(e))
	}
	return r
}

// changeWhole is change that answers with the whole envelope; links: with the
// links of those who may sign.
func (s *Server) changeWhole(c *gin.Context, app caller, links bool, do func(*models.Envelope, models.ActionContext) error) error {
	return command(s, c, func(st *store.Store) (*store.EnvelopeWithEvents, error) {
		return st.ChangeWithEvents(c.Request.Context(), app.ID, checkedID(c, "id"), s.by(c, app, nil, do))
	}, func(e *store.EnvelopeWithEvents) (*store.StoredResponse, error) {
		log := e.Log
		if app.builder != nil {
			log = nil // the audit trail is the application's
		}
		return s.wholeEnvelope(http.StatusOK, e.Envelope, log, links)
	})
}

// wholeEnvelope is a response with an envelope; links: with the links of those who may sign.
func (s *Server) wholeEnvelope(status int, e *models.Envelope, log []models.Event, links bool) (*store.StoredResponse, error) {
	v := viewEnvelope(e, log)
	showFieldWarnings(&v, e)
	if links {
		if err := s.showLinks(&v, e); err != nil {
			return nil, err
		}
	}
	r, err := inJSON(status, v)
	return withETag(r, e), err
}

// by lets the caller do something to an envelope that is theirs, unless the request is invalid.
func (s *Server) by(c *gin.Context, app caller, invalid error, do func(*models.Envelope, models.ActionContext) error) func(*models.Envelope) error {
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

// changeSigned does one thing to the envelope of a signing link and answers with view.
func (s *Server) changeSigned(c *gin.Context, l signerLink, do func(*models.Envelope) error, view func(*models.Envelope) (*store.StoredResponse, error)) error {
	return notFoundAsInvalidLink(command(s, c, func(st *store.Store) (*models.Envelope, error) {
		return st.Change(c.Request.Context(), l.App, l.EnvelopeID, do)
	}, view))
}
