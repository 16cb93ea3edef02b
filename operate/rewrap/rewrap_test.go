package rewrap_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"countersign/internal/vault"
	"countersign/models"
	"countersign/operate/rewrap"
	"countersign/store"
	"countersign/store/blob"
	"countersign/test/kit"
)

func keepFile(t *testing.T, b blob.Store, key string) {
	t.Helper()
	f, err := b.Temp()
	require.NoError(t, err)
	defer blob.Discard(f)
	_, err = f.WriteString("content of " + key)
	require.NoError(t, err)
	require.NoError(t, b.Put(t.Context(), f, key))
}

func readFile(t *testing.T, b blob.Store, key string) (string, error) {
	t.Helper()
	f, err := b.Open(t.Context(), key)
	if err != nil {
		return "", err
	}
	defer f.Close()
	content, err := io.ReadAll(f)
	return string(content), err
}

// draft stores an envelope with one document. It returns the key of the document's file, which is recorded as encrypted
// if the parameter encrypted is set.
func draft(t *testing.T, s *store.Store, clock *kit.Clock, app uuid.UUID, encrypted bool) (e *models.Envelope, key string) {
	t.Helper()
	act := models.ActionContext{At: clock.Now(), Actor: models.ActorSystem, NewID: uuid.New}
	e, err := models.NewEnvelope(act, models.Envelope{AppID: app, TenantID: "t", CreatedBy: "me"})
	require.NoError(t, err)
	key = fmt.Sprintf("envelopes/%s/original/%s.pdf", e.ID, uuid.New())
	sum := sha256.Sum256([]byte("content of " + key))
	_, err = e.AddDocument(act, models.DocumentInput{Document: models.Document{
		SHA256: hex.EncodeToString(sum[:]), Size: int64(len("content of " + key)), PageCount: 1,
		Pages: []models.PageRun{{From: 1, Width: 595, Height: 842}}, BlobKey: key, Encrypted: encrypted,
	}}, 9)
	require.NoError(t, err)
	require.NoError(t, s.Create(t.Context(), e))
	return e, key
}

// TestRun checks that neither the database nor the files of documents require the former master key after re-encryption.
// An unencrypted file is also encrypted, and the record of its document is updated. Anchors are
// not encrypted.
func TestRun(t *testing.T) {
	t.Parallel()
	kit.EachDatabase(t, func(t *testing.T, kind string) {
		ctx, url, clock := t.Context(), kit.DatabaseURL(t, kind), kit.NewClock()
		files, err := blob.OpenDir(t.TempDir())
		require.NoError(t, err)

		former := kit.OpenStore(t, url, kit.VaultOf(t, 1), clock.Now)
		_, err = former.Migrate(ctx)
		require.NoError(t, err)
		app, _, err := former.CreateApp(ctx, "Acme", models.PlanEnterprise, nil)
		require.NoError(t, err)
		_, err = former.CreateUser(ctx, app.ID, "clerk@staff.example", "Clerk", "correct horse battery", models.RoleViewer)
		require.NoError(t, err)
		_, encryptedKey := draft(t, former, clock, app.ID, true)
		plain, plainKey := draft(t, former, clock, app.ID, false)
		const anchor, other = "anchors/00000001-ab.txt", "check/1.part"
		formerFiles := blob.NewEncrypted(files, kit.VaultOf(t, 1), true)
		for _, key := range []string{encryptedKey, anchor, other} {
			keepFile(t, formerFiles, key)
		}
		keepFile(t, files, plainKey)
		// There are two page images, one of which is encrypted, and the text of a page.
		shown := []store.PageFile{
			{BlobKey: encryptedKey, Profile: 1, Page: 1, Level: 2, Encrypted: true},
			{BlobKey: plainKey, Profile: 1, Page: 1, Level: 2},
			{BlobKey: plainKey, Profile: 1, Page: 1, Level: models.TextLevel},
		}
		for i := range shown {
			p := &shown[i]
			_, err := former.AddPageFile(ctx, *p)
			require.NoError(t, err)
			keepFile(t, map[bool]blob.Store{true: formerFiles, false: files}[p.Encrypted], p.Key())
		}

		both := kit.VaultOf(t, 2, 1)
		r := rewrap.Rewrapper{Store: kit.OpenStore(t, url, both, clock.Now), Blobs: blob.NewEncrypted(files, both, true)}
		n, err := r.Run(ctx)
		require.NoError(t, err)
		assert.Positive(t, n.Secrets, "the client secret")
		assert.Positive(t, n.Rows, "the user's address")
		assert.Equal(t, 6, n.AllFiles)
		n, err = r.Run(ctx)
		require.NoError(t, err)
		assert.Equal(t, rewrap.Result{AllFiles: 6}, n, "no data remains to be re-encrypted")

		newFiles, newStore := blob.NewEncrypted(files, kit.VaultOf(t, 2), true), kit.OpenStore(t, url, kit.VaultOf(t, 2), clock.Now)
		content, err := readFile(t, files, anchor)
		require.NoError(t, err)
		assert.Equal(t, "content of "+anchor, content, "the file can be read without a key")
		content, err = readFile(t, newFiles, encryptedKey)
		require.NoError(t, err)
		assert.Equal(t, "content of "+encryptedKey, content)
		_, err = readFile(t, formerFiles, encryptedKey)
		require.Error(t, err, "with only the former key")
		got, err := newStore.Envelope(ctx, app.ID, plain.ID)
		require.NoError(t, err)
		assert.True(t, got.Documents[0].Encrypted, "the file was stored unencrypted before")
		content, err = readFile(t, newFiles, plainKey)
		require.NoError(t, err)
		assert.Equal(t, "content of "+plainKey, content)

		for _, p := range shown {
			content, err = readFile(t, newFiles, p.Key())
			require.NoError(t, err)
			assert.Equal(t, "content of "+p.Key(), content)
			_, err = readFile(t, formerFiles, p.Key())
			require.Error(t, err, "with only the former key")
			recorded, err := newStore.PageFile(ctx, p.BlobKey, p.Profile, p.Page, p.Level)
			require.NoError(t, err)
			assert.True(t, recorded.Encrypted, "an unencrypted file in its place is rejected")
		}

		// If a file cannot be decrypted, the run ends with an error that contains the file's key. No other master
		// key is tried.
		_, err = rewrap.Rewrapper{Store: newStore, Blobs: blob.NewEncrypted(files, kit.VaultOf(t, 3), true)}.Run(ctx)
		require.ErrorIs(t, err, vault.ErrUnknownKey)
		require.ErrorContains(t, err, "re-encrypt ")
	})
}

