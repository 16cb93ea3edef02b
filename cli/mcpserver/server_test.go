package mcpserver_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"countersign/cli/mcpserver"
	countersign "countersign/clients/go"
)

const (
	envelopeID = "01a2b3c4-0000-7000-8000-000000000001"
	signerID   = "01a2b3c4-0000-7000-8000-000000000002"
	linkToken  = "aSecretTokenOfASigningLink"
)

// answers maps methods and paths to the responses of a simulated service.
type answers map[string]any

// status is the HTTP status code of an error response.
type status int

// service returns a client for a simulated service. It is used for states that are hard to reach with a real service.
func service(t *testing.T, all answers) *countersign.Client {
	t.Helper()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("ETag", `"7"`)
		answer, ok := all[r.Method+" "+r.URL.Path]
		switch code, rejected := answer.(status); {
		case r.URL.Path == "/oauth/token":
			answer = map[string]any{"access_token": "token", "token_type": "Bearer", "expires_in": 900}
		case !ok:
			w.WriteHeader(http.StatusNotFound)
			answer = map[string]any{"error": "not_found", "message": "No such thing."}
		case rejected:
			w.WriteHeader(int(code))
			answer = map[string]any{"error": "refused", "message": "Refused."}
		}
		_ = json.NewEncoder(w).Encode(answer)
	}))
	t.Cleanup(srv.Close)
	c, err := countersign.New(srv.URL, "client", "secret", countersign.WithRetries(0))
	require.NoError(t, err)
	return c
}

// envelope returns an envelope that is waiting for Ada.
func envelope(more map[string]any) map[string]any {
	e := map[string]any{
		"id": envelopeID, "tenantId": "acme", "subject": "Lease", "status": "in_progress", "createdAt": "2026-11-01T10:00:00Z", "createdBy": "app",
		"signers": []any{map[string]any{
			"id": signerID, "name": "Ada", "email": "ada@example.com", "status": "viewed", "routingOrder": 1, "authMethod": "none",
			"signingUrl": "https://sign.example.com/sign/" + linkToken,
		}},
		"fields": []any{}, "documents": []any{}, "auditLog": []any{}, "mails": []any{}, "deliveries": []any{},
	}
	for k, v := range more {
		e[k] = v
	}
	return e
}

// connect returns an SDK client connected to a server with the given clock.
func connect(t *testing.T, c *countersign.Client, now func() time.Time, answer func(*mcp.ElicitRequest) *mcp.ElicitResult) *mcp.ClientSession {
	t.Helper()
	s, err := mcpserver.New(mcpserver.Config{Client: c, Tenant: "acme", Version: "test", Now: now})
	require.NoError(t, err)
	near, far := mcp.NewInMemoryTransports()
	_, err = s.Connect(t.Context(), far, nil)
	require.NoError(t, err)
	session, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, &mcp.ClientOptions{
		ElicitationHandler: func(_ context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) { return answer(r), nil },
	}).Connect(t.Context(), near, nil)
	require.NoError(t, err)
	t.Cleanup(func() { _ = session.Close() })
	return session
}

func call(t *testing.T, session *mcp.ClientSession, tool string) (text string, rejected bool) {
	t.Helper()
	res, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: map[string]any{"envelope_id": envelopeID}})
	require.NoError(t, err)
	require.Len(t, res.Content, 1)
	content, ok := res.Content[0].(*mcp.TextContent)
	require.True(t, ok)
	require.NotContains(t, content.Text, linkToken, "signing links must not be returned")
	return content.Text, res.IsError
}

