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

// notifyTenant tells the tenant's people of what went wrong with an envelope, once for
// each signer (the zero id: none) and what: no one where they named no address. An address of theirs
// that is refused is noted with the mail.
func (a *Activities) notifyTenant(ctx context.Context, e *models.Envelope, v mailSettings, signer uuid.UUID, n templates.Notice, what string) error {
	if v.notify == "" {
		return nil
	}
	n.Language, n.SenderName, n.Subject, n.ConsoleURL = v.language, v.sender, e.Title(), a.BaseURL+"/console"
	content, err := n.Render()
	if err != nil {
		return fmt.Errorf("write notice: %w", err)
	}
	return ignoreRefused(a.mailOnce(ctx, e, &models.Signer{ID: signer}, notify.Mail{
		Kind: string(models.MailNotice), To: notify.Address{Email: v.notify}, Subject: content.Subject, Text: content.Text, HTML: content.HTML,
		MessageID: a.Mail.MessageID("notice-"+string(n.Kind), e.ID.String(), signer.String(), what),
	}, nil))
}

// noticeDelegation tells the sender that a signer handed over to somebody else, once
// for each time.
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
