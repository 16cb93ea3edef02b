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
	DownloadURL string `json:"downloadUrl"` // the portal's address for this signer
}

// receipt returns the state of the envelope to a signer who has signed, with the sealed documents once they exist. The
// signer receives the receipt's token in the response to the signature, because the signing link can no longer be
// used.
func (s *portalHandler) receipt(c *gin.Context) error {
	invalid := models.Refuse(models.KindUnauthorized, "receipt_invalid", "This receipt is not valid or has expired.")
	app, envelope, signer, err := s.tokens.VerifyReceipt(c.Param("token"))
	if err != nil {
		return invalid
	}
	e, err := s.store.Envelope(c.Request.Context(), app, envelope)
	if err != nil {
		return notFoundAs(invalid, err)
	}
	if g := e.Signer(signer); g == nil || g.Status != models.SignerSigned {
		return invalid // it was issued for a rejected signature
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
	return answer(c, http.StatusOK, gin.H{"envelopeId": e.ID, "envelopeStatus": e.Status.Public(), "completedAt": utcPtr(e.CompletedAt), "documents": docs})
}
