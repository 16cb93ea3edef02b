package e2e_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"countersign/internal/testkit"
)

// TestSeveralDocuments: each document is sealed by itself, the envelope's hash
// covers all of them, and copies that are too large for a mail are links.
func TestSeveralDocuments(t *testing.T) {
	t.Parallel()
	s, _ := dev(t, t.TempDir(), "COUNTERSIGN_EMAIL_ATTACHMENT_LIMIT=1000")
	c := s.login(t)
	e := c.create(t, http.StatusCreated, contract(), testkit.OnePage())
	at := "/v1/envelopes/" + e.str("id")
	second := c.multipart(t, http.StatusCreated, "/v1/console/envelopes/"+e.str("id")+"/documents", nil, testkit.OnePage())
	assert.InDelta(t, 2, second["document_order"], 0)
	c.call(t, http.StatusCreated, http.MethodPost, at+"/fields", object{
		"documentId": second.str("id"), "signerId": e.list("signers")[0].str("id"), "type": "signature", "page": 1, "x": 72, "y": 300, "w": 160, "h": 50,
	})
	c.call(t, http.StatusOK, http.MethodPost, at+"/send", nil)
	s.sign(t, s.signingLink(t, "ada@example.com"), "")
	var done object
	eventually(t, "completed", func() bool {
		done = c.call(t, http.StatusOK, http.MethodGet, at, nil)
		return done.str("status") == "completed"
	})

	var hashes string
	var sealed [][]byte
	for _, d := range done.list("documents") {
		if d.str("kind") != "sealed" {
			continue
		}
		status, b := c.do(t, http.MethodGet, at+"/document?kind=sealed&documentId="+d.str("id"), "", nil)
		require.Equal(t, http.StatusOK, status)
		sum := sha256.Sum256(b)
		assert.Equal(t, hex.EncodeToString(sum[:]), d.str("sha256"))
		assert.True(t, bytes.HasPrefix(b, testkit.OnePage()))
		hashes += d.str("sha256")
		sealed = append(sealed, b)
	}
	require.Len(t, sealed, 2)
	final := sha256.Sum256([]byte(hashes))
	assert.Equal(t, hex.EncodeToString(final[:]), done.str("documentHashFinal"))

	m := s.awaitMail(t, "ada@example.com", func(m message) bool { return strings.Contains(m.Text, "/download/") })
	assert.Empty(t, m.Attachments)
	portal := &client{base: s.BaseURL}
	var got [][]byte
	for _, l := range m.Links {
		_, token, ok := strings.Cut(l, "/download/")
		if !ok {
			continue
		}
		info := portal.call(t, http.StatusOK, http.MethodGet, "/v1/download/"+token, nil)
		assert.Equal(t, e.str("id"), info.str("envelopeId"))
		assert.Equal(t, true, info["available"])
		status, b := portal.do(t, http.MethodGet, "/v1/download/"+token+"/document", "", nil)
		require.Equal(t, http.StatusOK, status)
		got = append(got, b)
	}
	assert.ElementsMatch(t, sealed, got, "one link for each document")
	portal.call(t, http.StatusUnauthorized, http.MethodGet, "/v1/download/nonsense", nil)
}
