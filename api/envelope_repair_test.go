package api_test

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestUploadOfDamagedAndSignedFiles: the sender and the signers learn that they sign a new file, and why.
func TestUploadOfDamagedAndSignedFiles(t *testing.T) {
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
		app.draftOf(data, c.file).refused(400, c.code)
		data["documentOptions"] = object{"repair": "maybe"}
		app.draftOf(data, c.file).refused(400, "validation_error")
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
		require.Equal(t, c.file, app.get("/v1/envelopes/"+e.str("id")+"/document").want(200).raw, "the original stays as it is")
		shown := app.get("/v1/envelopes/" + e.str("id") + "/document?kind=prepared").want(200).raw
		require.True(t, bytes.HasPrefix(shown, []byte("%PDF-")))
		require.NotContains(t, string(shown), "/ByteRange")

		sent := app.post("/v1/envelopes/"+e.str("id")+"/send", nil).want(200)
		context := (&client{t: t, s: s}).get(s.link(t, sent, 0)).want(200)
		require.Equal(t, kind, context.document(0)["changes"].([]any)[0].(object)["kind"], "the signer is told")
	}
}
