package activities

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"countersign/internal/pulse"
	"countersign/models"
	"countersign/notify/templates"
	"countersign/store"
	"countersign/store/blob"
	"countersign/temporal"
)

// retentionBatch is the number of retention steps in one round. retentionConcurrency is the number of steps that run
// concurrently.
const (
	retentionBatch       = 200
	retentionConcurrency = 4
)

// retentionRetry is the delay before a failed retention step is retried.
const retentionRetry = time.Hour

// retentionRound performs the due retention steps: it requests deletion reminders and purges files. A failed step is
// retried later and does not delay the others.
func (a *Activities) retentionRound(ctx context.Context, round *CleanupRound) error {
	steps, err := a.Store.RetentionSteps(ctx, retentionBatch)
	if err != nil {
		return err
	}
	var reminded, purged atomic.Int32
	var mu sync.Mutex
	var failed error
	var work errgroup.Group
	work.SetLimit(retentionConcurrency)
	for _, step := range steps {
		work.Go(func() error {
			defer pulse.Beat(ctx)
			done, err := a.retentionStep(ctx, step)
			switch {
			case err != nil:
				slog.WarnContext(ctx, "retention step failed and will be retried", "envelope", step.ID, "error", err)
				err = errors.Join(err, a.Store.SetRetentionStep(ctx, step, new(a.Now().Add(retentionRetry)), 0))
				mu.Lock()
				defer mu.Unlock()
				failed = errors.Join(failed, err)
			case done == retentionReminded:
				reminded.Add(1)
			case done == retentionPurged:
				purged.Add(1)
			}
			return nil
		})
	}
	_ = work.Wait() // the errors are in failed
	round.count("deletion reminders requested", int(reminded.Load()), false)
	round.count("envelopes purged", int(purged.Load()), len(steps) == retentionBatch)
	return failed
}

// The possible outcomes of a retention step.
const (
	retentionWaits = iota
	retentionReminded
	retentionPurged
)

// retentionStep purges an envelope whose retention has ended. Before that, it requests a deletion reminder if links
// were sent because the files were too large for email. Recipients who have the files need no reminder. Each step
// determines again whether links were sent, because only an attempt to send the files shows whether a mail server
// accepts their size.
func (a *Activities) retentionStep(ctx context.Context, step store.RetentionStep) (done int, err error) {
	e, err := a.Store.Envelope(ctx, step.AppID, step.ID)
	if err != nil {
		return 0, err
	}
	until, now := e.RetainedUntil(), a.Now()
	switch {
	case until == nil:
		return retentionWaits, a.Store.SetRetentionStep(ctx, step, nil, 0)
	case !now.Before(*until):
		if err := a.Purge(ctx, temporal.EnvelopeInput{AppID: e.AppID, EnvelopeID: e.ID}); err != nil {
			return 0, err
		}
		return retentionPurged, a.Store.SetRetentionStep(ctx, step, nil, 0)
	}
	links, err := a.linksSent(ctx, e)
	if err != nil {
		return 0, err
	}
	days := 0
	if done = retentionWaits; links {
		const day = 24 * time.Hour
		done, days = retentionReminded, int((until.Sub(now)+day-1)/day)
	}
	return done, a.Store.SetRetentionStep(ctx, step, new(models.RetentionStepAfter(*until, now)), days)
}

// linksSent reports whether a recipient may have received only links to the files. It returns true if the files are too
// large to attach. Otherwise, links may have been sent because the limit was lower at the time, or because a mail
// server rejected the size. The audit trail shows whether this is the case. If the archive that contains the audit
// trail is damaged, linksSent returns true, because an unnecessary reminder is better than a retention period that
// never ends. The purge then reports the damage.
func (a *Activities) linksSent(ctx context.Context, e *models.Envelope) (bool, error) {
	if !a.attachmentsFit(e) {
		return true, nil
	}
	events, err := a.Store.AuditEvents(ctx, e)
	if broken, ok := errors.AsType[*store.ArchiveError](err); ok {
		slog.WarnContext(ctx, "could not determine which recipients received links; sending deletion reminders to all recipients", "envelope", e.ID, "error", broken)
		return true, nil
	}
	return slices.ContainsFunc(events, func(ev models.Event) bool { return ev.Name == models.EventCopySent }), err
}

