package api_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"countersign/api"
	"countersign/models"
	"countersign/store/blob"
)

// preparable returns a one-page PDF that contains the given text and additions.
func preparable(text, catalog, page string, more ...string) []byte {
	content := "BT /F1 6 Tf 72 700 Td (" + text + ") Tj ET"
	objects := append([]string{
		"<</Type/Catalog/Pages 2 0 R" + catalog + ">>",
		"<</Type/Pages/Kids[3 0 R]/Count 1/MediaBox[0 0 600 800]/Resources<</Font<</F1 4 0 R>>>>>>",
		"<</Type/Page/Parent 2 0 R/Contents 5 0 R" + page + ">>",
		"<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding>>",
		fmt.Sprintf("<</Length %d>>\nstream\n%s\nendstream", len(content), content),
	}, more...)
	var b, table bytes.Buffer
	b.WriteString("%PDF-1.7\n")
	for i, o := range objects {
		fmt.Fprintf(&table, "%010d 00000 n \n", b.Len())
		fmt.Fprintf(&b, "%d 0 obj\n%s\nendobj\n", i+1, o)
	}
	start := b.Len()
	fmt.Fprintf(&b, "xref\n0 %d\n0000000000 65535 f \n%strailer\n<</Size %d/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF\n", len(objects)+1, table.String(), len(objects)+1, start)
	return b.Bytes()
}

const (
	script = "/OpenAction<</S/JavaScript/JS(a)>>"
	widget = "<</Type/Annot/Subtype/Widget/FT/Tx/T(a)/Rect[100 500 200 520]>>"
)

func pairOfSigners() object {
	return object{"tenantId": "acme", "signers": []object{{"name": "A", "email": "a@example.com", "authMethod": "none"}, {"name": "B", "email": "b@example.com"}}}
}

func (a *response) document(i int) object { return a.body["documents"].([]any)[i].(object) }

// events returns the details of all events of an envelope that have the given name.
func (a *response) events(name string) []object {
	var out []object
	for _, v := range a.body["auditLog"].([]any) {
		if ev := v.(object); ev["event"] == name {
			out = append(out, ev["detail"].(object))
		}
	}
	return out
}

func eachField(a *response) []string {
	var out []string
	for i := range a.body["fields"].([]any) {
		f := a.field(i)
		out = append(out, fmt.Sprintf("%v %v", f["type"], f["signerId"]))
	}
	return out
}

// TestDocumentOptions checks that every kind of upload accepts the options, and that removed form fields and tags
// become fields of the envelope.
func TestDocumentOptions(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, s *service) {
		app := s.client(t)
		file := preparable("Sign {{signature;role=signer2}} and {{*When_es_:signer1:date}}", script, "/Annots[6 0 R]", widget)
		check := func(t *testing.T, e *response) {
			t.Helper()
			e = app.get("/v1/envelopes/" + e.str("id")).want(200)
			d := e.document(0)
			prepared := d["prepared"].(object)
			require.Equal(t, []any{
				object{"kind": "javascript_removed", "page": nil, "count": 1.0, "detail": nil},
				object{"kind": "tags_removed", "page": 1.0, "count": 2.0, "detail": nil},
			}, prepared["changes"])
			require.Equal(t, d["sha256"], e.body["documentHashOriginal"])
			require.NotEqual(t, d["sha256"], prepared["sha256"])
			require.Equal(t, []string{
				fmt.Sprint("signature ", e.signer(1)["id"]), fmt.Sprint("date ", e.signer(0)["id"]),
			}, eachField(e))
			events := e.events("document.prepared")
			require.Len(t, events, 1)
			require.Equal(t, prepared["sha256"], events[0]["sha256"])
			require.Equal(t, d["id"], events[0]["documentId"])
			original := app.get("/v1/envelopes/" + e.str("id") + "/document").want(200)
			require.Equal(t, string(file), string(original.raw))
			shown := app.get("/v1/envelopes/" + e.str("id") + "/document?kind=prepared").want(200)
			require.True(t, bytes.HasPrefix(shown.raw, file))
			require.Len(t, shown.raw, int(prepared["size"].(float64)))
		}
		data := pairOfSigners()
		data["documentOptions"] = object{"tags": "detect"}
		check(t, app.draftOf(data, file))

		e := app.post("/v1/envelopes", pairOfSigners()).want(201)
		r := app.send(http.MethodPost, "/v1/envelopes/"+e.str("id")+"/document?tags=detect", "application/pdf", file).want(200)
		require.ElementsMatch(t, []string{"documentId", "sha256", "pageCount"}, slices.Collect(maps.Keys(r.body)))
		check(t, e)

		e = app.post("/v1/envelopes", pairOfSigners()).want(201)
		kind, body := multipartBody(t, map[string]string{"tags": "detect", "form": "keep"}, file)
		app.send(http.MethodPost, "/v1/console/envelopes/"+e.str("id")+"/documents", kind, body).want(201)
		check(t, e)

		e = app.post("/v1/envelopes", pairOfSigners()).want(201)
		kind, body = multipartBody(t, map[string]string{"form": "import", "formRole": "Nobody", "activeContent": "remove", "repair": "refuse"}, file)
		app.send(http.MethodPost, "/v1/console/envelopes/"+e.str("id")+"/documents", kind, body).want(201) // no role is required, because the document has no form
	})
}

