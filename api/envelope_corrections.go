package api

import (
	"net/http"
	"strings"
	"time"

	"github.com/gin-gonic/gin"

	"countersign/internal/plaintext"
	"countersign/models"
	"countersign/store"
)

func (s *envelopeHandler) replacementInput(o *object) models.Replacement {
	in := models.Replacement{
		Name: plaintext.Visible(o.str("name")), Email: strings.TrimSpace(o.str("email")), Phone: phone(o), Reason: o.strippedText("reason"),
	}
	in.AuthMethod = s.authMethod(o, "")
	if _, present := o.get("authMethod").(string); present && !in.AuthMethod.Valid() {
		o.bad("authMethod", "must be %s", models.AuthMethodNames)
	}
	return in
}

func (s *envelopeHandler) replaceSigner(c *gin.Context, app caller) error {
	o, id, err := s.readPartEdit(c, app, "signerId")
	if err != nil {
		return err
	}
	in := s.replacementInput(o)
	return change(s, c, app, o.err(), func(e *models.Envelope, act models.ActionContext) (*models.Signer, error) {
		return e.Replace(act, id, in)
	}, asJSON(http.StatusOK, viewSigner))
}

// resendInvitation emails the signer a new link. The new link is sent only by email, and the previous link becomes
// invalid.
func (s *envelopeHandler) resendInvitation(c *gin.Context, app caller) error {
	return change(s, c, app, nil, func(e *models.Envelope, act models.ActionContext) (*models.Signer, error) {
		return e.Resend(act, checkedID(c, "signerId"))
	}, asJSON(http.StatusAccepted, viewSigner))
}

type signingLinkView struct {
	SigningURL string     `json:"signingUrl"`
	ExpiresAt  *time.Time `json:"expiresAt"`
}

// issueLink responds with the signing link of an invited signer.
func (s *envelopeHandler) issueLink(c *gin.Context, app caller, o *object) error {
	rotate := o.flag("rotate", false)
	return change(s, c, app, o.err(), func(e *models.Envelope, act models.ActionContext) (v signingLinkView, err error) {
		signer, err := e.IssueLink(act, checkedID(c, "signerId"), rotate)
		if err != nil {
			return v, err
		}
		token, err := s.tokens.IssueSigning(e.AppID, signer)
		return signingLinkView{SigningURL: s.signingURL + "/" + token, ExpiresAt: utcPtr(e.LinkExpiry(signer))}, err
	}, func(v signingLinkView) (*store.StoredResponse, error) { return inJSON(http.StatusOK, v) })
}

// requestCopies sends the links to the sealed files again. The email address must belong to the envelope.
func (s *envelopeHandler) requestCopies(c *gin.Context, app caller, o *object) error {
	email := strings.TrimSpace(o.str("email"))
	return change(s, c, app, o.err(), func(e *models.Envelope, act models.ActionContext) (*models.Signer, error) {
		return e.RequestCopies(act, email)
	}, asJSON(http.StatusAccepted, viewSigner))
}
