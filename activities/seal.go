package activities

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"slices"
	"time"

	"github.com/google/uuid"

	"countersign/internal/failpoint"
	"countersign/internal/limit"
	"countersign/internal/pulse"
	"countersign/models"
	"countersign/seal"
	"countersign/store"
	"countersign/store/blob"
	"countersign/temporal"
)

// Sealed reports which steps Seal completed.
type Sealed struct {
	// Status is the final status of the envelope: completed, or voided if an operator acted first.
	Status models.Status `json:"status"`
	// Copied reports whether the sealed documents were sent to every recipient.
	Copied bool `json:"copied,omitempty"`
}

// Seal seals every document of a fully signed envelope, stores the files and completes the envelope. It then tries once
// to send the copies, which usually saves the workflow a step. If that fails, SendCopies follows. Seal skips steps that
// are already recorded, so that an envelope is sealed only once and each email is sent only once.
func (a *Activities) Seal(ctx context.Context, in temporal.EnvelopeInput) (Sealed, error) {
	e, err := a.seal(ctx, in)
	if err != nil {
		return Sealed{}, err
	}
	done := Sealed{Status: e.Status}
	if e.Status != models.StatusCompleted {
		return done, nil
	}
	if err := a.copyOnce(ctx, e); err != nil {
		slog.WarnContext(ctx, "copies not sent; the workflow will send them", "envelope", e.ID, "error", err)
		return done, nil
	}
	done.Copied = true
	return done, nil
}

// seal seals the documents and returns the envelope in its final status. Only the files of the run that records them
// are retained. The files of all other runs are deleted.
func (a *Activities) seal(ctx context.Context, in temporal.EnvelopeInput) (*models.Envelope, error) {
	release, err := a.acquireSeal(ctx)
	if err != nil {
		return nil, err
	}
	defer release()
	e, err := a.Store.Envelope(ctx, in.AppID, in.EnvelopeID)
	if err != nil {
		return nil, nonRetryable(err)
	}
	switch e.Status { //nolint:exhaustive // all other statuses are wrong
	case models.StatusSealing:
	case models.StatusCompleted, models.StatusVoided:
		return e, nil
	default:
		return nil, nonRetryable(models.Reject(models.KindConflict, "envelope_not_sealing", "The envelope is %s.", e.Status))
	}
	done, kept, err := a.sealAll(ctx, e)
	if err != nil {
		return nil, a.sealingFailed(ctx, e, err)
	}
	failpoint.Inject("seal.completed")
	if err := a.removeUnrecorded(ctx, done, kept); err != nil {
		return nil, err
	}
	failpoint.Inject("seal.swept")
	return done, nil
}

// sealAll seals the documents and records the files. It also returns the keys of the stored files that are either
// recorded, or left over from this run or an interrupted run.
func (a *Activities) sealAll(ctx context.Context, e *models.Envelope) (*models.Envelope, []string, error) {
	_, settings, err := a.Store.Settings(ctx, e.AppID, e.TenantID)
	if err != nil {
		return nil, nil, err
	}
	app, err := a.Store.App(ctx, e.AppID)
	if err != nil {
		return nil, nil, err
	}
	job, err := a.sealJob(ctx, e)
	if err != nil {
		return nil, nil, err
	}
	job.Language, job.Envelope.Sender = settings.LanguageOrDefault(), settings.SenderOrDefault(app.Name)
	job.Color = models.Deref(settings.PrimaryColor, "")
	if settings.LogoSHA256 != nil {
		if job.Logo, err = a.Store.Logo(ctx, e.AppID, e.TenantID); err != nil {
			return nil, nil, err
		}
	}
	shown, err := a.loadPictures(ctx, e)
	if err != nil {
		return nil, nil, err
	}
	failpoint.Inject("seal.loaded")
	var files []models.SealedFile
	for _, d := range e.Originals() {
		job.Appearance = documentAppearance(e, d, shown)
		f, err := a.sealDocument(ctx, e, d, job)
		if err != nil {
			return nil, nil, fmt.Errorf("seal document %d: %w", d.Order, err)
		}
		files = append(files, f)
	}
	failpoint.Inject("seal.stored")
	// The files are listed before the envelope is completed. A later version with an additional time-stamp is stored
	// before it is recorded, and must not be mistaken for a leftover.
	kept, err := a.Blobs.List(ctx, sealedPrefix(e.ID))
	if err != nil {
		return nil, nil, err
	}
	done, err := a.Store.Change(ctx, e.AppID, e.ID, func(e *models.Envelope) error {
		if err := e.Complete(a.systemContext(), files); err != nil {
			return err
		}
		e.SetRetention(models.Deref(settings.RetentionDays, 0))
		return nil
	})
	if models.IsRejection(err) {
		done, err = a.Store.Envelope(ctx, e.AppID, e.ID) // another run or an operator completed or closed it first
		if err == nil && done.Status == models.StatusCompleted {
			// Only the files of this run are leftovers. Other files may have been stored since the other run completed the
			// envelope.
			kept = kept[:0]
			for _, f := range files {
				kept = append(kept, f.BlobKey)
			}
		}
	}
	return done, kept, err
}

