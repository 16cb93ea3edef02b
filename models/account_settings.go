package models

import (
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"countersign/internal/contrast"
	"countersign/internal/plaintext"
	"countersign/locales"
)

// Settings are what a tenant has chosen; nil leaves the choice to the app, and
// then to the service. TenantID "" holds the app's choices.
type Settings struct {
	AppID                 uuid.UUID `gorm:"primaryKey"`
	TenantID              string    `gorm:"primaryKey"`
	DefaultExpiryDays     *int
	ReminderIntervalHours *int // 0: no reminders
	RetentionDays         *int // 0: keep for ever
	FieldOrigin           *Origin
	SenderName            *string // in mails, instead of the app's name
	Language              *string // of mails and text messages, one of Languages
	ReplyTo               *string // e-mail address that answers to mails go to
	NotifyEmail           *string // e-mail address notified of declines, failed invitations and stuck sealing
	// What mails, pages and certificates look like, see Branding.
	PrimaryColor *string // #rrggbb
	Footer       *string
	SupportURL   *string `gorm:"column:support_url"`
	LogoSHA256   *string `gorm:"column:logo_sha256"` // of the PNG that is kept
	UpdatedAt    time.Time
}

// TableName is the table of settings.
func (Settings) TableName() string { return "tenant_settings" }

// WithDefaults is s with the choices of lower where s makes none.
func (s Settings) WithDefaults(lower Settings) Settings {
	s.DefaultExpiryDays = firstNonNil(s.DefaultExpiryDays, lower.DefaultExpiryDays)
	s.ReminderIntervalHours = firstNonNil(s.ReminderIntervalHours, lower.ReminderIntervalHours)
	s.RetentionDays = firstNonNil(s.RetentionDays, lower.RetentionDays)
	s.FieldOrigin = firstNonNil(s.FieldOrigin, lower.FieldOrigin)
	s.SenderName = firstNonNil(s.SenderName, lower.SenderName)
	s.Language = firstNonNil(s.Language, lower.Language)
	s.ReplyTo = firstNonNil(s.ReplyTo, lower.ReplyTo)
	s.NotifyEmail = firstNonNil(s.NotifyEmail, lower.NotifyEmail)
	s.PrimaryColor = firstNonNil(s.PrimaryColor, lower.PrimaryColor)
	s.Footer = firstNonNil(s.Footer, lower.Footer)
	s.SupportURL = firstNonNil(s.SupportURL, lower.SupportURL)
	s.LogoSHA256 = firstNonNil(s.LogoSHA256, lower.LogoSHA256)
	return s
}

// Check records the problems of the settings.
func (s *Settings) Check(p Problems) {
	between := func(name string, v *int, low, high int) {
		if v != nil && (*v < low || *v > high) {
			p.Add(name, "must be between %d and %d", low, high)
		}
	}
	between("defaultExpiryDays", s.DefaultExpiryDays, 1, 3650)
	between("reminderIntervalHours", s.ReminderIntervalHours, 0, 24*365)
	between("retentionDays", s.RetentionDays, 0, 36500)
	if s.FieldOrigin != nil && *s.FieldOrigin != OriginTopLeft && *s.FieldOrigin != OriginBottomLeft {
		p.Add("fieldOrigin", "must be top-left or bottom-left")
	}
	if s.SenderName != nil {
		CheckText(p, "senderName", *s.SenderName, 1, 255)
	}
	if s.Language != nil && !slices.Contains(SupportedLanguages, *s.Language) {
		p.Add("language", "must be one of %s", strings.Join(SupportedLanguages, ", "))
	}
	if s.ReplyTo != nil {
		CheckEmail(p, "replyTo", *s.ReplyTo)
	}
	if s.NotifyEmail != nil {
		CheckEmail(p, "notifyEmail", *s.NotifyEmail)
	}
	// White text must be readable on the colour, and text of the colour on white.
	if s.PrimaryColor != nil {
		if c, err := contrast.Parse(*s.PrimaryColor); err != nil {
			p.Add("primaryColor", "must be a color of the form #rrggbb")
		} else if ratio := contrast.Ratio(c, contrast.White); ratio < contrast.Minimum {
			// Rounded down: 4.49 is not enough, and must not read as 4.5.
			p.Add("primaryColor", "has a contrast of %.2f:1 with white; text needs %.1f:1", float64(int(ratio*100))/100, contrast.Minimum)
		}
	}
	if s.Footer != nil {
		CheckParagraph(p, "footer", *s.Footer, 1, maxFooter)
	}
	if s.SupportURL != nil && !isSupportURL(*s.SupportURL) {
		p.Add("supportUrl", "must be an https:// URL of at most %d characters, without a password", maxSupportURL)
	}
}

// SupportedLanguages are the languages of emails, text messages and signing pages.
var SupportedLanguages = locales.Tags()

// LanguageOrDefault is the language of mails, English where nothing is chosen.
func (s *Settings) LanguageOrDefault() string { return Deref(s.Language, "en") }

// ReminderInterval is the time between reminders, fallback where nothing is chosen.
func (s *Settings) ReminderInterval(fallback time.Duration) time.Duration {
	return hoursOr(s.ReminderIntervalHours, fallback)
}

// hoursOr is a number of hours, or fallback where there is none.
func hoursOr(hours *int, fallback time.Duration) time.Duration {
	if hours == nil {
		return fallback
	}
	return time.Duration(*hours) * time.Hour
}

// SenderOrDefault is the name in mails, fallback where nothing is chosen.
func (s *Settings) SenderOrDefault(fallback string) string { return Deref(s.SenderName, fallback) }

// Bounds of a tenant's branding.
const (
	MaxLogo       = 512 << 10 // bytes of the file that is uploaded
	maxFooter     = 500       // characters
	maxSupportURL = 500
)

// Branding is the look of a tenant's emails, pages and certificates: settings, of which nil means the default, and the
// logo.
type Branding struct {
	Settings

	Logo []byte // PNG, as Logo of package seal makes it; nil: none
}

// TenantLogo is the logo of a tenant's branding. It has a separate table because settings are read often.
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

func isSupportURL(s string) bool {
	u, err := url.Parse(s)
	return err == nil && len(s) <= maxSupportURL && u.Scheme == "https" && u.Hostname() != "" && u.User == nil && plaintext.Strip(s) == s
}
