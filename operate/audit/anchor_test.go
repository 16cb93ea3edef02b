package audit_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"countersign/models"
	"countersign/operate/audit"
	"countersign/seal/cms"
	"countersign/store"
	"countersign/store/blob"
	"countersign/test/kit"
)

// anchorFixture is an auditFixture with three anchors. The first anchor lists both envelopes, and the others list later
// states of the open envelope.
type anchorFixture struct {
	*auditFixture
	tsa      *kit.TSA
	anchorer audit.Anchorer
	made     []*store.Anchor
}

func newAnchorFixture(t *testing.T, kind string) *anchorFixture {
	t.Helper()
	a := &anchorFixture{auditFixture: newAuditFixture(t, kind), tsa: kit.NewTSA(t)}
	a.TSARoots = x509.NewCertPool()
	a.TSARoots.AddCert(a.tsa.Root)
	// The file store is configured as in a service with ENCRYPT_FILES, which leaves lists and tokens unencrypted.
	files := blob.NewEncrypted(a.blobs, kit.Vault(t), true)
	a.anchorer = audit.Anchorer{Store: a.Store, Blobs: files, Authority: authority(a.tsa), Now: a.clock.Now}
	a.clock.Add(24 * time.Hour)
	a.anchor(2)
	a.clock.Add(24 * time.Hour)
	a.consent()
	a.anchor(1)
	a.clock.Add(24 * time.Hour)
	a.anchor(1)
	return a
}

func authority(tsa *kit.TSA) *cms.Authority {
	return &cms.Authority{URL: tsa.URL, Client: &http.Client{Timeout: time.Minute}, Rand: rand.Reader}
}

func (a *anchorFixture) anchor(entries int64) {
	a.t.Helper()
	made, err := a.anchorer.Run(a.t.Context())
	require.NoError(a.t, err)
	require.Equal(a.t, entries, made.Entries)
	a.made = append(a.made, made)
}

// consent makes a signer of the open envelope consent.
func (a *anchorFixture) consent() {
	a.t.Helper()
	_, err := a.Store.Change(a.t.Context(), a.app, a.open, func(e *models.Envelope) error {
		s := e.Signers[0]
		l := models.Link{EnvelopeID: e.ID, SignerID: s.ID, ID: *s.LinkID}
		_, err := e.Consent(act(a.clock), l, new(models.Signer).Disclosure("en"))
		return err
	})
	require.NoError(a.t, err)
}

// remember saves the rows that the attacks change. The returned function restores them.
func (a *anchorFixture) remember() (undo func()) {
	before := a.auditFixture.remember()
	_, err := a.db.ExecContext(a.t.Context(), "CREATE TABLE kept_audit_anchors AS SELECT * FROM audit_anchors")
	require.NoError(a.t, err)
	lists := make(map[string][]byte)
	for _, m := range a.made {
		lists[m.BlobKey] = a.read(m.BlobKey)
	}
	return func() {
		before()
		a.exec("DELETE FROM audit_anchors")
		a.exec("INSERT INTO audit_anchors SELECT * FROM kept_audit_anchors")
		for key, content := range lists {
			put(a.t, a.blobs, key, content)
		}
	}
}

func (a *anchorFixture) read(key string) []byte {
	a.t.Helper()
	f, err := a.blobs.Open(a.t.Context(), key)
	require.NoError(a.t, err)
	defer func() { _ = f.Close() }()
	b, err := io.ReadAll(f)
	require.NoError(a.t, err)
	return b
}

// stamped returns the digest of the content, and a time-stamp token for the digest. The token is issued by an arbitrary
// authority.
func stamped(t *testing.T, tsa *kit.TSA, content []byte) (digest string, token []byte) {
	t.Helper()
	sum := sha256.Sum256(content)
	token, err := authority(tsa).Stamp(t.Context(), sum[:])
	require.NoError(t, err)
	return fmt.Sprintf("%x", sum), token
}

