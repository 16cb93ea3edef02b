package api

import (
	"errors"
	"net/http"

	"github.com/gin-gonic/gin"

	"countersign/internal/credential"
	"countersign/models"
)

// downloadTarget returns the sealed document for a portal link.
func (s *portalHandler) downloadTarget(c *gin.Context) (credential.DownloadLink, *models.Envelope, *models.Document, error) {
	invalid := models.Reject(models.KindUnauthorized, "download_link_invalid", "This download link is not valid or has expired.")
	l, err := s.tokens.VerifyDownload(c.Param("token"))
	if err != nil {
		return l, nil, nil, invalid
	}
	e, err := s.store.Envelope(c.Request.Context(), l.App, l.Envelope)
	if err != nil {
		return l, nil, nil, notFoundAs(invalid, err)
	}
	d := e.Document(l.Document)
	if d == nil || d.Kind != models.DocumentSealed {
		return l, nil, nil, invalid
	}
	if until := e.RetainedUntil(); d.PurgeStatus == models.PurgePurged || until != nil && !s.now().Before(*until) {
		return l, e, d, models.ErrPurged
	}
	return l, e, d, nil
}

// purgedDownload returns the error for a link to a purged document. It includes the sender's branding for the page that
// displays the error.
func (s *portalHandler) purgedDownload(c *gin.Context, l credential.DownloadLink, e *models.Envelope) error {
	_, chosen, err := s.store.Settings(c.Request.Context(), l.App, e.TenantID)
	if err != nil {
		return err
	}
	gone := *models.ErrPurged
	if branding := signingBranding(chosen); branding != nil {
		gone.Details = map[string]any{"branding": branding}
	}
	return &gone
}

func (s *portalHandler) download(c *gin.Context) error {
	l, e, d, err := s.downloadTarget(c)
	if errors.Is(err, models.ErrPurged) {
		return s.purgedDownload(c, l, e)
	}
	if err != nil {
		return err
	}
	available := true
	f, err := s.openFile(c.Request.Context(), e, d)
	switch {
	case isUnavailable(err):
		available = false
	case err != nil:
		return err
	default:
		_ = f.Close() // opened only for reading
	}
	until := l.Until
	if end := e.RetainedUntil(); end != nil && end.Before(until) {
		until = *end
	}
	_, chosen, err := s.store.Settings(c.Request.Context(), l.App, e.TenantID)
	if err != nil {
		return err
	}
	view := gin.H{
		"envelopeId": e.ID, "available": available, "name": e.DocumentName(d), "size": d.Size, "sha256": d.SHA256, "completedAt": utcPtr(e.CompletedAt),
		"expiresAt": utcPtr(&until),
	}
	if b := signingBranding(chosen); b != nil {
		view["branding"] = b
	}
	return respond(c, http.StatusOK, view)
}

func (s *portalHandler) downloadDocument(c *gin.Context) error {
	l, e, d, err := s.downloadTarget(c)
	if err != nil {
		return err
	}
	f, err := s.openFile(c.Request.Context(), e, d)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // opened only for reading
	if c.Request.Method != http.MethodHead {
		_, err = s.store.Change(c.Request.Context(), l.App, e.ID, func(e *models.Envelope) error {
			return e.Downloaded(s.actionContext(c, models.SignerActor(l.Recipient)), l.Recipient, l.Document)
		})
	}
	if err != nil {
		return err
	}
	return s.serveFile(c, e, d, f, "attachment")
}

// downloadLogo sends the logo to the holder of a portal link, even if the document has been purged.
func (s *portalHandler) downloadLogo(c *gin.Context) error {
	l, e, _, err := s.downloadTarget(c)
	if err != nil && !errors.Is(err, models.ErrPurged) {
		return err
	}
	return s.branding.serveLogo(c, l.App, e.TenantID)
}
