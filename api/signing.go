package api

import (
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"

	"countersign/internal/credential"
	"countersign/models"
	"countersign/notify"
	"countersign/notify/templates"
	"countersign/seal"
)

type contextView struct {
	EnvelopeID              uuid.UUID         `json:"envelopeId"`
	SignerID                uuid.UUID         `json:"signerId"`
	SignerName              string            `json:"signerName"`
	SignerEmail             string            `json:"signerEmail"`
	Subject                 *string           `json:"subject"`
	Message                 *string           `json:"message"`
	SenderName              string            `json:"senderName"`
	ExpiresAt               *time.Time        `json:"expiresAt"`
	Fields                  []contextField    `json:"fields"`
	Documents               []contextDoc      `json:"documents"`
	RequiresOTPVerification bool              `json:"requiresOtpVerification"`
	OTPVerified             bool              `json:"otpVerified"`
	AuthMethod              models.AuthMethod `json:"authMethod"`
	MaskedEmail             string            `json:"maskedEmail"`
	MaskedPhone             string            `json:"maskedPhone,omitempty"`
	ConsentGiven            bool              `json:"consentGiven"`
	Consent                 consentView       `json:"consent"`
	SavedSignatureB64       *string           `json:"savedSignatureB64"`
	SavedSignatureFontLabel *string           `json:"savedSignatureFontLabel"`
	Contact                 *string           `json:"contact"`
	Filled                  []filledView      `json:"filled"`
	Shown                   *string           `json:"shown"`
	DraftKey                *string           `json:"draftKey"`
	Code                    *codeView         `json:"code"`
	DeclineNeedsCode        bool              `json:"declineNeedsCode"`
	ReadBeforeCode          bool              `json:"readBeforeCode"`
}

type contextField struct {
	ID         uuid.UUID        `json:"id"`
	DocumentID uuid.UUID        `json:"documentId"`
	Type       models.FieldType `json:"type"`
	Page       int              `json:"page"`
	X          float64          `json:"x"`
	Y          float64          `json:"y"`
	W          float64          `json:"w"`
	H          float64          `json:"h"`
	Required   bool             `json:"required"`
}

type contextDoc struct {
	DocumentID uuid.UUID        `json:"documentId"`
	Name       string           `json:"name"`
	PageCount  int              `json:"pageCount"`
	Order      int              `json:"order"`
	Size       int64            `json:"size"`
	SHA256     string           `json:"sha256"`
	Pages      []models.PageRun `json:"pages"`
}

type consentView struct {
	Version  string `json:"version"`
	Language string `json:"language"`
	Text     string `json:"text"`
}

// maxLanguage bounds a language tag, in characters.
const maxLanguage = 100