// openUpload opens a file that the sender or a signer uploaded.
func (a *Activities) openUpload(ctx context.Context, kept blob.Record) (*blob.File, error) {
	f, err := blob.OpenRecorded(ctx, a.Blobs, kept)
	if errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("%w: %w", errNoOriginal, err)
	}
	return f, err
}

func sealedPrefix(envelope uuid.UUID) string { return "envelopes/" + envelope.String() + "/sealed/" }

// sealDocument seals one document into a separate file.
func (a *Activities) sealDocument(ctx context.Context, e *models.Envelope, d *models.Document, job seal.Job) (models.SealedFile, error) {
	original, err := a.openUpload(ctx, store.FileRecord(d.Presented()))
	if err != nil {
		return models.SealedFile{}, err
	}
	defer func() { _ = original.Close() }() // read-only file
	out, err := a.Blobs.Temp()
	if err != nil {
		return models.SealedFile{}, err
	}
	defer blob.Discard(out)
	job.Original, job.Size, job.OriginalSHA256 = original, original.Size, d.SHA256
	job.Document, job.Facts = sealDocument(e, d), seal.DecodeFacts(d.SealFacts)
	if d.IsPrepared() {
		upload, err := a.openUpload(ctx, store.FileRecord(d))
		if err != nil {
			return models.SealedFile{}, err
		}
		defer func() { _ = upload.Close() }() // read-only file
		if job.Prepared, err = preparation(d, upload); err != nil {
			return models.SealedFile{}, err
		}
	}
	inDocument := make(map[string]bool)
	for _, f := range e.Fields {
		inDocument[f.ID.String()] = f.DocumentID == d.ID
	}
	job.Values = slices.DeleteFunc(slices.Clone(job.Values), func(v seal.Value) bool { return !inDocument[v.FieldID] })
	given, err := a.openAttachments(ctx, e, d)
	if err != nil {
		return models.SealedFile{}, err
	}
	defer given.close()
	job.Attachments = given.files
	res, err := a.Sealer.Seal(ctx, out, job)
	if err != nil {
		return models.SealedFile{}, err
	}
	failpoint.Inject("seal.sealed")
	pulse.Beat(ctx)
	key := fmt.Sprintf("%s%s-%s.pdf", sealedPrefix(e.ID), d.ID, res.SHA256[:16])
	if err := a.Blobs.Put(ctx, out, key); err != nil {
		return models.SealedFile{}, err
	}
	failpoint.Inject("seal.kept")
	pulse.Beat(ctx)
	return models.SealedFile{
		OriginalID: d.ID, SHA256: res.SHA256, Size: res.Size, PageCount: res.PageCount, BlobKey: key,
		TimestampedUntil: res.TimestampedUntil, TimestampPending: res.Pending, Encrypted: blob.Encrypts(a.Blobs),
	}, nil
}

// sealJob returns the part of the job that is common to all documents of the envelope.
func (a *Activities) sealJob(ctx context.Context, e *models.Envelope) (seal.Job, error) {
	values, err1 := a.Store.Values(ctx, e)
	events, err2 := a.Store.AuditEvents(ctx, e)
	if err := errors.Join(err1, err2); err != nil {
		return seal.Job{}, err
	}
	if err := models.VerifyChain(events, e.AuditSeq, e.AuditHead); err != nil {
		return seal.Job{}, fmt.Errorf("%w: %w", errChainBroken, err)
	}
	j, err := newSealJob(e, values, events)
	j.VerifyURL, j.SealedAt = a.BaseURL+"/verify", a.Now().UTC().Truncate(time.Second)
	return j, err
}

