package activities

import (
	"context"
	"errors"
	"fmt"
	"time"

	"countersign/models"
	"countersign/notify/templates"
	"countersign/temporal"
)

// Remind sends a reminder to each awaited signer whose last invitation or reminder is at least one reminder interval
// old. It replaces a link that is about to expire, unless the link was also sent by text message. In that case,
// RenewLinks replaces the link and sends both messages again. Remind returns the time at which the next reminder is
// due, or nil if there is none.
func (a *Activities) Remind(ctx context.Context, in temporal.EnvelopeInput) (*time.Time, error) {
	e, v, release, err := a.loadForMail(ctx, in)
	if err != nil {
		return nil, err
	}
	defer release()
	mails, err := a.Store.Mails(ctx, e.ID)
	if err != nil {
		return nil, err
	}
	interval := e.ReminderInterval(v.reminders)
	soon := a.Now().Add(tolerance(interval))
	var failed error
	for _, s := range e.Signers {
		if at := e.ReminderAt(s, mails, interval); at == nil || at.After(soon) {
			continue
		}
		number := models.RemindersSettled(mails, s.ID) + 1
		failed = errors.Join(failed, a.remind(ctx, in, e, s, v, interval, number))
	}
	if failed != nil {
		return nil, withRetryDelay(failed)
	}
	if mails, err = a.Store.Mails(ctx, e.ID); err != nil {
		return nil, err
	}
	return e.NextReminder(mails, interval), nil
}

// tolerance returns how early a reminder can be sent. The workflow's clock may differ from the database's, and the
// signers of a routing group were invited one after the other.
func tolerance(interval time.Duration) time.Duration { return min(interval/10, time.Hour) }

// remind sends a signer the reminder with the given number, starting at 1. The Message-ID contains the number. A
// reminder whose outcome is unknown is therefore sent again as the same email.
func (a *Activities) remind(ctx context.Context, in temporal.EnvelopeInput, e *models.Envelope, s *models.Signer, v mailSettings,
	interval time.Duration, number int,
) error {
	// The reminder contains a new link if the current one must be renewed before the next reminder, with a margin of
	// one hour. The limit ensures that a long reminder interval does not cause links to be renewed too early.
	soon := a.Now().Add(min(interval+time.Hour, models.LinkLifetime/2))
	if at := e.RenewLinkAt(s); at != nil && !a.receivesLinkBySMS(s) && !at.After(soon) {
		fresh, err := a.Store.Change(ctx, in.AppID, in.EnvelopeID, func(e *models.Envelope) error { return e.RenewLink(a.systemContext(), s.ID) })
		if models.IsRejection(err) {
			return nil // the signer has acted in the meantime
		}
		if err != nil {
			return err
		}
		e, s = fresh, fresh.Signer(s.ID)
	}
	id := []string{"reminder", s.ID.String(), fmt.Sprint(number)}
	if previous := len(s.Previous()); previous > 0 { // The reminder to a replacement is a separate email.
		id = append(id, fmt.Sprint(previous+1))
	}
	messageID := a.Mail.MessageID(id...)
	return a.sendReminder(ctx, in, e, s, v, models.Mail{ID: messageID}, messageID)
}

// remindOnRequest sends an awaited signer the reminder that the sender requested, with the current link. It sends one
// email per request.
func (a *Activities) remindOnRequest(ctx context.Context, in temporal.InviteInput, e *models.Envelope, v mailSettings) error {
	s := e.Signer(in.SignerID)
	if s == nil || !s.Awaited() || !e.Status.Open() || !s.InvitedByMail() {
		return a.Store.DropRequestedMail(ctx, *in.Reminder)
	}
	pending := models.Mail{ID: models.RequestedMailID(*in.Reminder), RequestID: in.Reminder}
	return a.sendReminder(ctx, in.EnvelopeInput, e, s, v, pending, a.Mail.MessageID("reminder", s.ID.String(), in.Reminder.String()))
}

func (a *Activities) sendReminder(ctx context.Context, in temporal.EnvelopeInput, e *models.Envelope, s *models.Signer, v mailSettings,
	pending models.Mail, messageID string,
) error {
	msg, err := a.invitation(e, s, v)
	if err != nil {
		return err
	}
	content, err := templates.Reminder(msg).Render()
	if err != nil {
		return fmt.Errorf("render reminder: %w", err)
	}
	pending.EnvelopeID, pending.SignerID, pending.Kind = e.ID, s.ID, models.MailReminder
	return ignoreRejection(a.sendRecorded(ctx, pending, newMail(models.MailReminder, invitee(s), v, messageID, content), func(id, rejected string) error {
		if rejected != "" { // the audit trail records only rejected invitations
			return a.recordMailResult(ctx, id, rejected)
		}
		return a.recordMail(ctx, in, id, rejected, func(e *models.Envelope) error { return e.Invited(a.systemContext(), s.ID, true, id) })
	}))
}

// RenewLinks replaces the links of awaited signers that will soon expire while the envelope stays open. Each new link
// is sent as an invitation. RenewLinks returns the time at which the next link must be replaced, or nil if no link will
// expire before the envelope's deadline.
func (a *Activities) RenewLinks(ctx context.Context, in temporal.EnvelopeInput) (*time.Time, error) {
	e, err := a.Store.Envelope(ctx, in.AppID, in.EnvelopeID)
	if err != nil {
		return nil, nonRetryable(err)
	}
	var failed error
	for _, s := range e.Signers {
		if at := e.RenewLinkAt(s); at == nil || at.After(a.Now()) {
			continue
		}
		fresh, err := a.Store.Change(ctx, in.AppID, in.EnvelopeID, func(e *models.Envelope) error {
			if at := e.RenewLinkAt(e.Signer(s.ID)); at == nil || at.After(a.Now()) {
				return nil // replaced in the meantime
			}
			return e.Reinvite(a.systemContext(), s.ID)
		})
		switch {
		case models.IsRejection(err): // the signer has acted in the meantime
		case err != nil:
			failed = errors.Join(failed, err)
		default:
			e = fresh
		}
	}
	return e.NextRenewal(), failed
}
