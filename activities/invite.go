package activities

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"
	sdktemporal "go.temporal.io/sdk/temporal"
	"golang.org/x/sync/errgroup"

	"countersign/models"
	"countersign/notify/templates"
	"countersign/temporal"
)

// mailsAtOnce is the number of emails for one envelope that are sent concurrently.
const mailsAtOnce = 4

// InviteInput identifies recipients of an envelope who are invited at the same time.
type InviteInput struct {
	temporal.EnvelopeInput

	SignerIDs []uuid.UUID `json:"signers"`
	// LinkID is the renewed link to send. It is nil for the invitation of a routing group, which sends each signer's
	// current link.
	LinkID *uuid.UUID `json:"linkId,omitempty"`
	// Reminder identifies the request for a reminder, which is sent instead of an invitation. It is nil for an
	// invitation.
	Reminder *uuid.UUID `json:"reminder,omitempty"`
}

// ErrTypeRejected is the error type that Invite returns if the mail server permanently rejected some addresses, and all
// other recipients were reached. The error's message contains the server's response and no addresses.
const ErrTypeRejected = "Rejected"

// Invite invites the given recipients. Until all of them have been reached, it returns an error and is therefore
// retried. A retry skips the emails that were already sent. An unreachable address does not delay the other recipients.
func (a *Activities) Invite(ctx context.Context, in InviteInput) error {
	e, v, release, err := a.loadForMail(ctx, in.EnvelopeInput)
	if err != nil {
		return err
	}
	defer release()
	var mu sync.Mutex
	var answers []string
	rejected := func(answer string) {
		mu.Lock()
		defer mu.Unlock()
		answers = append(answers, answer)
	}
	var mails errgroup.Group
	mails.SetLimit(mailsAtOnce)
	failed := make([]error, len(in.SignerIDs))
	for i, id := range in.SignerIDs {
		mails.Go(func() error {
			failed[i] = a.invite(ctx, temporal.InviteInput{EnvelopeInput: in.EnvelopeInput, SignerID: id, LinkID: in.LinkID, Reminder: in.Reminder}, e, v, rejected)
			return nil
		})
	}
	_ = mails.Wait() // the errors are in failed
	err = errors.Join(failed...)
	if len(failed) == 1 {
		err = failed[0]
	}
	if err == nil && len(answers) > 0 {
		return sdktemporal.NewApplicationErrorWithOptions(fmt.Sprintf("the mail server permanently rejected %d address(es): %s", len(answers), answers[0]),
			ErrTypeRejected, sdktemporal.ApplicationErrorOptions{NonRetryable: true, Category: sdktemporal.ApplicationErrorCategoryBenign})
	}
	return withRetryDelay(err)
}

// invite sends an email with the link to a signer, or to the signer's host. It also sends a text message to a signer
// who receives text messages. It announces the copy to a recipient who receives only copies. It sends nothing if the
// signer is no longer awaited, or if the sender delivers the link.
//
// A replaced link is not sent, because the workflow that renewed it sends the new one. The invitation of the routing
// group waits for that workflow, so that only one email is sent.
//
// A permanently rejected address is recorded in the audit trail and is not an error. In that case, invite calls
// rejected with the server's response.
func (a *Activities) invite(ctx context.Context, in temporal.InviteInput, e *models.Envelope, v mailSettings, rejected func(string)) error {
	if in.Reminder != nil {
		return a.remindOnRequest(ctx, in, e, v)
	}
	s := e.Recipient(in.SignerID)
	if s == nil || !s.Awaited() || !e.Status.Open() {
		return nil
	}
	if in.LinkID == nil && s.HasOwnInvitation() && a.Now().Sub(*s.LinkIssuedAt) < renewalSends {
		return a.awaitRenewal(ctx, e, s)
	}
	if e.Signer(s.ID) == nil {
		if later, err := a.replacedLater(ctx, in, e, s); err != nil || later {
			return err
		}
		return a.announceCopy(ctx, in, e, s, v, rejected)
	}
	if in.LinkID != nil && (s.LinkID == nil || *s.LinkID != *in.LinkID) {
		return nil
	}
	if !s.InvitedByMail() {
		return a.noticeDelegation(ctx, e, s, v)
	}
	msg, err := a.invitation(e, s, v)
	if err != nil {
		return err
	}
	content, err := msg.Render()
	if err != nil {
		return fmt.Errorf("render invitation: %w", err)
	}
	err = a.mailOnce(ctx, e, s, newMail(models.MailInvitation, invitee(s), v, a.invitationID(s), content),
		func(id, rejected string) error { return a.recordInvited(ctx, in, id, rejected) })
	wentOut := err == nil
	err = a.reportBounce(ctx, e, s, v, s.LinkID.String(), err, rejected)
	var text error
	if wentOut || smsContainsLink(s) { // without a link, the text message refers to the email
		text = a.sendSMSInvitation(ctx, e, s, msg)
	}
	return errors.Join(err, a.noticeDelegation(ctx, e, s, v), text) // each message is sent independently of the others
}

