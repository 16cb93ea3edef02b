package models

import (
	"net/url"

	"github.com/google/uuid"

	"countersign/internal/contrast"
	"countersign/internal/plaintext"
)

// Bounds of a tenant's branding.
const (
	MaxLogo       = 512 << 10 // bytes of the file that is uploaded
	maxFooter     = 500       // characters
	maxSupportURL = 500
)

// Branding is what mails, pages and certificates of a tenant look like. All but the logo
// are settings; what is nil is as it is for everybody.
type Branding struct {
	PrimaryColor *string
	SenderName   *string
	ReplyTo      *string
	Footer       *string
	SupportURL   *string
	Logo         []byte // PNG, as Logo of package seal makes it; nil: none
}

// TenantLogo is the picture of a tenant's branding. It has a table of its own, because
// settings are read often.
type TenantLogo struct {
	AppID    uuid.UUID `gorm:"primaryKey"`
	TenantID string    `gorm:"primaryKey"`
	SHA256   string    `gorm:"column:sha256"`
	PNG      []byte    `gorm:"column:png"`
}

// Branded reports whether anything looks other than it does for everybody.
func (s *Settings) Branded() bool {
	return s.PrimaryColor != nil || s.Footer != nil || s.SupportURL != nil || s.LogoSHA256 != nil
}

// checkBranding notes what is wrong with the choices. White text must be readable on the colour, and
// text of the colour on white.
func (s *Settings) checkBranding(p Problems) {
	if s.PrimaryColor != nil {
		if c, err := contrast.Parse(*s.PrimaryColor); err != nil {
			p.Add("primaryColor", "must be a colour of the form #rrggbb")
		} else if ratio := contrast.Ratio(c, contrast.White); ratio < contrast.Minimum {
			// Rounded down: 4.49 is not enough, and must not read as 4.5.
			p.Add("primaryColor", "has a contrast of %.2f:1 with white; text needs %.1f:1", float64(int(ratio*100))/100, contrast.Minimum)
		}
	}
	if s.Footer != nil {
		CheckParagraph(p, "footer", *s.Footer, 1, maxFooter)
	}
	if s.SupportURL != nil && !isSupportURL(*s.SupportURL) {
		p.Add("supportUrl", "must be an https:// address of at most %d characters, without a password", maxSupportURL)
	}
}

func isSupportURL(s string) bool {
	u, err := url.Parse(s)
	return err == nil && len(s) <= maxSupportURL && u.Scheme == "https" && u.Hostname() != "" && u.User == nil && plaintext.Strip(s) == s
}
