package api

import (
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"net/http"
	"strings"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"

	"countersign/models"
	"countersign/seal/picture"
	"countersign/store"
)

// consent records consent to the version of the disclosure given in the request. The default is the English disclosure.
func (s *signingHandler) consent(c *gin.Context, l signerLink, o *object) error {
	var shown *models.Disclosure // nil selects the disclosure that a signing context contains if no language is requested
	if version := o.optStr("version"); version != nil {
		named, ok := models.DisclosureOf(*version)
		if shown = &named; !ok {
			o.bad("version", "must be a version that the signing context returned")
		}
	}
	if err := o.err(); err != nil {
		return err
	}
	return s.changeSigned(c, l, func(e *models.Envelope) error {
		var text models.Disclosure
		if shown != nil {
			text = *shown
		} else if mine := e.Signer(l.SignerID); mine != nil {
			text = mine.Disclosure(mine.Language)
		}
		signer, err := e.Consent(s.signerContext(c, l), l.Link, text)
		if err == nil && !signer.Shows(text) {
			return models.InvalidField("version", "must be a version that the signing context returned")
		}
		return err
	}, asJSON(http.StatusOK, func(e *models.Envelope) gin.H {
		return gin.H{"consentedAt": utcPtr(e.Signer(l.SignerID).ConsentAt)}
	}))
}

// The limits on a sign request, in bytes, for the complete body, for everything except the fields, and for each field.
// A field contains either text, which may be escaped, or an image in base64.
const (
	maxSign          = 12 << 20
	signBodyOverhead = 64 << 10
	maxSignText      = 26 << 10
	maxSignPicture   = picture.MaxBytes/3*4 + 1<<10
)

// signLimit returns the maximum size of the body of a sign request, based on the signer's fields.
func signLimit(mine map[uuid.UUID]models.FieldType) int64 {
	limit := int64(signBodyOverhead)
	for _, t := range mine {
		if t.Image() {
			limit += maxSignPicture
		} else {
			limit += maxSignText
		}
	}
	return min(limit, maxSign)
}

func (s *signingHandler) sign(c *gin.Context, l signerLink) error {
	e, err := s.linkedEnvelope(c, l)
	if err != nil {
		return err
	}
	sub, err := s.readSubmission(c, l, e)
	if err != nil {
		return err
	}
	receipt, err := s.tokens.IssueReceipt(l)
	if err != nil {
		return err
	}
	err = notFoundAsInvalidLink(command(s.subject, c, func(st signingStore) (*models.Envelope, error) {
		return st.ChangeAttachments(c.Request.Context(), l.App, l.EnvelopeID, func(e *models.Envelope, attached []*models.Attachment) error {
			sub.FindAttachments(attached)
			_, err := e.Sign(s.signerContext(c, l), l.Link, sub)
			return err
		})
	}, asJSON(http.StatusOK, func(e *models.Envelope) gin.H {
		signer := e.Signer(l.SignerID)
		return gin.H{"status": signer.Status, "envelopeStatus": e.Status.Public(), "signedAt": utcPtr(signer.SignedAt), "receiptToken": receipt}
	})))
	if errors.Is(err, models.ErrValuesChanged) {
		return s.changedValues(c, l)
	}
	return err
}

// readSubmission reads the values in a request. It returns an error if the link cannot be used to sign now.
func (s *signingHandler) readSubmission(c *gin.Context, l signerLink, e *models.Envelope) (models.Submission, error) {
	mine, earlier, err := s.fieldsToSign(c, l, e)
	if err != nil {
		return models.Submission{}, err
	}
	bodyOf(c).maxJSON = signLimit(mine)
	o, err := readObject(c, false)
	if err != nil {
		return models.Submission{}, err
	}
	pictures := pictureChecker{ctx: c.Request.Context(), shared: s.shared}
	sub := submission(o, mine, pictures.check)
	if err := cmp.Or(pictures.err, o.err()); err != nil {
		return models.Submission{}, err
	}
	sub.Earlier, sub.Fit = earlier, fitText
	return sub, nil
}

// fieldsToSign returns the types of the signer's fields, and the values of earlier signers that determine which fields
// are visible. It returns an error if the link cannot be used to sign now, so that the rest of the request is not
// processed.
func (s *signingHandler) fieldsToSign(c *gin.Context, l signerLink, e *models.Envelope) (map[uuid.UUID]models.FieldType, map[string]string, error) {
	if err := e.CheckSign(s.signerContext(c, l), l.Link); err != nil {
		return nil, nil, err
	}
	earlier, err := s.conditionValues(c, e, l.SignerID)
	if err != nil {
		return nil, nil, err
	}
	mine := make(map[uuid.UUID]models.FieldType)
	for _, f := range e.Fields {
		if f.SignerID == l.SignerID {
			mine[f.ID] = f.Type
		}
	}
	return mine, earlier, nil
}

