package activities

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/google/uuid"

	"countersign/internal/failpoint"
	"countersign/models"
	"countersign/notify"
	"countersign/notify/templates"
	"countersign/temporal"
)

// NotifySender emails a console user about an event of an envelope that the user sent. It sends the email once, and
// only if the user's settings still request it and the user can still see the envelope.
func (a *Activities) NotifySender(ctx context.Context, in temporal.NotificationInput) error {
	e, v, release, err := a.loadForMail(ctx, in.EnvelopeInput)
	if err != nil {
		return err
	}
	defer release()
	pending, m, err := a.notificationMail(ctx, e, v, in.EventID)
	if err != nil {
		return err
	}
	if m == nil {
		return a.Store.DropRequestedMail(ctx, in.EventID)
	}
	return withRetryDelay(ignoreRejection(a.sendRecorded(ctx, pending, *m, nil)))
}

// notificationMail returns an email to the sender of an envelope about an event, and the email's record. The email is
// nil if none must be sent.
func (a *Activities) notificationMail(ctx context.Context, e *models.Envelope, v mailSettings, event uuid.UUID) (pending models.Mail, m *notify.Mail, err error) {
	user, err := a.envelopeOwner(ctx, e)
	if err != nil || user == nil {
		return pending, nil, err
	}
	chosen, err := a.Store.Notifications(ctx, user.ID)
	if err != nil {
		return pending, nil, err
	}
	log, err := a.Store.AuditEvents(ctx, e)
	if err != nil {
		return pending, nil, err
	}
	at := slices.IndexFunc(log, func(ev models.Event) bool { return ev.ID == event })
	if at < 0 {
		return pending, nil, nil
	}
	ev := &log[at]
	kind := models.NotificationOf(ev.Name)
	s := eventSigner(e, ev)
	if !chosen.Wants(kind, models.NotifyImmediately) || alreadyKnown(kind, e, s, user, v) || superseded(kind, e, s, &chosen, log[at+1:]) {
		return pending, nil, nil
	}
	to, err := a.userAddressee(user, &chosen, v, ev.Timestamp)
	if err != nil {
		return pending, nil, err
	}
	content, err := a.notification(to, kind, e, s, ev).Render()
	if err != nil {
		return pending, nil, fmt.Errorf("render notification: %w", err)
	}
	sent := senderMail(models.MailNotification, user, to, v, a.Mail.MessageID("notification", ev.ID.String()), content)
	sent.Thread = a.Mail.MessageID("envelope", e.ID.String(), user.ID.String())
	pending = models.Mail{ID: models.RequestedMailID(ev.ID), EnvelopeID: e.ID, SignerID: user.ID, Kind: models.MailNotification, RequestID: &ev.ID}
	return pending, &sent, nil
}

// envelopeOwner returns the console user who sent an envelope. It returns nil if an application sent the envelope, or
// if the user can no longer see it.
func (a *Activities) envelopeOwner(ctx context.Context, e *models.Envelope) (*models.ConsoleUser, error) {
	if e.OwnerID == nil {
		return nil, nil //nolint:nilnil // an application sent it
	}
	app, err := a.Store.App(ctx, e.AppID)
	if err != nil {
		return nil, nonRetryable(err)
	}
	user, err := a.Store.UserOfApp(ctx, e.AppID, *e.OwnerID)
	if errors.Is(err, models.ErrNotFound) {
		return nil, nil //nolint:nilnil // disabled, or of another app
	}
	if err != nil || !user.Role.Allows(models.RoleViewer) || app.CheckTenant(e.TenantID) != nil {
		return nil, err
	}
	return user, nil
}

// eventSigner returns the recipient whom an event concerns, or nil if there is none.
func eventSigner(e *models.Envelope, ev *models.Event) *models.Signer {
	text, _ := ev.Detail["signerId"].(string) // empty if there is none
	id, err := uuid.Parse(text)
	if err != nil {
		return nil
	}
	return e.Recipient(id)
}

// alreadyKnown reports whether the user already knows about an event without a notification, for example from acting as a
// signer, from receiving the signed copy, or from the alert to the tenant's contact.
func alreadyKnown(kind models.NotificationKind, e *models.Envelope, s *models.Signer, user *models.ConsoleUser, v mailSettings) bool {
	own := models.EmailKey(user.Email)
	if kind.Problem() && models.EmailKey(v.notify) == own {
		return true
	}
	switch kind { //nolint:exhaustive // all other events are reported in no other way
	case models.NotifyOpened, models.NotifySigned, models.NotifyDeclined:
		return s != nil && models.EmailKey(invitee(s).Email) == own
	case models.NotifyCompleted:
		return slices.ContainsFunc(e.Recipients(), func(r *models.Signer) bool { return !r.Silent && models.EmailKey(r.Email) == own })
	}
	return false
}

