package mcpserver

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// confirmationRequest is a confirmation request that the person has not answered yet.
type confirmationRequest struct {
	call      [sha256.Size]byte // digest of the tool and its arguments
	envelope  uuid.UUID
	tag       string     // version of the envelope that was displayed
	remind    []reminded // signers to remind
	createdAt time.Time
}

// withConfirmation returns a handler for a tool that the client calls twice. The first call runs ask, which requests
// confirmation from the person. After the confirmation, the second call runs do.
func withConfirmation[In any](s *server, ask handler[In], do func(context.Context, confirmationRequest, In) (any, error)) handler[In] {
	return func(ctx context.Context, req *mcp.CallToolRequest, in In) (any, error) {
		if req.Params.RequestState == "" && len(req.Params.InputResponses) == 0 {
			return ask(ctx, req, in)
		}
		q, err := s.confirmed(req)
		if err != nil {
			return nil, err
		}
		return do(ctx, q, in)
	}
}

const (
	answerKey    = "confirmation"
	answerField  = "confirm"
	answerWithin = 30 * time.Minute
	maxQuestions = 16
)

var (
	errNoElicitation  = errors.New("rejected: this action requires a person's confirmation, which this client does not support (no form elicitation). A person can perform it in the console or with the countersign command line")
	errNotConfirmed   = errors.New("rejected: the person did not confirm the action")
	errNoOpenQuestion = errors.New("rejected: the response matches no pending confirmation request with these arguments; call the tool again without a response")
)

// supportsForms reports whether the client can display forms to a person.
func supportsForms(req *mcp.CallToolRequest) bool {
	caps := req.ClientCapabilities()
	if caps == nil || caps.Elicitation == nil {
		return false
	}
	return caps.Elicitation.Form != nil || caps.Elicitation.URL == nil // in early versions of the protocol, an empty capability means forms
}

// requestConfirmation makes the client request confirmation from the person, and call the tool again with the answer.
func (s *server) requestConfirmation(req *mcp.CallToolRequest, q confirmationRequest, text []string, button string) (*mcp.CallToolResult, error) {
	if !supportsForms(req) {
		return nil, errNoElicitation
	}
	q.call, q.createdAt = callDigest(req), s.Now()
	state := rand.Text()
	s.mu.Lock()
	defer s.mu.Unlock()
	for k, old := range s.questions {
		if q.createdAt.Sub(old.createdAt) > answerWithin {
			delete(s.questions, k)
		}
	}
	if len(s.questions) >= maxQuestions {
		return nil, errors.New("rejected: too many confirmation requests are pending; have the person answer them first")
	}
	s.questions[state] = q
	schema := map[string]any{
		"type":       "object",
		"properties": map[string]any{answerField: map[string]any{"type": "boolean", "title": button, "default": false}},
		"required":   []string{answerField},
	}
	return &mcp.CallToolResult{
		InputRequests: mcp.InputRequestMap{answerKey: &mcp.ElicitParams{Mode: "form", Message: withoutLinks(strings.Join(text, "\n")), RequestedSchema: schema}},
		RequestState:  state,
	}, nil
}

// confirmed returns the confirmation request that the person accepted. A request can be answered only once, and only
// for the call that created it.
func (s *server) confirmed(req *mcp.CallToolRequest) (confirmationRequest, error) {
	s.mu.Lock()
	q, ok := s.questions[req.Params.RequestState]
	delete(s.questions, req.Params.RequestState)
	s.mu.Unlock()
	switch {
	case !supportsForms(req):
		return q, errNoElicitation
	case !ok || q.call != callDigest(req):
		return q, errNoOpenQuestion
	case s.Now().Sub(q.createdAt) > answerWithin:
		return q, errors.New("rejected: the confirmation request has expired; call the tool again")
	}
	answer, ok := req.Params.InputResponses[answerKey].(*mcp.ElicitResult)
	if !ok || answer == nil || answer.Action != "accept" {
		return q, errNotConfirmed
	}
	if yes, ok := answer.Content[answerField].(bool); !ok || !yes {
		return q, errNotConfirmed
	}
	return q, nil
}

// callDigest returns a digest of a tool call that does not depend on the formatting of its arguments.
func callDigest(req *mcp.CallToolRequest) [sha256.Size]byte {
	var args any
	if err := json.Unmarshal(req.Params.Arguments, &args); err != nil {
		args = string(req.Params.Arguments)
	}
	b, err := json.Marshal([]any{req.Params.Name, args}) // sorts the members
	if err != nil {
		b = fmt.Append(nil, req.Params.Name, "\x00", string(req.Params.Arguments))
	}
	return sha256.Sum256(b)
}
