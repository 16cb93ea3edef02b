package api_test

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"log/slog"
	"mime"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"countersign/api"
	"countersign/internal/credential"
	"countersign/models"
	"countersign/test/kit"
)

// TestDownloadLink_Lifetime checks that a link issued on day 300 is valid on day 600, and that every link returns 410
// after the retention period.
func TestDownloadLink_Lifetime(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, s *service) {
		const day = 24 * time.Hour
		nobody := &client{t: t, s: s}
		for _, days := range []int{0, 700} {
			e, token := s.client(t).sent(contract())
			s.client(t).signs(e, token)
			first := s.completes(t, e.str("id"), days)
			s.clock.advance(300 * day)
			env, err := s.store.Envelope(t.Context(), s.app.ID, uuid.MustParse(e.str("id")))
			require.NoError(t, err)
			again, err := s.cfg.Tokens.IssueDownload(env, env.Sealed()[0], env.Signers[0].ID)
			require.NoError(t, err)
			issued := s.clock.now()
			shown, err := time.Parse(time.RFC3339Nano, nobody.get("/v1/download/"+again).want(200).str("expiresAt"))
			require.NoError(t, err)
			require.WithinDuration(t, issued.Add(credential.DownloadLifetime), shown, time.Minute)
			s.clock.advance(300 * day)
			nobody.get("/v1/download/"+first).rejected(401, "download_link_invalid")
			nobody.get("/v1/download/" + again).want(200)
			nobody.get("/v1/download/" + again + "/document").want(200)
			late, err := s.cfg.Tokens.IssueDownload(env, env.Sealed()[0], env.Signers[0].ID)
			require.NoError(t, err)
			if days > 0 {
				shown, err = time.Parse(time.RFC3339Nano, nobody.get("/v1/download/"+late).want(200).str("expiresAt"))
				require.NoError(t, err)
				require.WithinDuration(t, *env.RetainedUntil(), shown, time.Second, "the retention period ends earlier")
			}
			s.clock.advance(101 * day)
			if days > 0 {
				nobody.get("/v1/download/"+late).rejected(410, "document_purged")
				nobody.get("/v1/download/"+late+"/document").rejected(410, "document_purged")
			} else {
				nobody.get("/v1/download/" + late).want(200)
			}
		}
	})
}

// TestDownload_IsRecordedOnceAnHour checks that repeated downloads by the same recipient within an hour add only one
// event.
func TestDownload_IsRecordedOnceAnHour(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, s *service) {
		c, nobody := s.client(t), &client{t: t, s: s}
		e, token := c.sent(contract())
		c.signs(e, token)
		link := "/v1/download/" + s.completes(t, e.str("id"), 0)
		events := func() int {
			n := 0
			for _, ev := range s.client(t).get("/v1/envelopes/" + e.str("id")).want(200).body["auditLog"].([]any) {
				if ev.(object)["event"] == "document.downloaded" {
					n++
				}
			}
			return n
		}
		nobody.call(http.MethodHead, link+"/document", nil).want(200)
		require.Zero(t, events(), "a HEAD request is not recorded as a download")
		for range 50 {
			nobody.get(link + "/document").want(200)
		}
		require.Equal(t, 1, events())
		s.clock.advance(61 * time.Minute)
		nobody.get(link + "/document").want(200)
		nobody.get(link + "/document").want(200)
		require.Equal(t, 2, events())
	})
}

