package api

import (
	"cmp"
	"context"
	"encoding/base64"
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
	act := s.act(c, models.SignerActor(l.SignerID))
	signer, err := e.Reader(l.Link, act.At, true)
	if err != nil {
		return err
	}
	if signer.Status != models.SignerViewed {
		e, err = s.Store.Change(c.Request.Context(), l.App, l.EnvelopeID, func(e *models.Envelope) (err error) {
			signer, err = e.Open(act, l.Link)
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
		SenderName: *chosen.SenderName, ExpiresAt: stamp(e.ExpiresAt), Fields: []contextField{}, Documents: contextDocs(e),
		RequiresOTPVerification: signer.NeedsCode(), OTPVerified: signer.OTPVerifiedAt != nil, AuthMethod: signer.AuthMethod,
		MaskedEmail: signer.MaskedEmail(), MaskedPhone: signer.MaskedPhone(), ConsentGiven: signer.ConsentAt != nil,
		Consent: consentView{shown.Version, shown.Language, shown.Text},
	}
	for _, f := range e.Fields {
		if f.SignerID == signer.ID {
			v.Fields = append(v.Fields, contextField{
				ID: f.ID, DocumentID: f.DocumentID, Type: f.Type, Page: f.Page, X: f.X, Y: f.Y, W: f.W, H: f.H, Required: f.Required,
			})
		}
	}
	if signer.OTPVerifiedAt != nil {
		saved, err := s.Store.SavedSignature(c.Request.Context(), e.AppID, strings.ToLower(signer.Email))
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
		out = append(out, contextDoc{DocumentID: d.ID, Name: e.FileName(d), PageCount: d.PageCount, Order: d.Order, Size: d.Size, SHA256: d.SHA256, Pages: d.Pages})
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
		signer, err = e.RequestCode(s.act(c, models.SignerActor(l.SignerID)), l.Link, s.Codes.Hash(l.Link, code))
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
	answer := gin.H{"maskedEmail": signer.MaskedEmail()}
	if signer.AuthMethod == models.AuthSMSOTP {
		answer["maskedPhone"] = signer.MaskedPhone()
	}
	c.JSON(http.StatusOK, answer)
	return nil
}

func (s *Server) sendCode(ctx context.Context, e *models.Envelope, signer *models.Signer, code string) error {
	msg := templates.Code{RecipientName: signer.Name, Subject: e.Title(), Code: code, ValidFor: models.OTPLifetime}
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
	return s.Mail.Send(ctx, notify.Mail{
		Kind: "code", To: notify.Address{Name: signer.Name, Email: signer.Email}, Subject: content.Subject, Text: content.Text, HTML: content.HTML,
		MessageID: s.Mail.MessageID("code", s.NewID().String()),
	})
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
	invalid := o.err()
	verified := false
	promise(c, http.StatusOK, func() any {
		if !verified {
			return nil
		}
		return gin.H{"verified": true}
	})
	_, err = s.Store.Change(c.Request.Context(), l.App, l.EnvelopeID, func(e *models.Envelope) (err error) {
		act := s.act(c, models.SignerActor(l.SignerID))
		if invalid != nil {
			if _, err := e.Reader(l.Link, act.At, false); err != nil {
				return err
			}
			return invalid
		}
		verified, err = e.VerifyCode(act, l.Link, s.Codes.Hash(l.Link, code))
		return err
	})
	if err != nil {
		return hideNotFound(err)
	}
	if !verified {
		return models.Refuse(models.KindInvalid, "otp_incorrect", "The code is wrong or has expired.")
	}
	c.JSON(http.StatusOK, gin.H{"verified": true})
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
		signer, err = e.Consent(s.act(c, models.SignerActor(l.SignerID)), l.Link, shown)
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
	o, err := readObject(c, maxSign, false)
	if err != nil {
		return err
	}
	sub := submission(o)
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
		act := s.act(c, models.SignerActor(l.SignerID))
		if err := e.MaySign(l.Link, act.At); err != nil || invalid != nil {
			return cmp.Or(err, invalid) // a link that may not sign learns that first, whatever the body
		}
		signer, err = e.Sign(act, l.Link, sub)
		status = e.Status
		return err
	})
	if err != nil {
		return hideNotFound(err)
	}
	c.JSON(http.StatusOK, answer())
	return nil
}

// submission reads a sign request: pictures are decoded, checked and
// re-encoded, texts must be drawable.
func submission(o *object) models.Submission {
	sub := models.Submission{FontLabel: o.optStr("fontLabel")}
	if !o.has("fields") {
		o.bad("fields", "is required")
	}
	for _, f := range o.objects("fields", 0, models.MaxFields) {
		in := models.FieldSubmission{FieldID: f.id("fieldId"), Text: f.optStr("textValue")}
		if in.Text != nil {
			if err := seal.CheckText(*in.Text); err != nil {
				f.bad("textValue", "%s", err.Error())
			}
		}
		if b64 := f.optStr("signatureImageBase64"); b64 != nil && *b64 != "" {
			in.Image = picture(f, *b64)
		}
		sub.Fields = append(sub.Fields, in)
	}
	return sub
}

func picture(f *object, b64 string) []byte {
	const name = "signatureImageBase64"
	b64 = strings.TrimPrefix(b64, "data:image/png;base64,")
	raw, err := base64.StdEncoding.DecodeString(b64)
	if err != nil {
		f.bad(name, "must be base64")
		return nil
	}
	png, err := seal.CheckPNG(raw)
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
	reason := o.optStr("reason")
	if err := o.err(); err != nil {
		return err
	}
	var signer *models.Signer
	var status models.Status
	answer := func() any { return gin.H{"status": signer.Status, "envelopeStatus": status.Public()} }
	promise(c, http.StatusOK, answer)
	_, err = s.Store.Change(c.Request.Context(), l.App, l.EnvelopeID, func(e *models.Envelope) (err error) {
		signer, err = e.Decline(s.act(c, models.SignerActor(l.SignerID)), l.Link, reason)
		status = e.Status
		return err
	})
	if err != nil {
		return hideNotFound(err)
	}
	c.JSON(http.StatusOK, answer())
	return nil
}

// readable loads the envelope of a link that may read its documents.
func (s *Server) readable(c *gin.Context, l signerLink) (*models.Envelope, error) {
	e, err := s.Store.Envelope(c.Request.Context(), l.App, l.EnvelopeID)
	if err != nil {
		return nil, hideMissing(err)
	}
	_, err = e.Reader(l.Link, s.Now(), false)
	return e, err
}

func (s *Server) signingDocument(c *gin.Context, l signerLink) error {
	e, err := s.readable(c, l)
	if err != nil {
		return err
	}
	return s.sendFile(c, e, e.Originals()[0], "inline")
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
	e, err := s.readable(c, l)
	if err != nil {
		return err
	}
	id, err := pathID(c, "docId")
	if err != nil {
		return err
	}
	d := e.Document(id)
	if d == nil || d.Kind != models.DocumentOriginal {
		return models.ErrNotFound
	}
	return s.sendFile(c, e, d, "inline")
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
		return e.ViewPage(s.act(c, models.SignerActor(l.SignerID)), l.Link, doc, page, int64(dwell))
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
