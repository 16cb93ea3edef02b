package api

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/gin-gonic/gin"

	"countersign/internal/credential"
	"countersign/models"
	"countersign/notify"
	"countersign/notify/templates"
	"countersign/store"
)

// codeLimit is the maximum time for which a signer waits for the mail server to accept a code.
const codeLimit = 20 * time.Second

// requestCode creates a one-time code and sends it while the signer waits, because a code is useless if it cannot be
// sent immediately.
func (s *signingHandler) requestCode(c *gin.Context, l signerLink) error {
	code, err := s.codes.New()
	if err != nil {
		return err
	}
	e, err := execute(s.subject, c, func(st signingStore) (*models.Envelope, error) {
		return st.Change(c.Request.Context(), l.App, l.EnvelopeID, func(e *models.Envelope) error {
			_, err := e.RequestCode(s.signerContext(c, l), l.Link, s.codes.Hash(l.Link, code))
			return err
		})
	}, nil)
	if err != nil {
		return err
	}
	signer := e.Signer(l.SignerID)
	ctx, cancel := context.WithTimeout(c.Request.Context(), codeLimit)
	defer cancel()
	if err := s.sendCode(ctx, e, signer, code); err != nil {
		s.log.ErrorContext(c.Request.Context(), "one-time code not sent", "envelope", e.ID, "signer", signer.ID, "error", err)
		rejected := models.Reject(models.KindUnavailable, "otp_not_sent", "The code could not be sent. Please try again in a moment.")
		rejected.RetryAfter = 30 * time.Second
		return rejected
	}
	out := gin.H{"maskedEmail": signer.MaskedEmail(), "code": viewCode(signer.CodeState(s.now()))}
	if signer.AuthMethod.ByPhone() {
		out["maskedPhone"] = signer.MaskedPhone()
	}
	return respond(c, http.StatusOK, out)
}

func (s *signingHandler) sendCode(ctx context.Context, e *models.Envelope, signer *models.Signer, code string) error {
	app, err := s.store.App(ctx, e.AppID)
	if err != nil {
		return err
	}
	_, chosen, err := s.store.Settings(ctx, e.AppID, e.TenantID)
	if err != nil {
		return err
	}
	var logo []byte
	if chosen.LogoSHA256 != nil && !signer.AuthMethod.ByPhone() {
		if logo, err = s.store.Logo(ctx, e.AppID, e.TenantID); err != nil {
			return err
		}
	}
	branding, err := templates.NewBranding(chosen.PrimaryColor, chosen.Footer, chosen.SupportURL, logo)
	if err != nil {
		return err
	}
	msg := templates.Code{
		Language: cmp.Or(signer.Language, chosen.LanguageOrDefault()), Branding: branding, RecipientName: signer.Name, SenderName: chosen.SenderOrDefault(app.Name), Subject: e.Title(),
		Request: templates.Request(e.OwnAction(signer)), Code: code, ValidFor: models.OTPLifetime,
	}
	if signer.AuthMethod.ByPhone() {
		if s.sms == nil { // SMS was configured when the envelope was sent
			return errors.New("no SMS service is configured")
		}
		return s.sms.Send(ctx, *signer.Phone, msg.SMS())
	}
	content, err := msg.Render()
	if err != nil {
		return err
	}
	mail := notify.Mail{
		Kind: "code", To: notify.Address{Name: signer.Name, Email: signer.Email}, FromName: msg.SenderName, ReplyTo: models.Deref(chosen.ReplyTo, ""),
		Subject: content.Subject, Text: content.Text, HTML: content.HTML, MessageID: s.mail.MessageID("code", s.newID().String()),
		Inline: notify.Logo(templates.LogoCID, logo),
	}
	return s.mail.Send(ctx, mail)
}

func (s *signingHandler) verifyCode(c *gin.Context, l signerLink, o *object) error {
	code := o.str("code")
	if _, isText := o.get("code").(string); isText && len(code) != credential.CodeLength {
		o.bad("code", "must have exactly %d characters", credential.CodeLength)
	}
	bind := o.flag("bind", false)
	invalid := o.err()
	token, session := "", []byte(nil)
	if bind {
		token = newSecret()
		session = tokenHash(token)
		doNotStoreResponse(c)
	}
	act := s.signerContext(c, l)
	out, err := execute(s.subject, c, func(st signingStore) (out changeResult[bool], err error) {
		out.envelope, err = st.Change(c.Request.Context(), l.App, l.EnvelopeID, func(e *models.Envelope) (err error) {
			if invalid != nil {
				if _, err := e.Reader(l.Link, act.At, false); err != nil {
					return err
				}
				return invalid
			}
			out.result, err = e.VerifyCode(act, l.Link, s.codes.Hash(l.Link, code), session)
			return err
		})
		return out, err
	}, func(out changeResult[bool]) (*store.StoredResponse, error) {
		if !out.result || bind { // the code was rejected, or the response contains a token
			return nil, nil //nolint:nilnil // not stored; the response is sent below
		}
		return inJSON(http.StatusOK, gin.H{"verified": true})
	})
	if err != nil {
		return notFoundAsInvalidLink(err)
	}
	signer := out.envelope.Signer(l.SignerID)
	if !out.result {
		rejected := models.Reject(models.KindInvalid, "otp_incorrect", "The code is wrong or has expired.")
		if st := signer.CodeState(act.At); st != nil {
			rejected.Details = map[string]any{"triesLeft": models.Deref(st.TriesLeft, 0), "liveUntil": utcPtr(st.LiveUntil)}
		}
		return rejected
	}
	if bind {
		until := signer.SessionExpiry(act.At)
		s.setSessionCookie(c, l, token, until)
		return respond(c, http.StatusOK, gin.H{
			"verified": true, "sessionToken": token, "sessionExpiresAt": utcPtr(&until), "draftKey": s.codes.DraftKey(l.Link),
		})
	}
	return nil
}
