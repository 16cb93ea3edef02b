package e2e_test

import (
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"countersign/internal/testkit"
)

// TestRestore: a dump of the database and a copy of the files, taken while the
// service runs, are all that is needed to go on elsewhere, with a Temporal that
// knows nothing. Links that were mailed before still work.
func TestRestore(t *testing.T) {
	t.Parallel()
	s := production(t)
	c := s.login(t)
	two := object{
		"tenantId": "acme", "subject": "Begun before the fire",
		"signers": []object{
			{"name": "Ada", "email": "ada@example.com", "authMethod": "none"},
			{"name": "Bob", "email": "bob@example.com", "authMethod": "none", "routingOrder": 2},
		},
		"fields": []object{
			{"signerId": "0", "type": "text", "page": 1, "x": 72, "y": 300, "w": 160, "h": 20},
			{"signerId": "1", "type": "text", "page": 1, "x": 72, "y": 400, "w": 160, "h": 20},
		},
	}
	begun := s.sendNew(t, c, two)
	s.sign(t, s.signingLink(t, "ada@example.com"), "")
	bob := s.signingLink(t, "bob@example.com")
	one := contract()
	one["signers"] = []object{{"name": "Cleo", "email": "cleo@example.com", "authMethod": "none"}}
	untouched := s.sendNew(t, c, one)
	cleo := s.signingLink(t, "cleo@example.com")
	one["signers"] = []object{{"name": "Dan", "email": "dan@example.com", "authMethod": "none"}}
	done := s.sendNew(t, c, one)
	s.sign(t, s.signingLink(t, "dan@example.com"), "")
	s.awaitMail(t, "dan@example.com", func(m message) bool { return len(m.Attachments) == 1 })

	// The back-up: the database first, then the files.
	dump := filepath.Join(t.TempDir(), "countersign.sql")
	tool(t, postgresTool(t, "pg_dump"), "--no-owner", "--file", dump, s.setting("COUNTERSIGN_DATABASE_URL"))
	files := filepath.Join(t.TempDir(), "files")
	require.NoError(t, os.CopyFS(files, os.DirFS(strings.TrimPrefix(s.setting("COUNTERSIGN_BLOB_URL"), "file://"))))
	s.api.stop(t)
	s.worker.stop(t)

	// The restore, on an empty database and an empty Temporal.
	database, tmp := testkit.Postgres(t), testkit.Temporal(t)
	tool(t, postgresTool(t, "psql"), "--quiet", "--set", "ON_ERROR_STOP=1", "--file", dump, database)
	s.env = append(s.env, "COUNTERSIGN_DATABASE_URL="+database, "COUNTERSIGN_BLOB_URL=file://"+files,
		"COUNTERSIGN_TEMPORAL_ADDRESS="+tmp.HostPort, "COUNTERSIGN_TEMPORAL_NAMESPACE="+tmp.Namespace)
	out, err := run(t, s.env, "migrate")
	require.NoError(t, err, out)
	s.api, s.worker = start(t, s.env, "api"), start(t, s.env, "worker")
	ready(t, s.BaseURL)

	assert.Equal(t, counts{Unfinished: 2, Started: 2}, s.reconcile(t, "--dry-run"), "the finished one needs nothing")
	assert.Equal(t, counts{Unfinished: 2, Started: 2}, s.reconcile(t))
	eventually(t, "both run", func() bool { return s.reconcile(t, "--dry-run").Started == 0 })
	out, err = run(t, s.env, "audit", "verify", "--all")
	require.NoError(t, err, out)

	s.sign(t, bob, "")
	s.sign(t, cleo, "")
	c = s.login(t)
	for _, id := range []string{begun, untouched, done} {
		eventually(t, "completed "+id, func() bool {
			return c.call(t, http.StatusOK, http.MethodGet, "/v1/envelopes/"+id, nil).str("status") == "completed"
		})
	}
	status, sealed := c.do(t, http.MethodGet, "/v1/envelopes/"+begun+"/document?kind=sealed", "", nil)
	require.Equal(t, http.StatusOK, status)
	file := filepath.Join(t.TempDir(), "sealed.pdf")
	require.NoError(t, os.WriteFile(file, sealed, 0o600))
	assert.Equal(t, 2, strings.Count(tool(t, "pdftotext", "-l", "1", file, "-"), "Zoë Łukasz"), "also what was signed before the back-up")
	for _, to := range []string{"ada@example.com", "bob@example.com", "cleo@example.com"} {
		s.awaitMail(t, to, func(m message) bool { return len(m.Attachments) == 1 })
	}
	for to, n := range map[string]int{"ada@example.com": 2, "bob@example.com": 2, "cleo@example.com": 2, "dan@example.com": 2} {
		assert.Len(t, s.messages(t, to), n, "an invitation and a copy, nothing twice: %s", to)
	}
	eventually(t, "nothing is unfinished", func() bool { return s.reconcile(t, "--dry-run") == counts{} })
}

func (s *service) sendNew(t *testing.T, c *client, data object) (id string) {
	t.Helper()
	id = c.create(t, http.StatusCreated, data, testkit.OnePage()).str("id")
	c.call(t, http.StatusOK, http.MethodPost, "/v1/envelopes/"+id+"/send", nil)
	return id
}

// setting is a setting of the service's processes; the last one counts.
func (s *service) setting(name string) (value string) {
	for _, v := range s.env {
		if rest, ok := strings.CutPrefix(v, name+"="); ok {
			value = rest
		}
	}
	return value
}

type counts struct{ Unfinished, Started int }

// reconcile runs the command and returns what it says of envelopes.
func (s *service) reconcile(t *testing.T, flags ...string) counts {
	t.Helper()
	out, err := run(t, s.env, append([]string{"reconcile", "--json"}, flags...)...)
	require.NoError(t, err, out)
	var found struct{ Envelopes counts }
	require.NoError(t, json.Unmarshal([]byte(out[strings.Index(out, `{"deliveries"`):]), &found), out)
	return found.Envelopes
}

// postgresTool finds a program that Debian keeps out of $PATH.
func postgresTool(t *testing.T, name string) string {
	t.Helper()
	if path, err := exec.LookPath(name); err == nil {
		return path
	}
	found, err := filepath.Glob("/usr/lib/postgresql/*/bin/" + name)
	require.NoError(t, err)
	require.NotEmpty(t, found, "%s is missing", name)
	return found[len(found)-1]
}
