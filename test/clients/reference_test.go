package clients_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/stretchr/testify/require"
)

// TestReferenceSamplesRun runs the samples that the contract itself has, in each language: those with a file, which the
// reference cannot generate from a schema.
func TestReferenceSamplesRun(t *testing.T) {
	t.Parallel()
	doc, err := openapi3.NewLoader().LoadFromFile("../../api/openapi.yaml")
	require.NoError(t, err)
	f := newFixtures(t)
	r := &recorder{t: t, s: f.s}
	token := r.login(f.s.ClientID, f.s.ClientSecret)
	_, sealed := (&recorder{t: t, s: f.s, token: token}).do(get, "/v1/envelopes/"+f.completedEnvelope(t).String()+"/document?kind=sealed", "", nil)
	draft := f.draft(t).ID.String()
	programs := map[string][]string{"shell": {"bash", "sample.sh"}, "javascript": {"node", "sample.mjs"}, "go": {"go", "run", "sample.go"}, "python": {"python3", "sample.py"}}
	ran := 0
	for _, item := range doc.Paths.Map() {
		for _, op := range item.Operations() {
			samples, ok := op.Extensions["x-codeSamples"].([]any)
			if !ok {
				continue
			}
			require.Len(t, samples, len(programs), op.OperationID)
			for _, sample := range samples {
				s := sample.(member)
				run, known := programs[s["lang"].(string)]
				require.True(t, known, "%s: %v", op.OperationID, s["lang"])
				source := strings.NewReplacer("https://sign.example.com", f.s.BaseURL, "YOUR_ACCESS_TOKEN", token, "0197a1c2-0000-7000-8000-000000000004", draft).Replace(s["source"].(string))
				dir := f.dir(t, map[string][]byte{run[len(run)-1]: []byte(source), "sealed.pdf": sealed})
				cmd := exec.CommandContext(t.Context(), run[0], run[1:]...)
				cmd.Dir = dir
				cmd.Env = append(os.Environ(), "GOFLAGS=", "GOWORK=off")
				var out, said bytes.Buffer
				cmd.Stdout, cmd.Stderr = &out, &said
				name := fmt.Sprintf("%s, %s", op.OperationID, s["lang"])
				require.NoError(t, cmd.Run(), "%s: %s%s", name, out.String(), said.String())
				want := map[string]string{"createEnvelope": "Id", "uploadDocument": "documentId", "verifyDocument": "valid"}[op.OperationID]
				require.NotEmpty(t, want, op.OperationID)
				require.Contains(t, out.String(), want, name)
				require.NotContains(t, out.String(), "docs/errors#", name)
				ran++
			}
		}
	}
	require.Equal(t, 3*len(programs), ran)
}