// TestAnchors_DetectChangesToOpenEnvelopes checks that changes to an open envelope are detected, although no
// document has been sealed and every chain is consistent.
func TestAnchors_DetectChangesToOpenEnvelopes(t *testing.T) {
	t.Parallel()
	const notThose = "differ from the anchored events"
	attacks := []struct {
		name string
		do   func(a *anchorFixture)
		want string
	}{
		{"an event is edited", func(a *anchorFixture) {
			a.exec("UPDATE audit_events SET ip = '203.0.113.9' WHERE envelope_id = $1 AND seq = 3", a.open)
			a.rewriteChain(a.open)
		}, notThose},
		{"an event is deleted", func(a *anchorFixture) {
			a.exec("DELETE FROM audit_events WHERE envelope_id = $1 AND seq = $2", a.open, a.seqOf(a.open, models.EventFieldAdded))
			a.rewriteChain(a.open)
		}, notThose},
		{"events are reordered", func(a *anchorFixture) {
			a.swap(a.open, 3, 5)
			a.rewriteChain(a.open)
		}, notThose},
		{"the end is cut off", func(a *anchorFixture) {
			a.exec("DELETE FROM audit_events WHERE envelope_id = $1 AND seq = $2", a.open, a.last(a.open))
			a.rewriteChain(a.open)
		}, notThose},
		{"an anchor's time is changed", func(a *anchorFixture) {
			a.exec("UPDATE audit_anchors SET at = $1 WHERE number = 3", a.clock.Now().Add(-time.Hour))
		}, "the anchor's list does not begin with"},
		{"an anchor is removed", func(a *anchorFixture) { a.exec("DELETE FROM audit_anchors WHERE number = 2") }, "number 2, was removed"},
		{"the last anchor is removed", func(a *anchorFixture) { a.exec("DELETE FROM audit_anchors WHERE number = 3") }, "but has no record"},
		{"an anchor is removed, the others moved up", func(a *anchorFixture) {
			a.exec("DELETE FROM audit_anchors WHERE number = 2")
			a.exec("UPDATE audit_anchors SET number = 2 WHERE number = 3")
		}, "the anchor's list does not begin with"},
		{"a list is changed", func(a *anchorFixture) {
			b := a.read(a.made[1].BlobKey)
			b[len(b)-2] ^= 1
			put(a.t, a.blobs, a.made[1].BlobKey, b)
		}, "the anchor's list was modified"},
		{"a list is changed, and its digest", func(a *anchorFixture) {
			b := a.read(a.made[1].BlobKey)
			b[len(b)-2] ^= 1
			put(a.t, a.blobs, a.made[1].BlobKey, b)
			digest, _ := stamped(a.t, a.tsa, b)
			a.exec("UPDATE audit_anchors SET digest = $1 WHERE number = 2", digest)
		}, "the time-stamp is not valid"},
		{"a list is changed, and stamped by an authority of one's own", func(a *anchorFixture) {
			b := bytes.Replace(a.read(a.made[2].BlobKey), []byte(a.open.String()), []byte(uuid.NewString()), 1)
			put(a.t, a.blobs, a.made[2].BlobKey, b)
			digest, token := stamped(a.t, kit.NewTSA(a.t), b)
			a.exec("UPDATE audit_anchors SET digest = $1, token = $2 WHERE number = 3", digest, token)
		}, "which is not trusted"},
		{"a list is gone", func(a *anchorFixture) {
			require.NoError(a.t, a.blobs.Delete(context.WithoutCancel(a.t.Context()), a.made[0].BlobKey))
		}, "the file of the anchor's list is missing"},
	}
	kit.EachDatabase(t, func(t *testing.T, kind string) {
		a := newAnchorFixture(t, kind)
		undo := a.remember()
		for _, attack := range attacks {
			found, n := a.problems()
			require.Empty(t, found, "the trail is valid before %s", attack.name)
			require.Equal(t, 2+3, n, "envelopes and anchors")
			attack.do(a)
			found, _ = a.problems()
			assert.Contains(t, strings.Join(found, "\n"), attack.want, attack.name)
			undo()
		}
		made := a.envelope(a.Store, kit.NewClock()) // before the first anchor
		found, _ := a.problems()
		assert.Contains(t, strings.Join(found, "\n"), "is dated before anchor 3, but no anchor covers it", "fabricated afterwards")
		a.remove(made)
		a.remove(a.open)
		found, _ = a.problems()
		assert.Len(t, found, 3)
		assert.Contains(t, strings.Join(found, "\n"), a.open.String()+" no longer exists")
	})
}

