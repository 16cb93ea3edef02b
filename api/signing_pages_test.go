package api_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"image"
	"image/color"
	"image/png"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"countersign/api"
	"countersign/models"
	"countersign/seal/appearance"
	"countersign/store"
	"countersign/store/blob"
	"countersign/test/kit"
)

// appearanceOf returns the hash of an image, computed as specified in the contract.
func appearanceOf(t *testing.T, b []byte) string {
	t.Helper()
	img, err := png.Decode(bytes.NewReader(b))
	require.NoError(t, err)
	size := img.Bounds().Size()
	pixels := image.NewNRGBA(image.Rectangle{Max: size})
	for y := range size.Y {
		for x := range size.X {
			pixels.Set(x, y, color.NRGBAModel.Convert(img.At(x, y)))
		}
	}
	head := binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(nil, uint32(size.X)), uint32(size.Y))
	sum := sha256.Sum256(append(head, pixels.Pix...))
	return hex.EncodeToString(sum[:])
}

// TestSigningPage_Delivered_IsReproducibleAndRecorded checks that repeated requests return the same page, and that the
// delivered page is the recorded one.
func TestSigningPage_Delivered_IsReproducibleAndRecorded(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, s *service) {
		c, nobody := s.client(t), &client{t: t, s: s}
		data := twoSigners()
		data["signers"].([]object)[2]["routingOrder"] = 1
		e, _ := c.sent(data)
		at, document := s.link(t, e, 0), e.document(0)["id"].(string)
		page := at + "/documents/" + document + "/pages/1"
		for level, width := range map[string]int{"1": 595, "2": 1190, "4": 2380} {
			nobody.call(http.MethodHead, page+"?level="+level, nil).want(200)
			seen, err := s.store.Envelope(t.Context(), s.app.ID, id(e))
			require.NoError(t, err)
			require.False(t, seen.Signers[0].HasDelivered(seen.Documents[0].ID, 1, int(level[0]-'0')), "a HEAD request does not count as delivering a page")
			got := nobody.get(page + "?level=" + level).want(200)
			require.Equal(t, "image/png", got.header.Get("Content-Type"))
			require.Equal(t, "private, max-age=31536000, immutable", got.header.Get("Cache-Control"))
			require.Equal(t, "1", got.header.Get("X-Appearance-Profile"))
			require.Equal(t, got.header.Get("X-Appearance-SHA256"), appearanceOf(t, got.raw))
			img, err := png.DecodeConfig(bytes.NewReader(got.raw))
			require.NoError(t, err)
			require.Equal(t, width, img.Width)
			again := nobody.get(page + "?level=" + level).want(200)
			require.Equal(t, got.raw, again.raw)
			require.Equal(t, got.header.Get("ETag"), again.header.Get("ETag"))
		}
		picture := nobody.get(page).want(200) // default level 2
		text := nobody.get(page + "/text").want(200)
		sum := sha256.Sum256(text.raw)
		require.Equal(t, hex.EncodeToString(sum[:]), text.header.Get("X-Appearance-SHA256"))
		require.Equal(t, "Contract", text.body["words"].([]any)[0].(object)["text"])

		nobody.post(at+"/page-view", object{"documentId": document, "page": 1, "dwellMs": 10}).want(204)
		hedy := s.link(t, e, 2)
		nobody.post(hedy+"/page-view", object{"documentId": document, "page": 1, "dwellMs": 10}).want(204)
		var viewed []object
		for _, ev := range c.get("/v1/envelopes/" + e.str("id")).want(200).body["auditLog"].([]any) {
			if ev := ev.(object); ev["event"] == "page_viewed" {
				viewed = append(viewed, ev["detail"].(object))
			}
		}
		require.Len(t, viewed, 2)
		best := nobody.get(page + "?level=4").want(200).header.Get("X-Appearance-SHA256")
		require.NotEqual(t, picture.header.Get("X-Appearance-SHA256"), best)
		require.EqualValues(t, 4, viewed[0]["level"])
		require.Equal(t, best, viewed[0]["appearance"])
		require.NotContains(t, viewed[1], "appearance", "this client does not request images")

		stored, err := s.store.Envelope(t.Context(), s.app.ID, id(e))
		require.NoError(t, err)
		require.Equal(t, appearance.Current().Number, stored.AppearanceProfile)
		require.Equal(t, models.AppearanceProfile, stored.AppearanceProfile)
		require.Equal(t, []int{0, 1, 2, 4}, stored.Signers[0].DeliveredLevels(stored.Documents[0].ID))
		require.Empty(t, stored.Signers[2].DeliveredLevels(stored.Documents[0].ID))
	})
}

