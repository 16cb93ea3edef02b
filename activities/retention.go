package activities

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"countersign/models"
	"countersign/notify/templates"
	"countersign/store"
	"countersign/store/blob"
	"countersign/temporal"
)

// RetentionPlan is until when the files of an envelope are kept.
type RetentionPlan struct {
	Until *time.Time `json:"until"` // nil: for ever
	// RemindDays are the days before it on which recipients are reminded, in order.
	RemindDays []int `json:"remindDays"`
	// LookAgainAt is when, before the first reminder is due, it is known who has only links; nil: now.
	LookAgainAt *time.Time `json:"lookAgainAt,omitempty"`
}

// RemindDeletionInput is the input for the reminder that Days days are left.
type RemindDeletionInput struct {
	temporal.EnvelopeInput

	Days int `json:"days"`
}

// deletionReminders are the days before the end of the retention on which recipients are reminded.
func deletionReminders() []int { return []int{14, 7, 1} }

// LoadRetention returns the time until which the files are kept. Reminders are sent only if the files were too large
// for email: recipients who have the files need none. Whether a mail server finds the files too large is known only
// when they are sent, which may be later.
func (a *Activities) LoadRetention(ctx context.Context, in temporal.EnvelopeInput) (RetentionPlan, error) {
	e, err := a.Store.Envelope(ctx, in.AppID, in.EnvelopeID)
	if err != nil {
		return RetentionPlan{}, nonRetryable(err)
	}
	p := RetentionPlan{Until: e.RetainedUntil(), RemindDays: []int{}}
	if p.Until == nil {
		return p, nil
	}
	links, err := a.linksWereSent(ctx, e)
	if err != nil {
		return RetentionPlan{}, err
	}
	if links {
		p.RemindDays = deletionReminders()
		return p, nil
	}
	for _, days := range deletionReminders() {
		// This clock may be behind the one by which the workflow slept until the last look.
		if at := p.Until.AddDate(0, 0, -days).Add(-time.Hour); at.After(a.Now().Add(time.Minute)) {
			p.LookAgainAt = &at
			break
		}
	}
	return p, nil
}

// linksWereSent reports whether anybody may have only links to the files: either they are not attached, or links were
// sent although they would be attached now, because the limit was different at that time or a mail server found the
// email too large. There is no other record of it. If the archive with the audit trail is damaged, it returns true:
// one unnecessary reminder is better than a retention that waits for ever, and the purge reports the damage.
func (a *Activities) linksWereSent(ctx context.Context, e *models.Envelope) (bool, error) {
	if !a.attachmentsFit(e) {
		return true, nil
	}
	events, err := a.Store.AuditEvents(ctx, e)
	if broken, ok := errors.AsType[*store.ArchiveError](err); ok {
		slog.WarnContext(ctx, "who was sent links to the files cannot be read; reminders of their deletion are sent", "envelope", e.ID, "error", broken)
		return true, nil
	}
	return slices.ContainsFunc(events, func(ev models.Event) bool { return ev.Name == models.EventCopySent }), err
}

// RemindDeletion reminds every recipient who has not downloaded all files yet.
func (a *Activities) RemindDeletion(ctx context.Context, in RemindDeletionInput) error {
	e, v, err := a.loadEnvelope(ctx, in.EnvelopeInput)
	if err != nil {
		return err
	}
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
	return tryLater(failed)
}

func (a *Activities) remindDeletion(ctx context.Context, e *models.Envelope, s *models.Signer, d *models.Document, v mailSettings,
	days int, until time.Time,
) error {
	tok, err := a.Tokens.IssueDownload(e, d, s.ID)
	if err != nil {
		return err
	}
	content, err := templates.DeletionReminder{
		Language: v.languageOf(s), Look: v.look, RecipientName: s.Name, SenderName: v.sender, Subject: e.Title(), DownloadURL: a.BaseURL + "/download/" + tok, PurgeOn: until, DaysLeft: days,
	}.Render()
	if err != nil {
		return fmt.Errorf("write deletion reminder: %w", err)
	}
	id := a.Mail.MessageID("deletion", s.ID.String(), d.ID.String(), fmt.Sprint(days))
	return ignoreRefused(a.mailOnce(ctx, e, s, newMail(models.MailDeletion, person(s), v, id, content), nil))
}

// downloadKey is a document that the person of an address has downloaded.
type downloadKey struct {
	email, document string
}

// downloads returns, from the audit trail, who has downloaded which files.
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

// Purge removes the files of an envelope whose retention has ended. It first records the deletion: a file that is
// recorded as deleted is never delivered.
func (a *Activities) Purge(ctx context.Context, in temporal.EnvelopeInput) error {
	e, err := a.Store.Change(ctx, in.AppID, in.EnvelopeID, func(e *models.Envelope) error { return e.Purge(a.systemContext()) })
	if err != nil {
		if early, ok := errors.AsType[*models.Error](err); ok && early.Code == "retention_not_due" {
			return err // our clock is behind; tried again
		}
		return nonRetryable(err)
	}
	var keys []string
	for _, d := range e.Documents {
		keys = append(keys, d.BlobKeys()...)
	}
	// What a template, or another envelope of the same template, names stays.
	gone, err := a.Store.Unreferenced(ctx, keys...)
	if err != nil {
		return err
	}
	for _, key := range gone {
		if err := blob.DeleteWithPages(ctx, a.Blobs, key); err != nil {
			return fmt.Errorf("purge envelope %s: %w", e.ID, err)
		}
	}
	if err := a.Store.RemovePageFiles(ctx, gone...); err != nil {
		return err
	}
	// Files that time-stamps were added to since are kept under their old names;
	// what signers attached is beside the documents.
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
		if err := a.Blobs.Delete(ctx, key); err != nil {
			return err
		}
	}
	return nil
}