func TestExplainEnvelope_NamesTheCause(t *testing.T) {
	t.Parallel()
	inspect, progress := "GET /v1/console/envelopes/"+envelopeID, "GET /v1/envelopes/"+envelopeID+"/progress"
	waiting := map[string]any{"step": "waiting", "openGroup": 1, "awaiting": []any{signerID}, "answeredBy": "workflow"}
	recorded := map[string]any{"step": "waiting", "openGroup": 1, "awaiting": []any{signerID}, "answeredBy": "database"}
	mail := func(at, kind string, more map[string]any) map[string]any {
		m := map[string]any{"signerId": signerID, "kind": kind, "createdAt": at, "attempts": 3, "error": ""}
		for k, v := range more {
			m[k] = v
		}
		return m
	}
	sent := mail("2026-11-01T10:00:00Z", "invitation", map[string]any{"sentAt": "2026-11-01T10:00:01Z"})
	for name, c := range map[string]struct {
		all   answers
		stuck bool
		has   string
	}{
		"nothing": {answers{inspect: envelope(map[string]any{"mails": []any{sent}}), progress: waiting}, false, "Ada <ada@example.com> has opened the link but has not signed"},
		"a mail that was refused": {answers{inspect: envelope(map[string]any{"mails": []any{
			mail("2026-11-02T10:00:00Z", "reminder", map[string]any{"failedAt": "2026-11-02T10:00:01Z", "error": "550 no mailbox for https://sign.example.com/sign/" + linkToken}), sent,
		}}), progress: waiting}, true, `the email \"reminder\" to Ada <ada@example.com> permanently failed: 550 no mailbox`},
		"a mail that is tried again": {
			answers{inspect: envelope(map[string]any{"mails": []any{mail("2026-11-02T10:00:00Z", "invitation", map[string]any{"error": "connection refused"})}}), progress: waiting},
			true, "could not be sent after 3 attempts: connection refused; sending will be retried",
		},
		"a refused mail before one that arrived": {answers{inspect: envelope(map[string]any{"mails": []any{
			mail("2026-11-01T09:00:00Z", "invitation", map[string]any{"failedAt": "2026-11-01T09:00:01Z", "error": "550"}), sent,
		}}), progress: waiting}, false, `"stuck":false`},
		"sealing": {
			answers{inspect: envelope(map[string]any{"sealingProblem": map[string]any{"code": "original_missing", "message": "The file is missing.", "since": "2026-11-02T10:00:00Z"}}), progress: waiting},
			true, "sealing has failed since 2026-11-02 10:00 UTC: The file is missing. (original_missing)",
		},
		"no workflow":    {answers{inspect: envelope(nil), progress: status(409)}, true, "the envelope's workflow does not respond"},
		"no Temporal":    {answers{inspect: envelope(nil), progress: recorded}, true, "the envelope's workflow does not respond"},
		"an empty draft": {answers{inspect: envelope(map[string]any{"status": "draft"})}, true, "the draft has no document"},
		"a voided one":   {answers{inspect: envelope(map[string]any{"status": "voided"})}, false, "nothing: the envelope is voided"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text, rejected := call(t, connect(t, service(t, c.all), time.Now, nil), "explain_envelope")
			require.False(t, rejected, text)
			require.Contains(t, text, c.has)
			require.Equal(t, c.stuck, strings.Contains(text, `"stuck":true`), text)
		})
	}
}

// TestOtherTenants_AreNotAccessible checks that the agent can access only its tenant's envelopes, even if the app may
// access the envelopes of all tenants.
func TestOtherTenants_AreNotAccessible(t *testing.T) {
	t.Parallel()
	other := envelope(map[string]any{"tenantId": "other", "subject": "Not yours"})
	session := connect(t, service(t, answers{"GET /v1/envelopes/" + envelopeID: other, "GET /v1/console/envelopes/" + envelopeID: other}), time.Now,
		func(*mcp.ElicitRequest) *mcp.ElicitResult { panic("unexpected confirmation request") })
	for _, tool := range []string{"get_envelope", "explain_envelope", "send_envelope", "remind_signers", "void_envelope"} {
		text, rejected := call(t, session, tool)
		require.True(t, rejected, tool)
		require.Contains(t, text, "not found in tenant")
		require.NotContains(t, text, "Not yours")
	}
}

// TestConfirmation_Expires checks that a confirmation that arrives too late is rejected.
func TestConfirmation_Expires(t *testing.T) {
	t.Parallel()
	get, void := "GET /v1/envelopes/"+envelopeID, "POST /v1/envelopes/"+envelopeID+"/void"
	for _, c := range []struct {
		after time.Duration
		done  bool
	}{{29 * time.Minute, true}, {31 * time.Minute, false}} {
		var passed atomic.Int64
		start := time.Now()
		session := connect(t, service(t, answers{get: envelope(nil), void: envelope(map[string]any{"status": "voided"})}),
			func() time.Time { return start.Add(time.Duration(passed.Load())) },
			func(*mcp.ElicitRequest) *mcp.ElicitResult {
				passed.Store(int64(c.after))
				return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"confirm": true}}
			})
		text, rejected := call(t, session, "void_envelope")
		require.Equal(t, !c.done, rejected, text)
		if rejected {
			require.Contains(t, text, "the confirmation request has expired")
		}
	}
}

func TestRejections_SuggestASolution(t *testing.T) {
	t.Parallel()
	get, void := "GET /v1/envelopes/"+envelopeID, "POST /v1/envelopes/"+envelopeID+"/void"
	for code, has := range map[status]string{401: "countersign login", 412: "changed after the confirmation request", 409: "Refused (409 refused)"} {
		session := connect(t, service(t, answers{get: envelope(nil), void: code}), time.Now, func(*mcp.ElicitRequest) *mcp.ElicitResult {
			return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"confirm": true}}
		})
		text, rejected := call(t, session, "void_envelope")
		require.True(t, rejected)
		require.Contains(t, text, has)
	}
}