// TestAnchor_ProvesATime checks that the report contains the time of the anchor, and that openssl confirms the time
// using only the two stored files.
func TestAnchor_ProvesATime(t *testing.T) {
	t.Parallel()
	a := newAnchorFixture(t, "sqlite")
	var anchors []*audit.AnchorReport
	require.NoError(t, a.One(t.Context(), a.open, func(r *audit.Report) error {
		require.Empty(t, r.Problems)
		if r.Anchor != nil {
			anchors = append(anchors, r.Anchor)
		}
		return nil
	}))
	require.Len(t, anchors, 3)
	for _, r := range anchors {
		assert.True(t, r.Trusted)
		assert.WithinDuration(t, time.Now(), *r.StampedAt, 5*time.Minute)
		assert.Contains(t, r.Authority, "Test time-stamp authority")
	}
	dir := t.TempDir()
	for name, b := range map[string][]byte{
		"list": a.read(a.made[1].BlobKey), "token": a.read(a.made[1].BlobKey + ".tst"),
		"root": pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.tsa.Root.Raw}),
	} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), b, 0o600))
	}
	cmd := exec.CommandContext(t.Context(), "openssl", "ts", "-verify", "-data", "list", "-in", "token", "-token_in", "-CAfile", "root")
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)

	_, events, err := a.Store.EnvelopeWithEvents(t.Context(), a.app, a.open)
	require.NoError(t, err)
	head := events[len(events)-1]
	assert.Equal(t, fmt.Sprintf("countersign-anchor 2\nformer %s\nat %s\n%s %d %s\n",
		a.made[0].Digest, models.FormatTime(a.made[1].At), a.open, head.Seq, head.Hash), string(a.read(a.made[1].BlobKey)))
}

// TestAnchor_InterruptedRun_IsNoFinding checks that an interrupted run does not cause a finding.
func TestAnchor_InterruptedRun_IsNoFinding(t *testing.T) {
	t.Parallel()
	kit.OnBoth(t, func(t *testing.T, s *store.Store, clock *kit.Clock) {
		tsa := kit.NewTSA(t)
		blobs, err := blob.OpenDir(t.TempDir())
		require.NoError(t, err)
		failing := &failingBlobs{Store: blobs}
		anchorer := audit.Anchorer{Store: s, Blobs: failing, Authority: authority(tsa), Now: clock.Now}
		verifier := audit.Verifier{Store: s, Blobs: blobs, Now: clock.Now}
		reports := func() (n int) {
			require.NoError(t, verifier.All(t.Context(), func(r *audit.Report) error {
				assert.Empty(t, r.Problems)
				n++
				return nil
			}))
			return n
		}
		tsa.Down.Store(true)
		_, err = anchorer.Run(t.Context())
		require.ErrorContains(t, err, "the time-stamp authority returned HTTP status 503")
		tsa.Down.Store(false)
		failing.suffix = ".txt"
		_, err = anchorer.Run(t.Context())
		require.ErrorIs(t, err, errFull)
		assert.Zero(t, reports())
		failing.suffix = ".tst" // the row is written, but the token is not stored yet
		_, err = anchorer.Run(t.Context())
		require.ErrorIs(t, err, errFull)
		assert.Equal(t, 1, reports())
		failing.suffix = "none"
		made, err := anchorer.Run(t.Context())
		require.NoError(t, err)
		assert.EqualValues(t, 2, made.Number, "the first anchor's token is retained, and another anchor is created")
		keys, err := blobs.List(t.Context(), "anchors/")
		require.NoError(t, err)
		assert.Len(t, keys, 4)
		assert.Equal(t, 2, reports())

		again := *made
		require.ErrorIs(t, s.AddAnchor(t.Context(), again), store.ErrAnchored)
	})
}

var errFull = errors.New("disk full")

// failingBlobs is a file store that cannot store files whose key has the given suffix.
type failingBlobs struct {
	blob.Store
	suffix string
}

func (f *failingBlobs) Put(ctx context.Context, file *os.File, key string) error {
	if strings.HasSuffix(key, f.suffix) {
		return errFull
	}
	return f.Store.Put(ctx, file, key)
}

// TestManyChainHeads verifies a list that requires several database queries.
func TestManyChainHeads(t *testing.T) {
	t.Parallel()
	a := newAuditFixture(t, "sqlite")
	anchorer := audit.Anchorer{Store: a.Store, Blobs: a.blobs, Authority: authority(kit.NewTSA(t)), Now: a.clock.Now}
	for range 510 {
		e, err := models.NewEnvelope(act(a.clock), models.Envelope{AppID: a.app, TenantID: "t", CreatedBy: "me"})
		require.NoError(t, err)
		require.NoError(t, a.Store.Create(t.Context(), e))
	}
	made, err := anchorer.Run(t.Context())
	require.NoError(t, err)
	require.EqualValues(t, 512, made.Entries)
	found, _ := a.problems()
	require.Empty(t, found)
	a.exec("UPDATE envelopes SET audit_head = $1", strings.Repeat("0", 64))
	a.exec("UPDATE audit_events SET hash = $1", strings.Repeat("0", 64))
	n := 0
	require.NoError(t, a.All(t.Context(), func(r *audit.Report) error {
		if r.Anchor != nil {
			n += len(r.Problems)
		}
		return nil
	}))
	assert.Equal(t, 512, n)
}
