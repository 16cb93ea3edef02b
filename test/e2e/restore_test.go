package e2e_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	countersign "countersign/clients/go"
	"countersign/clients/go/api"
	"countersign/operate/reconcile"
	"countersign/store"
	"countersign/test/kit"
)

// TestRestore checks that a database dump and a copy of the files, created while the service is running, are
// sufficient to continue on another machine with an empty Temporal. Links from earlier emails still work.
func TestRestore(t *testing.T) {
	t.Parallel()
	s := production(t)
	c := s.app(t)
	two := agreement("Ada", "ada@example.com")
	two.Subject = countersign.Ptr("Begun before the fire")
	two.Signers = append(two.Signers, person("Bob", "bob@example.com"))
	two.Signers[1].RoutingOrder = countersign.Ptr(2)
	two.Fields = append(two.Fields, countersign.NewField(api.FieldTypeText, "1", 1, 72, 400, 160, 20))
	begun := c.send(t, two)
	s.sign(t, s.signingLink(t, "ada@example.com"), "")
	bob := s.signingLink(t, "bob@example.com")
	untouched := c.send(t, agreement("Cleo", "cleo@example.com"))
	cleo := s.signingLink(t, "cleo@example.com")
	done := c.send(t, agreement("Dan", "dan@example.com"))
	s.sign(t, s.signingLink(t, "dan@example.com"), "")
	s.awaitMail(t, "dan@example.com", func(m message) bool { return len(m.Attachments) == 1 })

	// Create the backup: the database first, and then the files.
	dump := filepath.Join(t.TempDir(), "countersign.sql")
	tool(t, postgresTool(t, "pg_dump"), "--no-owner", "--file", dump, kit.DirectURL(t, s.setting("COUNTERSIGN_DATABASE_URL")))
	files := filepath.Join(t.TempDir(), "files")
	require.NoError(t, os.CopyFS(files, os.DirFS(strings.TrimPrefix(s.setting("COUNTERSIGN_BLOB_URL"), "file://"))))
	s.api.stop(t)
	s.worker.stop(t)

	// Restore it to an empty database, with an empty Temporal.
	database, tmp := kit.Postgres(t), kit.Temporal(t)
	tool(t, postgresTool(t, "psql"), "--quiet", "--set", "ON_ERROR_STOP=1", "--file", dump, kit.DirectURL(t, database))
	s.env = append(s.env, "COUNTERSIGN_DATABASE_URL="+database, "COUNTERSIGN_BLOB_URL=file://"+files,
		"COUNTERSIGN_TEMPORAL_ADDRESS="+tmp.HostPort, "COUNTERSIGN_TEMPORAL_NAMESPACE="+tmp.Namespace)
	out, err := run(t, s.env, "migrate")
	require.NoError(t, err, out)
	s.api, s.worker = start(t, s.env, "api"), start(t, s.env, "worker")
	ready(t, s.BaseURL)

	// The worker has created the schedule "reconcile" in the empty Temporal, and its first run starts the missing
	// workflows.
	eventually(t, "both run without a command", func() bool { return s.reconcile(t, "--dry-run") == reconcile.Count{Unfinished: 2} })
	out, err = run(t, s.env, "audit", "verify", "--all")
	require.NoError(t, err, out)

	s.sign(t, bob, "")
	s.sign(t, cleo, "")
	c = s.app(t)
	for _, id := range []uuid.UUID{begun, untouched, done} {
		c.completed(t, id)
	}
	file := filepath.Join(t.TempDir(), "sealed.pdf")
	require.NoError(t, os.WriteFile(file, c.sealed(t, begun), 0o600))
	assert.Equal(t, 2, strings.Count(tool(t, "pdftotext", "-l", "1", file, "-"), "Zoë Łukasz"), "including signatures from before the backup")
	for _, to := range []string{"ada@example.com", "bob@example.com", "cleo@example.com"} {
		s.awaitMail(t, to, func(m message) bool { return len(m.Attachments) == 1 })
	}
	for to, n := range map[string]int{"ada@example.com": 2, "bob@example.com": 2, "cleo@example.com": 2, "dan@example.com": 2} {
		assert.Len(t, s.messages(t, to), n, "one invitation and one copy, no email twice: %s", to)
	}
	eventually(t, "nothing is unfinished", func() bool { return s.reconcile(t, "--dry-run") == reconcile.Count{} })
}

// setting returns a setting of the service's processes. If a setting occurs more than once, the last one takes
// effect.
func (s *service) setting(name string) (value string) {
	for _, v := range s.env {
		if rest, ok := strings.CutPrefix(v, name+"="); ok {
			value = rest
		}
	}
	return value
}

// reconcile runs the reconcile command, and returns its counts for envelopes and closings.
func (s *service) reconcile(t *testing.T, flags ...string) reconcile.Count {
	t.Helper()
	out, err := run(t, s.env, append([]string{"reconcile", "--json"}, flags...)...)
	require.NoError(t, err, out)
	var found reconcile.Counts
	require.NoError(t, json.Unmarshal([]byte(out[strings.Index(out, `{"bulk_sends"`):]), &found), out)
	require.Len(t, found, len(reconcile.Order), "each kind must be reported")
	open, closings := found[store.WorkEnvelopes], found[store.WorkClosings]
	return reconcile.Count{Unfinished: open.Unfinished + closings.Unfinished, Missing: open.Missing + closings.Missing}
}

// postgresTool returns the path of a PostgreSQL program, which is not in $PATH on Debian.
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
