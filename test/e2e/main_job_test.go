package e2e_test

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	countersign "countersign/clients/go"
	"countersign/clients/go/api"
	"countersign/test/kit"
)

// TestMainJob checks the main use of the service with three signers in two routing groups, from the application's
// first call to the sealed file, its copies and the webhooks.
func TestMainJob(t *testing.T) {
	t.Parallel()
	t.Run("dev on SQLite", func(t *testing.T) {
		t.Parallel()
		s, _ := dev(t, t.TempDir())
		mainJob(t, s)
	})
	t.Run("api and worker on PostgreSQL", func(t *testing.T) {
		t.Parallel()
		traces := listenTraces(t)
		s := production(t, append(traces.settings(), "COUNTERSIGN_ENCRYPT_FILES=true")...)
		mainJob(t, s)
		checkTraces(t, traces)
		checkRedaction(t, s, traces)
		checkMetrics(t, s)
		checkAudit(t, s)
		checkCertificateWarning(t, s)
		checkAddresses(t, s)
		checkEncryption(t, s)
	})
}

const hookSecret = "webhook secret of the test"

type hook struct {
	mu     sync.Mutex
	bodies []object
	server *httptest.Server
}

// listenHook starts an endpoint that receives deliveries and verifies the signature of each.
func listenHook(t *testing.T) *hook {
	t.Helper()
	h := &hook{}
	h.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, err := io.ReadAll(r.Body)
		assert.NoError(t, err)
		m := hmac.New(sha256.New, []byte(hookSecret))
		m.Write(b)
		assert.Equal(t, "sha256="+hex.EncodeToString(m.Sum(nil)), r.Header.Get("X-Service-Signature"))
		read, err := countersign.Verify(b, r.Header, hookSecret)
		assert.NoError(t, err)
		var o object
		assert.NoError(t, json.Unmarshal(b, &o))
		assert.Equal(t, o.str("event"), string(read.Event))
		h.mu.Lock()
		defer h.mu.Unlock()
		h.bodies = append(h.bodies, o)
		w.WriteHeader(http.StatusOK)
	}))
	t.Cleanup(h.server.Close)
	return h
}

func (h *hook) count(event string) (n int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, b := range h.bodies {
		if b.str("event") == event {
			n++
		}
	}
	return n
}

