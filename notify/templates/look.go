package templates

import (
	"bytes"
	"fmt"
	htmltemplate "html/template"
	"image/png"
	"strings"

	"countersign/internal/contrast"
)

// LogoCID is the Content-ID under which an email's HTML shows Look.Logo.
const LogoCID = "logo"

// Look is the look of a sender's emails; the zero value is the default.
type Look struct {
	Color      string // #rrggbb, on which white can be read
	Footer     string // plain text with line breaks, below the mail
	SupportURL string
	// LogoWidth and LogoHeight are the size of the picture, in pixels; 0: no logo.
	LogoWidth, LogoHeight int
}

// Largest size at which a logo is shown, in points of CSS.
const (
	maxLogoWidth  = 240.0
	maxLogoHeight = 56.0
)

// Default colors of emails.
const (
	defaultFill = "#0f5570"
	defaultDark = "#7cc4de"
)

// Fill is the colour of buttons; white is written on it.
func (l Look) Fill() string { return l.colour(defaultFill, contrast.Colour.String) }

// Accent is the colour of links and marks.
func (l Look) Accent() string {
	return l.colour(defaultFill, func(c contrast.Colour) string { return c.On(contrast.LightPanel).String() })
}

// Dark is both, where the mail program is dark.
func (l Look) Dark() string {
	return l.colour(defaultDark, func(c contrast.Colour) string { return c.On(contrast.DarkPanel).String() })
}

func (l Look) colour(otherwise string, shade func(contrast.Colour) string) string {
	c, err := contrast.Parse(l.Color)
	if err != nil {
		return otherwise
	}
	return shade(c)
}

// HasLogo reports whether the email shows a logo.
func (l Look) HasLogo() bool { return l.LogoWidth > 0 && l.LogoHeight > 0 }

// LogoURL is the address of the logo: a part of the email itself.
func (l Look) LogoURL() htmltemplate.URL { return "cid:" + LogoCID }

// ShownWidth is the width at which the logo is shown.
func (l Look) ShownWidth() int { return max(1, int(float64(l.LogoWidth)*l.logoScale())) }

// ShownHeight is the height at which the logo is shown.
func (l Look) ShownHeight() int { return max(1, int(float64(l.LogoHeight)*l.logoScale())) }

func (l Look) logoScale() float64 {
	return min(0.5, maxLogoWidth/float64(l.LogoWidth), maxLogoHeight/float64(l.LogoHeight))
}

// FooterLines are the lines of the footer.
func (l Look) FooterLines() []string { return lines(l.Footer) }

// Support is the address of the sender's help; "" unless it is an https address.
func (l Look) Support() string {
	if s := line(l.SupportURL, maxSupportURL); strings.HasPrefix(s, "https://") {
		return s
	}
	return ""
}

const maxSupportURL = 500

// LookOf returns the look for a sender's settings; nil means the default. logo is a PNG.
func LookOf(color, footer, supportURL *string, logo []byte) (Look, error) {
	var l Look
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