// TestDocumentOptions_Defaults checks that, by default, a file is presented as uploaded except for its scripts, which
// are removed.
func TestDocumentOptions_Defaults(t *testing.T) {
	t.Parallel()
	app := onSQLite(t, nil).client(t)
	plain := app.draftOf(pairOfSigners(), preparable("Sign {{signature}}", "/AcroForm<</Fields[6 0 R]>>", "/Annots[6 0 R]", widget)).want(201)
	require.Contains(t, plain.document(0), "prepared")
	require.Nil(t, plain.document(0)["prepared"])
	require.Empty(t, plain.body["fields"])
	app.get("/v1/envelopes/"+plain.str("id")+"/document?kind=prepared").rejected(404, "not_found")
	got := app.get("/v1/envelopes/" + plain.str("id")).want(200)
	require.Empty(t, got.events("document.prepared"))
	// The prepared file of the second document must not be mistaken for a prepared file of the first document.
	second := app.send(http.MethodPost, "/v1/envelopes/"+plain.str("id")+"/document", "application/pdf", preparable("Hello", script, "")).want(200).str("documentId")
	app.get("/v1/envelopes/" + plain.str("id") + "/document?kind=prepared&documentId=" + second).want(200)
	app.get("/v1/envelopes/"+plain.str("id")+"/document?kind=prepared").rejected(404, "not_found")

	file := preparable("Hello", script, "")
	data := pairOfSigners()
	data["documentOptions"] = object{"activeContent": "refuse"}
	app.draftOf(data, file).rejected(400, "pdf_javascript")
	e := app.draftOf(pairOfSigners(), file).want(201)
	require.NotNil(t, e.document(0)["prepared"])
}

// TestPreparedFile_IsPresentedToSigners checks that signers receive the prepared file.
func TestPreparedFile_IsPresentedToSigners(t *testing.T) {
	t.Parallel()
	app := onSQLite(t, nil).client(t)
	data := object{"tenantId": "acme", "signers": []object{{"name": "A", "email": "a@example.com", "authMethod": "none"}}, "documentOptions": object{"tags": "detect"}}
	file := preparable("Sign {{signature}}", "", "")
	e := app.draftOf(data, file).want(201)
	sent := app.post("/v1/envelopes/"+e.str("id")+"/send", nil).want(200)
	link := sent.signer(0)["signingUrl"].(string)
	token := link[strings.LastIndex(link, "/")+1:]
	shown := app.get("/v1/envelopes/" + e.str("id") + "/document?kind=prepared").want(200)
	for _, path := range []string{"/document", "/documents/" + e.document(0)["id"].(string)} {
		r := app.get("/v1/signing/" + token + path).want(200)
		require.Equal(t, shown.raw, r.raw, path)
		require.NotEqual(t, file, r.raw)
	}
}

