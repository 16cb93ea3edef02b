package clients_test

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	countersign "countersign/clients/go"
	"countersign/clients/go/api"
	"countersign/test/kit"
)

// Protocol versions differ in how confirmation is requested. In the newest version, the result of a tool contains the
// request. In earlier versions, the server sends a request to the client.
var protocols = []string{"2025-06-18", "2026-07-28"}

// agent simulates a program with a language model. The program uses "countersign mcp".
type agent struct {
	session *mcp.ClientSession
	folder  string

	mu    sync.Mutex
	asked []string // texts displayed to a person
	seen  bytes.Buffer
}

// person responds to a confirmation request.
type person func(*mcp.ElicitRequest) (*mcp.ElicitResult, error)

func acceptConfirmation(*mcp.ElicitRequest) (*mcp.ElicitResult, error) {
	return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"confirm": true}}, nil
}

// newAgent starts the program with a client from the SDK. If answer is nil, the client declares that it cannot
// request confirmation from a person.
func newAgent(t *testing.T, s *service, protocol string, answer person, flags ...string) *agent {
	t.Helper()
	a := &agent{folder: t.TempDir()}
	options := &mcp.ClientOptions{Capabilities: &mcp.ClientCapabilities{}}
	if answer != nil {
		options.ElicitationHandler = func(_ context.Context, req *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			a.mu.Lock()
			a.asked = append(a.asked, req.Params.Message)
			a.mu.Unlock()
			return answer(req)
		}
	}
	user := &cli{home: t.TempDir(), env: s.env()}
	cmd := user.command(context.WithoutCancel(t.Context()), t, append([]string{"mcp", "--dir", a.folder}, flags...)...)
	cmd.Stderr = &a.seen
	var err error
	a.session, err = mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, options).
		Connect(t.Context(), &mcp.CommandTransport{Command: cmd}, &mcp.ClientSessionOptions{ProtocolVersion: protocol})
	require.NoError(t, err, "%s", &a.seen)
	t.Cleanup(func() { _ = a.session.Close() })
	require.Equal(t, protocol, a.session.InitializeResult().ProtocolVersion)
	return a
}

// call calls a tool. It returns the text of the result, and whether the call was rejected.
func (a *agent) call(t *testing.T, tool string, args any) (text string, rejected bool) {
	t.Helper()
	res, err := a.session.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: args})
	if err != nil {
		text, rejected = err.Error(), true
	} else {
		require.False(t, res.NeedsInput())
		require.Len(t, res.Content, 1)
		text, rejected = res.Content[0].(*mcp.TextContent).Text, res.IsError
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.seen.WriteString(text + "\n")
	return text, rejected
}

func (a *agent) must(t *testing.T, tool string, args any) map[string]any {
	t.Helper()
	text, rejected := a.call(t, tool, args)
	require.False(t, rejected, "%s: %s", tool, text)
	require.Less(t, len(text), 8<<10, "results must be small")
	var out map[string]any
	require.NoError(t, json.Unmarshal([]byte(text), &out), "%s", text)
	return out
}

func (a *agent) rejected(t *testing.T, tool string, args any) string {
	t.Helper()
	text, rejected := a.call(t, tool, args)
	require.True(t, rejected, "%s: %s", tool, text)
	return text
}

// everything returns all text that the agent and the confirming person received.
func (a *agent) everything() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.seen.String() + strings.Join(a.asked, "\n")
}

func (a *agent) questions() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return append([]string(nil), a.asked...)
}

// requireNoSecrets checks that no link, token or credential was revealed.
func (a *agent) requireNoSecrets(t *testing.T, s *service, links ...string) {
	t.Helper()
	all := a.everything()
	require.NotContains(t, all, s.ClientSecret)
	require.NotContains(t, all, "signingUrl")
	require.NotRegexp(t, `/sign/[A-Za-z0-9_.-]{8}`, all)
	for _, link := range links {
		require.NotContains(t, all, link[strings.LastIndexByte(link, '/')+1:])
	}
}

func (a *agent) tools(t *testing.T) map[string]*mcp.Tool {
	t.Helper()
	out := map[string]*mcp.Tool{}
	for tool, err := range a.session.Tools(t.Context(), nil) {
		require.NoError(t, err)
		out[tool.Name] = tool
	}
	return out
}

