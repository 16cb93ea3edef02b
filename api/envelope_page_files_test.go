package api_test

import (
	"context"
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"countersign/api"
	"countersign/models"
	"countersign/seal/appearance"
	"countersign/seal/rejection"
	"countersign/test/kit"
)

// stubRenderer is a renderer that can fail and that returns predefined results.
type stubRenderer struct {
	kit.Renderer

	text   *appearance.Text
	lines  *appearance.Lines
	err    error
	before func() // called before a page is rendered, unless it is nil
}

// Page renders a page, or returns the predefined error if it is set.
func (r *stubRenderer) Page(ctx context.Context, file io.ReaderAt, size int64, page int, level appearance.Level) (*appearance.Encoded, error) {
	if r.err != nil {
		return nil, r.err
	}
	if r.before != nil {
		r.before()
	}
	return r.Renderer.Page(ctx, file, size, page, level)
}

// Lines returns the predefined lines and error.
func (r *stubRenderer) Lines(context.Context, io.ReaderAt, int64, int) (*appearance.Lines, error) {
	return r.lines, r.err
}

// Text returns the predefined text and error.
func (r *stubRenderer) Text(context.Context, io.ReaderAt, int64, int) (*appearance.Text, error) {
	return r.text, r.err
}

// TestPageFiles_Failures checks that a page that cannot be rendered results in a specific error.
func TestPageFiles_Failures(t *testing.T) {
	t.Parallel()
	renderer := &stubRenderer{}
	s := onSQLite(t, func(cfg *api.Config) { cfg.Renderer = renderer })
	c, nobody := s.client(t), &client{t: t, s: s}
	e, token := c.sent(contract())
	template := c.template(leaseTemplate())
	document := "/documents/" + e.document(0)["id"].(string) + "/pages/1"
	pages := map[string]*client{
		"/v1/envelopes/" + e.str("id") + document: c, "/v1/signing/" + token + document: nobody,
		"/v1/templates/" + template.str("id") + "/documents/" + template.document(0)["id"].(string) + "/pages/1": c,
	}
	each := func(check func(by *client, path string)) {
		for page, by := range pages {
			check(by, page)
			check(by, page+"/text")
			if by == c { // there is no such route for signers
				check(by, page+"/lines")
			}
		}
	}
	renderer.err = rejection.New(rejection.PDFTooComplex, "The page is too complex.")
	each(func(by *client, path string) { by.get(path).rejected(422, "pdf_too_complex") })

	renderer.err = nil
	renderer.text = &appearance.Text{Page: 1, Width: 600, Height: 800, Truncated: true, Headings: []appearance.Heading{{Level: 1, Line: 1, LastLine: 1}}, Words: []appearance.Word{{Text: "up", W: 9, H: 9, Angle: 270, Line: 1}}}
	original, err := s.store.Envelope(t.Context(), s.app.ID, id(e))
	require.NoError(t, err)
	var keys []string
	for _, key := range s.files(t) {
		keys = append(keys, key)
		require.NoError(t, s.cfg.Blobs.Delete(t.Context(), key))
	}
	require.Contains(t, keys, original.Documents[0].BlobKey)
	each(func(by *client, path string) { by.get(path).rejected(503, "file_missing") })

	for _, key := range keys {
		s.overwrite(t, key, string(kit.OnePage()))
	}
	for page, by := range pages {
		require.Equal(t, object{"text": "up", "x": 0.0, "y": 0.0, "w": 9.0, "h": 9.0, "angle": 270.0, "line": 1.0}, by.get(page + "/text").want(200).body["words"].([]any)[0])
	}

	// The pages of purged documents and archived templates are no longer available.
	c.signs(e, token)
	portal := "/v1/download/" + s.completes(t, e.str("id"), 0) + "/pages/1"
	renderer.err = rejection.New(rejection.PDFTooComplex, "The page is too complex.")
	nobody.get(portal).rejected(422, "pdf_too_complex")
	nobody.get(portal+"/text").rejected(422, "pdf_too_complex")
	_, err = s.store.Change(t.Context(), s.app.ID, id(e), func(e *models.Envelope) error {
		e.SetRetention(1)
		return nil
	})
	require.NoError(t, err)
	s.clock.advance(25 * time.Hour)
	_, err = s.store.Change(t.Context(), s.app.ID, id(e), func(e *models.Envelope) error { return e.Purge(s.act("system")) })
	require.NoError(t, err)
	nobody.get(portal).rejected(410, "document_purged")
	nobody.get(portal+"/text").rejected(410, "document_purged")
	c = s.client(t)
	c.del("/v1/templates/" + template.str("id")).want(204)
	for page := range pages {
		if page != "/v1/signing/"+token+document {
			code := map[bool]string{true: "template_archived", false: "document_purged"}[page[:13] == "/v1/templates"]
			c.get(page).rejected(410, code)
			c.get(page+"/text").rejected(410, code)
			c.get(page+"/lines").rejected(410, code)
			if code == "document_purged" {
				c.get(page+"?entries=true").rejected(410, code)
			}
		}
	}
}
