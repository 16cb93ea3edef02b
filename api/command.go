package api

import (
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
func command[T any](s *Server, c *gin.Context, fn func(*store.Store) (T, error), view func(T) (*store.StoredResponse, error)) (T, error) {
	var response *store.StoredResponse
	key := keyOf(c)
	made, err := fn(s.Store.ForKey(key.id, func(result any) (*store.StoredResponse, error) {
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
		return made, err
	}
	key.stored = len(response.Body) <= maxStoredResponse
	return made, render(c, response)
}

// commandByID is command for what the path names by its id.
func commandByID[T any](s *Server, c *gin.Context, fn func(*store.Store, uuid.UUID) (T, error), view func(T) (*store.StoredResponse, error)) error {
	id, err := pathID(c, "id")
	if err != nil {
		return err
	}
	_, err = command(s, c, func(st *store.Store) (T, error) { return fn(st, id) }, view)
	return err
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
	return &store.StoredResponse{Status: status, Header: http.Header{"Content-Type": {"application/json; charset=utf-8"}}, Body: b}, nil
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

// change does one thing to the caller's envelope and answers with view.
func (s *Server) change(c *gin.Context, app caller, do func(*models.Envelope, models.ActionContext) error, view func() (*store.StoredResponse, error)) error {
	id, err := pathID(c, "id")
	if err != nil {
		return err
	}
	_, err = command(s, c, func(st *store.Store) (*models.Envelope, error) {
		return st.Change(c.Request.Context(), app.ID, id, s.by(c, app, do))
	}, func(e *models.Envelope) (*store.StoredResponse, error) {
		r, err := view()
		return withETag(r, e), err
	})
	return err
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
	id, err := pathID(c, "id")
	if err != nil {
		return err
	}
	_, err = command(s, c, func(st *store.Store) (*store.EnvelopeWithEvents, error) {
		return st.ChangeWithEvents(c.Request.Context(), app.ID, id, s.by(c, app, do))
	}, func(e *store.EnvelopeWithEvents) (*store.StoredResponse, error) {
		log := e.Log
		if app.builder != nil {
			log = nil // the audit trail is the application's
		}
		v := viewEnvelope(e.Envelope, log)
		if links {
			if err := s.showLinks(&v, e.Envelope); err != nil {
				return nil, err
			}
		}
		r, err := inJSON(http.StatusOK, v)
		return withETag(r, e.Envelope), err
	})
	return err
}

// by lets the caller do something to an envelope that is theirs.
func (s *Server) by(c *gin.Context, app caller, do func(*models.Envelope, models.ActionContext) error) func(*models.Envelope) error {
	return func(e *models.Envelope) error {
		if app.CheckTenant(e.TenantID) != nil {
			return models.ErrNotFound
		}
		if err := checkIfMatch(c, e); err != nil {
			return err
		}
		return do(e, s.actionContext(c, app.actor()))
	}
}

// changeSigned does one thing to the envelope of a signing link and answers with
// view.
func (s *Server) changeSigned(c *gin.Context, l signerLink, do func(*models.Envelope) error, view func() (*store.StoredResponse, error)) (*models.Envelope, error) {
	e, err := command(s, c, func(st *store.Store) (*models.Envelope, error) {
		return st.Change(c.Request.Context(), l.App, l.EnvelopeID, do)
	}, func(*models.Envelope) (*store.StoredResponse, error) { return view() })
	return e, notFoundAsInvalidLink(err)
}
