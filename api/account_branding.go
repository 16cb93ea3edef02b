package api

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"errors"
	"net/http"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"

	"countersign/models"
	"countersign/seal/picture"
	"countersign/seal/rejection"
)

// brandingView represents a tenant's branding in responses to the sender.
type brandingView struct {
	TenantID     string  `json:"tenantId"`
	Logo         *string `json:"logo"`
	PrimaryColor *string `json:"primaryColor"`
	SenderName   *string `json:"senderName"`
	ReplyTo      *string `json:"replyTo"`
	Footer       *string `json:"footer"`
	SupportURL   *string `json:"supportUrl"`
}

// contextBranding contains the branding of the signing page and the download portal.
type contextBranding struct {
	PrimaryColor *string `json:"primaryColor"`
	Footer       *string `json:"footer"`
	SupportURL   *string `json:"supportUrl"`
	Logo         *string `json:"logo"` // SHA-256 of the image that GET …/logo returns
}

// signingBranding returns the branding of the signing page, or nil for the default appearance.
func signingBranding(chosen models.Settings) *contextBranding {
	if !chosen.Branded() {
		return nil
	}
	return &contextBranding{chosen.PrimaryColor, chosen.Footer, chosen.SupportURL, chosen.LogoSHA256}
}

// brandedTenant returns the tenant in the path and checks that the client may access it.
func brandedTenant(c *gin.Context, app caller) (string, error) {
	tenant := c.Param("tenantId")
	p := models.Problems{}
	models.CheckText(p, "tenantId", tenant, 1, 255)
	if err := p.Err(); err != nil {
		return "", err
	}
	return tenant, app.CheckTenant(tenant)
}

func (s *brandingHandler) getBranding(c *gin.Context, app caller) error {
	tenant, err := brandedTenant(c, app)
	if err != nil {
		return err
	}
	return s.showBranding(c, app, tenant)
}

func (s *brandingHandler) showBranding(c *gin.Context, app caller, tenant string) error {
	b, err := s.store.Branding(c.Request.Context(), app.ID, tenant)
	if err != nil {
		return err
	}
	v := brandingView{
		TenantID: tenant, PrimaryColor: b.PrimaryColor, SenderName: b.SenderName, ReplyTo: b.ReplyTo, Footer: b.Footer, SupportURL: b.SupportURL,
	}
	if b.Logo != nil {
		v.Logo = new(base64.StdEncoding.EncodeToString(b.Logo))
	}
	return respond(c, http.StatusOK, v)
}

// putBranding updates a tenant's branding. A missing member keeps its value, and null resets it to the default.
func (s *brandingHandler) putBranding(c *gin.Context, app caller) error {
	tenant, err := brandedTenant(c, app)
	if err != nil {
		return err
	}
	o, err := readObject(c, false)
	if err != nil {
		return err
	}
	logo, err := s.logoIn(c, o)
	if err != nil {
		return err
	}
	b := models.Branding{Logo: logo, Settings: models.Settings{
		PrimaryColor: o.optStr("primaryColor"), SenderName: o.strippedText("senderName"), ReplyTo: o.optStr("replyTo"),
		Footer: o.optStr("footer"), SupportURL: o.optStr("supportUrl"),
	}}
	b.Check(o.p)
	if err := o.err(); err != nil {
		return err
	}
	members := o.present("primaryColor", "senderName", "replyTo", "footer", "supportUrl", "logo")
	if err := s.store.ChangeBranding(c.Request.Context(), app.ID, tenant, b, members); err != nil {
		return err
	}
	return s.showBranding(c, app, tenant)
}

// logoIn returns the re-encoded logo in a request, or nil if it is absent or invalid.
func (s *brandingHandler) logoIn(c *gin.Context, o *object) ([]byte, error) {
	text := o.optStr("logo")
	if text == nil {
		return nil, nil
	}
	b, err := base64.StdEncoding.DecodeString(*text)
	if err != nil {
		o.bad("logo", "must be a base64-encoded PNG or JPEG")
		return nil, nil
	}
	if len(b) > models.MaxLogo {
		o.bad("logo", "must be at most %d bytes long", models.MaxLogo)
		return nil, nil
	}
	ctx := c.Request.Context()
	done, err := s.admissions.Acquire(ctx, 1, 0)
	if err != nil {
		return nil, err
	}
	defer done()
	png, err := picture.LogoIn(ctx, s.admission.Validators, s.pictureBounds(), b)
	if rejected, ok := errors.AsType[*rejection.Error](err); ok {
		o.bad("logo", "was rejected: %s", rejected)
		return nil, nil
	}
	return png, err
}

func (s *brandingHandler) deleteBranding(c *gin.Context, app caller) error {
	tenant, err := brandedTenant(c, app)
	if err != nil {
		return err
	}
	if err := s.store.ClearBranding(c.Request.Context(), app.ID, tenant); err != nil {
		return err
	}
	return respondNoContent(c)
}

// serveLogo writes a tenant's logo. It returns models.ErrNotFound if the tenant has none.
func (s *brandingHandler) serveLogo(c *gin.Context, app uuid.UUID, tenant string) error {
	_, chosen, err := s.store.Settings(c.Request.Context(), app, tenant)
	if err != nil {
		return err
	}
	if chosen.LogoSHA256 == nil {
		return models.ErrNotFound
	}
	png, err := s.store.Logo(c.Request.Context(), app, tenant)
	if err != nil || png == nil {
		return cmp.Or(err, error(models.ErrNotFound))
	}
	return s.serveContent(c, "image/png", "", *chosen.LogoSHA256, time.Time{}, bytes.NewReader(png))
}