// TestPages_OfOthers_AreNotFound checks that only clients that may read a document can get its pages.
func TestPages_OfOthers_AreNotFound(t *testing.T) {
	t.Parallel()
	s := onSQLite(t, nil)
	c, nobody, other := s.client(t), &client{t: t, s: s}, s.other(t)
	e, _ := c.sent(twoSigners())
	o, _ := c.sent(twoSigners())
	at, document := s.link(t, e, 0), e.document(0)["id"].(string)
	envelope := "/v1/envelopes/" + e.str("id") + "/documents/" + document + "/pages/1"
	for _, suffix := range []string{"", "/text"} {
		c.get(envelope + suffix).want(200)
		nobody.get(at + "/documents/" + document + "/pages/1" + suffix).want(200)
		// Requests for other envelopes, documents, pages and levels are rejected.
		other.get(envelope+suffix).rejected(404, "not_found")
		nobody.get(envelope + suffix).want(401)
		nobody.get(s.link(t, o, 0)+"/documents/"+document+"/pages/1"+suffix).rejected(404, "not_found")
		c.get("/v1/envelopes/"+o.str("id")+"/documents/"+document+"/pages/1"+suffix).rejected(404, "not_found")
		nobody.get(at+"/documents/"+uuid.NewString()+"/pages/1"+suffix).rejected(404, "not_found")
		nobody.get(at+"/documents/x/pages/1"+suffix).rejected(404, "not_found")
		for _, page := range []string{"0", "2", "-1", "x", "99999999999999999999"} {
			nobody.get(at+"/documents/"+document+"/pages/"+page+suffix).rejected(404, "not_found")
			c.get("/v1/envelopes/"+e.str("id")+"/documents/"+document+"/pages/"+page+suffix).rejected(404, "not_found")
		}
	}
	for _, level := range []string{"0", "3", "8", "-1", "x", ""} {
		nobody.get(at+"/documents/"+document+"/pages/1?level="+level).rejected(400, "validation_error")
	}
	entries := "/v1/envelopes/" + e.str("id") + "/documents/" + document + "/pages/1?entries=true"
	other.get(entries).rejected(404, "not_found")
	nobody.get(entries).want(401)
	nobody.get(envelope + "/lines").want(401)
	other.get(envelope+"/lines").rejected(404, "not_found")
	nobody.post(at+"/documents/"+o.document(0)["id"].(string)+"/pages/1/finished", object{"fields": []object{}}).rejected(404, "not_found")

	// The sender can still read a voided envelope, but holders of its links cannot.
	c.post("/v1/envelopes/"+e.str("id")+"/void", nil).want(200)
	for _, suffix := range []string{"", "/text"} {
		nobody.get(at + "/documents/" + document + "/pages/1" + suffix).want(401)
		c.get(envelope + suffix).want(200)
	}
	nobody.post(at+"/documents/"+document+"/pages/1/finished", object{"fields": []object{}}).want(401)
}

// TestPage_RenderedWhileItsFileIsRemoved_IsNotStored checks that no page image of a deleted document remains, even if a
// concurrent request stores it after the deletion.
func TestPage_RenderedWhileItsFileIsRemoved_IsNotStored(t *testing.T) {
	t.Parallel()
	kit.EachDatabase(t, func(t *testing.T, kind string) {
		renderer := &stubRenderer{}
		s := start(t, kit.MigratedURL(t, kind), func(cfg *api.Config) { cfg.Renderer = renderer })
		c := s.client(t)
		e := c.draft(twoSigners())
		renderer.before = func() { c.del("/v1/envelopes/" + e.str("id")).want(204) }
		c.get("/v1/envelopes/"+e.str("id")+"/documents/"+e.document(0)["id"].(string)+"/pages/1").rejected(410, "document_purged")
		kept, err := s.cfg.Blobs.List(t.Context(), "")
		require.NoError(t, err)
		require.Empty(t, kept)
		n, err := countRows(t, s.store, "page_files")
		require.NoError(t, err)
		require.Zero(t, n)
	})
}

