package activities

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"countersign/models"
	"countersign/notify/templates"
	"countersign/temporal"
)

// SendClosing notifies all invited recipients, and the copy recipients who received a notice, that the envelope has
// closed.
func (a *Activities) SendClosing(ctx context.Context, in temporal.EnvelopeInput) error {
	e, v, release, err := a.loadForMail(ctx, in)
	if err != nil {
		return err
	}
	defer release()
	msg := templates.Closed{Branding: v.branding, SenderName: v.sender, Subject: e.Title(), At: a.Now()}
	var decliner *models.Signer
	switch e.Status { //nolint:exhaustive // only these statuses mean that the envelope closed without completion
	case models.StatusDeclined:
		msg.Kind = templates.Declined
		for _, s := range e.Signers {
			if s.Status == models.SignerDeclined {
				decliner, msg.ByName, msg.At, msg.ByRequest = s, s.Name, *s.DeclinedAt, templates.Request(e.OwnAction(s))
			}
		}
	case models.StatusVoided:
		msg.Kind, msg.ByName, msg.At = templates.Voided, v.sender, *e.VoidedAt
	case models.StatusExpired:
		msg.Kind, msg.At = templates.Expired, *e.ExpiresAt
	default:
		return nil
	}
	if msg.ReasonText, err = a.reason(ctx, e); err != nil {
		return err
	}
	var notice error // A failure of this notice does not delay the emails.
	if decliner != nil {
		notice = a.notifyTenant(ctx, e, v, decliner.ID, templates.Notice{Kind: templates.NoticeDeclined, ByName: decliner.Name, ByRequest: msg.ByRequest, ReasonText: msg.ReasonText, At: msg.At}, "")
	}
	noticeRecipients, err := a.copyNoticeRecipients(ctx, e)
	if err != nil {
		return err
	}
	invited := slices.DeleteFunc(slices.Clone(e.Signers), func(s *models.Signer) bool { return s.LinkID == nil || s == decliner })
	return withRetryDelay(errors.Join(notice, sendToEach(ctx, mailed(slices.Concat(invited, noticeRecipients), invitee), func(to addressee) error {
		own := msg
		own.Language, own.RecipientName, own.Copy = v.languageOf(to.signer), to.address.Name, e.Signer(to.signer.ID) == nil
		content, err := own.Render()
		if err != nil {
			return fmt.Errorf("render %s email: %w", models.MailClosed, err)
		}
		id := a.Mail.MessageID(string(models.MailClosed), to.signer.ID.String())
		return ignoreRejection(a.mailOnce(ctx, e, to.signer, newMail(models.MailClosed, to.address, v, id, content), nil))
	})))
}

// reason returns the reason for closing the envelope, according to the audit trail.
func (a *Activities) reason(ctx context.Context, e *models.Envelope) (string, error) {
	events, err := a.Store.AuditEvents(ctx, e)
	if err != nil {
		return "", err
	}
	for _, ev := range events {
		if ev.Name == models.EventSignerDeclined || ev.Name == models.EventEnvelopeVoided {
			why, _ := ev.Detail["reason"].(string) // empty if no reason was given
			return why, nil
		}
	}
	return "", nil
}

// serverResponse returns the part of a rejection reason that comes from the mail server, without the service's own English
// text.
func serverResponse(reason string) string {
	if _, response, ok := strings.Cut(reason, " rejected with "); ok {
		return response
	}
	return reason
}
