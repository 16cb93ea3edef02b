package clients_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestWebhooksPage checks that OpenSSL and the table used by other tests confirm the example signatures in
// docs/build/webhooks.md, and that the page's own function accepts only these signatures.
func TestWebhooksPage(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/build/webhooks.md")
	require.NoError(t, err)
	b, err := os.ReadFile("../../clients/testdata/signatures.json")
	require.NoError(t, err)
	type row struct {
		Secret, ID, Body                                    string
		Timestamp                                           int64
		ServiceSignature, StandardSignature, StandardKeyHex string
	}
	var table []row
	require.NoError(t, json.Unmarshal(b, &table))
	known := map[string]row{}
	for _, r := range table {
		known[r.ID] = r
	}
	var rows []row
	for line := range strings.Lines(string(page)) {
		cells := strings.Split(strings.TrimSpace(line), " | ")
		if len(cells) != 6 || !strings.Contains(line, "`sha256=") {
			continue
		}
		for i := range cells {
			cells[i] = strings.Trim(cells[i], "|` ")
		}
		at, err := strconv.ParseInt(cells[2], 10, 64)
		require.NoError(t, err)
		r := row{Secret: cells[0], ID: cells[1], Timestamp: at, Body: cells[3], ServiceSignature: cells[4], StandardSignature: cells[5]}
		r.StandardKeyHex = known[r.ID].StandardKeyHex
		require.Equal(t, known[r.ID], r)
		require.Equal(t, r.ServiceSignature, "sha256="+openssl(t, hexOf(r.Secret), r.Body, "-hex"))
		require.Equal(t, r.StandardSignature, "v1,"+openssl(t, r.StandardKeyHex, r.ID+"."+cells[2]+"."+r.Body, "-binary"))
		rows = append(rows, r)
	}
	require.Len(t, rows, 4)

	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "verify.mjs"), []byte(examples(t, "../../docs/build/webhooks.md", "js")[0]), 0o600))
	script := `import { verify } from "./verify.mjs";
import { readFileSync } from "node:fs";
for (const r of JSON.parse(readFileSync(process.argv[2]))) {
  const time = Number(r.timestamp), headers = { "webhook-id": r.id, "webhook-timestamp": String(time), "webhook-signature": "v1,AAAA " + r.standardSignature };
  const flip = (s) => s.replace(/,(.)/, (_, c) => "," + (c === "A" ? "B" : "A"));
  console.log(r.name, [
    verify(r.body, headers, r.secret, time + 300), verify(Buffer.from(r.body), headers, r.secret, time),
    verify(r.body, headers, r.secret, time + 301), verify(r.body, headers, r.secret, time - 301), verify(r.body + " ", headers, r.secret, time),
    verify(r.body, headers, r.secret + "x", time), verify(r.body, { ...headers, "webhook-id": "other" }, r.secret, time),
    verify(r.body, { ...headers, "webhook-timestamp": "soon" }, r.secret, time),
    verify(r.body, { ...headers, "webhook-signature": flip(r.standardSignature) }, r.secret, time),
    verify(r.body, { ...headers, "webhook-signature": undefined }, r.secret, time), verify(r.body, {}, r.secret, time),
  ].map(Number).join(""));
}`
	require.NoError(t, os.WriteFile(filepath.Join(dir, "all.mjs"), []byte(script), 0o600))
	path, err := filepath.Abs("../../clients/testdata/signatures.json")
	require.NoError(t, err)
	out, err := exec.CommandContext(t.Context(), "node", filepath.Join(dir, "all.mjs"), path).CombinedOutput()
	require.NoError(t, err, "%s", out)
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	require.Len(t, lines, len(table))
	for _, line := range lines {
		require.True(t, strings.HasSuffix(line, " 11000000000"), line)
	}
}
