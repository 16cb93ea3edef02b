package activities

import (
	"context"
	"errors"
	"fmt"

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
	id := a.Mail.MessageID("notice-"+string(n.Kind), e.ID.String(), signer.String(), what)
	err = a.sendOnce(ctx, e, &models.Signer{ID: signer}, models.MailNotice, id, func() error {
		return a.Mail.Send(ctx, notify.Mail{
			Kind: string(models.MailNotice), To: notify.Address{Email: v.notify}, Subject: content.Subject, Text: content.Text, HTML: content.HTML, MessageID: id,
		})
	}, func() error { return a.Store.MailSent(ctx, id) })
	var refused *notify.PermanentError
	if errors.As(err, &refused) {
		return nil
	}
	return err
}
