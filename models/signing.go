package models

import (
	"crypto/subtle"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
)

// Limits for one-time codes.
const (
	OTPLifetime      = 10 * time.Minute
	OTPTries         = 3 // wrong attempts that invalidate a code
	OTPRequestLimit  = 5 // codes per OTPRequestWindow and link
	OTPRequestWindow = 10 * time.Minute
	// OTPWrongLimit is the maximum number of wrong codes per link. After that, no more codes can be requested until
	// the sender issues a new link.
	OTPWrongLimit = 30
	maxDwell      = 24 * 60 * 60 * 1000
)

// Link is the content of a signing token: the signer and the ID of the link.
type Link struct {
	EnvelopeID, SignerID, ID uuid.UUID
}

var (
	// ErrLinkInvalid is returned for a token that is not, or is no longer, a valid link.
	ErrLinkInvalid = Reject(KindUnauthorized, "signing_link_invalid", "This signing link is not valid.")
	errLinkExpired = Reject(KindUnauthorized, "signing_link_expired", "This signing link has expired.")
	errNeedsCode   = Reject(KindUnauthorized, "otp_required", "Please verify the one-time code first.")
)

// authorizeLink returns the signer of a link after checking that the link is current and that the state of the envelope
// permits the action. If the signer has already signed or declined, it returns spent as the error.
func (e *Envelope) authorizeLink(l Link, at time.Time, action Action, spent *Error) (*Signer, error) {
	s := e.Signer(l.SignerID)
	if s == nil || s.LinkID == nil || *s.LinkID != l.ID {
		return nil, ErrLinkInvalid
	}
	if s.HasActed() {
		return nil, spent
	}
	if _, err := e.Status.Next(action); err != nil {
		return nil, err
	}
	if e.DeadlinePassed(at) || s.LinkExpiresAt == nil || !at.Before(*s.LinkExpiresAt) {
		return nil, errLinkExpired
	}
	return s, nil
}

// authorizeConfirmed is like authorizeLink, but also requires a confirmed client.
func (e *Envelope) authorizeConfirmed(l Link, act ActionContext, action Action, spent *Error) (*Signer, error) {
	s, err := e.authorizeLink(l, act.At, action, spent)
	if err != nil {
		return nil, err
	}
	if !s.Confirmed(act) {
		return nil, errNeedsCode
	}
	return s, nil
}

// Reader checks a link for read access, and returns its signer. The error for a link that was already used is a 410 if
// context is set, and otherwise a 401.
func (e *Envelope) Reader(l Link, at time.Time, context bool) (*Signer, error) {
	spent := ErrLinkInvalid
	if context {
		spent = Reject(KindGone, "signing_link_used", "This signing link has already been used.")
	}
	return e.authorizeLink(l, at, ActionRead, spent)
}

// PreviewSigner returns a signer in a draft, for the sender's preview of the signing page.
func (e *Envelope) PreviewSigner(id uuid.UUID) (*Signer, error) {
	s := e.Signer(id)
	if s == nil {
		return nil, ErrNotFound
	}
	if e.Status != StatusDraft {
		return nil, Reject(KindConflict, "envelope_not_draft", "The envelope is %s; only a draft has a preview.", e.Status.Public())
	}
	return s, nil
}

// Open records that a signer has opened the link. Repeating it has no effect.
func (e *Envelope) Open(act ActionContext, l Link) (*Signer, error) {
	s, err := e.Reader(l, act.At, true)
	if err != nil {
		return nil, err
	}
	if s.Status == SignerViewed {
		return s, nil
	}
	e.transition(ActionOpen)
	s.Status, s.ViewedAt = SignerViewed, new(act.At)
	e.record(act, EventSignerViewed, s.ID, Detail{"signerId": s.ID.String()})
	return s, nil
}

