package templates

import (
	"bytes"
	"fmt"
	htmltemplate "html/template"
	"image/png"
	"strings"

	"countersign/internal/contrast"
)

// LogoCID is the Content-ID with which an email's HTML refers to the logo.
const LogoCID = "logo"

// Branding is the branding of a sender's emails. The zero value is the default branding.
type Branding struct {
	Color      string // #rrggbb, dark enough for white text
	Footer     string // plain text with line breaks, shown below the content
	SupportURL string
	// LogoWidth and LogoHeight are the size of the logo in pixels, or zero if there is none.
	LogoWidth, LogoHeight int
}

// The maximum displayed size of a logo, in CSS pixels.
const (
	maxLogoWidth  = 240.0
	maxLogoHeight = 56.0
)

// Default colors for emails.
const (
	defaultFill = "#0f5570"
	defaultDark = "#7cc4de"
)

// Fill returns the background color of buttons, whose text is white.
func (l Branding) Fill() string { return l.color(defaultFill, contrast.Color.String) }

// Accent returns the color of links and marks.
func (l Branding) Accent() string {
	return l.color(defaultFill, func(c contrast.Color) string { return c.On(contrast.LightPanel).String() })
}

// Dark returns the color of buttons, links and marks in dark mode.
func (l Branding) Dark() string {
	return l.color(defaultDark, func(c contrast.Color) string { return c.On(contrast.DarkPanel).String() })
}

func (l Branding) color(otherwise string, shade func(contrast.Color) string) string {
	c, err := contrast.Parse(l.Color)
	if err != nil {
		return otherwise
	}
	return shade(c)
}

// HasLogo reports whether the email shows a logo.
func (l Branding) HasLogo() bool { return l.LogoWidth > 0 && l.LogoHeight > 0 }

// LogoURL returns the URL of the logo, which is a part of the email itself.
func (l Branding) LogoURL() htmltemplate.URL { return "cid:" + LogoCID }

// ShownWidth returns the displayed width of the logo.
func (l Branding) ShownWidth() int { return max(1, int(float64(l.LogoWidth)*l.logoScale())) }

// ShownHeight returns the displayed height of the logo.
func (l Branding) ShownHeight() int { return max(1, int(float64(l.LogoHeight)*l.logoScale())) }

func (l Branding) logoScale() float64 {
	return min(0.5, maxLogoWidth/float64(l.LogoWidth), maxLogoHeight/float64(l.LogoHeight))
}

// FooterLines returns the lines of the footer.
func (l Branding) FooterLines() []string { return lines(l.Footer) }

// Support returns the URL of the sender's support page, or an empty string unless it is an https URL.
func (l Branding) Support() string {
	if s := line(l.SupportURL, maxSupportURL); strings.HasPrefix(s, "https://") {
		return s
	}
	return ""
}

const maxSupportURL = 500

// NewBranding returns the branding for a sender's settings. A nil setting means the default. The parameter logo is a PNG.
func NewBranding(color, footer, supportURL *string, logo []byte) (Branding, error) {
	var l Branding
	for to, from := range map[*string]*string{&l.Color: color, &l.Footer: footer, &l.SupportURL: supportURL} {
		if from != nil {
			*to = *from
		}
	}
	if logo == nil {
		return l, nil
	}
	size, err := png.DecodeConfig(bytes.NewReader(logo))
	if err != nil {
		return l, fmt.Errorf("mail template: logo: %w", err)
	}
	l.LogoWidth, l.LogoHeight = size.Width, size.Height
	return l, nil
}