// submission reads a sign request. Text must be drawable. Images are decoded, checked and re-encoded, at most one for
// each of the signer's image fields. Values for other fields are rejected later, when the values are signed.
func submission(o *object, mine map[uuid.UUID]models.FieldType, check checkPicture) models.Submission {
	sub := models.Submission{FontLabel: o.optStr("fontLabel"), Shown: o.optStr("shown"), TimeZone: o.optStr("timeZone")}
	if sub.Shown != nil && !models.IsDigest(*sub.Shown) {
		o.bad("shown", "must be the digest returned by the signing context: 64 lowercase hexadecimal digits")
	}
	if !o.has("fields") {
		o.bad("fields", "is required")
	}
	for _, f := range o.objects("fields", 0, models.MaxFields) {
		in := models.FieldSubmission{FieldID: f.id("fieldId"), Text: f.optStr("textValue")}
		if in.Text != nil {
			in.Text = new(lineEnds.Replace(*in.Text))
			f.checkDrawable("textValue", *in.Text)
		}
		in.AttachmentID = f.optID("attachmentId")
		if b64 := f.optStr("signatureImageBase64"); b64 != nil && *b64 != "" {
			if mine[in.FieldID].Image() {
				in.Image, in.ImageSize = decodePicture(check, f, *b64)
				delete(mine, in.FieldID)
			} else {
				in.Image = undecodedPicture
			}
		}
		sub.Fields = append(sub.Fields, in)
	}
	return sub
}

// undecodedPicture is a placeholder for an image that is rejected without being decoded.
var undecodedPicture = []byte{0}

// checkPicture is a function that checks an image, such as picture.Checker.Check.
type checkPicture func([]byte) (picture.Picture, error)

// pictureChecker checks the images in a submission. It acquires memory for each of them.
type pictureChecker struct {
	ctx      context.Context //nolint:containedctx // context of the request
	shared   *shared
	pictures picture.Checker
	err      error // set if no memory was available
}

func (p *pictureChecker) check(b []byte) (picture.Picture, error) {
	if p.err != nil {
		return picture.Picture{}, p.err
	}
	release, err := p.shared.acquireWorkMemory(p.ctx, picture.Memory(b))
	if err != nil {
		p.err = err
		return picture.Picture{}, err
	}
	defer release()
	return p.pictures.Check(b)
}

// decodePicture decodes and checks a base64-encoded image. It returns the re-encoded image, and its size in bytes in
// the sealed document.
func decodePicture(check checkPicture, f *object, b64 string) (png []byte, size int) {
	const name = "signatureImageBase64"
	b64 = strings.TrimPrefix(b64, "data:image/png;base64,")
	raw, err := base64.StdEncoding.DecodeString(b64)
	if err != nil {
		f.bad(name, "must be base64")
		return nil, 0
	}
	checked, err := check(raw)
	if err != nil {
		f.bad(name, "%s", err.Error())
		return nil, 0
	}
	return checked.PNG, checked.Size
}

func (s *signingHandler) decline(c *gin.Context, l signerLink, o *object) error {
	reason := o.strippedText("reason")
	if err := o.err(); err != nil {
		return err
	}
	return s.changeSigned(c, l, func(e *models.Envelope) error {
		_, err := e.Decline(s.signerContext(c, l), l.Link, reason, s.declineNeedsCode)
		return err
	}, asJSON(http.StatusOK, func(e *models.Envelope) gin.H {
		return gin.H{"status": e.Signer(l.SignerID).Status, "envelopeStatus": e.Status.Public()}
	}))
}

func (s *signingHandler) pageView(c *gin.Context, l signerLink, o *object) error {
	doc, page, dwell := o.id("documentId"), o.int("page"), o.int("dwellMs")
	if err := o.err(); err != nil {
		return err
	}
	delivered, err := s.deliveredPage(c, l, doc, page)
	if err != nil {
		return err
	}
	return s.changeSigned(c, l, func(e *models.Envelope) error {
		return e.ViewPage(s.signerContext(c, l), l.Link, doc, page, int64(dwell), delivered)
	}, noContent)
}

// linkedEnvelope returns the envelope that a signing link belongs to.
func (s *signingHandler) linkedEnvelope(c *gin.Context, l signerLink) (*models.Envelope, error) {
	e, err := s.store.Envelope(c.Request.Context(), l.App, l.EnvelopeID)
	return e, notFoundAsInvalidLink(err)
}

// delegate replaces the signer with another person and invites that person. The previous signer's link becomes invalid.
func (s *signingHandler) delegate(c *gin.Context, l signerLink, o *object) error {
	in := s.envelopes.replacementInput(o)
	if err := o.err(); err != nil {
		return err
	}
	return s.changeSigned(c, l, func(e *models.Envelope) error {
		_, err := e.Delegate(s.signerContext(c, l), l.Link, in)
		return err
	}, noContent)
}

// changeSigned applies a change to the envelope of a signing link and responds with the result of view.
func (s *signingHandler) changeSigned(c *gin.Context, l signerLink, do func(*models.Envelope) error, view func(*models.Envelope) (*store.StoredResponse, error)) error {
	return notFoundAsInvalidLink(command(s.subject, c, func(st signingStore) (*models.Envelope, error) {
		return st.Change(c.Request.Context(), l.App, l.EnvelopeID, do)
	}, view))
}
