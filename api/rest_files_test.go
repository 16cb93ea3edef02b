package api_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"countersign/api"
	"countersign/models"
	"countersign/store"
	"countersign/store/blob"
	"countersign/test/kit"
)

// TestDocument_PreparedDuringTheRequest checks that a request returns the new file if the document is prepared again in
// the meantime.
func TestDocument_PreparedDuringTheRequest(t *testing.T) {
	t.Parallel()
	files := &purgingStore{purge: func() {}}
	s := onSQLite(t, func(cfg *api.Config) { files.Store, cfg.Blobs = cfg.Blobs, files })
	c := s.client(t)
	ct, body := multipartBody(t, map[string]string{
		"data": `{"tenantId":"acme","signers":[{"name":"A","email":"a@example.com","authMethod":"none"}],"documentOptions":{"activeContent":"remove"}}`,
	}, preparable("Text", script, ""))
	e := c.send(http.MethodPost, "/v1/envelopes", ct, body).want(201)
	at := "/v1/envelopes/" + e.str("id") + "/documents/" + e.document(0)["id"].(string)
	var again atomic.Bool // preparing also opens the file
	files.purge = func() {
		if again.CompareAndSwap(false, true) {
			c.post(at+"/prepare", object{"activeContent": "remove"}).want(200)
		}
	}
	shown := c.get("/v1/envelopes/" + e.str("id") + "/document?kind=prepared").want(200).raw
	require.True(t, again.Load())
	require.Equal(t, shown, c.get("/v1/envelopes/"+e.str("id")+"/document?kind=prepared").want(200).raw)
}

// TestRejectedUpload_IsRemoved checks that a failed request leaves no file in the file store or the temporary
// directory.
func TestRejectedUpload_IsRemoved(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	s := onSQLite(t, func(cfg *api.Config) {
		var err error
		cfg.Blobs, err = blob.Open(t.Context(), "file://"+root)
		require.NoError(t, err)
	})
	files := func() (out []string) {
		require.NoError(t, filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err == nil && d.Type().IsRegular() {
				out = append(out, strings.TrimPrefix(path, root))
			}
			return err
		}))
		return out
	}
	c := s.client(t)
	data := contract()
	data["externalId"] = "case 7"
	c.draft(data)
	kept := files()
	require.Len(t, kept, 1)
	ct, body := multipartBody(t, map[string]string{"data": `{"tenantId":"acme","externalId":"case 7","signers":[{"name":"A","email":"a@example.com"}]}`}, kit.OnePage())
	c.send(http.MethodPost, "/v1/envelopes", ct, body).rejected(409, "external_id_taken")
	require.Equal(t, kept, files())

	large := preparable(strings.Repeat("word ", 80_000), "", "") // larger than the buffer in memory
	for i, tenant := range []string{"acme", "acme", ""} {
		ct, body := multipartBody(t, map[string]string{"tenantId": tenant, "signers": `{"name":"A","email":"a@example.com"}`}, large)
		c.with("Idempotency-Key", "large").send(http.MethodPost, "/v1/envelopes", ct, body).want([]int{201, 201, 422}[i])
		require.Len(t, files(), 2, "the temporary file of a large body is removed after the response")
	}
}

// unreadable is a file store whose new temporary files can be made unreadable.
type unreadable struct {
	blob.Store
	now bool
}

func (s *unreadable) Temp() (*os.File, error) {
	f, err := s.Store.Temp()
	if err != nil || !s.now {
		return f, err
	}
	return os.OpenFile(f.Name(), os.O_WRONLY, 0o600)
}

// TestFileStoreFailure_IsNoFileError checks that a failure of the file store is not reported as an invalid file.
func TestFileStoreFailure_IsNoFileError(t *testing.T) {
	t.Parallel()
	files := &unreadable{}
	s := onSQLite(t, func(cfg *api.Config) { files.Store, cfg.Blobs = cfg.Blobs, files })
	c := s.client(t)
	e, token := c.sent(attaching())
	at := "/v1/signing/" + token
	c.get(at).want(200)
	c.post(at+"/consent", nil).want(200)
	files.now = true
	c.attach(token, e.field(0)["id"], "a.pdf", kit.OnePage()).rejected(503, "unavailable")
	files.now = false
	c.attach(token, e.field(0)["id"], "a.pdf", kit.OnePage()).want(201)
}

// failingOpen is a file store that cannot be reached.
type failingOpen struct{ blob.Store }

func (failingOpen) Open(context.Context, string) (*blob.File, error) {
	return nil, errors.New("no route to the bucket")
}

