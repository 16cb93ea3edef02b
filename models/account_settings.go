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

// Settings are the settings of a tenant. The app's setting applies where a member is nil, then the service's. TenantID
// "" is the row of the app's settings.
type Settings struct {
	AppID                 uuid.UUID `gorm:"primaryKey"`
	TenantID              string    `gorm:"primaryKey"`
	DefaultExpiryDays     *int
	ReminderIntervalHours *int // 0: no reminders
	RetentionDays         *int // 0: keep for ever
	FieldOrigin           *Origin
	SenderName            *string // in mails, instead of the app's name
	Language              *string // of emails and text messages, one of SupportedLanguages
	ReplyTo               *string // email address for replies
	NotifyEmail           *string // e-mail address notified of declines, failed invitations and stuck sealing
	// The look of emails, pages and certificates, see Branding.
	PrimaryColor *string // #rrggbb
	Footer       *string
	SupportURL   *string `gorm:"column:support_url"`
	LogoSHA256   *string `gorm:"column:logo_sha256"` // of the stored PNG
	UpdatedAt    time.Time
}

// TableName is the table of settings.
func (Settings) TableName() string { return "tenant_settings" }

// WithDefaults returns s with the values of lower where s has none.
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

// LanguageOrDefault returns the language of emails; English by default.
func (s *Settings) LanguageOrDefault() string { return Deref(s.Language, "en") }

// ReminderInterval returns the time between reminders; fallback if the setting is absent.
func (s *Settings) ReminderInterval(fallback time.Duration) time.Duration {
	return hoursOr(s.ReminderIntervalHours, fallback)
}

// hoursOr returns a number of hours as a duration, or fallback if hours is nil.
func hoursOr(hours *int, fallback time.Duration) time.Duration {
	if hours == nil {
		return fallback
	}
	return time.Duration(*hours) * time.Hour
}

// SenderOrDefault returns the sender name in emails; fallback if the setting is absent.
func (s *Settings) SenderOrDefault(fallback string) string { return Deref(s.SenderName, fallback) }

// Limits of a tenant's branding.
const (
	MaxLogo       = 512 << 10 // bytes of the file that is uploaded
	maxFooter     = 500       // characters
	maxSupportURL = 500
)

// Branding is the look of a tenant's emails, pages and certificates: the settings, where nil means the default, and the
// logo.
type Branding struct {
	Settings

	Logo []byte // PNG from picture.Logo; nil: no logo
}

// TenantLogo is the logo of a tenant's branding. It has a separate table because settings are read often.
type TenantLogo struct {
	AppID    uuid.UUID `gorm:"primaryKey"`
	TenantID string    `gorm:"primaryKey"`
	SHA256   string    `gorm:"column:sha256"`
	PNG      []byte    `gorm:"column:png"`
}

// Branded reports whether any part of the look differs from the default.
func (s *Settings) Branded() bool {
	return s.PrimaryColor != nil || s.Footer != nil || s.SupportURL != nil || s.LogoSHA256 != nil
}

func isSupportURL(s string) bool {
	u, err := url.Parse(s)
	return err == nil && len(s) <= maxSupportURL && u.Scheme == "https" && u.Hostname() != "" && u.User == nil && plaintext.Strip(s) == s
}
