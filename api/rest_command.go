package api

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"

	"countersign/store"
)

// A client that retries must get the response even if the process dies before it responds. A command therefore computes
// its response inside its transaction and stores it there with the idempotency key.

// command runs fn in one transaction, and sends a response. Before the commit, it calls view to convert the result of
// fn to the response.
func command[S, T any](s subject[S], c *gin.Context, fn func(S) (T, error), view func(T) (*store.StoredResponse, error)) error {
	_, err := execute(s, c, fn, view)
	return err
}

// execute is like command, but also returns the result to the handler. If view is nil, no response is stored with the
// change, and the handler must respond itself.
func execute[S, T any](s subject[S], c *gin.Context, fn func(S) (T, error), view func(T) (*store.StoredResponse, error)) (T, error) {
	var made, none T
	key := keyOf(c)
	response, err := s.execute(c.Request.Context(), key.id, func(st S) (_ *store.StoredResponse, err error) {
		if made, err = fn(st); err != nil || view == nil {
			return nil, err
		}
		return view(made)
	})
	if err != nil {
		return none, err
	}
	if response == nil {
		return made, nil
	}
	key.stored = len(response.Body) <= store.MaxStoredResponse
	return made, render(c, response)
}

// claimedKey is the idempotency key of a request that is being executed.
type claimedKey struct {
	id     uuid.UUID // uuid.Nil if the request has no key
	stored bool      // whether the response was stored with the key
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

func inJSON(status int, v any) (*store.StoredResponse, error) {
	b, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("render a response: %w", err)
	}
	return &store.StoredResponse{Status: status, Header: http.Header{"Content-Type": {jsonType}}, Body: b}, nil
}

const jsonType = "application/json; charset=utf-8"

// asJSON returns a view for a command. It converts the command's result, and encodes it as JSON.
func asJSON[T, V any](status int, view func(T) V) func(T) (*store.StoredResponse, error) {
	return func(made T) (*store.StoredResponse, error) { return inJSON(status, view(made)) }
}

// noContent is the view for a command whose response has no body.
func noContent[T any](T) (*store.StoredResponse, error) {
	return &store.StoredResponse{Status: http.StatusNoContent, Header: http.Header{}}, nil
}

// withLocation adds the Location header of a resource to a response.
func (s *shared) withLocation(r *store.StoredResponse, path string) *store.StoredResponse {
	if r != nil {
		r.Header.Set("Location", s.baseURL+path)
	}
	return r
}

// respond writes a JSON response for a handler that is not a command.
func respond(c *gin.Context, status int, v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("render a response: %w", err)
	}
	c.Data(status, jsonType, b)
	return nil
}

func respondNoContent(c *gin.Context) error {
	return render(c, &store.StoredResponse{Status: http.StatusNoContent})
}

func render(c *gin.Context, r *store.StoredResponse) error {
	maps.Copy(c.Writer.Header(), r.Header)
	c.Status(r.Status)
	if len(r.Body) == 0 {
		return nil
	}
	_, err := c.Writer.Write(r.Body)
	return err
}