// signingContext is what a signer's page needs. The first time it is asked for,
// the signer has opened the link.
func (s *Server) signingContext(c *gin.Context, l signerLink) error {
	language := c.Query("language")
	if len(language) > maxLanguage {
		p := models.Problems{}
		p.Add("language", "must have at most %d characters", maxLanguage)
		return p.Err()
	}
	e, err := s.Store.Envelope(c.Request.Context(), l.App, l.EnvelopeID)
	if err != nil {
		return hideMissing(err)
	}
	act := s.signerAct(c, l)
	signer, err := e.Reader(l.Link, act.At, true)
	if err != nil {
		return err
	}
	now, err := e.Shown()
	if err != nil {
		return err
	}
	confirmed := signer.Confirmed(act)
	if c.Request.Method != http.MethodHead && (signer.Status != models.SignerViewed || confirmed && signer.Shown != now.Digest) {
		e, err = s.Store.Change(c.Request.Context(), l.App, l.EnvelopeID, func(e *models.Envelope) (err error) {
			signer, err = e.Open(act, l.Link)
			if confirmed = err == nil && signer.Confirmed(act); confirmed {
				signer, err = e.Show(act, l.Link)
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	app, err := s.Store.App(c.Request.Context(), l.App)
	if err != nil {
		return err
	}
	chosen, err := s.settings(c, caller{App: app}, e.TenantID)
	if err != nil {
		return err
	}
	shown := models.DisclosureIn(language)
	v := contextView{
		EnvelopeID: e.ID, SignerID: signer.ID, SignerName: signer.Name, SignerEmail: signer.Email, Subject: e.Subject, Message: e.Message,
		SenderName: *chosen.SenderName, Contact: chosen.ReplyTo, ExpiresAt: stamp(e.ExpiresAt), Fields: []contextField{}, Documents: contextDocs(e),
		RequiresOTPVerification: signer.NeedsCode(), OTPVerified: signer.NeedsCode() && confirmed, AuthMethod: signer.AuthMethod,
		MaskedEmail: signer.MaskedEmail(), MaskedPhone: signer.MaskedPhone(), ConsentGiven: signer.ConsentAt != nil,
		Consent: consentView{shown.Version, shown.Language, shown.Text},
		Filled:  []filledView{}, Code: viewCode(signer.CodeState(act.At)), DeclineNeedsCode: s.DeclineNeedsCode, ReadBeforeCode: !s.CodeBeforeReading,
	}
	if confirmed {
		if v.Filled, err = s.filled(c.Request.Context(), e); err != nil {
			return err
		}
		key := s.Codes.DraftKey(l.Link)
		v.Shown, v.DraftKey = &signer.Shown, &key
	}
	for _, f := range e.Fields {
		if f.SignerID == signer.ID {
			v.Fields = append(v.Fields, contextField{
				ID: f.ID, DocumentID: f.DocumentID, Type: f.Type, Page: f.Page, X: f.X, Y: f.Y, W: f.W, H: f.H, Required: f.Required,
			})
		}
	}
	if v.OTPVerified {
		saved, err := s.Store.SavedSignature(c.Request.Context(), e, signer)
		if err != nil {
			return err
		}
		if saved != nil {
			b64 := base64.StdEncoding.EncodeToString(saved.Image)
			v.SavedSignatureB64, v.SavedSignatureFontLabel = &b64, saved.FontLabel
		}
	}
	c.JSON(http.StatusOK, v)
	return nil
}

func contextDocs(e *models.Envelope) []contextDoc {
	out := []contextDoc{}
	for _, d := range e.Originals() {
		out = append(out, contextDoc{DocumentID: d.ID, Name: e.DocumentName(d), PageCount: d.PageCount, Order: d.Order, Size: d.Size, SHA256: d.SHA256, Pages: d.Pages})
	}
	return out
}

// hideMissing: a link to an envelope that is not there is not a valid link.
func hideMissing(err error) error {
	if models.IsRefusal(err) {
		return models.ErrLinkInvalid
	}
	return err
}

// codeLimit bounds how long a signer waits for a code to be handed to the mail server.
const codeLimit = 20 * time.Second

// requestCode makes a code and sends it while the signer waits: a code that
// cannot be sent now is of no use later.
func (s *Server) requestCode(c *gin.Context, l signerLink) error {
	code, err := s.Codes.New()
	if err != nil {
		return err
	}
	var signer *models.Signer
	e, err := s.Store.Change(c.Request.Context(), l.App, l.EnvelopeID, func(e *models.Envelope) (err error) {
		signer, err = e.RequestCode(s.signerAct(c, l), l.Link, s.Codes.Hash(l.Link, code))
		return err
	})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(c.Request.Context(), codeLimit)
	defer cancel()
	if err := s.sendCode(ctx, e, signer, code); err != nil {
		s.log.ErrorContext(c.Request.Context(), "one-time code not sent", "envelope", e.ID, "signer", signer.ID, "error", err)
		refused := models.Refuse(models.KindUnavailable, "otp_not_sent", "The code could not be sent. Please try again in a moment.")
		refused.RetryAfter = 30 * time.Second
		return refused
	}
	answer := gin.H{"maskedEmail": signer.MaskedEmail(), "code": viewCode(signer.CodeState(s.Now()))}
	if signer.AuthMethod == models.AuthSMSOTP {
		answer["maskedPhone"] = signer.MaskedPhone()
	}
	c.JSON(http.StatusOK, answer)
	return nil
}

func (s *Server) sendCode(ctx context.Context, e *models.Envelope, signer *models.Signer, code string) error {
	app, err := s.Store.App(ctx, e.AppID)
	if err != nil {
		return err
	}
	_, chosen, err := s.Store.Settings(ctx, e.AppID, e.TenantID)
	if err != nil {
		return err
	}
	msg := templates.Code{
		Language: chosen.In(), RecipientName: signer.Name, SenderName: chosen.Sender(app.Name), Subject: e.Title(), Code: code, ValidFor: models.OTPLifetime,
	}
	if signer.AuthMethod == models.AuthSMSOTP {
		if s.SMS == nil || signer.Phone == nil {
			return fmt.Errorf("no way to send a text message")
		}
		return s.SMS.Send(ctx, *signer.Phone, msg.SMS())
	}
	content, err := msg.Render()
	if err != nil {
		return err
	}
	mail := notify.Mail{
		Kind: "code", To: notify.Address{Name: signer.Name, Email: signer.Email}, FromName: msg.SenderName, Subject: content.Subject, Text: content.Text, HTML: content.HTML,
		MessageID: s.Mail.MessageID("code", s.NewID().String()),
	}
	if chosen.ReplyTo != nil {
		mail.ReplyTo = *chosen.ReplyTo
	}
	return s.Mail.Send(ctx, mail)
}

func (s *Server) verifyCode(c *gin.Context, l signerLink) error {
	o, err := readObject(c, maxJSON, false)
	if err != nil {
		return err
	}
	code := o.str("code")
	if _, isText := o.get("code").(string); isText && len(code) != credential.CodeLength {
		o.bad("code", "must have exactly %d characters", credential.CodeLength)
	}
	bind := o.flag("bind", false)
	invalid := o.err()
	token, session := "", []byte(nil)
	if bind {
		token = newSessionToken()
		session = tokenHash(token)
		keepNoAnswer(c)
	}
	verified := false
	answer := gin.H{"verified": true}
	promise(c, http.StatusOK, func() any {
		if !verified || bind {
			return nil
		}
		return answer
	})
	act := s.signerAct(c, l)
	e, err := s.Store.Change(c.Request.Context(), l.App, l.EnvelopeID, func(e *models.Envelope) (err error) {
		if invalid != nil {
			if _, err := e.Reader(l.Link, act.At, false); err != nil {
				return err
			}
			return invalid
		}
		verified, err = e.BindCode(act, l.Link, s.Codes.Hash(l.Link, code), session)
		return err
	})
	if err != nil {
		return hideNotFound(err)
	}
	signer := e.Signer(l.SignerID)
	if !verified {
		refused := models.Refuse(models.KindInvalid, "otp_incorrect", "The code is wrong or has expired.")
		if st := signer.CodeState(act.At); st != nil {
			left := 0
			if st.TriesLeft != nil {
				left = *st.TriesLeft
			}
			refused.Details = map[string]any{"triesLeft": left, "liveUntil": stamp(st.LiveUntil)}
		}
		return refused
	}
	if bind {
		until := signer.SessionEnds(act.At)
		s.setSessionCookie(c, l, token, until)
		answer["sessionToken"], answer["sessionExpiresAt"], answer["draftKey"] = token, stamp(&until), s.Codes.DraftKey(l.Link)
	}
	c.JSON(http.StatusOK, answer)
	return nil
}

// consent takes the version of the disclosure that was shown; a client that
// names none shows the English one.
func (s *Server) consent(c *gin.Context, l signerLink) error {
	o, err := readObject(c, maxJSON, true)
	if err != nil {
		return err
	}
	shown := models.DisclosureIn("en")
	if version := o.optStr("version"); version != nil {
		var ok bool
		if shown, ok = models.DisclosureOf(*version); !ok {
			o.bad("version", "is not that of a text which the signing context gives")
		}
	}
	if err := o.err(); err != nil {
		return err
	}
	var signer *models.Signer
	answer := func() any { return gin.H{"consentedAt": stamp(signer.ConsentAt)} }
	promise(c, http.StatusOK, answer)
	_, err = s.Store.Change(c.Request.Context(), l.App, l.EnvelopeID, func(e *models.Envelope) (err error) {
		signer, err = e.Consent(s.signerAct(c, l), l.Link, shown)
		return err
	})
	if err != nil {
		return hideNotFound(err)
	}
	c.JSON(http.StatusOK, answer())
	return nil
}

// maxSign bounds the body of a sign request, pictures included.
const maxSign = 12 << 20

func (s *Server) sign(c *gin.Context, l signerLink) error {
	mine, err := s.fieldsToSign(c, l)
	if err != nil {
		return err
	}
	o, err := readObject(c, maxSign, false)
	if err != nil {
		return err
	}
	sub := submission(o, mine)
	invalid := o.err()
	receipt, err := s.Tokens.Receipt(l)
	if err != nil {
		return err
	}
	var signer *models.Signer
	var status models.Status
	answer := func() any {
		return gin.H{"status": signer.Status, "envelopeStatus": status.Public(), "signedAt": stamp(signer.SignedAt), "receiptToken": receipt}
	}
	promise(c, http.StatusOK, answer)
	_, err = s.Store.Change(c.Request.Context(), l.App, l.EnvelopeID, func(e *models.Envelope) (err error) {
		act := s.signerAct(c, l)
		if err := e.MaySign(act, l.Link); err != nil || invalid != nil {
			return cmp.Or(err, invalid) // a link that may not sign learns that first, whatever the body
		}
		signer, err = e.Sign(act, l.Link, sub)
		status = e.Status
		return err
	})
	if errors.Is(err, models.ErrValuesChanged) {
		return s.changedValues(c, l)
	}
	if err != nil {
		return hideNotFound(err)
	}
	c.JSON(http.StatusOK, answer())
	return nil
}

// fieldsToSign are the fields of a link that may sign now, so that nothing of a
// request is worked on for one that may not.
func (s *Server) fieldsToSign(c *gin.Context, l signerLink) (map[uuid.UUID]models.FieldType, error) {
	e, err := s.Store.Envelope(c.Request.Context(), l.App, l.EnvelopeID)
	if err != nil {
		return nil, hideNotFound(err)
	}
	if err := e.MaySign(s.signerAct(c, l), l.Link); err != nil {
		return nil, err
	}
	mine := make(map[uuid.UUID]models.FieldType)
	for _, f := range e.Fields {
		if f.SignerID == l.SignerID {
			mine[f.ID] = f.Type
		}
	}
	return mine, nil
}

// submission reads a sign request: texts must be drawable; pictures are decoded,
// checked and re-encoded, one for each of the signer's fields that takes one.
// What is given for another field is refused when it is signed.
func submission(o *object, mine map[uuid.UUID]models.FieldType) models.Submission {
	sub := models.Submission{FontLabel: o.optStr("fontLabel"), Shown: o.optStr("shown")}
	if sub.Shown != nil && !models.IsDigest(*sub.Shown) {
		o.bad("shown", "must be the digest that the signing context gives: 64 lower-case hexadecimal digits")
	}
	if !o.has("fields") {
		o.bad("fields", "is required")
	}
	var pictures seal.Pictures
	for _, f := range o.objects("fields", 0, models.MaxFields) {
		in := models.FieldSubmission{FieldID: f.id("fieldId"), Text: f.optStr("textValue")}
		if in.Text != nil {
			if err := seal.CheckText(*in.Text); err != nil {
				f.bad("textValue", "%s", err.Error())
			}
		}
		if b64 := f.optStr("signatureImageBase64"); b64 != nil && *b64 != "" {
			if mine[in.FieldID].Image() {
				in.Image = picture(&pictures, f, *b64)
				delete(mine, in.FieldID)
			} else {
				in.Image = notDecoded
			}
		}
		sub.Fields = append(sub.Fields, in)
	}
	return sub
}

// notDecoded stands for a picture that is refused whatever it shows.
var notDecoded = []byte{0}

func picture(pictures *seal.Pictures, f *object, b64 string) []byte {
	const name = "signatureImageBase64"
	b64 = strings.TrimPrefix(b64, "data:image/png;base64,")
	raw, err := base64.StdEncoding.DecodeString(b64)
	if err != nil {
		f.bad(name, "must be base64")
		return nil
	}
	png, err := pictures.Check(raw)
	if err != nil {
		f.bad(name, "%s", err.Error())
		return nil
	}
	return png
}

func (s *Server) decline(c *gin.Context, l signerLink) error {
	o, err := readObject(c, maxJSON, true)
	if err != nil {
		return err
	}
	reason := visible(o.optStr("reason"))
	if err := o.err(); err != nil {
		return err
	}
	var signer *models.Signer
	var status models.Status
	answer := func() any { return gin.H{"status": signer.Status, "envelopeStatus": status.Public()} }
	promise(c, http.StatusOK, answer)
	_, err = s.Store.Change(c.Request.Context(), l.App, l.EnvelopeID, func(e *models.Envelope) (err error) {
		decline := e.Decline
		if s.DeclineNeedsCode {
			decline = e.DeclineConfirmed
		}
		signer, err = decline(s.signerAct(c, l), l.Link, reason)
		status = e.Status
		return err
	})
	if err != nil {
		return hideNotFound(err)
	}
	c.JSON(http.StatusOK, answer())
	return nil
}

// readable loads the envelope of a link that may be read by its holder.
func (s *Server) readable(c *gin.Context, l signerLink) (*models.Envelope, error) {
	e, err := s.Store.Envelope(c.Request.Context(), l.App, l.EnvelopeID)
	if err != nil {
		return nil, hideMissing(err)
	}
	_, err = e.Reader(l.Link, s.Now(), false)
	return e, err
}

// sendToSigner streams a document as it was uploaded, or with what others entered.
func (s *Server) sendToSigner(c *gin.Context, l signerLink, find func(*models.Envelope) (*models.Document, error)) error {
	read := s.readable
	entries, err := wantsEntries(c)
	if err != nil {
		return err
	}
	if entries || s.CodeBeforeReading {
		read = s.confirmedReading
	}
	e, err := read(c, l)
	if err != nil {
		return err
	}
	d, err := find(e)
	if err != nil {
		return err
	}
	if entries {
		return s.sendReadingCopy(c, e, d)
	}
	return s.sendFile(c, e, d, "inline")
}

func (s *Server) signingDocument(c *gin.Context, l signerLink) error {
	return s.sendToSigner(c, l, func(e *models.Envelope) (*models.Document, error) { return e.Originals()[0], nil })
}

func (s *Server) signingDocuments(c *gin.Context, l signerLink) error {
	e, err := s.readable(c, l)
	if err != nil {
		return err
	}
	c.JSON(http.StatusOK, contextDocs(e))
	return nil
}

func (s *Server) signingDocumentByID(c *gin.Context, l signerLink) error {
	return s.sendToSigner(c, l, func(e *models.Envelope) (*models.Document, error) {
		id, err := pathID(c, "docId")
		if err != nil {
			return nil, err
		}
		d := e.Document(id)
		if d == nil || d.Kind != models.DocumentOriginal {
			return nil, models.ErrNotFound
		}
		return d, nil
	})
}

func (s *Server) pageView(c *gin.Context, l signerLink) error {
	o, err := readObject(c, maxJSON, false)
	if err != nil {
		return err
	}
	doc, page, dwell := o.id("documentId"), o.int("page"), o.int("dwellMs")
	if err := o.err(); err != nil {
		return err
	}
	promiseNothing(c)
	_, err = s.Store.Change(c.Request.Context(), l.App, l.EnvelopeID, func(e *models.Envelope) error {
		return e.ViewPage(s.signerAct(c, l), l.Link, doc, page, int64(dwell))
	})
	if err != nil {
		return hideNotFound(err)
	}
	c.Status(http.StatusNoContent)
	return nil
}

// hideNotFound makes a link to an envelope that is not there an invalid link,
// and leaves every other refusal as it is.
func hideNotFound(err error) error {
	if isNotFound(err) {
		return models.ErrLinkInvalid
	}
	return err
}
