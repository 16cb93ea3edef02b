package activities

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/google/uuid"
	sdktemporal "go.temporal.io/sdk/temporal"

	"countersign/internal/failpoint"
	"countersign/internal/pulse"
	"countersign/models"
	"countersign/notify"
	"countersign/notify/templates"
	"countersign/temporal"
)

// sendToEach sends an email to each of the addressees. An unreachable addressee does not delay the others. Once the
// context passed as begin has ended, sendToEach starts no further email and returns an error.
func sendToEach(begin context.Context, all []addressee, send func(addressee) error) error {
	var failed error
	for _, to := range all {
		if begin.Err() != nil {
			return errors.Join(failed, begin.Err())
		}
		failed = errors.Join(failed, send(to))
	}
	return failed
}

// mailOnce is like sendOnce, but for emails.
func (a *Activities) mailOnce(ctx context.Context, e *models.Envelope, s *models.Signer, m notify.Mail, record recordMail) error {
	return a.sendRecorded(ctx, models.Mail{ID: m.MessageID, EnvelopeID: e.ID, SignerID: s.ID, Kind: models.MailKind(m.Kind)}, m, record)
}

// sendRecorded is like mailOnce, but uses the given record of the email.
func (a *Activities) sendRecorded(ctx context.Context, pending models.Mail, m notify.Mail, record recordMail) error {
	return a.sendOnce(ctx, pending, func(ctx context.Context, last bool) error {
		m.LastAttempt = last
		return a.Mail.Send(ctx, m)
	}, record)
}

// recordMail is a function that records the result of sending a message. If rejected is empty, the message was sent.
// Otherwise, it was permanently rejected for that reason.
type recordMail func(id, rejected string) error

// rejectionRetryPeriod is the time for which a temporarily rejected message is retried after its first rejection (RFC
// 5321 section 4.5.4.1). It also applies to text messages. If the server is unreachable, the message is retried without
// a time limit.
const rejectionRetryPeriod = 5 * 24 * time.Hour

// sendOnce sends a message, unless it was sent or permanently rejected before, and records the result. If record is
// nil, the result is stored only with the message. If the process stops before recording, the message is sent again
// with the same Message-ID.
//
// A permanent rejection is returned as a *notify.PermanentError, even if an earlier attempt recorded it. A temporary
// rejection becomes permanent once rejectionRetryPeriod has passed since the first rejection. On that last attempt,
// send is called with last set to true.
func (a *Activities) sendOnce(ctx context.Context, m models.Mail, send func(ctx context.Context, last bool) error, record recordMail) error {
	pending, err := a.Store.BeginMail(ctx, m)
	if err != nil {
		return err
	}
	switch {
	case pending.FailedAt != nil:
		return &notify.PermanentError{Err: errors.New(pending.Error)}
	case pending.SentAt != nil:
		return nil
	}
	if record == nil {
		record = func(id, rejected string) error { return a.recordMailResult(ctx, id, rejected) }
	}
	if m.Kind == models.MailInvitation {
		a.BulkThrottle.invitationStarted()
	}
	limit := mailTimeout
	if pending.Attempts == 1 {
		limit = firstMailTimeout
	}
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	err = send(limited, a.lastAttempt(pending))
	pulse.Beat(ctx)
	if rejected, ok := errors.AsType[*notify.RejectedError](err); ok {
		err = a.rejectionError(ctx, pending, rejected)
	}
	if rejected, ok := errors.AsType[*notify.PermanentError](err); ok {
		return cmp.Or(record(m.ID, rejected.Error()), err)
	}
	if down, ok := errors.AsType[*notify.ServerError](err); ok {
		if failed := a.Store.MailDelayed(ctx, m.ID, down.Error(), false); failed != nil {
			slog.WarnContext(ctx, "email delay not recorded", "mail", m.ID, "error", failed)
		}
	}
	if err != nil {
		return fmt.Errorf("send %s email: %w", m.Kind, err)
	}
	failpoint.Inject("mail.sent")
	return record(m.ID, "")
}

// rejectionError returns the error for a message that the server temporarily rejected. The message is retried until
// rejectionRetryPeriod has passed since the first rejection.
func (a *Activities) rejectionError(ctx context.Context, m models.Mail, rejected *notify.RejectedError) error {
	if a.lastAttempt(m) {
		return &notify.PermanentError{Err: fmt.Errorf("%w (retries ended after several days)", rejected)}
	}
	if err := a.Store.MailDelayed(ctx, m.ID, rejected.Error(), true); err != nil {
		return err
	}
	if m.FirstRejectedAt == nil {
		return &rejectedError{error: rejected}
	}
	return &rejectedError{error: rejected, wait: min(a.Now().Sub(*m.FirstRejectedAt)/4, longestWait)}
}

// lastAttempt reports whether the next rejection of a message would be final.
func (a *Activities) lastAttempt(m models.Mail) bool {
	return m.FirstRejectedAt != nil && a.Now().Sub(*m.FirstRejectedAt) >= rejectionRetryPeriod
}

