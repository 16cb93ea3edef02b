package activities

import (
	"context"
	"fmt"
	"strconv"

	"github.com/google/uuid"

	"countersign/models"
	"countersign/notify"
	"countersign/notify/templates"
)

// notifyTenant notifies the tenant's contact about a problem with an envelope, once for each signer and kind of
// problem. The signer is the zero UUID if the problem concerns no signer. Nothing is sent if there is no contact. A
// permanent rejection of the contact's address is recorded with the email.
func (a *Activities) notifyTenant(ctx context.Context, e *models.Envelope, v mailSettings, signer uuid.UUID, n templates.Notice, what string) error {
	if v.notify == "" {
		return nil
	}
	n.Language, n.SenderName, n.Subject, n.ConsoleURL = v.language, v.sender, e.Title(), a.BaseURL+"/console"
	content, err := n.Render()
	if err != nil {
		return fmt.Errorf("render notice: %w", err)
	}
	return ignoreRejection(a.mailOnce(ctx, e, &models.Signer{ID: signer}, notify.Mail{
		Kind: string(models.MailNotice), To: notify.Address{Email: v.notify}, Subject: content.Subject, Text: content.Text, HTML: content.HTML,
		MessageID: a.Mail.MessageID("notice-"+string(n.Kind), e.ID.String(), signer.String(), what),
	}, nil))
}

// noticeDelegation notifies the tenant's contact each time a signer delegates to another person.
func (a *Activities) noticeDelegation(ctx context.Context, e *models.Envelope, s *models.Signer, v mailSettings) error {
	times := len(s.Previous())
	if !s.Delegated || times == 0 {
		return nil
	}
	by := s.Predecessor()
	return a.notifyTenant(ctx, e, v, s.ID, templates.Notice{
		Kind: templates.NoticeDelegated, ByName: by.Name, ByAddress: s.Email, ReasonText: by.Reason, At: by.Until,
	}, strconv.Itoa(times))
}