// TestUnresponsiveFileStore checks that a file in an unresponsive file store is reported neither as missing nor as
// altered.
func TestUnresponsiveFileStore(t *testing.T) {
	t.Parallel()
	s := onSQLite(t, func(cfg *api.Config) { cfg.Blobs = failingOpen{cfg.Blobs} })
	c := s.client(t)
	e := c.draft(contract())
	a := c.get("/v1/envelopes/"+e.str("id")+"/document").rejected(503, "files_unavailable")
	require.NotContains(t, string(a.raw), "bucket")
}

// TestReadingCopies checks that each document contains the values of the fields on its pages, and that only verified
// signers receive it.
func TestReadingCopies(t *testing.T) {
	t.Parallel()
	s := onSQLite(t, nil)
	c, nobody := s.client(t), &client{t: t, s: s}
	data := twoSigners()
	data["fields"] = []object{}
	e := c.draft(data)
	at := "/v1/envelopes/" + e.str("id")
	second := c.send(http.MethodPost, at+"/document", "application/pdf", preparable("Another page", "", "")).want(200).str("documentId")
	first := e.document(0)["id"].(string)
	place := func(document string, signer int) (field string) {
		return c.post(at+"/fields", object{
			"documentId": document, "signerId": e.signer(signer)["id"], "type": "text", "page": 1, "x": 50, "y": 300, "w": 300, "h": 20, "required": false,
		}).want(201).str("id")
	}
	onFirst, onSecond := place(first, 0), place(second, 0)
	place(first, 1)
	place(second, 2)
	sent := c.post(at+"/send", nil).want(200)
	link := s.link(t, sent, 0)
	ada := nobody.binds(link)
	ada.get(link).want(200)
	ada.post(link+"/consent", nil).want(200)
	ada.post(link+"/sign", object{"fields": []object{{"fieldId": onFirst, "textValue": "Elephant"}, {"fieldId": onSecond, "textValue": "Giraffe"}}}).want(200)

	link = s.link(t, sent, 1)
	for _, document := range []string{first, second} {
		nobody.get(link+"/documents/"+document+"?entries=true").rejected(401, "otp_required")
		require.NotContains(t, pdfText(t, nobody.get(link+"/documents/"+document).want(200).raw), "Elephant")
	}
	nobody.get(link+"/document?entries=true").rejected(401, "otp_required")
	grace := nobody.binds(link)
	for document, shown := range map[string][2]string{first: {"Elephant", "Giraffe"}, second: {"Giraffe", "Elephant"}} {
		text := pdfText(t, grace.get(link+"/documents/"+document+"?entries=true").want(200).raw)
		require.Contains(t, text, shown[0])
		require.NotContains(t, text, shown[1])
	}
}

// TestReplaceSigner_InvalidMember checks that the error names a member with an invalid value, and that no signer is
// replaced.
func TestReplaceSigner_InvalidMember(t *testing.T) {
	t.Parallel()
	s := onSQLite(t, nil)
	c := s.client(t)
	e, token := c.sent(contract())
	at := "/v1/envelopes/" + e.str("id") + "/signers/" + e.signer(0)["id"].(string)
	for member, value := range map[string]any{"phone": 5, "reason": 5, "authMethod": "telepathy", "name": nil} {
		in := object{"name": "Grace", "email": "grace@example.com"}
		in[member] = value
		require.Contains(t, c.post(at+"/replace", in).rejected(400, "validation_error").body["errors"], member)
	}
	require.Contains(t, c.post(at+"/signing-link", object{"rotate": "yes"}).rejected(400, "validation_error").body["errors"], "rotate")
	require.Equal(t, "Ada Byron", c.get("/v1/envelopes/" + e.str("id")).want(200).signer(0)["name"])
	c.signs(e, token)
	s.completes(t, e.str("id"), 0)
	require.Contains(t, c.post("/v1/envelopes/"+e.str("id")+"/copies", object{"email": 5}).rejected(400, "validation_error").body["errors"], "email")
}

