package clients_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	countersign "countersign/clients/go"
	"countersign/clients/go/api"
	"countersign/test/kit"
	"countersign/webhook"
)

func TestGoClient(t *testing.T) {
	t.Parallel()
	s := start(t)
	c := s.client(t)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()

	var mu sync.Mutex
	heard := map[string]int{}
	hooks := httptest.NewServer(countersign.WebhookHandler(func(_ context.Context, e *countersign.Event) error {
		mu.Lock()
		defer mu.Unlock()
		heard[string(e.Event)]++
		return nil
	}, "another", "hook-secret"))
	t.Cleanup(hooks.Close)
	secret := "hook-secret"
	_, err := c.API.CreateWebhookWithResponse(ctx, nil, api.WebhookRequest{
		URL: hooks.URL, Secret: &secret, Events: []api.WebhookEventName{"envelope.sent", "signer.signed", "envelope.completed"},
	})
	require.NoError(t, err)

	e, err := c.Create(ctx, request("From Go"))
	require.NoError(t, err)
	doc, err := c.Upload(ctx, e.ID, bytes.NewReader(kit.OnePage()))
	require.NoError(t, err)
	require.Equal(t, 1, doc.PageCount)
	sent, err := c.Send(ctx, e.ID, "Please sign.")
	require.NoError(t, err)
	sign(t, s, sent)
	done, err := c.WaitUntilCompleted(ctx, e.ID)
	require.NoError(t, err)
	require.NotNil(t, done.DocumentHashFinal)
	require.NotEmpty(t, done.AuditLog)

	pdf, err := c.Download(ctx, e.ID, countersign.Sealed)
	require.NoError(t, err)
	sealed, err := io.ReadAll(pdf)
	require.NoError(t, err)
	require.NoError(t, pdf.Close())
	require.True(t, bytes.HasPrefix(sealed, []byte("%PDF-")))
	require.Eventually(t, func() bool {
		mu.Lock()
		defer mu.Unlock()
		return heard["envelope.sent"] == 1 && heard["signer.signed"] == 1 && heard["envelope.completed"] == 1
	}, 30*time.Second, 50*time.Millisecond)

	// An error identifies the invalid member.
	wrong := request("Wrong")
	wrong.Signers[0].Email = "nobody"
	_, err = c.Create(ctx, wrong)
	var rejected *countersign.Error
	require.ErrorAs(t, err, &rejected)
	require.Equal(t, 400, rejected.Status)
	require.Contains(t, rejected.Fields, "signers[0].email")
	_, err = c.Envelope(ctx, uuid.New())
	require.True(t, countersign.IsNotFound(err))
	_, err = c.Upload(ctx, sent.ID, bytes.NewReader([]byte("no PDF")))
	require.ErrorAs(t, err, &rejected)

	// Waiting stops if the envelope ends without being completed.
	other, err := c.Create(ctx, request("To be voided"))
	require.NoError(t, err)
	_, err = c.Upload(ctx, other.ID, io.LimitReader(bytes.NewReader(kit.OnePage()), 1<<20)) // as if read from a pipe
	require.NoError(t, err)
	sent, err = c.Send(ctx, other.ID, "")
	require.NoError(t, err)
	require.NoError(t, c.Remind(ctx, other.ID, sent.Signers[0].ID))
	_, err = c.Void(ctx, other.ID, "A mistake")
	require.NoError(t, err)
	_, err = c.WaitUntilCompleted(ctx, other.ID)
	var ended *countersign.EndedError
	require.ErrorAs(t, err, &ended)

	n := 0
	for _, err := range c.Envelopes(ctx, countersign.ListOptions{TenantID: "acme"}) {
		require.NoError(t, err)
		n++
	}
	require.Equal(t, 2, n)

	wrongSecret, err := countersign.New(s.BaseURL, s.ClientID, "not the secret")
	require.NoError(t, err)
	_, err = wrongSecret.Envelope(ctx, e.ID)
	require.ErrorAs(t, err, &rejected)
	require.Equal(t, 401, rejected.Status)
	require.NotContains(t, err.Error(), "not the secret")
}

// TestGoExamples runs the examples in the Go client's documentation against the service.
func TestGoExamples(t *testing.T) {
	t.Parallel()
	s := start(t)
	cmd := exec.CommandContext(t.Context(), "go", "test", "-count=1", "-run", "^Example", "-v", ".")
	cmd.Dir, cmd.Env = "../../clients/go", s.env()
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Equal(t, 7, strings.Count(string(out), "--- PASS: Example"), "%s", out)
}

func TestTypeScriptClient(t *testing.T) {
	t.Parallel()
	s := start(t)
	require.FileExists(t, "../../clients/typescript/dist/index.js", `run "make clients" first`)
	cmd := exec.CommandContext(t.Context(), "node", "--test", "live.test.mjs")
	cmd.Env = append(s.env(), "TEST_PDF="+write(t, "contract.pdf", kit.OnePage()), "TEST_SIGNATURE="+write(t, "signature.png", kit.Signature()))
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Contains(t, string(out), "# pass 1", "%s", out)
}

func write(t *testing.T, name string, b []byte) string {
	t.Helper()
	path := t.TempDir() + "/" + name
	require.NoError(t, os.WriteFile(path, b, 0o600))
	return path
}

// TestServiceSignatures_MatchTheTable checks that the service, the table for the clients' tests, and OpenSSL compute
// the same signatures.
func TestServiceSignatures_MatchTheTable(t *testing.T) {
	t.Parallel()
	b, err := os.ReadFile("../../clients/testdata/signatures.json")
	require.NoError(t, err)
	var rows []struct {
		Name, Secret, ID, Body                              string
		Timestamp                                           int64
		ServiceSignature, StandardSignature, StandardKeyHex string
	}
	require.NoError(t, json.Unmarshal(b, &rows))
	require.NotEmpty(t, rows)
	for _, k := range rows {
		require.Equal(t, k.ServiceSignature, webhook.Sign([]byte(k.Secret), []byte(k.Body)), k.Name)
		h := webhook.StandardHeaders(k.ID, time.Unix(k.Timestamp, 0), []byte(k.Body), []byte(k.Secret))
		require.Equal(t, k.StandardSignature, h.Get(webhook.StandardSignatureHeader), k.Name)
		require.Equal(t, k.ServiceSignature, "sha256="+openssl(t, hexOf(k.Secret), k.Body, "-hex"), k.Name)
		require.Equal(t, k.StandardSignature, "v1,"+openssl(t, k.StandardKeyHex, k.ID+"."+h.Get(webhook.StandardTimestampHeader)+"."+k.Body, "-binary"), k.Name)
	}
}
