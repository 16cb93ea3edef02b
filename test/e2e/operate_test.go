package e2e_test

import (
	"bytes"
	"encoding/base64"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var metricsAddress = regexp.MustCompile(`"serving metrics","address":"([^"]+)"`)

// operators returns the base URL of a process's operator endpoints.
func (p *process) operators(t *testing.T) string {
	t.Helper()
	var at []string
	eventually(t, "the process prints the address of its metrics", func() bool {
		at = metricsAddress.FindStringSubmatch(p.out.String())
		return at != nil
	})
	return "http://" + at[1]
}

func show(t *testing.T, url string, want int) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	require.NoError(t, err)
	res, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	defer func() { require.NoError(t, res.Body.Close()) }()
	b, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	require.Equal(t, want, res.StatusCode, "%s: %s", url, b)
	return string(b)
}

// shows waits until a page contains all of the given strings.
func shows(t *testing.T, url string, want ...string) {
	t.Helper()
	missing := ""
	assert.Eventually(t, func() bool {
		page := show(t, url, http.StatusOK)
		i := slices.IndexFunc(want, func(w string) bool { return !strings.Contains(page, w) })
		if i >= 0 {
			missing = want[i]
		}
		return i < 0
	}, waitTimeout, 100*time.Millisecond)
	if t.Failed() {
		t.Fatalf("%s does not show %s", url, missing)
	}
}

// checkMetrics checks the metrics of the processes after the main test.
func checkMetrics(t *testing.T, s *service) {
	t.Helper()
	api, worker := s.api.operators(t), s.worker.operators(t)
	shows(t, api+"/metrics",
		`countersign_http_requests_total{code="201",method="POST",route="/v1/envelopes"} 1`,
		`countersign_http_requests_total{code="200",method="POST",route="/v1/signing/:token/sign"} 3`,
		`countersign_http_request_duration_seconds_count{method="POST",route="/v1/signing/:token/sign"} `,
		`countersign_mails_total{kind="code",result="sent"} 1`,
		`countersign_mails_total{kind="sms",result="sent"} 1`,
		`countersign_outbox_rows `, `countersign_outbox_oldest_age_seconds `, `go_sql_open_connections{db_name="countersign"}`,
		`temporal_request{`)
	shows(t, worker+"/metrics",
		`countersign_seal_duration_seconds_count{result="sealed"} 1`,
		`countersign_mails_total{kind="invitation",result="sent"} 3`,
		`countersign_mails_total{kind="completed",result="sent"} 3`,
		`countersign_delivery_attempts_total{result="delivered"} 9`,
		`countersign_seal_certificate_not_after_seconds `,
		`temporal_activity_execution_latency_seconds_bucket{activity_type="Seal"`)
	assert.NotContains(t, show(t, api+"/metrics", http.StatusOK), "/ey", "a path with a token")

	assert.JSONEq(t, `{"database":"ok","files":"ok","temporal":"ok","seal_key":"ok"}`, show(t, worker+"/readyz", http.StatusOK))
	assert.JSONEq(t, `{"database":"ok","files":"ok","temporal":"ok"}`, show(t, api+"/readyz", http.StatusOK))
	assert.Contains(t, show(t, worker+"/healthz", http.StatusOK), `"status":"ok"`)
	show(t, s.BaseURL+"/metrics", http.StatusNotFound)
}

// checkCertificateWarning starts another worker whose certificate expires soon, and checks the warning.
func checkCertificateWarning(t *testing.T, s *service) {
	t.Helper()
	dir := t.TempDir()
	key, cert := filepath.Join(dir, "key.pem"), filepath.Join(dir, "cert.pem")
	tool(t, "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "10",
		"-addext", "basicConstraints=critical,CA:FALSE", "-addext", "keyUsage=critical,digitalSignature", "-subj", "/CN=Short", "-keyout", key, "-out", cert)
	p := start(t, append(s.env, "COUNTERSIGN_SEAL_KEY="+key, "COUNTERSIGN_SEAL_CERT="+cert), "worker")
	eventually(t, "the warning", func() bool {
		return strings.Contains(p.out.String(), "sealing certificate expires soon") && strings.Contains(p.out.String(), `"days_left":9`)
	})
	p.stop(t)
}

// checkAudit checks the output of the command that verifies the audit trail.
func checkAudit(t *testing.T, s *service) {
	t.Helper()
	out, err := run(t, s.env, "audit", "verify", "--all")
	require.NoError(t, err, out)
	assert.Contains(t, out, "1 envelope(s)")
	assert.Contains(t, out, "1 sealed file(s): 0 with problems")
	out, err = run(t, s.env, "audit", "verify", "--envelope", "019ffff0-0000-7000-8000-000000000000")
	require.Error(t, err, out)
	out, err = run(t, append(s.env, "COUNTERSIGN_BLOB_URL=file://"+t.TempDir()), "audit", "verify", "--all", "--json")
	require.Error(t, err, "the files are in another directory")
	assert.Contains(t, out, "is missing")
}

// checkEncryption checks that stored files are encrypted, and replaces the master key while the service is running.
func checkEncryption(t *testing.T, s *service) {
	t.Helper()
	dir := strings.TrimPrefix(s.setting("COUNTERSIGN_BLOB_URL"), "file://")
	n := 0
	require.NoError(t, filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		n++
		assert.False(t, bytes.Contains(b, []byte("%PDF")) || bytes.Contains(b, []byte("Contract")), "%s is not encrypted", path)
		return err
	}))
	assert.Equal(t, 2, n, "an original and its sealed file")
	former := s.setting("COUNTERSIGN_MASTER_KEY")
	fresh := base64.StdEncoding.EncodeToString(bytes.Repeat([]byte{8}, 32))
	out, err := run(t, append(s.env, "COUNTERSIGN_MASTER_KEY="+fresh+","+former), "key", "rewrap")
	require.NoError(t, err, out)
	assert.Contains(t, out, "2 of 2 files")
	out, err = run(t, append(s.env, "COUNTERSIGN_MASTER_KEY="+fresh), "audit", "verify", "--all")
	require.NoError(t, err, "the new key alone must decrypt everything: %s", out)
	out, err = run(t, s.env, "audit", "verify", "--all")
	require.Error(t, err, out)
}
