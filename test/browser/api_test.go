package browser_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

type object = map[string]any

type signer struct{ Name, Email, SigningURL, Status, ID string }

type envelope struct {
	ID, Status string
	Signers    []signer
	Documents  []struct{ ID, Kind, SHA256 string }
	AuditLog   []struct {
		Event  string
		Detail object
	}
}

// create creates an envelope from the given files, and sends it.
func (s *service) create(t *testing.T, subject string, signers, fields []object, files ...[]byte) envelope {
	t.Helper()
	return s.createFor(t, "harbour", subject, signers, fields, files...)
}

// createFor is like create, but for a specific tenant.
func (s *service) createFor(t *testing.T, tenant, subject string, signers, fields []object, files ...[]byte) envelope {
	t.Helper()
	var e envelope
	require.NoError(t, s.app.call(&e, "create", object{"tenantId": tenant, "subject": subject, "signers": signers}, pdfFile{files[0]}))
	ids := []string{e.Documents[0].ID}
	for _, f := range files[1:] {
		var added struct{ DocumentID string }
		require.NoError(t, s.app.call(&added, "upload", e.ID, pdfFile{f}))
		ids = append(ids, added.DocumentID)
	}
	for _, f := range fields {
		if n, ok := f["document"].(int); ok {
			f["documentId"] = ids[n]
			delete(f, "document")
		}
		s.json(t, http.MethodPost, "/v1/envelopes/"+e.ID+"/fields", f, nil)
	}
	require.NoError(t, s.app.call(&e, "sendEnvelope", e.ID, "Sign by Friday.\nThe keys are ready."))
	return e
}

// json sends a request as an application.
func (s *service) json(t *testing.T, method, path string, body, out any) {
	t.Helper()
	require.NoError(t, s.api(method, path, body, out))
}

// signerPosts sends a POST request as a signer.
func (s *service) signerPosts(t *testing.T, path string, body object) {
	t.Helper()
	raw, err := json.Marshal(body)
	require.NoError(t, err)
	_, err = s.do(http.MethodPost, s.base+path, "application/json", bytes.NewReader(raw), nil)
	require.NoError(t, err)
}

func (s *service) envelope(t *testing.T, id string) (e envelope) {
	t.Helper()
	require.NoError(t, s.app.call(&e, "envelope", id))
	return e
}

// mail waits for an email to an address. The text and links of the email must together contain all of the given parts.
func (s *service) mail(t *testing.T, to string, parts ...string) (text string, links []string) {
	t.Helper()
	require.Eventually(t, func() bool {
		var list []struct {
			Text  string
			Links []string
		}
		if _, err := s.do(http.MethodGet, s.inbox+"/api/messages?to="+url.QueryEscape(to), "", nil, &list); err != nil {
			return false
		}
		for _, m := range list {
			all := m.Text + " " + strings.Join(m.Links, " ")
			if !slices.ContainsFunc(parts, func(p string) bool { return !strings.Contains(all, p) }) {
				text, links = m.Text, m.Links
				return true
			}
		}
		return false
	}, waitTimeout, 100*time.Millisecond, "no mail to %s with %q", to, parts)
	return text, links
}

// completed waits until an envelope is sealed, and returns the sealed file of its first document.
func (s *service) completed(t *testing.T, id string) []byte {
	t.Helper()
	require.Eventually(t, func() bool { return s.envelope(t, id).Status == "completed" }, waitTimeout, 200*time.Millisecond, "not sealed")
	var file pdfFile
	require.NoError(t, s.app.call(&file, "download", id, "sealed"))
	return file.Base64
}

// leaseFields returns fields of all kinds for signer "0" of the lease.
func leaseFields() []object {
	return []object{
		{"signerId": "0", "type": "initial", "page": 1, "x": 260, "y": 434, "w": 60, "h": 26},
		{"signerId": "0", "type": "signature", "page": 2, "x": 72, "y": 210, "w": 200, "h": 50},
		{"signerId": "0", "type": "text", "page": 2, "x": 72, "y": 292, "w": 240, "h": 20},
		{"signerId": "0", "type": "date", "page": 2, "x": 72, "y": 343, "w": 120, "h": 18},
		{"signerId": "0", "type": "checkbox", "page": 2, "x": 270, "y": 373, "w": 14, "h": 14},
	}
}