func arg(id any) map[string]any { return map[string]any{"envelope_id": id} }

// draft creates a draft with one signer, using the application's own credential instead of an agent.
func draft(t *testing.T, s *service, subject string) uuid.UUID {
	t.Helper()
	c := s.client(t)
	e, err := c.Create(t.Context(), request(subject))
	require.NoError(t, err)
	_, err = c.Upload(t.Context(), e.ID, bytes.NewReader(kit.OnePage()))
	require.NoError(t, err)
	return e.ID
}

func statusOf(t *testing.T, s *service, id uuid.UUID) api.EnvelopeStatus {
	t.Helper()
	e, err := s.client(t).Envelope(t.Context(), id)
	require.NoError(t, err)
	return e.Status
}

// TestMCPFromDraftToSeal checks that an agent can process an envelope from the uploaded file to the verified seal.
func TestMCPFromDraftToSeal(t *testing.T) {
	t.Parallel()
	s := start(t)
	for _, protocol := range protocols {
		a := newAgent(t, s, protocol, acceptConfirmation)
		require.NoError(t, os.WriteFile(filepath.Join(a.folder, "lease.pdf"), kit.OnePage(), 0o600))
		made := a.must(t, "create_draft", map[string]any{
			"subject": "Lease " + protocol, "files": []string{"lease.pdf"},
			"signers": []any{map[string]any{"name": "Ada", "email": "ada@example.com", "auth": "none"}},
		})
		id := made["id"].(string)
		require.Equal(t, "draft", made["status"])
		require.Equal(t, s.BaseURL+"/console#/envelopes/"+id, made["page"])
		document := made["documents"].([]any)[0].(map[string]any)["id"]
		a.must(t, "suggest_fields", map[string]any{"envelope_id": id, "document_id": document})
		a.must(t, "add_fields", map[string]any{"envelope_id": id, "fields": []any{
			map[string]any{"type": "signature", "signer": "ada@example.com", "page": 1, "x": 72, "y": 600, "w": 180, "h": 50},
		}})
		require.Contains(t, a.must(t, "explain_envelope", arg(id))["waitingFor"].([]any)[0], "draft")
		require.Empty(t, a.questions(), "a draft does not affect other people")

		sent := a.must(t, "send_envelope", map[string]any{"envelope_id": id, "message": "Please sign."})
		require.Equal(t, "sent", sent["status"])
		require.Len(t, a.questions(), 1)
		for _, word := range []string{"Lease " + protocol, id, "Ada <ada@example.com>", "no code", "- without a name, 1 page", "Please sign."} {
			require.Contains(t, a.questions()[0], word)
		}
		why := a.must(t, "explain_envelope", arg(id))
		require.Contains(t, why["waitingFor"].([]any)[0], "Ada <ada@example.com> was invited")
		require.Len(t, a.must(t, "list_envelopes", map[string]any{"search": protocol})["envelopes"], 1)
		link := signingLink(t, s, uuid.MustParse(id))
		reminded := a.must(t, "remind_signers", arg(id))
		require.Len(t, reminded["reminded"], 1)
		require.Contains(t, a.questions()[1], "ada@example.com")
		require.Contains(t, a.questions()[1], "links stay the same")

		app := s.client(t)
		e, err := app.Envelope(t.Context(), uuid.MustParse(id))
		require.NoError(t, err)
		e.Signers[0].SigningURL = &link
		sign(t, s, e)
		_, err = app.WaitUntilCompleted(t.Context(), e.ID)
		require.NoError(t, err)

		saved := a.must(t, "download_document", map[string]any{"envelope_id": id, "file": "sealed.pdf"})
		b, err := os.ReadFile(filepath.Join(a.folder, "sealed.pdf"))
		require.NoError(t, err)
		require.EqualValues(t, len(b), saved["bytes"])
		verified := a.must(t, "verify_pdf", map[string]any{"file": "sealed.pdf"})
		require.Equal(t, "valid", verified["verdict"], "%v", verified)
		require.Equal(t, id, verified["envelopeId"])
		require.Equal(t, "not_sealed", a.must(t, "verify_pdf", map[string]any{"file": "lease.pdf"})["verdict"])
		require.Equal(t, "completed", a.must(t, "get_envelope", arg(id))["status"])
		require.Equal(t, false, a.must(t, "explain_envelope", arg(id))["stuck"])
		require.Contains(t, a.rejected(t, "void_envelope", arg(id)), "already completed")
		require.Len(t, a.questions(), 2, "impossible actions require no confirmation")
		a.requireNoSecrets(t, s, link)
	}
}

