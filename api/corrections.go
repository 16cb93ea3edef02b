package api

import (
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/gin-gonic/gin"

	"countersign/internal/plaintext"
	"countersign/models"
	"countersign/store"
)

// replacementInput reads who takes a signer's place.
func (s *Server) replacementInput(o *object) models.Replacement {
	in := models.Replacement{
		Name: plaintext.Visible(o.str("name")), Email: strings.TrimSpace(o.str("email")), Phone: phone(o), Reason: o.strippedText("reason"),
	}
	if m := o.optStr("authMethod"); m != nil {
		in.AuthMethod = models.AuthMethod(*m)
		if !slices.Contains([]models.AuthMethod{models.AuthEmailOTP, models.AuthSMSOTP, models.AuthNone}, in.AuthMethod) {
			o.bad("authMethod", "must be email_otp, sms_otp or none")
		}
	}
	if in.AuthMethod == models.AuthSMSOTP && s.SMS == nil {
		o.bad("authMethod", "sms_otp is not available: this service sends no text messages")
	}
	return in
}

// replaceSigner puts another person in a signer's place.
func (s *Server) replaceSigner(c *gin.Context, app caller) error {
	o, id, err := s.partEdit(c, app, "signerId")
	if err != nil {
		return err
	}
	in := s.replacementInput(o)
	invalid := o.err()
	var made *models.Signer
	return s.change(c, app, func(e *models.Envelope, act models.ActionContext) (err error) {
		if invalid != nil {
			return invalid
		}
		made, err = e.Replace(act, id, in)
		return err
	}, func() (*store.StoredResponse, error) { return inJSON(http.StatusOK, viewSigner(made)) })
}

// resendInvitation gives the signer a new link, which goes out by mail and is
// shown to nobody else. The old one ends.
func (s *Server) resendInvitation(c *gin.Context, app caller) error {
	id, err := pathID(c, "signerId")
	if err != nil {
		return err
	}
	var invited *models.Signer
	return s.change(c, app, func(e *models.Envelope, act models.ActionContext) (err error) {
		invited, err = e.Resend(act, id)
		return err
	}, func() (*store.StoredResponse, error) { return inJSON(http.StatusAccepted, viewSigner(invited)) })
}

type signingLinkView struct {
	SigningURL string     `json:"signingUrl"`
	ExpiresAt  *time.Time `json:"expiresAt"`
}

// issueLink gives the sender the link of an awaited signer.
func (s *Server) issueLink(c *gin.Context, app caller) error {
	id, err := pathID(c, "signerId")
	if err != nil {
		return err
	}
	o, err := readObject(c, maxJSON, true)
	if err != nil {
		return err
	}
	rotate := o.flag("rotate", false)
	invalid := o.err()
	var v signingLinkView
	return s.change(c, app, func(e *models.Envelope, act models.ActionContext) error {
		if invalid != nil {
			return invalid
		}
		signer, err := e.IssueLink(act, id, rotate)
		if err != nil {
			return err
		}
		token, err := s.Tokens.IssueSigning(e.AppID, signer)
		v = signingLinkView{SigningURL: s.SigningURL + "/" + token, ExpiresAt: utcPtr(e.LinkEnds(signer))}
		return err
	}, func() (*store.StoredResponse, error) { return inJSON(http.StatusOK, v) })
}

// requestCopies has the sealed files' links sent again to an address of the envelope.
func (s *Server) requestCopies(c *gin.Context, app caller) error {
	o, err := readObject(c, maxJSON, false)
	if err != nil {
		return err
	}
	email := strings.TrimSpace(o.str("email"))
	invalid := o.err()
	var to *models.Signer
	return s.change(c, app, func(e *models.Envelope, act models.ActionContext) (err error) {
		if invalid != nil {
			return invalid
		}
		to, err = e.RequestCopies(act, email)
		return err
	}, func() (*store.StoredResponse, error) { return inJSON(http.StatusAccepted, viewSigner(to)) })
}

// delegate hands over to another person, who is invited; the link ends.
func (s *Server) delegate(c *gin.Context, l signerLink) error {
	o, err := readObject(c, maxJSON, false)
	if err != nil {
		return err
	}
	in := s.replacementInput(o)
	if err := o.err(); err != nil {
		return err
	}
	_, err = s.changeSigned(c, l, func(e *models.Envelope) error {
		_, err := e.Delegate(s.signerContext(c, l), l.Link, in)
		return err
	}, noContent)
	return err
}