// TestAlteredFile_IsNotDelivered checks that a file that was replaced in the file store is never delivered, whether or
// not files are encrypted.
func TestAlteredFile_IsNotDelivered(t *testing.T) {
	t.Parallel()
	for name, encrypted := range map[string]bool{"plain": false, "encrypted": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var plain blob.Store
			s := onSQLite(t, func(cfg *api.Config) {
				plain = cfg.Blobs
				cfg.Blobs = blob.NewEncrypted(plain, kit.Vault(t), encrypted)
			})
			c, nobody := s.client(t), &client{t: t, s: s}
			e, token := c.sent(contract())
			put := func(to blob.Store, key string, content []byte) {
				t.Helper()
				f, err := to.Temp()
				require.NoError(t, err)
				defer blob.Discard(f)
				_, err = f.Write(content)
				require.NoError(t, err)
				require.NoError(t, to.Put(t.Context(), f, key))
			}
			stored, err := s.store.Envelope(t.Context(), s.app.ID, id(e))
			require.NoError(t, err)
			d := stored.Originals()[0]
			require.Equal(t, encrypted, d.Encrypted)
			at := "/v1/signing/" + token
			doc := at + "/documents/" + d.ID.String()
			own := "/v1/envelopes/" + e.str("id") + "/document"
			require.Equal(t, kit.OnePage(), nobody.get(doc).want(200).raw)

			// The unencrypted original is rejected, because an attacker with write access could also store a different file.
			put(plain, d.BlobKey, kit.OnePage())
			fresh, err := api.New(s.cfg) // a server without cached files
			require.NoError(t, err)
			s.Config.Handler = fresh
			if encrypted {
				nobody.get(doc).rejected(503, "document_unavailable")
			} else {
				nobody.get(doc).want(200)
			}
			swapped := append(kit.OnePage(), "%"...)
			for _, to := range []blob.Store{plain, s.cfg.Blobs} {
				put(to, d.BlobKey, swapped)
				fresh, err := api.New(s.cfg)
				require.NoError(t, err)
				s.Config.Handler = fresh
				nobody.get(at+"/document").rejected(503, "document_unavailable")
				nobody.get(doc).rejected(503, "document_unavailable")
				c.get(own).rejected(503, "document_unavailable")
				c.get("/v1/console/envelopes/"+e.str("id")+"/document").rejected(503, "document_unavailable")
			}
			put(s.cfg.Blobs, d.BlobKey, kit.OnePage())
			nobody.get(doc).want(200)
			c.signs(e, token)
			portal := "/v1/download/" + s.completes(t, e.str("id"), 0) + "/document"
			nobody.get(portal).want(200)
			put(s.cfg.Blobs, "envelopes/"+e.str("id")+"/sealed/x.pdf", swapped)
			fresh, err = api.New(s.cfg)
			require.NoError(t, err)
			s.Config.Handler = fresh
			nobody.get(portal).rejected(503, "document_unavailable")
		})
	}
}

// TestDamagedArchive_Is503 checks that a damaged archive results in a 503 only for requests that need the archive,
// until the archive is restored. It checks the same for an unresponsive file store.
func TestDamagedArchive_Is503(t *testing.T) {
	t.Parallel()
	kit.EachDatabase(t, func(t *testing.T, kind string) {
		var log logBuffer
		var missing atomic.Int64
		s := start(t, kit.MigratedURL(t, kind), func(cfg *api.Config) {
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

		needing := func() (out []*response) {
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
			"is missing":                         func() { require.NoError(t, s.cfg.Blobs.Delete(t.Context(), keys[0])) },
			"does not match its recorded hash":   func() { s.storeFile(t, keys[0], altered) },
			"has a key that cannot be decrypted": func() { keepKey(damaged) },
		} {
			breaks()
			told := missing.Load()
			answers := needing()
			for _, a := range answers {
				a.rejected(503, "file_missing")
			}
			require.Equal(t, told+int64(len(answers)), missing.Load())
			require.Contains(t, log.String(), problem)
			others()
			s.storeFile(t, keys[0], file)
			keepKey(key)
			require.Equal(t, string(before.raw), string(c.get(at).want(200).raw))
		}
		require.Contains(t, log.String(), `msg="an envelope's archive cannot be read"`)
		require.Contains(t, log.String(), "envelope="+e.str("id"))

		told := missing.Load()
		s.store.UseArchives(failingOpen{s.cfg.Blobs})
		for _, a := range needing() {
			a.rejected(503, "files_unavailable")
			require.NotContains(t, string(a.raw), "bucket")
		}
		require.Equal(t, told, missing.Load(), "no file is missing")
		require.Contains(t, log.String(), "no route to the bucket")
		others()
		s.store.UseArchives(s.cfg.Blobs)
		require.Equal(t, string(before.raw), string(c.get(at).want(200).raw))
		c.with("Idempotency-Key", "again").post(at+"/copies", object{"email": "ada@example.com"}).want(202)
	})
}

func (s *service) file(t *testing.T, key string) []byte {
	t.Helper()
	f, err := s.cfg.Blobs.Open(t.Context(), key)
	require.NoError(t, err)
	defer func() { require.NoError(t, f.Close()) }()
	content, err := io.ReadAll(f)
	require.NoError(t, err)
	return content
}

func (s *service) storeFile(t *testing.T, key string, content []byte) {
	t.Helper()
	f, err := s.cfg.Blobs.Temp()
	require.NoError(t, err)
	defer blob.Discard(f)
	_, err = f.Write(content)
	require.NoError(t, err)
	require.NoError(t, s.cfg.Blobs.Put(t.Context(), f, key))
}