// TestDownload_RangesAndConditions checks that each download supports range and conditional requests, and that an error
// response has none of the file's headers.
func TestDownload_RangesAndConditions(t *testing.T) {
	t.Parallel()
	s := onSQLite(t, nil)
	c, nobody := s.client(t), &client{t: t, s: s}
	c.call(http.MethodPut, "/v1/tenants/acme/branding", object{"logo": testLogo}).want(200)
	e, token := c.sent(attaching())
	at, link := "/v1/envelopes/"+e.str("id"), "/v1/signing/"+token
	attach := func(e *response, token string) string {
		nobody.get("/v1/signing/" + token).want(200)
		nobody.post("/v1/signing/"+token+"/consent", nil).want(200)
		return nobody.attach(token, e.field(0)["id"], "a.pdf", kit.OnePage()).want(201).str("attachmentId")
	}
	attached := attach(e, token)
	// The sender downloads an attachment after the signer has signed.
	sender, other := c.sent(attaching())
	given := attach(sender, other)
	nobody.post("/v1/signing/"+other+"/sign", object{"fields": []object{
		{"fieldId": sender.field(0)["id"], "attachmentId": given}, {"fieldId": sender.field(3)["id"], "textValue": "x"},
	}}).want(200)
	signed, second := c.sent(contract())
	c.signs(signed, second)
	portal := "/v1/download/" + s.completes(t, signed.str("id"), 0)
	// The second signer downloads the signature image of the first signer.
	two, _ := c.sent(twoSigners())
	first := s.link(t, two, 0)
	by := nobody.binds(first)
	by.get(first).want(200)
	by.post(first+"/consent", nil).want(200)
	by.post(first+"/sign", object{"fields": []object{
		entry(two, 0, "text"), entry(two, 2, "true"), {"fieldId": two.field(1)["id"], "signatureImageBase64": base64.StdEncoding.EncodeToString(kit.Signature())},
	}}).want(200)
	last := s.link(t, two, 1)
	reader := nobody.binds(last)
	drawn := reader.get(last).want(200).body["filled"].([]any)[1].(object)["picture"].(string)
	template := c.template(leaseTemplate())
	draft := "/v1/envelopes/" + e.str("id") + "/documents/" + e.document(0)["id"].(string) + "/pages/1"
	ofTemplate := "/v1/templates/" + template.str("id") + "/documents/" + template.document(0)["id"].(string) + "/pages/1"
	shown := link + "/documents/" + e.document(0)["id"].(string) + "/pages/1"
	for path, by := range map[string]*client{
		draft: c, draft + "/text": c, ofTemplate: c, ofTemplate + "/text": c, shown: nobody, shown + "/text": nobody,
		at + "/document": c, "/v1/console/envelopes/" + e.str("id") + "/document": c, "/v1/templates/" + template.str("id") + "/document": c, "/v1/envelopes/" + sender.str("id") + "/attachments/" + given: c,
		link + "/document": nobody, link + "/documents/" + e.document(0)["id"].(string): nobody, link + "/attachments/" + attached: nobody, link + "/logo": nobody, last + "/pictures/" + drawn: reader,
		portal + "/pages/1": nobody, portal + "/pages/1/text": nobody, portal + "/document": nobody, portal + "/logo": nobody,
	} {
		whole := by.get(path).want(200)
		etag := whole.header.Get("ETag")
		require.NotEmpty(t, etag, path)
		part := by.with("Range", "bytes=0-3").get(path).want(206)
		require.Equal(t, whole.raw[:4], part.raw, path)
		require.Equal(t, fmt.Sprintf("bytes 0-3/%d", len(whole.raw)), part.header.Get("Content-Range"))
		require.Empty(t, by.with("If-None-Match", etag).get(path).want(304).raw, path)
		for a, code := range map[*response]string{
			by.with("Range", "bytes=9000000-").get(path).want(416): "range_not_satisfiable", by.with("If-Match", `"another"`).get(path).want(412): "precondition_failed",
		} {
			require.Equal(t, code, a.body["error"], path)
			require.Equal(t, object{}, a.body["errors"])
			require.Equal(t, "application/json; charset=utf-8", a.header.Get("Content-Type"))
			require.Empty(t, a.header.Get("ETag"))
			require.Empty(t, a.header.Get("Content-Disposition"))
			require.Equal(t, "no-store", a.header.Get("Cache-Control"))
			if a.status == 416 {
				require.Regexp(t, `^bytes \*/[0-9]+$`, a.header.Get("Content-Range"))
			}
		}
	}
}

// TestDownload_MissingFile checks that a request for a missing file results in a temporary error, and that the operator
// is notified.
func TestDownload_MissingFile(t *testing.T) {
	t.Parallel()
	missing := 0
	var log bytes.Buffer
	s := onSQLite(t, func(cfg *api.Config) {
		cfg.FileMissing = func() { missing++ }
		cfg.Log = slog.New(slog.NewTextHandler(&log, nil))
	})
	c, nobody := s.client(t), &client{t: t, s: s}
	e, token := c.sent(contract())
	open, link := c.sent(contract())
	c.signs(e, token)
	portal := "/v1/download/" + s.completes(t, e.str("id"), 0)
	require.Equal(t, true, nobody.get(portal).want(200).body["available"])
	keys, err := s.cfg.Blobs.List(t.Context(), "envelopes/")
	require.NoError(t, err)
	for _, k := range keys {
		require.NoError(t, s.cfg.Blobs.Delete(t.Context(), k))
	}
	require.Equal(t, false, nobody.get(portal).want(200).body["available"])
	doc := open.body["documents"].([]any)[0].(object)["id"].(string)
	for path, caller := range map[string]*client{
		portal + "/document": nobody, "/v1/signing/" + link + "/document": nobody, "/v1/signing/" + link + "/documents/" + doc: nobody,
		"/v1/envelopes/" + e.str("id") + "/document": c, "/v1/console/envelopes/" + e.str("id") + "/document?kind=sealed": c,
	} {
		caller.get(path).rejected(503, "file_missing")
	}
	require.Equal(t, 6, missing)
	require.Contains(t, log.String(), "missing from the file store")
	require.NotContains(t, log.String(), token)
}

