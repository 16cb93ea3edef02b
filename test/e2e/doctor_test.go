package e2e_test

import (
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.temporal.io/api/workflowservice/v1"
	temporal "go.temporal.io/sdk/client"
	"google.golang.org/protobuf/types/known/durationpb"

	"countersign/seal/sealkey"
	"countersign/test/kit"
)

type finding struct{ Check, Status, Detail, Advice string }

// doctor runs the doctor command and returns its findings by check.
func doctor(t *testing.T, env []string, flags ...string) (map[string]finding, error) {
	t.Helper()
	out, failed := run(t, env, append([]string{"doctor", "--json"}, flags...)...)
	var report struct {
		OK       bool
		Findings []finding
	}
	line, _, _ := strings.Cut(out, "\n")
	require.NoError(t, json.Unmarshal([]byte(line), &report), out)
	assert.Equal(t, failed == nil, report.OK, "the exit code must match")
	by := make(map[string]finding)
	for _, f := range report.Findings {
		by[f.Check] = f
		if f.Status == "failed" || f.Status == "warning" {
			assert.NotEmpty(t, f.Advice, "%s must recommend a fix", f.Check)
		}
	}
	return by, failed
}

// TestDoctor checks the findings for a healthy service, and then for one broken part after another.
func TestDoctor(t *testing.T) {
	t.Parallel()
	s := production(t)
	var (
		found map[string]finding
		err   error
	)
	eventually(t, "the worker has begun", func() bool {
		found, err = doctor(t, s.env)
		return err != nil || found["workers"].Status == "ok"
	})
	require.NoError(t, err, "%v", found)
	for _, check := range []string{
		"settings", "database", "migrations", "planner", "master_key", "partitions", "outbox", "unsealed", "clock", "temporal", "namespace", "search_attributes", "workers", "files", "mail", "seal_key",
	} {
		assert.Equal(t, "ok", found[check].Status, "%s: %s", check, found[check].Detail)
	}
	assert.Equal(t, "warning", found["durability"].Status, "the tests run without fsync")
	out, err := run(t, s.env, "doctor")
	require.NoError(t, err)
	assert.Contains(t, out, "✓ database")
	found, err = doctor(t, s.env, "--mail", "you@example.com")
	require.NoError(t, err, "%v", found)
	assert.Equal(t, "ok", found["mail_sent"].Status)
	assert.Contains(t, found["mail_sent"].Detail, "the server responded: ")
	found, err = doctor(t, s.env, "--mail", "you")
	require.Error(t, err)
	assert.Contains(t, found["mail_sent"].Detail, "--mail must be an address")

	open := append(s.env, "COUNTERSIGN_BASE_URL=https://sign.example.com", "COUNTERSIGN_DECLINE_NEEDS_CODE=false")
	found, err = doctor(t, open)
	require.NoError(t, err, "a recommendation must not be a failure: %v", found)
	assert.Equal(t, "warning", found["decline"].Status)
	assert.Contains(t, found["decline"].Advice, "COUNTERSIGN_DECLINE_NEEDS_CODE")
	found, err = doctor(t, append(open, "COUNTERSIGN_DECLINE_NEEDS_CODE=true"))
	require.NoError(t, err)
	assert.NotContains(t, found, "decline")

	notADirectory := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(notADirectory, nil, 0o600))
	expired := expiredCertificate(t)
	for name, c := range map[string]struct {
		env   []string
		check string
		want  string // expected text in the detail or the advice
	}{
		"settings":          {[]string{"COUNTERSIGN_RATE_LIMIT=many"}, "settings", "COUNTERSIGN_RATE_LIMIT"},
		"no settings":       {[]string{"COUNTERSIGN_SMTP_URL="}, "settings", "COUNTERSIGN_SMTP_URL: must be set"},
		"database":          {[]string{"COUNTERSIGN_DATABASE_URL=postgres://nobody:hunter2@127.0.0.1:1/none"}, "database", "COUNTERSIGN_DATABASE_URL"},
		"migrations":        {[]string{"COUNTERSIGN_DATABASE_URL=" + kit.Postgres(t)}, "migrations", "countersign migrate"},
		"master key":        {[]string{"COUNTERSIGN_MASTER_KEY=" + base64.StdEncoding.EncodeToString(make([]byte, 32))}, "master_key", "after a comma"},
		"temporal":          {[]string{"COUNTERSIGN_TEMPORAL_ADDRESS=127.0.0.1:1"}, "temporal", "COUNTERSIGN_TEMPORAL_ADDRESS"},
		"namespace":         {[]string{"COUNTERSIGN_TEMPORAL_NAMESPACE=nowhere"}, "namespace", "namespace create"},
		"search attributes": {[]string{"COUNTERSIGN_TEMPORAL_NAMESPACE=" + bareNamespace(t)}, "search_attributes", "--name AppId|TenantId|EnvelopeId|EnvelopeStatus|Stuck"},
		"files":             {[]string{"COUNTERSIGN_BLOB_URL=file://" + notADirectory}, "files", "COUNTERSIGN_BLOB_URL"},
		"mail":              {[]string{"COUNTERSIGN_SMTP_URL=smtp://127.0.0.1:1?tls=none"}, "mail", "COUNTERSIGN_SMTP_URL"},
		"scanner":           {[]string{"COUNTERSIGN_CLAMD_URL=tcp://127.0.0.1:1"}, "scanner", "COUNTERSIGN_CLAMD_URL"},
		"leaked passwords":  {[]string{"COUNTERSIGN_LEAKED_PASSWORDS=" + notADirectory + "/list"}, "leaked_passwords", "COUNTERSIGN_LEAKED_PASSWORDS"},
		"expired":           {expired, "seal_key", "COUNTERSIGN_SEAL_CERT"},
		"no module":         {[]string{"COUNTERSIGN_SEAL_KEY=pkcs11:token=t;object=o?module-path=/nowhere.so"}, "seal_key", "make build TAGS=pkcs11"},
		"no key":            {[]string{"COUNTERSIGN_SEAL_KEY=/nowhere.pem"}, "seal_key", "COUNTERSIGN_SEAL_KEY"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			found, err := doctor(t, append(s.env, c.env...))
			require.Error(t, err)
			assert.Equal(t, "failed", found[c.check].Status, "%v", found)
			assert.Contains(t, found[c.check].Detail+found[c.check].Advice, c.want)
			assert.NotContains(t, found[c.check].Detail, "hunter2")
		})
	}
}

func expiredCertificate(t *testing.T) []string {
	t.Helper()
	dir := t.TempDir()
	key, cert := filepath.Join(dir, "key.pem"), filepath.Join(dir, "cert.pem")
	_, certPEM, keyPEM, err := sealkey.SelfSigned("Past", time.Now().AddDate(-20, 0, 0), rand.Reader)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(key, keyPEM, 0o600))
	require.NoError(t, os.WriteFile(cert, certPEM, 0o600))
	return []string{"COUNTERSIGN_SEAL_KEY=" + key, "COUNTERSIGN_SEAL_CERT=" + cert}
}

// bareNamespace creates a namespace without Countersign's search attributes.
func bareNamespace(t *testing.T) string {
	t.Helper()
	opts := kit.Temporal(t)
	c, err := temporal.DialContext(t.Context(), opts)
	require.NoError(t, err)
	defer c.Close()
	name := opts.Namespace + "-bare"
	_, err = c.WorkflowService().RegisterNamespace(t.Context(), &workflowservice.RegisterNamespaceRequest{
		Namespace: name, WorkflowExecutionRetentionPeriod: durationpb.New(24 * 3600e9),
	})
	require.NoError(t, err)
	return name
}
