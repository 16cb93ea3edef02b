package e2e_test

import (
	"bytes"
	"encoding/base64"
	"encoding/pem"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"countersign/clients/go/api"
	"countersign/test/kit"
)

// TestTimestamps checks a document that was sealed while the time-stamp authority was unavailable. It must receive a
// time-stamp once the authority is available again, and another one when a renewal is due.
func TestTimestamps(t *testing.T) {
	t.Parallel()
	tsa := kit.NewTSA(t)
	tsa.Down.Store(true)
	s := production(t, "COUNTERSIGN_TSA_URL="+tsa.URL, "COUNTERSIGN_TSA_OPTIONAL=true", "COUNTERSIGN_TSA_ANCHOR=true", "COUNTERSIGN_ENCRYPT_FILES=true")
	c := s.app(t)
	id := c.send(t, agreement("Ada", "ada@example.com"))
	s.sign(t, s.signingLink(t, "ada@example.com"), "")
	final := func() (hash string) {
		if e := c.envelope(t, id); e.Status == api.EnvelopeStatusCompleted {
			hash = *e.DocumentHashFinal
		}
		return hash
	}
	eventually(t, "sealed without a time-stamp", func() bool { return final() != "" })
	sealed := final()
	out, err := run(t, s.env, "renew", "--dry-run")
	require.NoError(t, err, out)
	assert.Contains(t, out, "1 document(s) to be renewed, 0 with problems")

	tsa.Down.Store(false)
	eventually(t, "the time-stamp is added", func() bool { return final() != sealed })
	out, err = run(t, s.env, "renew")
	require.NoError(t, err, out)
	assert.Equal(t, "0 document(s) renewed, 0 with problems\n", out)
	stamped := final()
	out, err = run(t, s.env, "renew", "--days", "3650", "--envelope", id.String())
	require.NoError(t, err, out)
	assert.Contains(t, out, "time-stamped until "+tsa.NotAfter.Format("2006-01-02"))
	assert.NotEqual(t, stamped, final())

	dir := t.TempDir()
	file, root := filepath.Join(dir, "sealed.pdf"), filepath.Join(dir, "tsa.pem")
	require.NoError(t, os.WriteFile(file, c.sealed(t, id), 0o600))
	require.NoError(t, os.WriteFile(root, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: tsa.Root.Raw}), 0o600))
	ca := filepath.Join(filepath.Dir(s.setting("COUNTERSIGN_SEAL_CERT")), "seal.ca.pem")
	out, err = run(t, nil, "verify", file, "--trust", ca, "--tsa-trust", root)
	require.NoError(t, err, out)
	assert.Contains(t, out, "✓ archive_timestamp")
	eventually(t, "the audit trail is anchored", func() bool {
		out, err = run(t, s.env, "audit", "verify", "--all", "--trust", root)
		require.NoError(t, err, out)
		assert.Contains(t, out, "1 sealed file(s): 0 with problems")
		return strings.Contains(out, "1 anchor(s), the latest from 20")
	})
	assert.Contains(t, out, "by CN=Test time-stamp authority, which is trusted")
	out, err = run(t, s.env, "audit", "verify", "--envelope", id.String(), "--trust", ca)
	require.Error(t, err, out)
	assert.Contains(t, out, "✗ anchor 1  the time-stamp was issued by CN=Test time-stamp authority, which is not trusted")
	out, err = run(t, s.env, "doctor")
	require.NoError(t, err, out)
	assert.Contains(t, out, "✓ timestamps")
	assert.Contains(t, out, "✓ anchors            the audit trail was last anchored at ")

	fresh := base64.StdEncoding.EncodeToString(bytes.Repeat([]byte{8}, 32))
	out, err = run(t, append(s.env, "COUNTERSIGN_MASTER_KEY="+fresh+","+s.setting("COUNTERSIGN_MASTER_KEY")), "key", "rewrap")
	require.NoError(t, err, out)
	out, err = run(t, append(s.env, "COUNTERSIGN_MASTER_KEY="+fresh), "audit", "verify", "--all", "--trust", root)
	require.NoError(t, err, "the new key alone must also decrypt the lists of anchors: %s", out)
	assert.Contains(t, out, "1 anchor(s)")
}