// RemindDeletion sends a reminder to every recipient except those who downloaded all files.
func (a *Activities) RemindDeletion(ctx context.Context, in temporal.DeletionInput) error {
	e, v, release, err := a.loadForMail(ctx, in.EnvelopeInput)
	if err != nil {
		return err
	}
	defer release()
	until := e.RetainedUntil()
	if until == nil {
		return nil
	}
	downloaded, err := a.downloads(ctx, e)
	if err != nil {
		return err
	}
	var failed error
	for _, r := range mailed(e.Recipients(), person) {
		for _, d := range e.Sealed() {
			if !downloaded[downloadKey{models.EmailKey(r.address.Email), d.ID.String()}] && d.PurgeStatus != models.PurgePurged {
				failed = errors.Join(failed, a.remindDeletion(ctx, e, r.signer, d, v, in.Days, *until))
			}
		}
	}
	return withRetryDelay(failed)
}

func (a *Activities) remindDeletion(ctx context.Context, e *models.Envelope, s *models.Signer, d *models.Document, v mailSettings,
	days int, until time.Time,
) error {
	tok, err := a.Tokens.IssueDownload(e, d, s.ID)
	if err != nil {
		return err
	}
	content, err := templates.DeletionReminder{
		Language: v.languageOf(s), Branding: v.branding, RecipientName: s.Name, SenderName: v.sender, Subject: e.Title(), DownloadURL: a.BaseURL + "/download/" + tok, PurgeOn: until, DaysLeft: days,
	}.Render()
	if err != nil {
		return fmt.Errorf("render deletion reminder: %w", err)
	}
	id := a.Mail.MessageID("deletion", s.ID.String(), d.ID.String(), fmt.Sprint(days))
	return ignoreRejection(a.mailOnce(ctx, e, s, newMail(models.MailDeletion, person(s), v, id, content), nil))
}

// downloadKey identifies a document and the email address of a person who downloaded it.
type downloadKey struct {
	email, document string
}

// downloads returns the files that each recipient has downloaded, according to the audit trail.
func (a *Activities) downloads(ctx context.Context, e *models.Envelope) (map[downloadKey]bool, error) {
	events, err := a.Store.AuditEvents(ctx, e)
	if err != nil {
		return nil, err
	}
	out := make(map[downloadKey]bool)
	for _, ev := range events {
		if ev.Name != models.EventDocumentDownloaded {
			continue
		}
		document, _ := ev.Detail["documentId"].(string)
		for _, s := range e.Recipients() {
			if ev.Actor == models.SignerActor(s.ID) {
				out[downloadKey{models.EmailKey(s.Email), document}] = true
			}
		}
	}
	return out, nil
}

// Purge deletes the files of an envelope whose retention has ended. It records the deletion first, so that a file
// that is recorded as deleted is never delivered. It may run more than once.
func (a *Activities) Purge(ctx context.Context, in temporal.EnvelopeInput) error {
	e, err := a.Store.Change(ctx, in.AppID, in.EnvelopeID, func(e *models.Envelope) error { return e.Purge(a.systemContext()) })
	if err != nil {
		return err
	}
	var keys []string
	for _, d := range e.Documents {
		keys = append(keys, d.BlobKeys()...)
	}
	// Files that are still referenced by a template, or by another envelope created from the template, are not deleted.
	gone, err := a.Store.Unreferenced(ctx, keys...)
	if err != nil {
		return err
	}
	if err := a.deleteFiles(ctx, gone); err != nil {
		return fmt.Errorf("purge envelope %s: %w", e.ID, err)
	}
	// Earlier versions of time-stamped files are stored under their former keys, and attachments are stored next to
	// the documents.
	return a.purgeOthers(ctx, e)
}

func (a *Activities) purgeOthers(ctx context.Context, e *models.Envelope) error {
	if err := a.Store.PurgeAttachments(ctx, e.ID, a.Now()); err != nil {
		return err
	}
	for _, prefix := range []string{sealedPrefix(e.ID), attachmentsPrefix(e.ID)} {
		keys, err := a.Blobs.List(ctx, prefix)
		if err != nil {
			return err
		}
		if err := a.deleteFiles(ctx, keys); err != nil {
			return fmt.Errorf("purge: %w", err)
		}
	}
	return nil
}

func (a *Activities) deleteFiles(ctx context.Context, keys []string) error {
	for _, key := range keys {
		if err := blob.DeleteWithPages(ctx, a.Blobs, key); err != nil {
			return err
		}
	}
	return a.Store.RemovePageFiles(ctx, keys...)
}