// TestDocumentOptions_RejectsInvalid checks that the error identifies an invalid option, tag or role, and that nothing
// is prepared.
func TestDocumentOptions_RejectsInvalid(t *testing.T) {
	t.Parallel()
	app := onSQLite(t, nil).client(t)
	for name, c := range map[string]struct {
		options object
		text    string
		code    string
		says    string
	}{
		"a value":            {object{"tags": "yes"}, "", "validation_error", "documentOptions.tags"},
		"a type":             {object{"form": true}, "", "validation_error", "documentOptions.form"},
		"a name":             {object{"tag": "detect"}, "", "validation_error", "documentOptions.tag"},
		"a role for nothing": {object{"formRole": "signer1"}, "", "validation_error", "documentOptions.formRole"},
		"a tag":              {object{"tags": "detect"}, "{{a;typ=date}}", "text_tag_invalid", "{{a;typ=date}}"},
		"a tag without end":  {object{"tags": "detect"}, "{{a;type=date", "text_tag_invalid", "page 1"},
		"no role":            {object{"tags": "detect"}, "{{signature}}", "text_tag_invalid", "2 signer(s)"},
		"an unknown role":    {object{"tags": "detect"}, "{{signature;role=Tenant}}", "text_tag_invalid", "Tenant"},
		"beyond the signers": {object{"tags": "detect"}, "{{signature;role=signer3}}", "text_tag_invalid", "signer3"},
		"whose form":         {object{"form": "import"}, "", "validation_error", "formRole"},
	} {
		data := pairOfSigners()
		data["documentOptions"] = c.options
		r := app.draftOf(data, preparable(c.text, "/AcroForm<</Fields[6 0 R]>>", "/Annots[6 0 R]", widget)).rejected(400, c.code)
		require.Contains(t, string(r.raw), strings.ReplaceAll(c.says, `"`, `\"`), name)
	}
	e := app.post("/v1/envelopes", pairOfSigners()).want(201)
	app.send(http.MethodPost, "/v1/envelopes/"+e.str("id")+"/document?tags=perhaps", "application/pdf", preparable("a", "", "")).rejected(400, "validation_error")
	app.send(http.MethodPost, "/v1/envelopes/"+e.str("id")+"/document?tags=detect", "application/pdf", preparable("{{a;typ=date}}", "", "")).rejected(400, "text_tag_invalid")
	require.Empty(t, app.get("/v1/envelopes/" + e.str("id")).body["documents"])
	data := pairOfSigners()
	data["documentOptions"] = object{"tags": "detect"}
	app.post("/v1/envelopes", data).rejected(400, "validation_error")
	data["documentOptions"] = "detect"
	app.post("/v1/envelopes", data).rejected(400, "validation_error")
}

// TestPrepareAgain_ReplacesFoundFields checks that preparing a document again replaces found fields, but keeps fields
// that were requested explicitly.
func TestPrepareAgain_ReplacesFoundFields(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, s *service) {
		app := s.client(t)
		file := preparable("Sign {{signature;role=r1}}", "/AcroForm<</Fields[6 0 R]>>", "/Annots[6 0 R]", widget)
		e := app.draftOf(pairOfSigners(), file).want(201)
		at := "/v1/envelopes/" + e.str("id")
		document := e.document(0)["id"].(string)
		list := app.get(at + "/documents/" + document + "/suggestions").want(200).body["data"].([]any)
		require.Len(t, list, 2)
		require.Equal(t, object{"source": "form", "type": "text", "name": "a", "role": nil, "page": 1.0, "x": 100.0, "y": 280.0, "w": 100.0, "h": 20.0}, list[1])
		require.Equal(t, "tag", list[0].(object)["source"])
		require.Equal(t, "r1", list[0].(object)["role"])
		require.Empty(t, app.get(at).body["fields"], "suggestions change nothing")

		app.post(at+"/fields", object{"signerId": "1", "type": "initial", "page": 1, "x": 1, "y": 1, "w": 40, "h": 20}).want(201)
		both := app.post(at+"/documents/"+document+"/prepare", object{"tags": "detect", "form": "import", "formRole": "b@example.com"}).want(200)
		require.Equal(t, []string{fmt.Sprint("initial ", e.signer(1)["id"]), fmt.Sprint("signature ", e.signer(0)["id"]), fmt.Sprint("text ", e.signer(1)["id"])}, eachField(both))
		first := both.document(0)["prepared"].(object)["sha256"]
		tags := app.post(at+"/documents/"+document+"/prepare", object{"tags": "detect"}).want(200)
		require.Equal(t, []string{fmt.Sprint("initial ", e.signer(1)["id"]), fmt.Sprint("signature ", e.signer(0)["id"])}, eachField(tags))
		require.NotEqual(t, first, tags.document(0)["prepared"].(object)["sha256"])
		none := app.post(at+"/documents/"+document+"/prepare", nil).want(200)
		require.Len(t, eachField(none), 1)
		require.Nil(t, none.document(0)["prepared"])
		events := app.get(at).want(200).events("document.prepared")
		require.Len(t, events, 3)
		require.Equal(t, e.document(0)["sha256"], events[2]["sha256"], "the original is prepared again")

		app.post(at+"/documents/"+document+"/prepare", object{"tags": "detect", "form": "import"}).rejected(400, "validation_error")
		require.Len(t, eachField(app.get(at)), 1, "documents must not be prepared partially")
		app.post(at+"/documents/"+newID().String()+"/prepare", nil).rejected(404, "not_found")
		app.get(at+"/documents/"+newID().String()+"/suggestions").rejected(404, "not_found")
		s.other(t).post(at+"/documents/"+document+"/prepare", nil).rejected(404, "not_found")
		s.other(t).get(at+"/documents/"+document+"/suggestions").rejected(404, "not_found")
		app.post(at+"/documents/"+document+"/prepare", object{"tags": "detect"}).want(200)
		told := app.post(at+"/send", nil).want(200).events("draft.prepared")
		require.Len(t, told, 1, "the removal of fields has no event of its own")
		require.Equal(t, []any{models.AppActor(s.app.ID)}, told[0]["editors"])
		app.post(at+"/documents/"+document+"/prepare", nil).rejected(409, "envelope_not_draft")
	})
}

