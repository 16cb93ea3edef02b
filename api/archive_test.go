package api_test

import (
	"bytes"
	"encoding/base64"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"countersign/api"
	"countersign/internal/testkit"
	"countersign/models"
	"countersign/store"
	"countersign/store/blob"
)

// TestNobodyNoticesAnArchive: each answer about an archived envelope is that of before, byte by byte, and what
// may be done with an ended envelope goes on.
func TestNobodyNoticesAnArchive(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, s *service) {
		c, staff, nobody := s.client(t), s.signIn(t, models.RoleAdmin), &client{t: t, s: s}
		contract := twoSigners()
		contract["externalId"], contract["fields"].([]object)[0]["name"] = "deal 7", "price"
		e, _ := c.sent(contract)
		picture := base64.StdEncoding.EncodeToString(testkit.Signature())
		var receipt string
		var links []string
		for i, entries := range [][]object{
			{entry(e, 0, "900 euros"), {"fieldId": e.field(1)["id"], "signatureImageBase64": picture}, entry(e, 2, "true")}, {entry(e, 3, "agreed")}, {entry(e, 4, "agreed, too")},
		} {
			at := s.link(t, e, i)
			page := nobody.binds(at)
			page.post(at+"/consent", nil).want(200)
			receipt = page.post(at+"/sign", object{"fields": entries}).want(200).str("receiptToken")
			links = append(links, at, at+"/outcome", at+"/documents", at+"/document")
		}
		sealed := s.seals(t, c, e)
		_, err := s.store.Change(t.Context(), s.app.ID, id(e), func(e *models.Envelope) error { e.SetRetention(30); return nil })
		require.NoError(t, err)
		now, err := s.store.Envelope(t.Context(), s.app.ID, id(e))
		require.NoError(t, err)
		portal, err := s.cfg.Tokens.IssueDownload(now, now.Sealed()[0], now.Signers[0].ID)
		require.NoError(t, err)
		voided, _ := c.sent(twoSigners())
		c.post("/v1/envelopes/"+voided.str("id")+"/void", object{"reason": "by mistake"}).want(200)
		refs := []store.EnvelopeRef{{ID: id(e), AppID: s.app.ID}, {ID: id(voided), AppID: s.app.ID}}

		type said struct {
			path   string
			status int
			head   http.Header
			body   string
		}
		everything := func() (out []said) {
			ask := func(by *client, paths ...string) {
				for _, path := range paths {
					a := by.get(path)
					require.NotEqual(t, 500, a.status, path)
					head := a.header.Clone()
					for name := range head {
						if name == "Date" || strings.Contains(name, "Ratelimit") || strings.Contains(name, "Request-Id") || name == "Set-Cookie" {
							head.Del(name)
						}
					}
					out = append(out, said{path, a.status, head, string(a.raw)})
				}
			}
			for _, of := range []*answer{e, voided} {
				at := "/v1/envelopes/" + of.str("id")
				ask(c, at, at+"/values", at+"/document", at+"/document?kind=sealed", at+"/documents.zip")
				ask(c.with("Accept", "text/csv"), at+"/values")
				at = "/v1/console/envelopes/" + of.str("id")
				ask(staff, at, at+"/document", at+"/documents")
			}
			ask(c, "/v1/envelopes?tenantId=acme", "/v1/envelopes?tenantId=acme&status=completed", "/v1/envelopes?tenantId=acme&externalId=deal+7", "/v1/envelopes?tenantId=acme&signerEmail=ada@example.com", "/v1/events", "/v1/usage")
			ask(staff, "/v1/console/envelopes", "/v1/console/envelopes?q=grace@example.com")
			ask(nobody, links...)
			ask(nobody, "/v1/download/"+portal)
			verified := nobody.send(http.MethodPost, "/v1/verify", "application/pdf", sealed).want(200)
			require.Contains(t, string(verified.raw), "recorded.same")
			return append(out, said{path: "receipt", status: nobody.get("/v1/receipts/" + receipt).want(200).status})
		}
		before := everything()
		for _, ref := range refs {
			require.NoError(t, s.store.Archive(t.Context(), ref))
		}
		after := everything()
		require.Len(t, after, len(before))
		for i := range before {
			require.Equal(t, before[i], after[i])
		}

		archived := func(id uuid.UUID) bool {
			e, err := s.store.Envelope(t.Context(), s.app.ID, id)
			require.NoError(t, err)
			return e.Archived
		}
		at := "/v1/envelopes/" + e.str("id")
		c.post("/v1/envelopes/"+voided.str("id")+"/void", nil)
		c.post(at+"/void", nil).refused(400, "envelope_terminal")
		require.True(t, archived(id(e)), "what is refused restores nothing")
		nobody.get("/v1/download/" + portal + "/document").want(200)
		require.False(t, archived(id(e)), "a download is noted in the audit trail")
		require.Contains(t, string(c.get(at).want(200).raw), "document.downloaded")
		require.NoError(t, s.store.Archive(t.Context(), refs[0]))
		c.with("Idempotency-Key", "again").post(at+"/copies", object{"email": "ada@example.com"}).want(202)
		require.False(t, archived(id(e)))
		again := c.with("Idempotency-Key", "again").post(at+"/copies", object{"email": "ada@example.com"}).want(202)
		require.Equal(t, "true", again.header.Get("Idempotency-Replayed"))
		require.NoError(t, s.store.Archive(t.Context(), refs[0]))
		s.clock.advance(31 * 24 * time.Hour)
		_, err = s.store.Change(t.Context(), s.app.ID, id(e), func(e *models.Envelope) error { return e.Purge(s.act("system")) })
		require.NoError(t, err)
		full := s.client(t).get(at).want(200)
		require.NotContains(t, string(full.raw), "900 euros")
		require.Contains(t, string(full.raw), "document.purged")
	})
}