// longestWait is the maximum delay between two attempts to send an email that the server rejects. RFC 5321 section
// 4.5.4.1 recommends a delay of at least this length. The delay increases gradually to this value, because most
// rejections are temporary for only a short time.
const longestWait = 30 * time.Minute

// rejectedError reports that the server temporarily rejected an email. The email is retried after wait.
type rejectedError struct {
	error

	wait time.Duration
}

func (r *rejectedError) Unwrap() error { return r.error }

// withRetryDelay returns the error for an activity that sends emails. If err contains only temporary rejections, the
// activity is retried when the first rejected email is due. A delay of up to one minute is left to the retry policy.
func withRetryDelay(err error) error {
	wait := rejectionRetryDelay(err)
	if wait <= time.Minute {
		return err
	}
	return sdktemporal.NewApplicationErrorWithOptions(err.Error(), "MailRefused", sdktemporal.ApplicationErrorOptions{NextRetryDelay: wait})
}

// rejectionRetryDelay returns the shortest wait among the rejected emails, or zero if err contains any other error.
func rejectionRetryDelay(err error) time.Duration {
	switch e := err.(type) { //nolint:errorlint // each of several joined errors is checked
	case *rejectedError:
		return e.wait
	case interface{ Unwrap() []error }:
		wait := longestWait
		for _, one := range e.Unwrap() {
			wait = min(wait, rejectionRetryDelay(one))
		}
		return wait
	case interface{ Unwrap() error }:
		return rejectionRetryDelay(e.Unwrap())
	}
	return 0
}

// recordMailResult records the result of sending a message in the message's own record, but not in the audit trail.
func (a *Activities) recordMailResult(ctx context.Context, id, rejected string) error {
	if rejected != "" {
		return a.Store.MailFailed(ctx, id, rejected)
	}
	return a.Store.MailSent(ctx, id)
}

// ignoreRejection returns err, or nil if err reports that an address was permanently rejected. Such a rejection is
// recorded with the email.
func ignoreRejection(err error) error {
	if _, rejected := errors.AsType[*notify.PermanentError](err); rejected {
		return nil
	}
	return err
}

// recordMail applies the given change, which records the result of sending an email, to the envelope.
func (a *Activities) recordMail(ctx context.Context, in temporal.EnvelopeInput, mailID, rejected string, change func(*models.Envelope) error) error {
	_, err := a.Store.Change(ctx, in.AppID, in.EnvelopeID, change)
	if models.IsRejection(err) {
		return a.recordMailResult(ctx, mailID, rejected) // the envelope was closed while the email was being sent
	}
	return err
}

// mailSettings holds a tenant's email settings.
type mailSettings struct {
	sender    string // sender name of emails
	language  string
	replyTo   string        // empty for the service's own address
	notify    string        // recipient of failure notices, or empty for none
	reminders time.Duration // interval, or zero for no reminders
	branding  templates.Branding
	logo      []byte // PNG, or nil for none
}

// loadForMail acquires a mail slot for an envelope's app, and returns the envelope and its tenant's settings for emails.
// The caller must call release.
func (a *Activities) loadForMail(ctx context.Context, in temporal.EnvelopeInput) (e *models.Envelope, v mailSettings, release func(), err error) {
	release, err = a.acquireMailLimit(in.AppID)
	if err != nil {
		return nil, v, nil, err
	}
	if e, err = a.Store.Envelope(ctx, in.AppID, in.EnvelopeID); err != nil {
		err = nonRetryable(err)
	} else {
		v, err = a.mailSettingsFor(ctx, in.AppID, e.TenantID)
	}
	if err != nil {
		release()
	}
	return e, v, release, err
}

func (a *Activities) mailSettingsFor(ctx context.Context, id uuid.UUID, tenant string) (mailSettings, error) {
	app, err := a.Store.App(ctx, id)
	if err != nil {
		return mailSettings{}, nonRetryable(err)
	}
	_, settings, err := a.Store.Settings(ctx, id, tenant)
	if err != nil {
		return mailSettings{}, err
	}
	v := mailSettings{
		sender: settings.SenderOrDefault(app.Name), language: settings.LanguageOrDefault(),
		replyTo: models.Deref(settings.ReplyTo, ""), notify: models.Deref(settings.NotifyEmail, ""),
		reminders: settings.ReminderInterval(a.ReminderInterval),
	}
	if settings.LogoSHA256 != nil {
		if v.logo, err = a.Store.Logo(ctx, id, tenant); err != nil {
			return mailSettings{}, err
		}
	}
	v.branding, err = templates.NewBranding(settings.PrimaryColor, settings.Footer, settings.SupportURL, v.logo)
	return v, err
}

func newMail(kind models.MailKind, to notify.Address, v mailSettings, id string, c templates.Content) notify.Mail {
	return notify.Mail{
		Kind: string(kind), To: to, FromName: v.sender, ReplyTo: v.replyTo, Subject: c.Subject, Text: c.Text, HTML: c.HTML, MessageID: id,
		Inline: notify.Logo(templates.LogoCID, v.logo),
	}
}
