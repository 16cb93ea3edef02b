package api_test

import (
	"archive/zip"
	"bytes"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"countersign/models"
	"countersign/test/kit"
)

// TestSealedFiles_AsZIP checks that a ZIP archive contains all sealed files, and is available as soon as they exist.
func TestSealedFiles_AsZIP(t *testing.T) {
	t.Parallel()
	s := onSQLite(t, nil)
	c := s.client(t)
	e := c.draft(contract())
	at := "/v1/envelopes/" + e.str("id")
	c.send(http.MethodPost, at+"/document", "application/octet-stream", kit.OnePage()).want(200)
	sent := c.post(at+"/send", nil).want(200)
	c.get(at+"/documents.zip").rejected(409, "envelope_not_completed")
	c.signs(sent, strings.TrimPrefix(sent.signer(0)["signingUrl"].(string), "https://sign.example.com/sign/"))
	s.completes(t, e.str("id"), 1)
	got := c.get(at + "/documents.zip").want(200)
	require.Equal(t, "application/zip", got.header.Get("Content-Type"))
	require.Equal(t, "attachment; filename=Contract.zip", got.header.Get("Content-Disposition"))
	z, err := zip.NewReader(bytes.NewReader(got.raw), int64(len(got.raw)))
	require.NoError(t, err)
	var names []string
	for _, f := range z.File {
		names = append(names, f.Name)
		r, err := f.Open()
		require.NoError(t, err)
		b, err := io.ReadAll(r)
		require.NoError(t, err)
		require.Equal(t, kit.OnePage(), b)
	}
	require.Equal(t, []string{"Contract (1) contract.pdf", "Contract (2).pdf"}, names)
	require.NoError(t, s.cfg.Blobs.Delete(t.Context(), "envelopes/"+e.str("id")+"/sealed/x.pdf"))
	c.get(at+"/documents.zip").rejected(503, "file_missing")
	s.clock.advance(48 * time.Hour)
	_, err = s.store.Change(t.Context(), s.app.ID, uuid.MustParse(e.str("id")), func(e *models.Envelope) error { return e.Purge(s.act("system")) })
	require.NoError(t, err)
	s.client(t).get(at+"/documents.zip").rejected(410, "document_purged")
}
