package api

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"

	"countersign/store"
)

// An answer that is lost, because the process died between the commit and it,
// must not be lost to who sends the request again. So a handler says before its
// change what it will answer, and the change stores that in its own transaction.
const promiseKey = "countersign/promise"

// promise makes body, which is called once the change is made but not committed,
// the answer to a repeat of the request. Where it gives nil nothing is promised.
func promise(c *gin.Context, status int, body func() any) {
	c.Set(promiseKey, promiser(func(any) (*store.Answer, error) { return answerOf(status, body()) }))
}

// promiseMade is promise for what a transaction makes that changes no envelope.
func promiseMade[T any](c *gin.Context, status int, body func(T) any) {
	c.Set(promiseKey, promiser(func(made any) (*store.Answer, error) {
		if v, ok := made.(T); ok {
			return answerOf(status, body(v))
		}
		return nil, nil //nolint:nilnil // no promise is no error
	}))
}

// promiser gives the answer to promise for what was made; nil for none.
type promiser func(made any) (*store.Answer, error)

func answerOf(status int, v any) (*store.Answer, error) {
	if v == nil {
		return nil, nil //nolint:nilnil // no promise is no error
	}
	b, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("promise an answer: %w", err)
	}
	return &store.Answer{Status: status, Header: http.Header{"Content-Type": {"application/json; charset=utf-8"}}, Body: b}, nil
}

// promiseNothing promises an answer without a body.
func promiseNothing(c *gin.Context) {
	c.Set(promiseKey, promiser(func(any) (*store.Answer, error) {
		return &store.Answer{Status: http.StatusNoContent, Header: http.Header{}}, nil
	}))
}

// envelopeAt is where the answer's content is found (RFC 9110 §8.7): an answer
// with it and no body is rendered when it is asked for.
const envelopeAt = "Content-Location"

// promiseEnvelope promises the whole envelope.
func promiseEnvelope(c *gin.Context, status int, id uuid.UUID) {
	c.Set(promiseKey, promiser(func(any) (*store.Answer, error) {
		return &store.Answer{Status: status, Header: http.Header{envelopeAt: {"/v1/envelopes/" + id.String()}}}, nil
	}))
}

// promised is what the handler of a request has promised so far.
func promised(c *gin.Context, made any) (*store.Answer, error) {
	if v, ok := c.Get(promiseKey); ok {
		if answer, ok := v.(promiser); ok {
			return answer(made)
		}
	}
	return nil, nil //nolint:nilnil // no promise is no error
}

// redeem renders a promised envelope.
func (s *Server) redeem(c *gin.Context, app caller, a *store.Answer) error {
	id, err := uuid.Parse(strings.TrimPrefix(a.Header.Get(envelopeAt), "/v1/envelopes/"))
	if err != nil {
		return fmt.Errorf("promised answer: %w", err)
	}
	e, log, err := s.Store.Whole(c.Request.Context(), app.ID, id)
	if err != nil {
		return err
	}
	if a.Status == http.StatusCreated {
		c.Header("Location", s.BaseURL+"/v1/envelopes/"+e.ID.String())
	}
	v := viewEnvelope(e, log)
	if strings.HasSuffix(c.FullPath(), "/send") {
		if err := s.showLinks(&v, e); err != nil {
			return err
		}
	}
	c.JSON(a.Status, v)
	return nil
}
