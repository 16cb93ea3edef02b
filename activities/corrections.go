package activities

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"countersign/models"
	"countersign/notify"
	"countersign/notify/templates"
	"countersign/temporal"
)

// SendCopiesAgain sends a signer fresh links to the sealed files: one mail for each
// request. Files that were purged meanwhile are sent to nobody.
func (a *Activities) SendCopiesAgain(ctx context.Context, in temporal.CopiesInput) error {
	e, v, err := a.loadEnvelope(ctx, in.EnvelopeInput)
	if err != nil {
		return err
	}
	s := e.Recipient(in.SignerID)
	purged := slices.ContainsFunc(e.Sealed(), func(d *models.Document) bool { return d.PurgeStatus == models.PurgePurged })
	if s == nil || e.Status != models.StatusCompleted || purged {
		return nil
	}
	content, _, err := a.completedMail(e, s, v, false)
	if err != nil {
		return fmt.Errorf("write %s mail: %w", models.MailCompleted, err)
	}
	id := a.Mail.MessageID("copies", in.Request.String())
	err = a.sendOnce(ctx, e, s, models.MailCompleted, id, func() error {
		return a.Mail.Send(ctx, newMail(models.MailCompleted, person(s), v, id, content))
	}, func() error {
		_, err := a.Store.Change(ctx, in.AppID, in.EnvelopeID, func(e *models.Envelope) error { return e.CopySent(a.systemContext(), s.ID, id) })
		return err
	})
	var refused *notify.PermanentError
	if errors.As(err, &refused) {
		return nil // noted with the mail
	}
	return err
}

// noticeDelegation tells the sender that a signer handed over to somebody else, once
// for each time.
func (a *Activities) noticeDelegation(ctx context.Context, e *models.Envelope, s *models.Signer, v mailSettings) error {
	previous := s.Previous()
	if !s.Delegated || len(previous) == 0 {
		return nil
	}
	by := previous[len(previous)-1]
	return a.notifyTenant(ctx, e, v, s.ID, templates.Notice{
		Kind: templates.NoticeDelegated, ByName: by.Name, ByAddress: s.Email, ReasonText: by.Reason, At: by.Until,
	}, strconv.Itoa(len(previous)))
}