// TestSigningContext_OfTheSigningPage_RendersTheFirstPage checks that opening the signing page renders the first page
// before the page requests it.
func TestSigningContext_OfTheSigningPage_RendersTheFirstPage(t *testing.T) {
	t.Parallel()
	s := onSQLite(t, nil)
	c, nobody := s.client(t), &client{t: t, s: s}
	page := &client{t: t, s: s, head: http.Header{"Sec-Fetch-Site": {"same-origin"}}}
	rendered := func(e *response) (levels []int) {
		stored, err := s.store.Envelope(t.Context(), s.app.ID, id(e))
		require.NoError(t, err)
		for _, level := range []int{models.TextLevel, 1, 2, 4} {
			p, err := s.store.PageFile(t.Context(), stored.Documents[0].BlobKey, models.AppearanceProfile, 1, level)
			require.NoError(t, err)
			if p != nil {
				levels = append(levels, level)
			}
		}
		return levels
	}
	unseen, _ := c.sent(twoSigners())
	nobody.get(s.link(t, unseen, 0)).want(200)
	e, _ := c.sent(twoSigners())
	page.get(s.link(t, e, 0)).want(200)
	require.Eventually(t, func() bool { return len(rendered(e)) == 3 }, 30*time.Second, 10*time.Millisecond)
	require.Equal(t, []int{models.TextLevel, 1, 2}, rendered(e))
	require.Empty(t, rendered(unseen))
	stored, err := s.store.Envelope(t.Context(), s.app.ID, id(e))
	require.NoError(t, err)
	require.Empty(t, stored.Signers[0].DeliveredLevels(stored.Documents[0].ID), "no page was delivered")
}

// TestPages_NeedTheCode_WhereDocumentsDo checks that a code is required for reading pages if it is required for reading
// documents.
func TestPages_NeedTheCode_WhereDocumentsDo(t *testing.T) {
	t.Parallel()
	s := onSQLite(t, func(cfg *api.Config) { cfg.CodeBeforeReading = true })
	c, nobody := s.client(t), &client{t: t, s: s}
	e, _ := c.sent(twoSigners())
	at := s.link(t, e, 0)
	page := at + "/documents/" + e.document(0)["id"].(string) + "/pages/1"
	nobody.get(page).rejected(401, "otp_required")
	nobody.get(page+"/text").rejected(401, "otp_required")
	nobody.binds(at).get(page).want(200)
}

// TestPages_OfAlteredFiles_AreRenderedAgainOrRejected checks that a page image is compared with its record before it is
// sent.
func TestPages_OfAlteredFiles_AreRenderedAgainOrRejected(t *testing.T) {
	t.Parallel()
	s := onSQLite(t, nil)
	c := s.client(t)
	e, _ := c.sent(twoSigners())
	stored, err := s.store.Envelope(t.Context(), s.app.ID, id(e))
	require.NoError(t, err)
	page := "/v1/envelopes/" + e.str("id") + "/documents/" + e.document(0)["id"].(string) + "/pages/1?level=1"
	first := c.get(page).want(200)
	recorded, err := s.store.PageFile(t.Context(), stored.Documents[0].BlobKey, 1, 1, 1)
	require.NoError(t, err)
	s.overwrite(t, recorded.Key(), "another picture")
	require.Equal(t, first.raw, c.get(page).want(200).raw)
	require.NoError(t, s.cfg.Blobs.Delete(t.Context(), recorded.Key()))
	require.Equal(t, first.raw, c.get(page).want(200).raw)

	// If the recorded appearance differs, no image is sent.
	db, err := s.store.DB()
	require.NoError(t, err)
	_, err = db.ExecContext(t.Context(), "UPDATE page_files SET appearance = '"+strings.Repeat("0", 64)+"'")
	require.NoError(t, err)
	require.NoError(t, s.cfg.Blobs.Delete(t.Context(), recorded.Key()))
	c.get(page).rejected(503, "appearance_changed")

	// An envelope that was sent with another profile cannot be rendered.
	_, err = db.ExecContext(t.Context(), "UPDATE envelopes SET appearance_profile = 99")
	require.NoError(t, err)
	c.get(page).rejected(503, "profile_unavailable")
}

func (s *service) overwrite(t *testing.T, key, content string) {
	t.Helper()
	f, err := s.cfg.Blobs.Temp()
	require.NoError(t, err)
	defer blob.Discard(f)
	_, err = io.WriteString(f, content)
	require.NoError(t, err)
	require.NoError(t, s.cfg.Blobs.Put(t.Context(), f, key))
}