// renewalSends is the time during which only the workflow that renewed a link or notice sends it. After that time, the
// invitation of the routing group can send it as well.
const renewalSends = 2 * time.Minute

// errTypeRenewalSends is the error type of an invitation that another workflow is about to send.
const errTypeRenewalSends = "RenewalSends"

// awaitRenewal returns an error until a recipient's renewed link or notice has been sent or permanently rejected.
// Because of the error, the activity is retried. The error is expected, and the SDK does not log it at level error.
func (a *Activities) awaitRenewal(ctx context.Context, e *models.Envelope, s *models.Signer) error {
	if !s.InvitedByMail() {
		return nil
	}
	id := a.copyNoticeID(s)
	if s.LinkID != nil {
		id = a.invitationID(s)
	}
	mails, err := a.Store.Mails(ctx, e.ID)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(mails, func(m models.Mail) bool { return m.ID == id && (m.SentAt != nil || m.FailedAt != nil) }) {
		return nil
	}
	return sdktemporal.NewApplicationErrorWithOptions(fmt.Sprintf("signer %s: the link renewal will send the invitation", s.ID), errTypeRenewalSends,
		sdktemporal.ApplicationErrorOptions{Category: sdktemporal.ApplicationErrorCategoryBenign})
}

func (a *Activities) invitationID(s *models.Signer) string {
	return a.Mail.MessageID("invitation", s.LinkID.String())
}

// smsContainsLink reports whether a signer's text message contains the link. Signers who verify their identity by phone
// receive the link only by email.
func smsContainsLink(s *models.Signer) bool { return !s.AuthMethod.ByPhone() }

// receivesSMS reports whether a signer receives text messages. If there is a host, the signer receives none, because
// the link is sent to the host.
func (a *Activities) receivesSMS(s *models.Signer) bool {
	return a.SMS != nil && s.Phone != nil && s.Host() == nil
}

// receivesLinkBySMS reports whether a signer also receives the link by text message.
func (a *Activities) receivesLinkBySMS(s *models.Signer) bool {
	return a.receivesSMS(s) && smsContainsLink(s)
}

func (a *Activities) sendSMSInvitation(ctx context.Context, e *models.Envelope, s *models.Signer, msg templates.Invitation) error {
	if !a.receivesSMS(s) {
		return nil
	}
	msg.SigningURL = ""
	if smsContainsLink(s) {
		msg.SigningURL = a.SigningURL + "/" + a.Store.ShortLink(*s.LinkID)
	}
	m := models.Mail{ID: "sms-" + s.LinkID.String(), EnvelopeID: e.ID, SignerID: s.ID, Kind: models.MailInvitation}
	err := a.sendOnce(ctx, m, func(ctx context.Context, _ bool) error { return a.SMS.Send(ctx, *s.Phone, msg.SMS()) }, nil)
	return ignoreRejection(err) // the email contains the same link
}

// recordInvited records in the audit trail, and with the email, that an invitation was sent or rejected.
func (a *Activities) recordInvited(ctx context.Context, in temporal.InviteInput, mailID, rejected string) error {
	return a.recordMail(ctx, in.EnvelopeInput, mailID, rejected, func(e *models.Envelope) error {
		if rejected != "" {
			return e.InvitationFailed(a.systemContext(), in.SignerID, rejected, mailID)
		}
		return e.Invited(a.systemContext(), in.SignerID, false, mailID)
	})
}

func (a *Activities) invitation(e *models.Envelope, s *models.Signer, v mailSettings) (templates.Invitation, error) {
	tok, err := a.Tokens.IssueSigning(e.AppID, s)
	if err != nil {
		return templates.Invitation{}, err
	}
	msg := templates.Invitation{
		Language: v.languageOf(s), Branding: v.branding, RecipientName: invitee(s).Name, SenderName: v.sender, SigningURL: a.SigningURL + "/" + tok,
		ShortURL: a.SigningURL + "/" + a.Store.ShortLink(*s.LinkID), ExpiresAt: e.ExpiresAt,
		Request: templates.Request(e.RequestedAction(s)), SignerName: s.Name, Subject: models.Deref(e.Subject, ""), Message: models.Deref(e.Message, ""),
	}
	if principal := e.Principal(s); principal != nil {
		msg.SignerName = principal.Name
	}
	for _, d := range e.Originals() {
		msg.DocumentNames = append(msg.DocumentNames, e.FileName(d))
	}
	return msg, nil
}
