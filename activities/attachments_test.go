package activities_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"countersign/models"
	"countersign/store/blob"
	"countersign/temporal"
)

// watchedBlobs is a file store that records the opened attachments and can fail to open one of them.
type watchedBlobs struct {
	blob.Store

	opened []*blob.File
	fail   string // key of the file that cannot be opened; empty if there is none
}

func (b *watchedBlobs) Open(ctx context.Context, key string) (*blob.File, error) {
	if key == b.fail {
		return nil, errors.New("the store does not respond")
	}
	f, err := b.Store.Open(ctx, key)
	if err == nil && strings.Contains(key, "/attachments/") {
		b.opened = append(b.opened, f)
	}
	return f, err
}

// withAttachments returns an envelope that awaits its signer. Each of two fields of its first document has an
// attachment, and a third attachment is not used by any signature.
func (env *fakeEnv) withAttachments() (*models.Envelope, temporal.EnvelopeInput, []*models.Attachment) {
	env.t.Helper()
	ctx := env.t.Context()
	e := env.prepared(func(int) int { return 1 }, "a@example.com")
	for i := range 2 {
		_, err := e.AddFields(env.act(), []models.FieldInput{{
			SignerRef: "0", Type: models.FieldAttachment, Page: 1, X: 1, Y: 20 + float64(i)*30, W: 160, H: 24, Origin: models.OriginTopLeft,
		}}, models.NoPrefix)
		require.NoError(env.t, err)
	}
	require.NoError(env.t, e.Send(env.act(), nil))
	require.NoError(env.t, env.Store.Create(ctx, e))
	var used []*models.Attachment
	for i := range 3 {
		a := &models.Attachment{
			ID: newID(), EnvelopeID: e.ID, FieldID: e.Fields[1+i%2].ID, SignerID: e.Signers[0].ID, Name: fmt.Sprintf("%d.pdf", i), MimeType: "application/pdf",
			SHA256: emptyHash, BlobKey: fmt.Sprintf("envelopes/%s/attachments/%d.pdf", e.ID, i), CreatedAt: env.clock.Now(),
		}
		f, err := env.Blobs.Temp()
		require.NoError(env.t, err)
		require.NoError(env.t, env.Blobs.Put(ctx, f, a.BlobKey))
		blob.Discard(f)
		env.change(e, func(e *models.Envelope) error {
			e.Attached = []*models.Attachment{a}
			return nil
		})
		if i < 2 {
			used = append(used, &models.Attachment{ID: a.ID, Used: true, FieldID: a.FieldID, BlobKey: a.BlobKey})
		}
	}
	env.change(e, func(e *models.Envelope) error {
		e.Attached = used
		return nil
	})
	return e, temporal.EnvelopeInput{AppID: env.app.ID, EnvelopeID: e.ID}, used
}

// TestSeal_ClosesAttachments checks that a document is sealed with only its own attachments, and that all opened
// attachments are closed afterwards.
func TestSeal_ClosesAttachments(t *testing.T) {
	t.Parallel()
	onBothDatabases(t, func(env *fakeEnv) {
		e, in, used := env.withAttachments()
		env.signAll(e)
		watched := &watchedBlobs{Store: env.Blobs, fail: used[1].BlobKey}
		env.Blobs = watched
		allClosed := func() {
			env.t.Helper()
			for _, f := range watched.opened {
				_, err := f.Stat()
				require.ErrorIs(env.t, err, os.ErrClosed, f.Name())
			}
		}
		_, err := env.seal(env.t.Context(), in)
		require.ErrorContains(env.t, err, "the store does not respond")
		require.Len(env.t, watched.opened, 1)
		allClosed()

		watched.opened, watched.fail = nil, ""
		env.sealed(in)
		require.Len(env.t, watched.opened, 2, "the third file was not used in a signature")
		allClosed()
		given := map[string][]string{}
		for _, job := range env.sealer.jobs {
			for _, a := range job.Attachments {
				assert.Equal(env.t, e.Signers[0].ID.String(), a.SignerID)
				given[job.Document.ID] = append(given[job.Document.ID], a.ID+" for "+a.FieldID)
			}
		}
		of := func(i int, field uuid.UUID) string { return used[i].ID.String() + " for " + field.String() }
		require.Equal(env.t, map[string][]string{e.Originals()[0].ID.String(): {of(0, e.Fields[1].ID), of(1, e.Fields[2].ID)}}, given)
	})
}