// superseded reports whether a later event makes a notification unnecessary. For example, the completion notification
// covers the last signature, and a rejected address may have been corrected.
func superseded(kind models.NotificationKind, e *models.Envelope, s *models.Signer, chosen *models.NotificationSettings, later []models.Event) bool {
	switch kind { //nolint:exhaustive // later events do not affect the other kinds
	case models.NotifySigned:
		isLast := !slices.ContainsFunc(later, func(ev models.Event) bool { return ev.Name == models.EventSignerSigned })
		return chosen.Completed && isLast && (e.Status == models.StatusSealing || e.Status == models.StatusCompleted)
	case models.NotifyBounced:
		return slices.ContainsFunc(later, func(ev models.Event) bool {
			return s != nil && ev.Name == models.EventSignerReplaced && ev.Detail["signerId"] == s.ID.String()
		})
	case models.NotifySealingProblem:
		return e.Status != models.StatusSealing
	}
	return false
}

// userAddressee returns the addressee for an email to a console user about an event at the given time.
func (a *Activities) userAddressee(user *models.ConsoleUser, chosen *models.NotificationSettings, v mailSettings, at time.Time) (templates.To, error) {
	token, err := a.Tokens.IssueUnsubscribe(user, at)
	if err != nil {
		return templates.To{}, err
	}
	return templates.To{
		Language: cmp.Or(models.Deref(chosen.Language, ""), v.language), Branding: v.branding, RecipientName: user.Name, SenderName: v.sender, Zone: chosen.Location(),
		SettingsURL: a.BaseURL + "/console#/account/notifications", UnsubscribeURL: a.BaseURL + "/unsubscribe/" + token,
	}, nil
}

func (a *Activities) notification(to templates.To, kind models.NotificationKind, e *models.Envelope, s *models.Signer, ev *models.Event) templates.Notification {
	n := templates.Notification{To: to, Subject: e.Title(), Kind: templates.NotificationKind(kind), At: ev.Timestamp, NotAllSigned: !e.AllSign(), EnvelopeURL: a.envelopeURL(e.ID)}
	if s != nil {
		n.ByName, n.ByRequest = s.Name, templates.Request(e.RequestedAction(s))
	}
	switch kind { //nolint:exhaustive // all other events need no further data
	case models.NotifyBounced:
		if s != nil {
			who := invitee(s)
			n.ByName, n.ByAddress = who.Name, who.Email
		}
		reason, _ := ev.Detail["reason"].(string)
		n.ReasonText = serverResponse(reason)
	case models.NotifyDeclined:
		if s != nil {
			n.ByRequest = templates.Request(e.OwnAction(s))
		}
		n.ReasonText, _ = ev.Detail["reason"].(string) // empty if no reason was given
	case models.NotifySealingProblem:
		n.At = e.AllSignedAt()
	case models.NotifySigned, models.NotifyExpired:
		for _, other := range e.Signers {
			if other.SignedAt == nil {
				n.Waiting = append(n.Waiting, other.Name)
			}
		}
	}
	return n
}

func (a *Activities) envelopeURL(id uuid.UUID) string {
	return a.BaseURL + "/console#/envelopes/" + id.String()
}

// senderMail returns an email to a console user with a tenant's branding. It has no Reply-To address, because replies
// are not read.
func senderMail(kind models.MailKind, user *models.ConsoleUser, to templates.To, v mailSettings, id string, content templates.Content) notify.Mail {
	m := newMail(kind, notify.Address{Name: user.Name, Email: user.Email}, v, id, content)
	m.ReplyTo, m.UnsubscribeURL = "", to.UnsubscribeURL
	return m
}

// digestBatch is the number of digests that one cleanup round requests. digestEnvelopes is the maximum number of
// envelopes in a digest.
const (
	digestBatch     = 500
	digestEnvelopes = 50
)

// digestRound requests the due digests.
func (a *Activities) digestRound(ctx context.Context, round *CleanupRound) error {
	due, requested, err := a.Store.RequestDigests(ctx, digestBatch)
	round.count("digests requested", requested, due == digestBatch)
	return err
}