// heavyPicture returns an image that is small but slow to decode.
func heavyPicture(t *testing.T) string {
	t.Helper()
	img := image.NewNRGBA(image.Rect(0, 0, 2000, 2000))
	img.Set(1, 1, color.Black)
	var b bytes.Buffer
	require.NoError(t, (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&b, img))
	return base64.StdEncoding.EncodeToString(b.Bytes())
}

// TestHead_EqualsGet checks that a HEAD response equals the GET response without its body, and that HEAD records
// nothing.
func TestHead_EqualsGet(t *testing.T) {
	t.Parallel()
	s := onSQLite(t, nil)
	c, nobody := s.client(t), &client{t: t, s: s}
	e, token := c.sent(contract())
	for path, caller := range map[string]*client{
		"/healthz": nobody, "/v1/envelopes?tenantId=acme": c, "/v1/envelopes/" + e.str("id"): c, "/v1/envelopes/" + e.str("id") + "/document": c,
		"/v1/signing/" + token: nobody, "/v1/signing/" + token + "/document": nobody, "/v1/webhooks": c,
	} {
		a := caller.call(http.MethodHead, path, nil).want(200)
		require.Empty(t, a.raw, path)
		require.NotEmpty(t, a.header.Get("Content-Type"), path)
	}
	require.Equal(t, "sent", c.get("/v1/envelopes/" + e.str("id")).want(200).body["status"], "nobody has opened the link")
	nobody.call(http.MethodHead, "/v1/envelopes?tenantId=acme", nil).want(401)
	nobody.call(http.MethodHead, "/v1/signing/"+token+"/sign", nil).want(405)
	nobody.call(http.MethodPut, "/v1/signing/"+token+"/sign", object{}).rejected(405, "method_not_allowed")
}

// TestPortal_Branding checks that the holder of a download link gets the sender's branding and logo, even after the
// document has been purged.
func TestPortal_Branding(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, s *service) {
		c, nobody := s.client(t), &client{t: t, s: s}
		e, token := c.sent(contract())
		c.signs(e, token)
		link := "/v1/download/" + s.completes(t, e.str("id"), 30)
		require.NotContains(t, nobody.get(link).want(200).body, "branding")
		nobody.get(link+"/logo").rejected(404, "not_found")

		const at = "/v1/tenants/acme/branding"
		c.call(http.MethodPut, at, object{"primaryColor": "#7a1f3d", "footer": "Acme Ltd"}).want(200)
		shown := nobody.get(link).want(200).body["branding"].(object)
		require.Equal(t, object{"primaryColor": "#7a1f3d", "footer": "Acme Ltd", "supportUrl": nil, "logo": nil}, shown)
		nobody.get(link+"/logo").rejected(404, "not_found")
		c.call(http.MethodPut, at, object{"logo": testLogo}).want(200)
		require.Len(t, nobody.get(link).want(200).body["branding"].(object)["logo"], 64)
		a := nobody.get(link + "/logo").want(200)
		require.Equal(t, "image/png", a.header.Get("Content-Type"))
		require.NotEmpty(t, a.raw)
		nobody.get("/v1/download/nobody/logo").rejected(401, "download_link_invalid")
		nobody.get("/v1/download/"+token+"/logo").rejected(401, "download_link_invalid")
		s.clock.advance(31 * 24 * time.Hour)
		gone := nobody.get(link).rejected(410, "document_purged").body["details"].(object)
		require.Equal(t, []any{"#7a1f3d", "Acme Ltd"}, []any{gone["branding"].(object)["primaryColor"], gone["branding"].(object)["footer"]}, "the page must show the sender's branding")
		require.Equal(t, a.raw, nobody.get(link+"/logo").want(200).raw)
		c = s.client(t)
		c.call(http.MethodDelete, at, nil).want(204)
		require.Nil(t, nobody.get(link).rejected(410, "document_purged").body["details"])
	})
}