func (c *client) draftOf(data object, file []byte) *response {
	c.t.Helper()
	b, err := json.Marshal(data)
	require.NoError(c.t, err)
	kind, body := multipartBody(c.t, map[string]string{"data": string(b)}, file)
	return c.send(http.MethodPost, "/v1/envelopes", kind, body)
}

// TestDocumentPassword_IsNotStored checks that a password opens an encrypted file, and never appears in responses, the
// audit trail or the database.
func TestDocumentPassword_IsNotStored(t *testing.T) {
	t.Parallel()
	const secret = "Tr0ub4dor & 3 €"
	s := onSQLite(t, nil)
	app := s.client(t)
	dir := t.TempDir()
	in, out := filepath.Join(dir, "in.pdf"), filepath.Join(dir, "out.pdf")
	require.NoError(t, os.WriteFile(in, preparable("Sign {{signature;role=r1}}", "", ""), 0o600))
	text, err := exec.CommandContext(t.Context(), "qpdf", "--encrypt", secret, "owner", "256", "--", in, out).CombinedOutput()
	require.NoError(t, err, string(text))
	file, err := os.ReadFile(out)
	require.NoError(t, err)

	check := func(e *response) {
		t.Helper()
		e = app.get("/v1/envelopes/" + e.str("id")).want(200)
		prepared := e.document(0)["prepared"].(object)
		require.Equal(t, object{"kind": "password_removed", "page": nil, "count": 1.0, "detail": nil}, prepared["changes"].([]any)[0])
		require.NotContains(t, string(e.raw), secret)
		require.Equal(t, file, app.get("/v1/envelopes/"+e.str("id")+"/document").want(200).raw)
		shown := app.get("/v1/envelopes/" + e.str("id") + "/document?kind=prepared").want(200).raw
		require.NotContains(t, string(shown), "/Encrypt")
	}
	data := pairOfSigners()
	app.draftOf(data, file).rejected(400, "pdf_encrypted")
	data["documentOptions"] = object{"password": "guess"}
	app.draftOf(data, file).rejected(400, "pdf_password_wrong")
	data["documentOptions"] = object{"password": secret, "tags": "detect"}
	e := app.draftOf(data, file).want(201)
	require.Len(t, eachField(e), 1)
	check(e)
	delete(data, "documentOptions")
	check(app.with("X-Document-Password", secret).draftOf(data, file).want(201))

	e = app.post("/v1/envelopes", data).want(201)
	at := "/v1/envelopes/" + e.str("id") + "/document"
	app.send(http.MethodPost, at+"?password="+url.QueryEscape(secret), "application/pdf", file).rejected(400, "validation_error")
	app.with("X-Document-Password", secret).send(http.MethodPost, at, "application/pdf", file).want(200)
	check(e)
	document := app.get("/v1/envelopes/" + e.str("id")).document(0)["id"].(string)
	app.post(at+"s/"+document+"/prepare", object{"tags": "detect"}).rejected(400, "pdf_encrypted")
	app.post(at+"s/"+document+"/prepare", object{"tags": "detect", "password": secret}).want(200)
	check(e)

	e = app.post("/v1/envelopes", data).want(201)
	kind, body := multipartBody(t, map[string]string{"password": secret}, file)
	app.send(http.MethodPost, "/v1/console/envelopes/"+e.str("id")+"/documents", kind, body).want(201)
	check(e)

	for _, suffix := range []string{"", "-wal"} {
		b, err := os.ReadFile(strings.TrimPrefix(s.url, "sqlite://") + suffix)
		if suffix == "" {
			require.NoError(t, err)
		}
		require.NotContains(t, string(b), secret)
	}
}