// removing is a file store in which a file disappears after it was listed.
type removing struct {
	blob.Store

	key string
}

func (r removing) List(ctx context.Context, prefix string) ([]string, error) {
	keys, err := r.Store.List(ctx, prefix)
	return keys, errors.Join(err, r.Delete(ctx, r.key))
}

func (r removing) Walk(ctx context.Context, prefix string, visit func(blob.Entry) error) error {
	return r.Store.Walk(ctx, prefix, func(e blob.Entry) error {
		if e.Key == r.key {
			if err := r.Delete(ctx, r.key); err != nil {
				return err
			}
		}
		return visit(e)
	})
}

// TestRun_FilesRemovedConcurrently checks that a run continues if a file is deleted after it was listed.
func TestRun_FilesRemovedConcurrently(t *testing.T) {
	t.Parallel()
	ctx, clock := t.Context(), kit.NewClock()
	files, err := blob.OpenDir(t.TempDir())
	require.NoError(t, err)
	keys := kit.VaultOf(t, 1)
	s := kit.OpenStore(t, kit.DatabaseURL(t, "sqlite"), keys, clock.Now)
	_, err = s.Migrate(ctx)
	require.NoError(t, err)
	app, _, err := s.CreateApp(ctx, "Acme", models.PlanEnterprise, nil)
	require.NoError(t, err)
	_, removed := draft(t, s, clock, app.ID, false)
	cutOff, cutOffKey := draft(t, s, clock, app.ID, false)
	plain, plainKey := draft(t, s, clock, app.ID, false)
	keepFile(t, files, removed)
	keepFile(t, blob.NewEncrypted(files, keys, true), cutOffKey)
	keepFile(t, files, plainKey)

	n, err := rewrap.Rewrapper{Store: s, Blobs: blob.NewEncrypted(removing{files, removed}, keys, true)}.Run(ctx)
	require.NoError(t, err)
	assert.Equal(t, rewrap.Result{Files: 1, AllFiles: 2}, n)
	for _, e := range []*models.Envelope{cutOff, plain} {
		got, err := s.Envelope(ctx, app.ID, e.ID)
		require.NoError(t, err)
		assert.True(t, got.Documents[0].Encrypted)
	}
}
