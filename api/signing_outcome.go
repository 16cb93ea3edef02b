package api

import (
	"net/http"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"

	"countersign/models"
)

type outcomeView struct {
	Outcome         models.Outcome    `json:"outcome"`
	At              *time.Time        `json:"at"`
	EnvelopeID      uuid.UUID         `json:"envelopeId"`
	EnvelopeStatus  models.Status     `json:"envelopeStatus"`
	DeclinedByOther bool              `json:"declinedByOther"`
	Subject         *string           `json:"subject"`
	SenderName      string            `json:"senderName"`
	Contact         *string           `json:"contact"`
	SignerName      string            `json:"signerName"`
	MaskedEmail     string            `json:"maskedEmail"`
	Documents       []outcomeDocument `json:"documents"`
	Awaiting        int               `json:"awaiting"`
	AwaitingNames   []string          `json:"awaitingNames"`
	ReceiptToken    *string           `json:"receiptToken"`
	Branding        *contextBranding  `json:"branding,omitempty"`
}

type outcomeDocument struct {
	Name      string `json:"name"`
	PageCount int    `json:"pageCount"`
}

// outcome responds with the result of an envelope to the holder of a signing link. It also accepts links of signers who
// have signed, links of closed envelopes, and expired links. It returns the receipt again to the client that signed.
func (s *signingHandler) outcome(c *gin.Context, l signerLink) error {
	e, err := s.linkedEnvelope(c, l)
	if err != nil {
		return err
	}
	act := s.signerContext(c, l)
	end, err := e.OutcomeOf(l.Link, act.At)
	if err != nil {
		return err
	}
	chosen, err := s.senderSettings(c, l.App, e)
	if err != nil {
		return err
	}
	signer := e.Signer(l.SignerID)
	v := outcomeView{
		Outcome: end.Outcome, At: utcPtr(end.At), EnvelopeID: e.ID, EnvelopeStatus: e.Status.Public(), DeclinedByOther: end.DeclinedByOther,
		Subject: e.Subject, SenderName: *chosen.SenderName, Contact: chosen.ReplyTo, SignerName: signer.Name, MaskedEmail: signer.MaskedEmail(),
		Documents: viewEach(e.Originals(), func(d *models.Document) outcomeDocument { return outcomeDocument{e.DocumentName(d), d.PageCount} }),
		Awaiting:  len(end.Awaiting), AwaitingNames: []string{}, Branding: signingBranding(chosen),
	}
	if signer.IsSameClient(act) {
		for _, g := range end.Awaiting {
			v.AwaitingNames = append(v.AwaitingNames, g.Name)
		}
		if end.Outcome == models.OutcomeSigned {
			token, err := s.tokens.IssueReceipt(l)
			if err != nil {
				return err
			}
			v.ReceiptToken = &token
		}
	}
	return respond(c, http.StatusOK, v)
}
