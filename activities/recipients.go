package activities

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/google/uuid"

	"countersign/models"
	"countersign/notify"
	"countersign/notify/templates"
	"countersign/seal"
	"countersign/temporal"
)

// addressee is a recipient, together with the address to which the email is sent.
type addressee struct {
	signer  *models.Signer
	address notify.Address
}

// person returns the recipient's own address.
func person(s *models.Signer) notify.Address { return notify.Address{Name: s.Name, Email: s.Email} }

// invitee returns the address of the person who receives the recipient's link.
func invitee(s *models.Signer) notify.Address {
	name, email := s.Invitee()
	return notify.Address{Name: name, Email: email}
}

// mailed returns the addressees of the emails that the service sends, without duplicate addresses. It omits
// recipients whom the sender contacts directly.
func mailed(to []*models.Signer, address func(*models.Signer) notify.Address) []addressee {
	var out []addressee
	seen := make(map[string]bool, len(to))
	for _, s := range to {
		if at := address(s); !s.Silent && !seen[models.EmailKey(at.Email)] {
			seen[models.EmailKey(at.Email)] = true
			out = append(out, addressee{s, at})
		}
	}
	return out
}

// languageOf returns the language of emails to a recipient.
func (v mailSettings) languageOf(s *models.Signer) string { return cmp.Or(s.Language, v.language) }

// part returns the signer's role for the seal record.
func part(e *models.Envelope, s *models.Signer) seal.Part {
	p := seal.Part{Kind: string(s.DisplayKind())}
	if h := s.Host(); h != nil {
		p.Host = &seal.Host{Name: h.Name, Email: h.Email}
	}
	if principal := e.Principal(s); principal != nil {
		p.WitnessFor = principal.ID.String()
	}
	return p
}

// announceCopy notifies a copy recipient that a copy will follow.
func (a *Activities) announceCopy(ctx context.Context, in temporal.InviteInput, e *models.Envelope, s *models.Signer, v mailSettings, rejected func(string)) error {
	if s.Silent {
		return nil
	}
	content, err := templates.CopyNotice{Language: v.languageOf(s), Branding: v.branding, RecipientName: s.Name, SenderName: v.sender, Subject: e.Title()}.Render()
	if err != nil {
		return fmt.Errorf("render %s email: %w", models.MailCopyNotice, err)
	}
	id := a.copyNoticeID(s)
	err = a.mailOnce(ctx, e, s, newMail(models.MailCopyNotice, person(s), v, id, content), func(id, rejected string) error { return a.recordInvited(ctx, in, id, rejected) })
	return a.reportBounce(ctx, e, s, v, id, err, rejected)
}

// replacedLater reports whether the copy recipient was replaced again after the replacement that requested this notice.
// In that case, the workflow of the later replacement sends the notice.
func (a *Activities) replacedLater(ctx context.Context, in temporal.InviteInput, e *models.Envelope, s *models.Signer) (bool, error) {
	if in.LinkID == nil { // invitation of a routing group
		return false, nil
	}
	events, err := a.Store.AuditEvents(ctx, e)
	if err != nil {
		return false, err
	}
	for _, ev := range slices.Backward(events) {
		if ev.Name == models.EventCopyReplaced && ev.Detail["signerId"] == s.ID.String() {
			return ev.ID != *in.LinkID, nil
		}
	}
	return false, nil
}

// copyNoticeID returns the Message-ID of the notice to the current copy recipient.
func (a *Activities) copyNoticeID(s *models.Signer) string {
	of := []string{string(models.MailCopyNotice), s.ID.String()}
	if n := len(s.Previous()); n > 0 {
		of = append(of, fmt.Sprint(n+1)) // number of the person, starting at 1
	}
	return a.Mail.MessageID(of...)
}

// copyNoticeRecipients returns the copy recipients who were notified that a copy would follow. These are the recipients
// whose latest notice was begun and not rejected.
func (a *Activities) copyNoticeRecipients(ctx context.Context, e *models.Envelope) ([]*models.Signer, error) {
	if len(e.Copies) == 0 {
		return nil, nil
	}
	mails, err := a.Store.Mails(ctx, e.ID)
	if err != nil {
		return nil, err
	}
	notified := make(map[uuid.UUID]bool)
	for _, m := range mails { // in the order in which they were begun
		if m.Kind == models.MailCopyNotice {
			notified[m.SignerID] = m.FailedAt == nil
		}
	}
	return slices.DeleteFunc(slices.Clone(e.Copies), func(s *models.Signer) bool { return !notified[s.ID] }), nil
}

// reportBounce notifies the tenant if err reports that a recipient's address was permanently rejected. It then also
// calls rejected with the server's response. It returns any other error. The rejected email is identified by the
// parameter what.
func (a *Activities) reportBounce(ctx context.Context, e *models.Envelope, s *models.Signer, v mailSettings, what string, err error, rejected func(string)) error {
	bounce, ok := errors.AsType[*notify.PermanentError](err)
	if !ok {
		return err
	}
	rejected(bounce.Error())
	to := invitee(s)
	return a.notifyTenant(ctx, e, v, s.ID, templates.Notice{
		Kind: templates.NoticeBounced, ByName: to.Name, ByAddress: to.Email, ByRequest: templates.Request(e.RequestedAction(s)), ReasonText: serverResponse(bounce.Error()), At: a.Now(),
	}, what)
}