func mainJob(t *testing.T, s *service) {
	t.Helper()
	c := s.app(t)
	h := listenHook(t)
	registered := c.subscribe(t, h.server.URL, hookSecret,
		"envelope.created", "envelope.sent", "envelope.completed", "envelope.declined", "envelope.voided", "envelope.expired",
		"signer.viewed", "signer.signed", "signer.declined", "signer.otp_failed")

	pdf := kit.OnePage()
	initials := countersign.NewField(api.FieldTypeInitial, "2", 1, 72, 842-400-40, 60, 40)
	initials.Origin = countersign.Ptr(api.FieldRequestOriginBottomLeft)
	envelope := c.draft(t, countersign.EnvelopeRequest{
		TenantID: "acme", Subject: countersign.Ptr("Vertrag für Łukasz"),
		Signers: []countersign.SignerRequest{
			person("Ada Lovelace", "ada@example.com"),
			{Name: "Łukasz Nowak", Email: "lukasz@example.com"},
			{
				Name: "Cleo", Email: "cleo@example.com", Phone: countersign.Ptr("+49 1512 3456789"),
				AuthMethod: countersign.Ptr(api.SignerRequestAuthMethodSmsOtp), RoutingOrder: countersign.Ptr(2),
			},
		},
		Fields: []countersign.FieldRequest{
			countersign.NewField(api.FieldTypeSignature, "0", 1, 72, 300, 160, 50),
			countersign.NewField(api.FieldTypeSignature, "lukasz@example.com", 1, 300, 300, 160, 50),
			countersign.NewField(api.FieldTypeText, "1", 1, 300, 360, 160, 20),
			initials,
			countersign.NewField(api.FieldTypeDate, "2", 1, 150, 400, 100, 20),
			countersign.NewField(api.FieldTypeCheckbox, "2", 1, 300, 400, 16, 16),
		},
	}, pdf)
	id := envelope.ID
	assert.Equal(t, api.EnvelopeStatusDraft, envelope.Status)
	assert.InDelta(t, 400, envelope.Fields[3].Y, 0.001, "bottom-left must be normalized")
	sum := sha256.Sum256(pdf)
	assert.Equal(t, hex.EncodeToString(sum[:]), *envelope.DocumentHashOriginal)
	_, err := c.Download(t.Context(), id, countersign.Sealed)
	rejected(t, http.StatusConflict, err)

	sent, err := c.Send(t.Context(), id, "Please sign,\nthank you.")
	require.NoError(t, err)
	assert.Equal(t, api.EnvelopeStatusSent, sent.Status)
	assert.Contains(t, *sent.Signers[0].SigningURL, s.BaseURL+"/sign/")
	assert.Nil(t, sent.Signers[2].SigningURL, "the signer's group has not been opened")
	_, err = c.Send(t.Context(), id, "")
	rejected(t, http.StatusBadRequest, err)

	ada := s.signingLink(t, "ada@example.com")
	invitation := s.awaitMail(t, "ada@example.com", func(m message) bool { return strings.Contains(m.Text, "/sign/") })
	assert.Equal(t, "Vertrag für Łukasz", invitation.Subject)
	assert.Contains(t, invitation.Text, "Please sign,\n")
	status, err := get(t, s.BaseURL+"/sign/"+ada)
	require.NoError(t, err)
	assert.Equal(t, http.StatusOK, status, "the link must work in a browser")
	assert.Equal(t, "signed", s.sign(t, ada, "").str("status"))
	assert.Empty(t, s.messages(t, "cleo@example.com"), "the second group must wait for the whole first group")
	again := &client{base: s.BaseURL}
	again.call(t, http.StatusGone, http.MethodGet, "/v1/signing/"+ada, nil)
	again.call(t, http.StatusConflict, http.MethodPost, "/v1/signing/"+ada+"/sign", object{"fields": []object{}})

	s.sign(t, s.signingLink(t, "lukasz@example.com"), "lukasz@example.com")
	cleo := s.signingLink(t, "cleo@example.com")
	// An email is recorded in the audit trail after it has been sent, unless all signers have signed by then.
	// Therefore, wait for the records before signing.
	eventually(t, "the invitations are recorded", func() bool {
		n := 0
		for _, ev := range c.envelope(t, id).AuditLog {
			if ev.Event == "invitation.sent" {
				n++
			}
		}
		return n == 3
	})
	done := s.sign(t, cleo, "+4915123456789")
	assert.Equal(t, "in_progress", done.str("envelopeStatus"))

	full := c.completed(t, id)
	sealed := c.sealed(t, id)
	checkSealed(t, full, pdf, sealed)
	status, report := (&client{base: s.BaseURL}).do(t, http.MethodPost, "/v1/verify", "application/pdf", bytes.NewReader(sealed))
	require.Equal(t, http.StatusOK, status, "%s", report)
	var verified object
	require.NoError(t, json.Unmarshal(report, &verified))
	assert.Equal(t, "valid", verified.str("verdict"), "the service must trust its own seals: %s", report)
	_, err = c.Void(t.Context(), id, "")
	rejected(t, http.StatusBadRequest, err)

	for _, to := range []string{"ada@example.com", "lukasz@example.com", "cleo@example.com"} {
		m := s.awaitMail(t, to, func(m message) bool { return len(m.Attachments) == 1 })
		assert.Equal(t, "Vertrag für Łukasz.pdf", m.Attachments[0].Name)
		b := fetch(t, s.InboxURL+m.Attachments[0].URL)
		assert.Equal(t, sealed, b, "everyone must receive the sealed file")
	}
	for event, n := range map[string]int{"envelope.created": 1, "envelope.sent": 1, "signer.viewed": 3, "signer.signed": 3, "envelope.completed": 1} {
		eventually(t, event, func() bool { return h.count(event) == n })
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, b := range h.bodies {
		if b.str("event") == "envelope.completed" {
			data := object(b["data"].(map[string]any))
			assert.Equal(t, id.String(), b.str("envelopeId"))
			assert.Equal(t, id.String(), data.str("envelopeId"))
			assert.Equal(t, data.str("completedAt"), b.str("completedAt"))
			assert.Equal(t, data.str("documentUrl"), b.str("documentUrl"))
			assert.Len(t, data.list("signers"), 3)
		}
	}
	_, err = c.API.DeleteWebhookWithResponse(t.Context(), registered)
	require.NoError(t, err)
	_, err = c.API.DeleteWebhookWithResponse(t.Context(), registered)
	rejected(t, http.StatusNotFound, err)
}

func fetch(t *testing.T, url string) []byte {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	require.NoError(t, err)
	res, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	defer func() { require.NoError(t, res.Body.Close()) }()
	b, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	return b
}

// checkSealed verifies the sealed file with third-party tools.
func checkSealed(t *testing.T, envelope *countersign.Envelope, original, sealed []byte) {
	t.Helper()
	require.True(t, bytes.HasPrefix(sealed, original), "the original's bytes must not change")
	sum := sha256.Sum256(sealed)
	assert.Equal(t, hex.EncodeToString(sum[:]), *envelope.DocumentHashFinal)
	audit := map[string]int{}
	for _, ev := range envelope.AuditLog {
		audit[ev.Event]++
		if ev.Event == "document.sealed" {
			assert.Equal(t, *envelope.DocumentHashFinal, ev.Detail["sha256"])
		}
	}
	for event, n := range map[string]int{
		"envelope.created": 1, "document.added": 1, "signer.added": 3, "field.added": 6, "envelope.sent": 1, "invitation.sent": 3, "signer.viewed": 3,
		"otp.requested": 2, "otp.verified": 2, "consent.given": 3, "page_viewed": 3, "signer.signed": 3, "document.sealed": 1, "envelope.completed": 1,
	} {
		assert.Equal(t, n, audit[event], event)
	}

	file := filepath.Join(t.TempDir(), "sealed.pdf")
	require.NoError(t, os.WriteFile(file, sealed, 0o600))
	sig := tool(t, "pdfsig", "-nocert", file)
	assert.Contains(t, sig, "Signature is Valid")
	assert.Contains(t, sig, "Total document signed")
	assert.Contains(t, sig, "ETSI.CAdES.detached")
	tool(t, "qpdf", "--check", file)
	text := tool(t, "pdftotext", "-layout", file, "-")
	for _, want := range []string{"Zoë Łukasz", "2026-11-21", "Ada Lovelace", "Łukasz Nowak", envelope.ID.String()} {
		assert.Contains(t, text, want)
	}
	report, _ := run(t, nil, "verify", file) // the exit status is 1, because no sealer is trusted
	assert.Contains(t, report, "The sealed bytes are unchanged")
	assert.NotContains(t, report, "BROKEN")
	sealed[len(original)/2] ^= 1
	require.NoError(t, os.WriteFile(file, sealed, 0o600))
	report, err := run(t, nil, "verify", file)
	require.Error(t, err)
	assert.Contains(t, report, "BROKEN")
	sealed[len(original)/2] ^= 1
}

func tool(t *testing.T, name string, args ...string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), name, args...).CombinedOutput()
	require.NoError(t, err, "%s: %s", name, out)
	return string(out)
}