// RequestCode makes the code with the given hash the only valid code of the link.
func (e *Envelope) RequestCode(act ActionContext, l Link, hash []byte) (*Signer, error) {
	s, err := e.authorizeLink(l, act.At, ActionRequestCode, ErrLinkInvalid)
	if err != nil {
		return nil, err
	}
	if !s.NeedsCode() {
		return nil, Reject(KindInvalid, "otp_not_required", "This signer does not use a one-time code.")
	}
	if s.OTPWrong >= OTPWrongLimit {
		return nil, Reject(KindRateLimited, "otp_locked", "Too many wrong codes. Please ask the sender for a new link.")
	}
	if s.Pages.Codes >= maxCodes || s.Pages.Codes >= reservedCodes && !e.hasCapacity(2) {
		return nil, Reject(KindRateLimited, "otp_locked", "Too many codes were requested with this link. Please ask the sender for a new link.")
	}
	s.OTPRequests, err = appendWithinLimit(s.OTPRequests, act.At, OTPRequestWindow, OTPRequestLimit,
		"otp_rate_limited", "Too many codes were requested. Please wait before requesting another.")
	if err != nil {
		return nil, err
	}
	e.transition(ActionRequestCode)
	s.Pages.Codes++
	s.OTPHash, s.OTPExpiresAt, s.OTPFailures = hash, new(act.At.Add(OTPLifetime)), 0
	e.record(act, EventOTPRequested, s.ID, Detail{"signerId": s.ID.String(), "method": string(s.AuthMethod)})
	return s, nil
}

// VerifyCode reports whether hash matches the current code. For a wrong code, it returns false rather than an error,
// because the increased failure count must be saved. The confirmation applies to the session whose token hashes to
// session. If session is nil, it applies to clients with the same address and user agent.
func (e *Envelope) VerifyCode(act ActionContext, l Link, hash, session []byte) (bool, error) {
	s, err := e.authorizeLink(l, act.At, ActionVerifyCode, ErrLinkInvalid)
	if err != nil {
		return false, err
	}
	if !s.liveCode(act.At) {
		return false, nil
	}
	e.transition(ActionVerifyCode)
	if subtle.ConstantTimeCompare(s.OTPHash, hash) == 1 {
		s.OTPHash, s.OTPExpiresAt, s.OTPFailures = nil, nil, 0
		s.confirm(act, session)
		detail := Detail{"signerId": s.ID.String(), "method": string(s.AuthMethod)}
		if session != nil {
			detail["bound"] = true
		}
		e.record(act, EventOTPVerified, s.ID, detail)
		return true, nil
	}
	s.OTPFailures++
	s.OTPWrong++
	if s.OTPFailures >= OTPTries {
		s.OTPHash, s.OTPExpiresAt = nil, nil
		e.record(act, EventSignerOTPFailed, s.ID, Detail{"signerId": s.ID.String(), "failures": s.OTPFailures})
	}
	return false, nil
}

// Consent records that the signer was shown a disclosure and agreed to sign electronically.
func (e *Envelope) Consent(act ActionContext, l Link, shown Disclosure) (*Signer, error) {
	given := Reject(KindConflict, "consent_given", "Consent has already been given.")
	s, err := e.authorizeConfirmed(l, act, ActionConsent, given)
	if err != nil {
		return nil, err
	}
	if s.ConsentAt != nil {
		return nil, given
	}
	e.transition(ActionConsent)
	s.ConsentAt, s.ConsentVersion = new(act.At), shown.Version
	e.record(act, EventConsentGiven, s.ID, Detail{
		"signerId": s.ID.String(), "version": shown.Version, "language": shown.Language, "textSha256": shown.Hash(),
	})
	return s, nil
}

// ViewPage records that the signer viewed a page for dwellMs milliseconds. The first view of a page is recorded as an
// event, and further views are counted in the signer's PageLog. The delivered appearance is the best picture of the
// page that the signer received. It is nil if the signer received no picture.
func (e *Envelope) ViewPage(act ActionContext, l Link, document uuid.UUID, page int, dwellMs int64, delivered *Appearance) error {
	s, err := e.authorizeLink(l, act.At, ActionViewPage, ErrLinkInvalid)
	if err != nil {
		return err
	}
	p := Problems{}
	d := e.Document(document)
	if d == nil || d.Kind != DocumentOriginal {
		p.Add("documentId", "must be the id of a document of this envelope")
	} else if page < 1 || page > d.PageCount {
		p.Add("page", "must be between 1 and %d", d.PageCount)
	}
	if dwellMs < 0 || dwellMs > maxDwell {
		p.Add("dwellMs", "must be between 0 and %d", maxDwell)
	}
	if err := p.Err(); err != nil {
		return err
	}
	e.transition(ActionViewPage)
	s.PageViews++
	s.LastViewed = fmt.Sprintf("%s/%d", document, page)
	if s.ReadsAll() && !slices.Contains(s.Opened, document) {
		s.Opened = append(slices.Clone(s.Opened), document)
	}
	if !e.recordsPage(s, document, page) {
		s.Pages.Repeats++
		s.Pages.DwellMs += dwellMs
		s.Pages.LastAt = new(act.At)
		return nil
	}
	s.Pages = s.Pages.note(document, page)
	detail := Detail{"signerId": s.ID.String(), "documentId": document.String(), "page": page, "dwellMs": dwellMs}
	if delivered != nil {
		detail["level"], detail["appearance"] = delivered.Level, delivered.Hash
	}
	e.record(act, EventPageViewed, s.ID, detail)
	return nil
}

