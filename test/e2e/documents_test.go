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

	countersign "countersign/clients/go"
	"countersign/clients/go/api"
	"countersign/test/kit"
)

// TestSeveralDocuments checks that each document of an envelope is sealed separately, and that the envelope's hash
// covers all documents. Copies that are too large for an email must be sent as links.
func TestSeveralDocuments(t *testing.T) {
	t.Parallel()
	s, _ := dev(t, t.TempDir(), "COUNTERSIGN_EMAIL_ATTACHMENT_LIMIT=1000")
	c := s.app(t)
	e := c.draft(t, agreement("Ada Lovelace", "ada@example.com"), kit.OnePage())
	second, err := c.Upload(t.Context(), e.ID, bytes.NewReader(kit.OnePage()))
	require.NoError(t, err)
	assert.Equal(t, 2, c.envelope(t, e.ID).Documents[1].DocumentOrder)
	field := countersign.NewField(api.FieldTypeSignature, e.Signers[0].ID.String(), 1, 72, 300, 160, 50)
	field.DocumentID = &second.DocumentID
	_, err = c.AddFields(t.Context(), e.ID, field)
	require.NoError(t, err)
	_, err = c.Send(t.Context(), e.ID, "")
	require.NoError(t, err)
	s.sign(t, s.signingLink(t, "ada@example.com"), "")
	done := c.completed(t, e.ID)

	var hashes string
	var sealed [][]byte
	for _, d := range done.Documents {
		if d.Kind != api.DocumentKindSealed {
			continue
		}
		b := c.download(t, e.ID, countersign.DownloadOptions{Kind: countersign.Ptr(countersign.Sealed), DocumentID: &d.ID})
		sum := sha256.Sum256(b)
		assert.Equal(t, hex.EncodeToString(sum[:]), d.Sha256)
		assert.True(t, bytes.HasPrefix(b, kit.OnePage()))
		hashes += d.Sha256
		sealed = append(sealed, b)
	}
	require.Len(t, sealed, 2)
	final := sha256.Sum256([]byte(hashes))
	assert.Equal(t, hex.EncodeToString(final[:]), *done.DocumentHashFinal)

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
		assert.Equal(t, e.ID.String(), info.str("envelopeId"))
		assert.Equal(t, true, info["available"])
		status, b := portal.do(t, http.MethodGet, "/v1/download/"+token+"/document", "", nil)
		require.Equal(t, http.StatusOK, status)
		got = append(got, b)
	}
	assert.ElementsMatch(t, sealed, got, "one link for each document")
	portal.call(t, http.StatusUnauthorized, http.MethodGet, "/v1/download/nonsense", nil)
}