// TestSuggestions_NameInvalidTag checks that the error for an invalid tag contains the tag.
func TestSuggestions_NameInvalidTag(t *testing.T) {
	t.Parallel()
	app := onSQLite(t, nil).client(t)
	e := app.draftOf(pairOfSigners(), preparable("{{a;typ=date}}", "", "")).want(201)
	r := app.get("/v1/envelopes/"+e.str("id")+"/documents/"+e.document(0)["id"].(string)+"/suggestions").rejected(400, "text_tag_invalid")
	require.Contains(t, r.str("message"), "{{a;typ=date}}")
}

// TestPrepare_MissingFile checks the errors for a missing file and a purged file.
func TestPrepare_MissingFile(t *testing.T) {
	t.Parallel()
	var files blob.Store
	s := onSQLite(t, func(cfg *api.Config) { files = cfg.Blobs })
	app := s.client(t)
	e := app.draft(contract())
	at := "/v1/envelopes/" + e.str("id") + "/documents/" + e.document(0)["id"].(string)
	stored, err := s.store.Envelope(t.Context(), s.app.ID, id(e))
	require.NoError(t, err)
	require.NoError(t, files.Delete(t.Context(), stored.Originals()[0].BlobKey))
	app.get(at+"/suggestions").rejected(503, "file_missing")
	app.post(at+"/prepare", nil).rejected(503, "file_missing")

	e, token := app.sent(contract())
	app.signs(e, token)
	s.completes(t, e.str("id"), 1)
	s.clock.advance(25 * time.Hour)
	_, err = s.store.Change(t.Context(), s.app.ID, id(e), func(e *models.Envelope) error { return e.Purge(s.act("system")) })
	require.NoError(t, err)
	app = s.client(t)
	app.get("/v1/envelopes/"+e.str("id")+"/documents/"+e.document(0)["id"].(string)+"/suggestions").rejected(410, "document_purged")
}

// TestUpload_DamagedAndSignedFiles checks that the sender and the signers can see how the file to be signed differs
// from the uploaded file.
func TestUpload_DamagedAndSignedFiles(t *testing.T) {
	t.Parallel()
	s := onSQLite(t, nil)
	app := s.client(t)
	good := preparable("Sign {{signature;role=r1}}", "", "")
	damaged := append([]byte("HTTP/1.1 200 OK\r\n\r\n"), good...)
	signed := preparable("Sign {{signature;role=r1}}", "/AcroForm<</Fields[6 0 R]>>", "", "<</FT/Sig/T(a)/V<</Type/Sig/ByteRange[0 1 2 3]/Contents<00>>>>>")
	for kind, c := range map[string]struct {
		file []byte
		code string
	}{"repaired": {damaged, "pdf_needs_repair"}, "signatures_removed": {signed, "document_signed"}} {
		data := pairOfSigners()
		data["documentOptions"] = object{"repair": "refuse"}
		app.draftOf(data, c.file).rejected(400, c.code)
		data["documentOptions"] = object{"repair": "maybe"}
		app.draftOf(data, c.file).rejected(400, "validation_error")
		data["documentOptions"] = object{"repair": "auto", "tags": "detect"}
		e := app.draftOf(data, c.file).want(201)
		require.Len(t, eachField(e), 1)
		e = app.get("/v1/envelopes/" + e.str("id")).want(200)
		changes := e.document(0)["prepared"].(object)["changes"].([]any)
		require.Len(t, changes, 2)
		require.Equal(t, kind, changes[0].(object)["kind"])
		var codes []any
		for _, w := range e.document(0)["warnings"].([]any) {
			codes = append(codes, w.(object)["code"])
		}
		require.Contains(t, codes, kind)
		require.Equal(t, c.file, app.get("/v1/envelopes/"+e.str("id")+"/document").want(200).raw, "the original is unchanged")
		shown := app.get("/v1/envelopes/" + e.str("id") + "/document?kind=prepared").want(200).raw
		require.True(t, bytes.HasPrefix(shown, []byte("%PDF-")))
		require.NotContains(t, string(shown), "/ByteRange")

		sent := app.post("/v1/envelopes/"+e.str("id")+"/send", nil).want(200)
		context := (&client{t: t, s: s}).get(s.link(t, sent, 0)).want(200)
		require.Equal(t, kind, context.document(0)["changes"].([]any)[0].(object)["kind"], "the changes are listed for the signer")
	}
}