// Sign records a signer's values and signature. When the routing group is complete, the next one opens. When all
// signers have signed, sealing begins.
func (e *Envelope) Sign(act ActionContext, l Link, sub Submission) (*Signer, error) {
	s, err := e.authorizeSign(act, l)
	if err != nil {
		return nil, err
	}
	if err := e.checkOpened(s); err != nil {
		return nil, err
	}
	values, err := e.values(s, sub, act.At)
	if err != nil {
		return nil, err
	}
	if err := e.useValues(s, values, sub.pictureSizes()); err != nil {
		return nil, err
	}
	if err := e.recordSignedDigest(s, sub.Shown); err != nil {
		return nil, err
	}
	shown, err := e.Shown()
	if err != nil {
		return nil, err
	}
	e.recordRepeats(act, s)
	s.Status, s.SignedAt, s.IP, s.UserAgent = SignerSigned, new(act.At), act.IP, act.UserAgent
	action := ActionSign
	if signers, _ := e.Routing(); signers.OpenGroup() == 0 {
		action = ActionSignLast
	}
	e.transition(action)
	for i := range values {
		values[i].CreatedAt = act.At
	}
	e.Values = append(e.Values, values...)
	e.saveSignature(s, values, sub.FontLabel, act.At)
	s.ValuesHash = valuesHash(values)
	e.recordAttachments(act, s.ID)
	detail := s.kindDetail(s.addDisplayedDigest(s.finishedDetail(shown.Digest, Detail{"signerId": s.ID.String(), "fields": len(values), "valuesSha256": s.ValuesHash})))
	if p := e.Principal(s); p != nil {
		detail["witnessFor"] = p.ID.String()
	}
	e.record(act, EventSignerSigned, s.ID, detail)
	e.openGroup(act)
	return s, nil
}

// Decline closes the envelope because a signer declines. If a client was confirmed in a session, only that client can
// decline. If confirmed is set, an unconfirmed client cannot decline.
func (e *Envelope) Decline(act ActionContext, l Link, reason *string, confirmed bool) (*Signer, error) {
	s, err := e.authorizeLink(l, act.At, ActionDecline, Reject(KindConflict, "already_signed_or_declined", "This signer has already signed or declined."))
	if err != nil {
		return nil, err
	}
	if (confirmed || s.SessionHash != nil) && !s.Confirmed(act) {
		return nil, errNeedsCode
	}
	if err := checkReason(reason); err != nil {
		return nil, err
	}
	e.transition(ActionDecline)
	e.recordRepeats(act, s)
	s.Status, s.DeclinedAt = SignerDeclined, new(act.At)
	for _, name := range []EventName{EventSignerDeclined, EventEnvelopeDeclined} {
		e.record(act, name, s.ID, addReason(Detail{"signerId": s.ID.String()}, reason))
	}
	return s, nil
}

// CheckSign checks whether the holder of the link can currently sign, without considering any values.
func (e *Envelope) CheckSign(act ActionContext, l Link) error {
	_, err := e.authorizeSign(act, l)
	return err
}

func (e *Envelope) authorizeSign(act ActionContext, l Link) (*Signer, error) {
	signed := Reject(KindConflict, "already_signed", "This signer has already signed.")
	if s := e.Signer(l.SignerID); s != nil && s.Status == SignerDeclined {
		signed = Reject(KindConflict, "already_declined", "This signer has declined.")
	}
	s, err := e.authorizeConfirmed(l, act, ActionSign, signed)
	if err != nil {
		return nil, err
	}
	if s.ConsentAt == nil {
		return nil, Reject(KindUnauthorized, "consent_required", "Please agree to sign electronically first.")
	}
	return s, nil
}