// signingLink returns a signing link, which only the application itself may request.
func signingLink(t *testing.T, s *service, id uuid.UUID) string {
	t.Helper()
	c := s.client(t)
	e, err := c.Envelope(t.Context(), id)
	require.NoError(t, err)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.BaseURL+"/v1/envelopes/"+id.String()+"/signers/"+e.Signers[0].ID.String()+"/signing-link", http.NoBody)
	require.NoError(t, err)
	req.Header.Set("Authorization", "Bearer "+accessToken(t, s))
	res, err := http.DefaultTransport.RoundTrip(req)
	require.NoError(t, err)
	defer func() { _ = res.Body.Close() }()
	require.Equal(t, http.StatusOK, res.StatusCode)
	var link struct{ SigningURL string }
	require.NoError(t, json.NewDecoder(res.Body).Decode(&link))
	require.NotEmpty(t, link.SigningURL)
	return link.SigningURL
}

func TestMCPReadOnly(t *testing.T) {
	t.Parallel()
	s := start(t)
	id := draft(t, s, "Read")
	a := newAgent(t, s, protocols[1], acceptConfirmation, "--read-only")
	tools := a.tools(t)
	require.Len(t, tools, 7)
	for name, tool := range tools {
		require.True(t, tool.Annotations.ReadOnlyHint, name)
	}
	for _, name := range []string{"send_envelope", "remind_signers", "void_envelope", "create_draft", "add_fields", "download_document"} {
		a.rejected(t, name, arg(id))
	}
	require.Empty(t, a.questions())
	require.Equal(t, "draft", a.must(t, "get_envelope", arg(id))["status"])
	require.Len(t, newAgent(t, s, protocols[1], acceptConfirmation).tools(t), 13)
}

// TestMCPTemplates checks that templates can be found by name and read, and that the result describes the input needed
// to create envelopes from them.
func TestMCPTemplates(t *testing.T) {
	t.Parallel()
	s := start(t)
	c := &cli{home: t.TempDir(), env: s.env()}
	id := strings.Fields(c.must(t, "template", "push", lease(t, c)))[0]
	a := newAgent(t, s, protocols[1], nil, "--read-only")
	require.Empty(t, a.must(t, "list_templates", map[string]any{"search": "nothing"})["templates"])
	found := a.must(t, "list_templates", map[string]any{"search": "eas"})
	require.Len(t, found["templates"], 1)
	require.Nil(t, found["nextCursor"])
	row, ok := found["templates"].([]any)[0].(map[string]any)
	require.True(t, ok)
	require.Equal(t, id, row["id"])
	require.Equal(t, "lease", row["externalId"])
	read := a.must(t, "get_template", map[string]any{"template_id": id})
	require.Equal(t, "Lease", read["name"])
	require.Equal(t, []any{"place"}, read["variables"])
	require.Len(t, read["roles"], 2)
	require.Len(t, read["fields"], 3)
	require.Len(t, read["documents"], 1)
	for _, wrong := range []string{"", "lease", "../app", uuid.NewString()} {
		a.rejected(t, "get_template", map[string]any{"template_id": wrong})
	}
	a.rejected(t, "list_templates", map[string]any{"limit": 51})
	a.requireNoSecrets(t, s)
}