func TestPortal_Retention(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, s *service) {
		c := s.client(t)
		e, token := c.sent(contract())
		c.signs(e, token)
		portal := "/v1/download/" + s.completes(t, e.str("id"), 30)
		nobody := &client{t: t, s: s}
		nobody.get(portal).want(200)
		file := nobody.get(portal + "/document").want(200)
		require.Equal(t, kit.OnePage(), file.raw)
		full := c.get("/v1/envelopes/" + e.str("id")).want(200)
		require.Equal(t, s.clock.now().AddDate(0, 0, 30).Format(time.DateOnly), full.body["documents"].([]any)[1].(object)["retentionUntil"])

		purge := func(e *models.Envelope) error { return e.Purge(s.act("system")) }
		id := uuid.MustParse(e.str("id"))
		_, err := s.store.Change(t.Context(), s.app.ID, id, purge)
		require.ErrorContains(t, err, "retention_not_due")
		s.clock.advance(31 * 24 * time.Hour)
		_, err = s.store.Change(t.Context(), s.app.ID, id, purge)
		require.NoError(t, err)
		nobody.get(portal).rejected(410, "document_purged")
		nobody.get(portal+"/document").rejected(410, "document_purged")
		c = s.client(t)
		for _, prefix := range []string{"/v1", "/v1/console"} {
			c.get(prefix+"/envelopes/"+e.str("id")+"/document").rejected(410, "document_purged")
		}
		full = c.get("/v1/envelopes/" + e.str("id")).want(200)
		require.Equal(t, 2, strings.Count(string(full.raw), `"document.purged"`), "one purge record for each file")
		require.Equal(t, "purged", full.body["documents"].([]any)[0].(object)["purgeStatus"])
	})
}

// TestDownload_PurgedDuringTheRequest checks that a file that is purged during the request is reported as purged rather
// than missing.
func TestDownload_PurgedDuringTheRequest(t *testing.T) {
	t.Parallel()
	files := &purgingStore{}
	s := onSQLite(t, func(cfg *api.Config) { files.Store, cfg.Blobs = cfg.Blobs, files })
	c := s.client(t)
	e, token := c.sent(contract())
	c.signs(e, token)
	s.completes(t, e.str("id"), 1)
	s.clock.advance(25 * time.Hour)
	purge := sync.OnceFunc(func() {
		before, err := s.store.Envelope(t.Context(), s.app.ID, uuid.MustParse(e.str("id")))
		require.NoError(t, err)
		_, err = s.store.Change(t.Context(), s.app.ID, before.ID, func(e *models.Envelope) error { return e.Purge(s.act("system")) })
		require.NoError(t, err)
		for _, d := range before.Documents {
			require.NoError(t, files.Delete(t.Context(), d.BlobKey))
		}
	})
	files.purge = purge
	s.client(t).get("/v1/envelopes/"+e.str("id")+"/document?kind=sealed").rejected(410, "document_purged")
}

// TestSealedDocument_IsFoundByID checks that a sealed document is found only by its own ID and the ID of its original.
func TestSealedDocument_IsFoundByID(t *testing.T) {
	t.Parallel()
	s := onSQLite(t, nil)
	c := s.client(t)
	e, token := c.sent(contract())
	c.signs(e, token)
	s.completes(t, e.str("id"), 0)
	at := "/v1/envelopes/" + e.str("id")
	docs := c.get(at).want(200).body["documents"].([]any)
	require.Len(t, docs, 2)
	for _, d := range docs {
		id, _ := d.(object)["id"].(string)
		c.get(at + "/document?kind=sealed&documentId=" + id).want(200)
	}
	c.get(at+"/document?kind=sealed&documentId="+newID().String()).rejected(404, "not_found")
	c.get(at+"/document?documentId="+newID().String()).rejected(404, "not_found")
}

// TestDownload_FileName checks that, for every subject, the header is valid and the file name is usable.
func TestDownload_FileName(t *testing.T) {
	t.Parallel()
	s := onSQLite(t, nil)
	c := s.client(t)
	for subject, want := range map[string]string{
		`Say "hi"; filename="evil.exe"`: `Say _hi_; filename=_evil.exe_.pdf`, `C:\x\..\y`: `C__x_.._y.pdf`, `100% "done" ünïcode 契約 👩‍⚖️`: `100% _done_ ünïcode 契約 👩‍⚖️.pdf`,
		`a%22b`: `a%22b.pdf`, `x'y(z)`: `x'y(z).pdf`,
	} {
		data := contract()
		data["subject"] = subject
		e := c.draft(data)
		header := c.get("/v1/envelopes/" + e.str("id") + "/document").want(200).header.Get("Content-Disposition")
		_, params, err := mime.ParseMediaType(header)
		require.NoError(t, err, header)
		require.Equal(t, want, params["filename"], header)
		for _, r := range header {
			require.True(t, r >= ' ' && r <= '~', header)
		}
		plain, _, _ := strings.Cut(header, "; filename*=") // read by clients that do not support filename*
		_, params, err = mime.ParseMediaType(plain)
		require.NoError(t, err, header)
		require.Len(t, params["filename"], utf8.RuneCountInString(want), header)
	}
}