// newSealJob returns the part of the job that depends only on the envelope and its stored values and events.
func newSealJob(e *models.Envelope, values []models.FieldValue, events []models.Event) (seal.Job, error) {
	j := seal.Job{
		Envelope: seal.Envelope{
			ID: e.ID.String(), TenantID: e.TenantID, Subject: e.Title(), CreatedAt: e.CreatedAt.UTC(), SentAt: utcOrZero(e.SentAt), OriginalHash: *e.HashOriginal,
		},
		ChainHead: e.AuditHead,
	}
	for i := range events {
		b, err := events[i].Canonical()
		if err != nil {
			return seal.Job{}, err
		}
		j.Events = append(j.Events, json.RawMessage(b))
	}
	for _, d := range e.Originals() {
		j.Documents = append(j.Documents, sealDocument(e, d))
	}
	for _, s := range e.Signers {
		signer := seal.Signer{
			ID: s.ID.String(), Name: s.Name, Email: s.Email, AuthMethod: string(s.AuthMethod), ConsentAt: utcOrZero(s.ConsentAt),
			ConsentVersion: s.ConsentVersion, VerifiedAt: utcOrZero(s.OTPVerifiedAt), SignedAt: utcOrZero(s.SignedAt), IP: s.IP, UserAgent: s.UserAgent,
			Order: s.RoutingOrder, Phone: models.Deref(s.Phone, ""), Part: part(e, s),
		}
		for _, was := range s.Previous() {
			signer.Previous = append(signer.Previous, seal.PreviousSigner{Name: was.Name, Email: was.Email, Until: was.Until.UTC().Truncate(time.Microsecond), Reason: was.Reason})
		}
		if s.Shown != "" {
			signer.Shown = &seal.Shown{Digest: s.Shown, Confirmed: s.ShownConfirmed}
			for _, id := range s.ShownSigners {
				signer.Shown.Signers = append(signer.Shown.Signers, id.String())
			}
		}
		j.Signers = append(j.Signers, signer)
	}
	byField := make(map[uuid.UUID]models.FieldValue, len(values))
	for _, v := range values {
		byField[v.FieldID] = v
	}
	for _, f := range e.Fields {
		if v, ok := byField[f.ID]; ok {
			j.Values = append(j.Values, seal.Value{
				FieldID: f.ID.String(), SignerID: f.SignerID.String(), Kind: seal.Kind(f.Type), Page: f.Page,
				X: f.X, Y: f.Y, W: f.W, H: f.H, Text: v.Text, Checked: f.Checked(v.Text), PNG: v.Image,
				Name: f.ChosenName(), Group: f.Attributes.Group, Option: f.Attributes.Option,
				FontSize: f.Attributes.FontSize, Align: string(f.Attributes.Align), Cells: f.Cells(),
			})
		}
	}
	return j, nil
}

func sealDocument(e *models.Envelope, d *models.Document) seal.Document {
	return seal.Document{ID: d.ID.String(), Name: e.FileName(d), SHA256: d.SHA256, Order: d.Order, PageCount: d.PageCount, PreparedSHA256: d.PreparedSHA256}
}

// preparation returns the description of a prepared file for the seal record.
func preparation(d *models.Document, upload *blob.File) (*seal.Prepared, error) {
	p := &seal.Prepared{UploadSize: upload.Size, Upload: upload}
	if err := json.Unmarshal([]byte(d.Preparation), &p.Prepared); err != nil {
		return nil, fmt.Errorf("read the record of the document's preparation: %w", err)
	}
	p.SHA256, p.Size = d.PreparedSHA256, d.PreparedSize
	return p, nil
}

func utcOrZero(t *time.Time) time.Time { return models.Deref(t, time.Time{}).UTC() }

// removeUnrecorded deletes the stored sealed files that are not recorded.
func (a *Activities) removeUnrecorded(ctx context.Context, e *models.Envelope, kept []string) error {
	return a.deleteFiles(ctx, slices.DeleteFunc(kept, func(key string) bool {
		return slices.ContainsFunc(e.Sealed(), func(d *models.Document) bool { return d.BlobKey == key })
	}))
}

// copiesBegin is the time after which Seal starts no further email. copiesEnd is the time after which it aborts an
// email that is being sent. Stopping the worker does not abort an email, because the email would then be sent twice.
const (
	copiesBegin = 5 * time.Second
	copiesEnd   = 15 * time.Second
)

// errCopiesBusy indicates that SendCopies must send the copies. SendCopies runs on a separate task queue for email.
var errCopiesBusy = errors.New("the concurrency limit for sending copies on the sealing queue is reached")

// copyOnce sends the copies if there is enough time and capacity. If the activity's time is nearly over, copyOnce
// starts no email, because SendCopies would begin while that email is still being sent. It also starts no email while
// many other envelopes are waiting for the mail server, so that sealing can continue.
func (a *Activities) copyOnce(ctx context.Context, e *models.Envelope) error {
	release, ok := a.CopyLimit.TryAcquire(1)
	if !ok {
		return errCopiesBusy
	}
	defer release()
	if end, ok := ctx.Deadline(); ok && time.Until(end) < copiesBegin+copiesEnd {
		return context.DeadlineExceeded
	}
	begin, cancelBegin := context.WithTimeout(ctx, copiesBegin)
	defer cancelBegin()
	mails, cancelMails := context.WithTimeout(context.WithoutCancel(ctx), copiesEnd)
	defer cancelMails()
	v, err := a.mailSettingsFor(mails, e.AppID, e.TenantID)
	if err != nil {
		return err
	}
	return a.sendCopies(mails, begin, e, v)
}

// acquireSeal waits until the envelope may be sealed. The limit applies while the seal is being computed, but not while
// waiting for a mail server, because a slow mail server would otherwise delay sealing.
func (a *Activities) acquireSeal(ctx context.Context) (release func(), err error) {
	for {
		release, err = a.SealLimit.Acquire(ctx, 1, HeartbeatInterval)
		if !errors.Is(err, limit.ErrBusy) {
			return release, err
		}
		pulse.Beat(ctx) // the worker is sealing other envelopes in the meantime
	}
}