// TestMCP_FilesOutsideTheFolder_AreRejected checks that files are read from and written to the shared directory only,
// and that only PDF files are read.
func TestMCP_FilesOutsideTheFolder_AreRejected(t *testing.T) {
	t.Parallel()
	s := start(t)
	a := newAgent(t, s, protocols[1], acceptConfirmation)
	outside := t.TempDir()
	secret := filepath.Join(outside, "secret.pdf")
	require.NoError(t, os.WriteFile(secret, kit.OnePage(), 0o600))
	require.NoError(t, os.Symlink(secret, filepath.Join(a.folder, "link.pdf")))
	require.NoError(t, os.Symlink(outside, filepath.Join(a.folder, "out")))
	require.NoError(t, os.WriteFile(filepath.Join(a.folder, "note.txt"), []byte("no PDF"), 0o600))
	mkfifo(t, filepath.Join(a.folder, "pipe.pdf"))
	signers := []any{map[string]any{"name": "Ada", "email": "ada@example.com"}}
	for _, file := range []string{secret, "../" + filepath.Base(outside) + "/secret.pdf", "link.pdf", "out/secret.pdf", "note.txt", "pipe.pdf", ".", "", "missing.pdf", "a\x00b"} {
		text := a.rejected(t, "create_draft", map[string]any{"subject": "x", "files": []string{file}, "signers": signers})
		require.Contains(t, text, "file", file)
		a.rejected(t, "verify_pdf", map[string]any{"file": file})
	}
	require.Empty(t, a.must(t, "list_envelopes", map[string]any{})["envelopes"], "no draft may be created")
	id := draft(t, s, "Download")
	get := func(file string) map[string]any {
		return map[string]any{"envelope_id": id, "kind": "original", "file": file}
	}
	for _, file := range []string{secret, "out/new.pdf", "../new.pdf", "link.pdf", "note.txt", "."} {
		a.rejected(t, "download_document", get(file))
	}
	entries, err := os.ReadDir(outside)
	require.NoError(t, err)
	require.Len(t, entries, 1)
	a.must(t, "download_document", get("new.pdf"))
	st, err := os.Stat(filepath.Join(a.folder, "new.pdf"))
	require.NoError(t, err)
	require.EqualValues(t, 0o600, st.Mode().Perm())
	a.rejected(t, "download_document", get("new.pdf"))
}

// TestMCP_ExplainsStuckEnvelopes checks that a single response reports both a rejected email and a failing webhook.
func TestMCP_ExplainsStuckEnvelopes(t *testing.T) {
	t.Parallel()
	s := start(t)
	app := s.client(t)
	token := "endpoint-path-secret"
	_, err := app.API.CreateWebhookWithResponse(t.Context(), nil, api.WebhookRequest{
		URL: "http://127.0.0.1:9/" + token, Secret: countersign.Ptr("hook-secret"), Events: []api.WebhookEventName{"envelope.sent"},
	})
	require.NoError(t, err)
	sent, err := app.Send(t.Context(), draft(t, s, "Stuck"), "")
	require.NoError(t, err)
	a := newAgent(t, s, protocols[1], nil)
	var why string
	require.Eventually(t, func() bool {
		why, _ = a.call(t, "explain_envelope", arg(sent.ID))
		return strings.Contains(why, "envelope.sent to 127.0.0.1:9 could not be delivered")
	}, time.Minute, 200*time.Millisecond, "%s", why)
	require.Contains(t, why, `"stuck":true`)
	require.NotContains(t, a.everything(), token)
	require.NotContains(t, a.everything(), "hook-secret")
	a.requireNoSecrets(t, s, *sent.Signers[0].SigningURL)
}

// TestMCP_WithoutLogin_IsRejected checks that a missing login is reported, with an exit code, before the protocol
// starts.
func TestMCP_WithoutLogin_IsRejected(t *testing.T) {
	t.Parallel()
	c := &cli{home: t.TempDir()}
	code, out, said := c.run(t, "", "mcp", "--url", "http://127.0.0.1:9", "--tenant", "acme")
	require.Equal(t, 3, code)
	require.Empty(t, out)
	require.Contains(t, said, "countersign login")
	c.env = []string{"COUNTERSIGN_URL=http://127.0.0.1:9", "COUNTERSIGN_CLIENT_ID=" + uuid.NewString(), "COUNTERSIGN_CLIENT_SECRET=x"}
	code, _, said = c.run(t, "", "mcp")
	require.Equal(t, 1, code)
	require.Contains(t, said, "--tenant")
	code, out, said = c.run(t, "", "mcp", "--tenant", "acme")
	require.Zero(t, code, "%s", said)
	require.Empty(t, out, "standard output must contain only protocol messages")
}