// TestABrokenArchive is a 503 of which the operator is told, and takes nothing with it that needs no archive. So is a
// file store that does not answer. Once the file can be read, everything is as it was.
func TestABrokenArchive(t *testing.T) {
	t.Parallel()
	for name, url := range databases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var log logBuffer
			var missing atomic.Int64
			s := start(t, url(t), func(cfg *api.Config) {
				cfg.FileMissing = func() { missing.Add(1) }
				cfg.Log = slog.New(slog.NewTextHandler(&log, nil))
			})
			c, staff, nobody := s.client(t), s.signIn(t, models.RoleAdmin), &client{t: t, s: s}
			e, token := c.sent(contract())
			c.signs(e, token)
			sealed := s.seals(t, c, e)
			now, err := s.store.Envelope(t.Context(), s.app.ID, id(e))
			require.NoError(t, err)
			portal, err := s.cfg.Tokens.IssueDownload(now, now.Sealed()[0], now.Signers[0].ID)
			require.NoError(t, err)
			at := "/v1/envelopes/" + e.str("id")
			before := c.get(at).want(200)
			require.NoError(t, s.store.Archive(t.Context(), store.EnvelopeRef{ID: id(e), AppID: s.app.ID}))

			needing := func() (out []*answer) {
				for _, path := range []string{at, at + "/values"} {
					out = append(out, c.get(path))
				}
				return append(out, staff.get("/v1/console"+strings.TrimPrefix(at, "/v1")), nobody.get("/v1/download/"+portal+"/document"),
					c.with("Idempotency-Key", "again").post(at+"/copies", object{"email": "ada@example.com"}), nobody.send(http.MethodPost, "/v1/verify", "application/pdf", sealed))
			}
			others := func() {
				require.Equal(t, at[strings.LastIndex(at, "/")+1:], c.get("/v1/envelopes?tenantId=acme").want(200).body["data"].([]any)[0].(object)["id"])
				require.Equal(t, sealed, c.get(at+"/document?kind=sealed").want(200).raw)
				nobody.get("/v1/download/" + portal).want(200)
			}
			keys, err := s.cfg.Blobs.List(t.Context(), blob.Archives)
			require.NoError(t, err)
			require.Len(t, keys, 1)
			db, err := s.store.DB()
			require.NoError(t, err)
			var key []byte
			require.NoError(t, db.QueryRowContext(t.Context(), "SELECT key FROM envelope_archives").Scan(&key))
			file := s.file(t, keys[0])
			altered, damaged := bytes.Clone(file), bytes.Clone(key)
			altered[len(altered)/2] ^= 1
			damaged[len(damaged)-1] ^= 1
			keepKey := func(key []byte) {
				_, err := db.ExecContext(t.Context(), "UPDATE envelope_archives SET key = $1", key)
				require.NoError(t, err)
			}
			for problem, breaks := range map[string]func(){
				"is not there":                      func() { require.NoError(t, s.cfg.Blobs.Delete(t.Context(), keys[0])) },
				"has another hash than is recorded": func() { s.keepFile(t, keys[0], altered) },
				"has a key that does not decrypt":   func() { keepKey(damaged) },
			} {
				breaks()
				told := missing.Load()
				answers := needing()
				for _, a := range answers {
					a.refused(503, "file_missing")
				}
				require.Equal(t, told+int64(len(answers)), missing.Load())
				require.Contains(t, log.String(), problem)
				others()
				s.keepFile(t, keys[0], file)
				keepKey(key)
				require.Equal(t, string(before.raw), string(c.get(at).want(200).raw))
			}
			require.Contains(t, log.String(), `msg="an envelope's archive cannot be read"`)
			require.Contains(t, log.String(), "envelope="+e.str("id"))

			told := missing.Load()
			s.store.UseArchives(failingOpen{s.cfg.Blobs})
			for _, a := range needing() {
				a.refused(503, "files_unavailable")
				require.NotContains(t, string(a.raw), "bucket")
			}
			require.Equal(t, told, missing.Load(), "nothing is missing")
			require.Contains(t, log.String(), "no route to the bucket")
			others()
			s.store.UseArchives(s.cfg.Blobs)
			require.Equal(t, string(before.raw), string(c.get(at).want(200).raw))
			c.with("Idempotency-Key", "again").post(at+"/copies", object{"email": "ada@example.com"}).want(202)
		})
	}
}

// file is the content of a file of the file store.
func (s *service) file(t *testing.T, key string) []byte {
	t.Helper()
	f, err := s.cfg.Blobs.Open(t.Context(), key)
	require.NoError(t, err)
	defer func() { require.NoError(t, f.Close()) }()
	content, err := io.ReadAll(f)
	require.NoError(t, err)
	return content
}

// keepFile puts a file into the file store.
func (s *service) keepFile(t *testing.T, key string, content []byte) {
	t.Helper()
	f, err := s.cfg.Blobs.Temp()
	require.NoError(t, err)
	defer blob.Discard(f)
	_, err = f.Write(content)
	require.NoError(t, err)
	require.NoError(t, s.cfg.Blobs.Keep(t.Context(), f, key))
}
