// Package renewal adds document time-stamps to stored sealed files if the last time-stamp is about to expire or if
// there is none. Each time-stamp covers the file and all earlier time-stamps, so a seal remains verifiable after its
// certificates have expired.
package renewal

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"time"

	"github.com/google/uuid"

	"countersign/internal/pulse"
	"countersign/models"
	"countersign/seal"
	"countersign/store"
	"countersign/store/blob"
)

// Sealer adds validation data and a document time-stamp to a sealed file.
type Sealer interface {
	Renew(ctx context.Context, in io.ReaderAt, size int64, out *os.File) (seal.Result, error)
}

// Renewer adds the time-stamps. It never modifies a stored file. It stores the extended file under a new key and then
// switches the document to that file, unless the document was switched in the meantime.
type Renewer struct {
	Store  *store.Store
	Blobs  blob.Store
	Sealer Sealer
	Now    func() time.Time
	NewID  func() uuid.UUID
	// DryRun reports the due renewals without performing them.
	DryRun bool
}

// Report is the result for one document.
type Report struct {
	EnvelopeID uuid.UUID `json:"envelopeId"`
	DocumentID uuid.UUID `json:"documentId"`
	// Before is the expiry of the document time-stamp before the renewal, or nil if there was none.
	Before *time.Time `json:"timestampedUntilBefore"`
	// Until is the expiry of the new file's time-stamp, or nil if there is no new file.
	Until *time.Time `json:"timestampedUntil"`
	// Problem is the reason why the document could not be renewed.
	Problem string `json:"problem,omitempty"`
}

// pageSize is the number of envelopes that one query lists.
const pageSize = 200

// All renews all apps' sealed documents that have no time-stamp, or whose time-stamp expires before the given time. If a
// document cannot be renewed, All reports the problem and continues. All returns an error only if that error stopped
// it.
func (r Renewer) All(ctx context.Context, before time.Time, emit func(Report) error) error {
	for after := uuid.Nil; ; {
		refs, err := r.Store.EnvelopesDueForTimestamp(ctx, before, after, pageSize)
		if err != nil {
			return err
		}
		for _, ref := range refs {
			if err := r.Envelope(ctx, ref, before, emit); err != nil {
				return err
			}
		}
		if len(refs) < pageSize {
			return nil
		}
		after = refs[len(refs)-1].ID
	}
}

// Envelope is like All, but for one envelope.
func (r Renewer) Envelope(ctx context.Context, ref store.EnvelopeRef, before time.Time, emit func(Report) error) error {
	e, err := r.Store.Envelope(ctx, ref.AppID, ref.ID)
	if err != nil {
		return err
	}
	for _, d := range e.Sealed() {
		if d.PurgeStatus == models.PurgePurged || d.TimestampedUntil != nil && !d.TimestampedUntil.Before(before) {
			continue
		}
		if err := r.renewDocument(ctx, e, d, emit); err != nil {
			return err
		}
	}
	return nil
}

// Pending adds the pending time-stamps of an envelope's documents. If it returns an error, the caller retries it.
func (r Renewer) Pending(ctx context.Context, ref store.EnvelopeRef) error {
	e, err := r.Store.Envelope(ctx, ref.AppID, ref.ID)
	if err != nil {
		return err
	}
	for _, d := range e.Sealed() {
		if d.PurgeStatus == models.PurgePurged || !d.TimestampPending {
			continue
		}
		pulse.Beat(ctx)
		if _, err := r.document(ctx, e, d); err != nil && !models.IsRejection(err) {
			return fmt.Errorf("time-stamp document %d: %w", d.Order, err)
		}
	}
	return nil
}

func (r Renewer) renewDocument(ctx context.Context, e *models.Envelope, d *models.Document, emit func(Report) error) error {
	report := Report{EnvelopeID: e.ID, DocumentID: d.ID, Before: d.TimestampedUntil}
	if !r.DryRun {
		var err error
		if report.Until, err = r.document(ctx, e, d); err != nil {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			report.Problem = err.Error()
		}
	}
	return emit(report)
}

// document stores the extended file before it switches the document to that file. If the renewal is interrupted in
// between, the unreferenced file is harmless, and is purged with the other files.
func (r Renewer) document(ctx context.Context, e *models.Envelope, d *models.Document) (*time.Time, error) {
	in, err := blob.OpenRecorded(ctx, r.Blobs, store.FileRecord(d))
	if err != nil {
		return nil, err
	}
	defer func() { _ = in.Close() }() // read-only file
	out, err := r.Blobs.Temp()
	if err != nil {
		return nil, err
	}
	defer blob.Discard(out)
	res, err := r.Sealer.Renew(ctx, in, in.Size, out)
	if err != nil {
		return nil, err
	}
	file := models.SealedFile{
		SHA256: res.SHA256, Size: res.Size, PageCount: res.PageCount, TimestampedUntil: res.TimestampedUntil, Encrypted: blob.Encrypts(r.Blobs),
		BlobKey: fmt.Sprintf("%s/%s-%s.pdf", path.Dir(d.BlobKey), *d.OriginalID, res.SHA256[:16]),
	}
	if err := r.Blobs.Put(ctx, out, file.BlobKey); err != nil {
		return nil, err
	}
	act := models.ActionContext{At: r.Now().UTC().Truncate(time.Microsecond), Actor: models.ActorSystem, NewID: r.NewID}
	_, err = r.Store.Change(ctx, e.AppID, e.ID, func(e *models.Envelope) error { return e.Timestamped(act, d.ID, d.SHA256, file) })
	if models.IsRejection(err) { // purged or renewed in the meantime
		err = errors.Join(err, r.Blobs.Delete(context.WithoutCancel(ctx), file.BlobKey))
	}
	if err != nil {
		return nil, err
	}
	return &file.TimestampedUntil, nil
}