// SendDigest emails a console user the pending events of the envelopes that they sent, and then deletes those events.
// If the process stops in between, the digest is sent again with the same Message-ID. Nothing is sent if the user can
// see none of the events.
func (a *Activities) SendDigest(ctx context.Context, in temporal.DigestInput) error {
	release, err := a.acquireMailLimit(in.AppID)
	if err != nil {
		return err
	}
	defer release()
	user, err := a.Store.UserOfApp(ctx, in.AppID, in.UserID)
	if errors.Is(err, models.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	chosen, err := a.Store.Notifications(ctx, user.ID)
	if err != nil {
		return err
	}
	items, err := a.Store.DigestItems(ctx, user.ID, in.Until)
	if err != nil {
		return err
	}
	if err := a.sendDigest(ctx, user, &chosen, items, in.Until); err != nil {
		return withRetryDelay(err)
	}
	return a.Store.RemoveDigestItems(ctx, user.ID, in.Until)
}

func (a *Activities) sendDigest(ctx context.Context, user *models.ConsoleUser, chosen *models.NotificationSettings, items []models.DigestItem, until time.Time) error {
	d := templates.Digest{Until: until, Hour: models.DigestHour}
	var tenant string
	var err error
	if d.Envelopes, d.More, tenant, err = a.digestOf(ctx, user, items); err != nil || len(d.Envelopes) == 0 {
		return err
	}
	v, err := a.mailSettingsFor(ctx, user.AppID, tenant)
	if err != nil {
		return err
	}
	if d.To, err = a.userAddressee(user, chosen, v, until); err != nil {
		return err
	}
	content, err := d.Render()
	if err != nil {
		return fmt.Errorf("render digest: %w", err)
	}
	limited, cancel := context.WithTimeout(ctx, mailTimeout)
	defer cancel()
	err = a.Mail.Send(limited, senderMail(models.MailDigest, user, d.To, v, a.Mail.MessageID("digest", user.ID.String(), fmt.Sprint(until.Unix())), content))
	if rejected, ok := errors.AsType[*notify.PermanentError](err); ok {
		slog.WarnContext(ctx, "digest permanently rejected", "user", user.ID, "error", rejected)
		return nil
	}
	if err != nil {
		return fmt.Errorf("send digest: %w", err)
	}
	failpoint.Inject("mail.sent")
	return nil
}

// digestOf groups items by envelope, in the order of each envelope's first event. It omits envelopes that the user
// cannot see, and the user's own actions as a signer. It also returns the number of envelopes omitted because of the
// limit, and the common tenant of all listed envelopes. If there are several tenants, the returned tenant is empty, and
// the digest uses the name and branding of the app.
func (a *Activities) digestOf(ctx context.Context, user *models.ConsoleUser, items []models.DigestItem) (out []templates.DigestEnvelope, more int, tenant string, err error) {
	var order []uuid.UUID
	byEnvelope := make(map[uuid.UUID][]models.DigestItem)
	for _, i := range items {
		if byEnvelope[i.EnvelopeID] == nil {
			order = append(order, i.EnvelopeID)
		}
		byEnvelope[i.EnvelopeID] = append(byEnvelope[i.EnvelopeID], i)
	}
	for _, id := range order {
		if len(out) == digestEnvelopes {
			more++
			continue
		}
		e, err := a.Store.Envelope(ctx, user.AppID, id)
		if errors.Is(err, models.ErrNotFound) {
			continue
		}
		if err != nil {
			return nil, 0, "", err
		}
		owner, err := a.envelopeOwner(ctx, e)
		if err != nil {
			return nil, 0, "", err
		}
		if owner == nil || owner.ID != user.ID {
			continue
		}
		listed := templates.DigestEnvelope{Subject: e.Title(), URL: a.envelopeURL(id)}
		for _, i := range byEnvelope[id] {
			ev := templates.DigestEvent{Kind: templates.NotificationKind(i.Kind)}
			if i.SignerID != nil {
				s := e.Recipient(*i.SignerID)
				if i.Kind != models.NotifyCompleted && alreadyKnown(i.Kind, e, s, user, mailSettings{}) {
					continue
				}
				if s != nil {
					ev.ByName = s.Name
				}
			}
			listed.Events = append(listed.Events, ev)
		}
		if len(listed.Events) > 0 {
			if len(out) == 0 {
				tenant = e.TenantID
			} else if tenant != e.TenantID {
				tenant = ""
			}
			out = append(out, listed)
		}
	}
	return out, more, tenant, nil
}
