package api

import (
	"net/http"

	"github.com/gin-gonic/gin"

	"countersign/models"
)

type receiptDocument struct {
	Name        string `json:"name"`
	Size        int64  `json:"size"`
	SHA256      string `json:"sha256"`
	DownloadURL string `json:"downloadUrl"` // the URL of the portal for this signer
}

// receipt responds with the state of the envelope and, if they exist, the sealed documents. It is for signers who have
// signed and whose signing links are therefore no longer usable. They received the receipt token in the response to
// their signature.
func (s *portalHandler) receipt(c *gin.Context) error {
	invalid := models.Reject(models.KindUnauthorized, "receipt_invalid", "This receipt is not valid or has expired.")
	app, envelope, signer, err := s.tokens.VerifyReceipt(c.Param("token"))
	if err != nil {
		return invalid
	}
	e, err := s.store.Envelope(c.Request.Context(), app, envelope)
	if err != nil {
		return notFoundAs(invalid, err)
	}
	if g := e.Signer(signer); g == nil || g.Status != models.SignerSigned {
		return invalid // the receipt was issued for a signature that was rejected
	}
	docs := []receiptDocument{}
	for _, d := range e.Sealed() {
		if d.PurgeStatus == models.PurgePurged {
			return models.ErrPurged
		}
		link, err := s.tokens.IssueDownload(e, d, signer)
		if err != nil {
			return err
		}
		docs = append(docs, receiptDocument{Name: e.DocumentName(d), Size: d.Size, SHA256: d.SHA256, DownloadURL: s.baseURL + "/download/" + link})
	}
	return respond(c, http.StatusOK, gin.H{"envelopeId": e.ID, "envelopeStatus": e.Status.Public(), "completedAt": utcPtr(e.CompletedAt), "documents": docs})
}
