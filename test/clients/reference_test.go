package clients_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/stretchr/testify/require"
)

// samplePrograms contains the command that runs a sample, by language. Its last argument is the sample's file.
var samplePrograms = map[string][]string{
	"shell": {"bash", "sample.sh"}, "javascript": {"node", "sample.mjs"}, "go": {"go", "run", "sample.go"}, "python": {"python3", "sample.py"},
}

// The IDs used in samples.
const (
	sampleEnvelope = "0197a1c2-0000-7000-8000-000000000004"
	sampleTemplate = "0197a1c2-0000-7000-8000-000000000005"
	sampleField    = "0197a1c2-0000-7000-8000-000000000006"
)

// TestReferenceSamples_Run runs the samples in the contract in each language. The contract contains samples only for
// requests that send a file, because the reference cannot generate these from a schema.
func TestReferenceSamples_Run(t *testing.T) {
	t.Parallel()
	doc, err := openapi3.NewLoader().LoadFromFile("../../api/openapi.yaml")
	require.NoError(t, err)
	s := newSamples(t)
	want := map[string]string{ // part of the expected output
		"createEnvelope": "Id", "uploadDocument": "documentId", "verifyDocument": "valid", "createTemplate": "versions", "updateTemplate": "Lease of 2027",
		"uploadConsoleDocument": "document_order", "uploadAttachment": "attachmentId", "verifyDocumentPage": "",
	}
	ran := 0
	for _, item := range doc.Paths.Map() {
		for _, op := range item.Operations() {
			list, ok := op.Extensions["x-codeSamples"].([]any)
			require.Equal(t, ok, sendsFile(op), "%s: exactly the operations that send a file must have their own samples", op.OperationID)
			if !ok {
				continue
			}
			require.Len(t, list, len(samplePrograms), op.OperationID)
			for _, sample := range list {
				lang, source := sample.(member)["lang"].(string), sample.(member)["source"].(string)
				dir, out := s.run(t, op.OperationID, lang, source)
				text, known := want[op.OperationID]
				require.True(t, known, op.OperationID)
				require.Contains(t, out, text, "%s, %s", op.OperationID, lang)
				require.NotContains(t, out, "docs/errors#", "%s, %s", op.OperationID, lang)
				if op.OperationID == "verifyDocumentPage" {
					page, err := os.ReadFile(filepath.Join(dir, "page.png"))
					require.NoError(t, err, lang)
					require.Equal(t, "image/png", http.DetectContentType(page), lang)
				}
				ran++
			}
		}
	}
	require.Equal(t, len(want)*len(samplePrograms), ran)
}

// sendsFile reports whether a request body can contain a file.
func sendsFile(op *openapi3.Operation) bool {
	if op.RequestBody == nil {
		return false
	}
	content := op.RequestBody.Value.Content
	if content["application/pdf"] != nil {
		return true
	}
	form := content["multipart/form-data"]
	return form != nil && form.Schema.Value.Properties["file"] != nil
}

// samples contains the objects that the samples in the contract need.
type samples struct {
	*fixtures

	r        *recorder
	template string
	sealed   []byte
}

func newSamples(t *testing.T) *samples {
	t.Helper()
	f := newFixtures(t)
	s := &samples{fixtures: f, r: &recorder{t: t, s: f.s}}
	s.r.token = s.r.login(f.s.ClientID, f.s.ClientSecret)
	e := f.sent(t)
	s.r.showPicture("/v1/signing/" + signingToken(e.Signers[0].SigningURL) + "/documents/" + e.Documents[0].ID.String() + "/pages/1")
	sign(t, f.s, e)
	_, err := f.c.WaitUntilCompleted(contextFor(t), e.ID)
	require.NoError(t, err)
	_, s.sealed = s.r.do(get, "/v1/envelopes/"+e.ID.String()+"/document?kind=sealed", "", nil)
	s.template = s.post(t, "/v1/templates", member{"tenantId": "acme", "name": "Lease of 2026", "fromEnvelope": e.ID})["id"].(string)
	return s
}

// post sends a request that must succeed, and returns the response body.
func (s *samples) post(t *testing.T, path string, body member) (answer member) {
	t.Helper()
	b, err := json.Marshal(body)
	require.NoError(t, err)
	res, b := s.r.do(post, path, "application/json", b)
	require.Less(t, res.StatusCode, 300, "%s", b)
	require.NoError(t, json.Unmarshal(b, &answer))
	return answer
}

// attachment returns the signing token and the ID of a field that is ready to receive an attachment.
func (s *samples) attachment(t *testing.T) (token, field string) {
	t.Helper()
	draft := s.draft(t).ID.String()
	e := s.post(t, "/v1/envelopes/"+draft+"/fields", member{"signerId": "0", "type": "attachment", "page": 1, "x": 72, "y": 650, "w": 200, "h": 20})
	link := s.post(t, "/v1/envelopes/"+draft+"/send", nil)["signers"].([]any)[0].(member)["signingUrl"].(string)
	token = signingToken(&link)
	s.post(t, "/v1/signing/"+token+"/consent", nil)
	return token, e["id"].(string)
}

// run runs a sample, and returns its directory and its output.
func (s *samples) run(t *testing.T, operation, lang, source string) (dir, output string) {
	t.Helper()
	command, known := samplePrograms[lang]
	require.True(t, known, "%s: %s", operation, lang)
	values := []string{
		"https://sign.example.com", s.s.BaseURL, "YOUR_ACCESS_TOKEN", s.r.token, sampleEnvelope, s.draft(t).ID.String(), sampleTemplate, s.template,
	}
	if operation == "uploadAttachment" {
		token, field := s.attachment(t)
		values = append(values, "YOUR_SIGNING_TOKEN", token, sampleField, field)
	}
	file := command[len(command)-1]
	dir = s.dir(t, map[string][]byte{file: []byte(strings.NewReplacer(values...).Replace(source)), "sealed.pdf": s.sealed, "passport.pdf": s.pdf})
	cmd := exec.CommandContext(t.Context(), command[0], command[1:]...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOFLAGS=", "GOWORK=off")
	cmd.WaitDelay = 10 * time.Second
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	require.NoError(t, cmd.Run(), "%s, %s: %s", operation, lang, fmt.Sprint(out.String(), errs.String()))
	return dir, out.String()
}

func signingToken(link *string) string { return (*link)[strings.LastIndexByte(*link, '/')+1:] }