// TestPages_OfDeletedDraft_AreRemoved checks that the rendered pages of a document are deleted together with it.
func TestPages_OfDeletedDraft_AreRemoved(t *testing.T) {
	t.Parallel()
	s := onSQLite(t, nil)
	c := s.client(t)
	e := c.draft(twoSigners())
	at := "/v1/envelopes/" + e.str("id")
	c.get(at + "/documents/" + e.document(0)["id"].(string) + "/pages/1").want(200)
	c.get(at + "/documents/" + e.document(0)["id"].(string) + "/pages/1/text").want(200)
	pages, err := s.cfg.Blobs.List(t.Context(), blob.Pages)
	require.NoError(t, err)
	require.Len(t, pages, 2)
	c.del(at).want(204)
	pages, err = s.cfg.Blobs.List(t.Context(), blob.Pages)
	require.NoError(t, err)
	require.Empty(t, pages)
	n, err := countRows(t, s.store, "page_files")
	require.NoError(t, err)
	require.Zero(t, n)
}

func countRows(t *testing.T, st *store.Store, table string) (n int, err error) {
	t.Helper()
	db, err := st.DB()
	require.NoError(t, err)
	err = db.QueryRowContext(t.Context(), "SELECT count(*) FROM "+table).Scan(&n)
	return n, err
}

// TestUpload_PageTooLargeToDisplay_IsRejected checks that an upload is rejected if one of its pages is too large to be
// displayed as an image.
func TestUpload_PageTooLargeToDisplay_IsRejected(t *testing.T) {
	t.Parallel()
	c := onSQLite(t, nil).client(t)
	data := contract()
	data["fields"] = nil
	c.upload(http.MethodPost, "/v1/envelopes", data, preparable("Large", "", "/UserUnit 30")).rejected(400, "page_too_large")
}

// TestTemplatePages checks that the pages of a template's documents can be requested.
func TestTemplatePages(t *testing.T) {
	t.Parallel()
	s := onSQLite(t, nil)
	c := s.client(t)
	data := leaseTemplate()
	data["fields"] = nil
	template := c.upload(http.MethodPost, "/v1/templates", data, kit.OnePage()).want(201)
	e := c.draft(contract())
	at := "/v1/templates/" + template.str("id") + "/documents/" + template.document(0)["id"].(string) + "/pages/1"
	want := c.get("/v1/envelopes/" + e.str("id") + "/documents/" + e.document(0)["id"].(string) + "/pages/1").want(200)
	got := c.get(at).want(200)
	require.Equal(t, want.header.Get("X-Appearance-SHA256"), got.header.Get("X-Appearance-SHA256"))
	require.InDelta(t, 595, c.get(at + "/lines").want(200).body["width"], 0)
	require.Equal(t, "Contract", c.get(at + "/text").want(200).body["words"].([]any)[0].(object)["text"])
	s.other(t).get(at).rejected(404, "not_found")
	c.get("/v1/templates/"+template.str("id")+"/documents/"+uuid.NewString()+"/pages/1").rejected(404, "not_found")
	c.del("/v1/templates/" + template.str("id")).want(204)
	c.get(at).rejected(410, "template_archived")
}

// TestPageLines checks the positions of the lines and images on a page. A page with too many lines is marked as
// truncated.
func TestPageLines(t *testing.T) {
	t.Parallel()
	s := onSQLite(t, nil)
	c := s.client(t)
	lines := func(content string) object {
		data := contract()
		data["fields"] = nil
		e := c.upload(http.MethodPost, "/v1/envelopes", data, preparable("a) Tj ET "+content+" BT (b", "", "")).want(201)
		return c.get("/v1/envelopes/" + e.str("id") + "/documents/" + e.document(0)["id"].(string) + "/pages/1/lines").want(200).body
	}
	got := lines("100 600 m 300 600 l S 400 500 m 400 700 l S q 200 0 0 100 50 60 cm BI /W 1 /H 1 /BPC 8 /CS /G ID x EI Q")
	require.Equal(t, []any{object{"at": 200.0, "from": 100.0, "to": 300.0}}, got["horizontal"])
	require.Equal(t, []any{object{"at": 400.0, "from": 100.0, "to": 300.0}}, got["vertical"])
	require.Equal(t, []any{object{"x": 50.0, "y": 640.0, "w": 200.0, "h": 100.0}}, got["images"])
	require.Equal(t, true, lines(strings.Repeat("1 0 m 1 700 l S ", 25_000))["truncated"])
}
