package activities

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"countersign/models"
	"countersign/notify"
	"countersign/notify/templates"
	"countersign/store"
	"countersign/store/blob"
	"countersign/temporal"
)

// SendCopies sends the sealed documents to all signers and copy recipients. The documents are attached, or linked if
// their total size exceeds the limit.
func (a *Activities) SendCopies(ctx context.Context, in temporal.EnvelopeInput) error {
	e, v, release, err := a.loadForMail(ctx, in)
	if err != nil {
		return err
	}
	defer release()
	if e.Status != models.StatusCompleted {
		return nil
	}
	return withRetryDelay(a.sendCopies(ctx, ctx, e, v))
}

// sendCopies sends the copies. Once the context passed as begin has ended, it starts no further email.
func (a *Activities) sendCopies(ctx, begin context.Context, e *models.Envelope, v mailSettings) error {
	return sendToEach(begin, mailed(e.Recipients(), person), func(to addressee) error { return a.sendCopy(ctx, e, to, v) })
}

// errPurged permanently rejects copies of purged files.
var errPurged = &notify.PermanentError{Err: errors.New("the files were deleted at the end of the retention period")}

// sendCopy attaches the files to the email if they fit. If they do not, or if the mail server rejects the message size,
// sendCopy sends links instead. Sent links are recorded in the audit trail, which determines whether a deletion
// reminder is sent later.
func (a *Activities) sendCopy(ctx context.Context, e *models.Envelope, to addressee, v mailSettings) error {
	pending := models.Mail{ID: a.completedID(to.signer), EnvelopeID: e.ID, SignerID: to.signer.ID, Kind: models.MailCompleted}
	attach := a.attachmentsFit(e)
	send := func(ctx context.Context, last bool) error {
		content, files, err := a.completedMail(e, to.signer, v, attach)
		if err != nil {
			return fmt.Errorf("write: %w", err)
		}
		m := newMail(pending.Kind, to.address, v, pending.ID, content)
		m.Attachments, m.LastAttempt = files, last
		return a.Mail.Send(ctx, m)
	}
	return ignoreRejection(a.sendOnce(ctx, pending, func(ctx context.Context, last bool) error {
		if purged(e) {
			return errPurged
		}
		err := send(ctx, last)
		if _, tooLarge := errors.AsType[*notify.TooLargeError](err); tooLarge && attach {
			attach = false
			err = send(ctx, last)
		}
		return err
	}, func(id, rejected string) error {
		if rejected != "" || attach {
			return a.recordMailResult(ctx, id, rejected)
		}
		return a.copySent(ctx, temporal.EnvelopeInput{AppID: e.AppID, EnvelopeID: e.ID}, to.signer, id)
	}))
}

// completedID returns the Message-ID of the first email with the sealed files.
func (a *Activities) completedID(s *models.Signer) string {
	return a.Mail.MessageID(string(models.MailCompleted), s.ID.String())
}

// copySent records that links to the files were sent.
func (a *Activities) copySent(ctx context.Context, in temporal.EnvelopeInput, s *models.Signer, mailID string) error {
	return a.recordMail(ctx, in, mailID, "", func(e *models.Envelope) error { return e.CopySent(a.systemContext(), s.ID, mailID) })
}

func purged(e *models.Envelope) bool {
	return slices.ContainsFunc(e.Sealed(), func(d *models.Document) bool { return d.PurgeStatus == models.PurgePurged })
}

// completedMail returns the email that contains the sealed files, either as attachments or as links.
func (a *Activities) completedMail(e *models.Envelope, s *models.Signer, v mailSettings, attach bool) (templates.Content, []notify.Attachment, error) {
	msg := templates.Completed{
		Language: v.languageOf(s), Branding: v.branding, RecipientName: s.Name, SenderName: v.sender, Subject: e.Title(), CompletedAt: *e.CompletedAt, VerifyURL: a.BaseURL + "/verify",
		NotAllSigned: !e.AllSign(),
	}
	var files []notify.Attachment
	for _, d := range e.Sealed() {
		doc := templates.CompletedDocument{Name: e.FileName(d), SHA256: d.SHA256}
		if attach {
			files = append(files, a.attachment(e, d))
		} else {
			tok, err := a.Tokens.IssueDownload(e, d, s.ID)
			if err != nil {
				return templates.Content{}, nil, err
			}
			doc.DownloadURL = a.BaseURL + "/download/" + tok
		}
		msg.Documents = append(msg.Documents, doc)
	}
	content, err := msg.Render()
	return content, files, err
}

// SendCopiesAgain sends a signer new links to the sealed files, in one email per request. If the files have been
// purged, it sends nothing.
func (a *Activities) SendCopiesAgain(ctx context.Context, in temporal.CopiesInput) error {
	e, v, release, err := a.loadForMail(ctx, in.EnvelopeInput)
	if err != nil {
		return err
	}
	defer release()
	s := e.Recipient(in.SignerID)
	if s == nil || e.Status != models.StatusCompleted {
		return a.Store.DropRequestedMail(ctx, in.Request)
	}
	m := models.Mail{ID: models.RequestedMailID(in.Request), EnvelopeID: e.ID, SignerID: s.ID, Kind: models.MailCompleted, RequestID: &in.Request}
	return withRetryDelay(ignoreRejection(a.sendOnce(ctx, m, func(ctx context.Context, last bool) error {
		if purged(e) {
			return errPurged
		}
		content, _, err := a.completedMail(e, s, v, false)
		if err != nil {
			return fmt.Errorf("write: %w", err)
		}
		mail := newMail(m.Kind, person(s), v, a.Mail.MessageID("copies", in.Request.String()), content)
		mail.LastAttempt = last
		return a.Mail.Send(ctx, mail)
	}, func(id, rejected string) error {
		if rejected != "" {
			return a.recordMailResult(ctx, id, rejected)
		}
		return a.copySent(ctx, in.EnvelopeInput, s, id)
	})))
}

// attachmentsFit reports whether the sealed files are small enough to be attached to emails.
func (a *Activities) attachmentsFit(e *models.Envelope) bool {
	var total int64
	for _, d := range e.Sealed() {
		total += d.Size
	}
	return total <= a.AttachmentLimit
}

func (a *Activities) attachment(e *models.Envelope, d *models.Document) notify.Attachment {
	return notify.Attachment{Name: e.FileName(d), ContentType: d.MimeType, Size: d.Size, Open: func(ctx context.Context) (io.ReadCloser, error) {
		f, err := blob.OpenRecorded(ctx, a.Blobs, store.FileRecord(d))
		if err != nil {
			return nil, err
		}
		return f, nil
	}}
}
