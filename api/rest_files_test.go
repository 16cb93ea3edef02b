package api_test

import (
	"context"
	"errors"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"countersign/api"
	"countersign/internal/testkit"
	"countersign/store/blob"
)

// TestReplacedMeanwhile: a document that is prepared anew while its file is asked for is
// given as it is now.
func TestReplacedMeanwhile(t *testing.T) {
	t.Parallel()
	files := &purgingStore{purge: func() {}}
	s := onSQLite(t, func(cfg *api.Config) { files.Store, cfg.Blobs = cfg.Blobs, files })
	c := s.client(t)
	ct, body := multipartBody(t, map[string]string{
		"data": `{"tenantId":"acme","signers":[{"name":"A","email":"a@example.com","authMethod":"none"}],"documentOptions":{"activeContent":"remove"}}`,
	}, preparable("Text", script, ""))
	e := c.send(http.MethodPost, "/v1/envelopes", ct, body).want(201)
	at := "/v1/envelopes/" + e.str("id") + "/documents/" + e.document(0)["id"].(string)
	var again atomic.Bool // preparing opens a file itself
	files.purge = func() {
		if again.CompareAndSwap(false, true) {
			c.post(at+"/prepare", object{"activeContent": "remove"}).want(200)
		}
	}
	shown := c.get("/v1/envelopes/" + e.str("id") + "/document?kind=prepared").want(200).raw
	require.True(t, again.Load())
	require.Equal(t, shown, c.get("/v1/envelopes/"+e.str("id")+"/document?kind=prepared").want(200).raw)
}

// TestRefusedUploadsAreRemoved: of a request that makes nothing no file is kept, in the
// store or beside it.
func TestRefusedUploadsAreRemoved(t *testing.T) {
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
	ct, body := multipartBody(t, map[string]string{"data": `{"tenantId":"acme","externalId":"case 7","signers":[{"name":"A","email":"a@example.com"}]}`}, testkit.OnePage())
	c.send(http.MethodPost, "/v1/envelopes", ct, body).refused(409, "external_id_taken")
	require.Equal(t, kept, files())

	large := preparable(strings.Repeat("word ", 80_000), "", "") // more than waits in memory
	for i, tenant := range []string{"acme", "acme", ""} {
		ct, body := multipartBody(t, map[string]string{"tenantId": tenant, "signers": `{"name":"A","email":"a@example.com"}`}, large)
		c.with("Idempotency-Key", "large").send(http.MethodPost, "/v1/envelopes", ct, body).want([]int{201, 201, 422}[i])
		require.Len(t, files(), 2, "a body that waited is removed once it is answered")
	}
}

// unreadable is a file store whose temporary files cannot be read.
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

// TestFilesThatCannotBeRead: a fault of the file store is no fault of the file.
func TestFilesThatCannotBeRead(t *testing.T) {
	t.Parallel()
	files := &unreadable{}
	s := onSQLite(t, func(cfg *api.Config) { files.Store, cfg.Blobs = cfg.Blobs, files })
	c := s.client(t)
	e, token := c.sent(attaching())
	at := "/v1/signing/" + token
	c.get(at).want(200)
	c.post(at+"/consent", nil).want(200)
	files.now = true
	c.attach(token, e.field(0)["id"], "a.pdf", testkit.OnePage()).refused(500, "internal_error")
	files.now = false
	c.attach(token, e.field(0)["id"], "a.pdf", testkit.OnePage()).want(201)
}

// failingOpen is a file store that cannot be reached.
type failingOpen struct{ blob.Store }

func (failingOpen) Open(context.Context, string) (*blob.File, error) {
	return nil, errors.New("no route to the bucket")
}

// TestAFileStoreThatDoesNotAnswer is neither a missing nor an altered file.
func TestAFileStoreThatDoesNotAnswer(t *testing.T) {
	t.Parallel()
	s := onSQLite(t, func(cfg *api.Config) { cfg.Blobs = failingOpen{cfg.Blobs} })
	c := s.client(t)
	e := c.draft(contract())
	a := c.get("/v1/envelopes/"+e.str("id")+"/document").refused(503, "files_unavailable")
	require.NotContains(t, string(a.raw), "bucket")
}

// TestReadingCopies: each document shows what was entered on its own pages, and only to
// who is confirmed.
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
		nobody.get(link+"/documents/"+document+"?entries=true").refused(401, "otp_required")
		require.NotContains(t, pdfText(t, nobody.get(link+"/documents/"+document).want(200).raw), "Elephant")
	}
	nobody.get(link+"/document?entries=true").refused(401, "otp_required")
	grace := nobody.binds(link)
	for document, shown := range map[string][2]string{first: {"Elephant", "Giraffe"}, second: {"Giraffe", "Elephant"}} {
		text := pdfText(t, grace.get(link+"/documents/"+document+"?entries=true").want(200).raw)
		require.Contains(t, text, shown[0])
		require.NotContains(t, text, shown[1])
	}
}

// TestReplacementsAreRead as a whole: one member of the wrong type is named, and nobody is replaced.
func TestReplacementsAreRead(t *testing.T) {
	t.Parallel()
	s := onSQLite(t, nil)
	c := s.client(t)
	e, token := c.sent(contract())
	at := "/v1/envelopes/" + e.str("id") + "/signers/" + e.signer(0)["id"].(string)
	for member, value := range map[string]any{"phone": 5, "reason": 5, "authMethod": "telepathy", "name": nil} {
		in := object{"name": "Grace", "email": "grace@example.com"}
		in[member] = value
		require.Contains(t, c.post(at+"/replace", in).refused(400, "validation_error").body["errors"], member)
	}
	require.Contains(t, c.post(at+"/signing-link", object{"rotate": "yes"}).refused(400, "validation_error").body["errors"], "rotate")
	require.Equal(t, "Ada Byron", c.get("/v1/envelopes/" + e.str("id")).want(200).signer(0)["name"])
	c.signs(e, token)
	s.completes(t, e.str("id"), 0)
	require.Contains(t, c.post("/v1/envelopes/"+e.str("id")+"/copies", object{"email": 5}).refused(400, "validation_error").body["errors"], "email")
}
