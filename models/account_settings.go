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

// Settings contains the settings of a tenant. If a field is nil, the app's setting applies. If the app's setting is
// also nil, the service's setting applies. The app's own settings have an empty TenantID.
type Settings struct {
	AppID                 uuid.UUID `gorm:"primaryKey"`
	TenantID              string    `gorm:"primaryKey"`
	DefaultExpiryDays     *int
	ReminderIntervalHours *int // 0 for no reminders
	RetentionDays         *int // 0 to keep files indefinitely
	FieldOrigin           *Origin
	SenderName            *string // sender name in emails, instead of the app's name
	Language              *string // language of emails and text messages, one of SupportedLanguages
	ReplyTo               *string // email address for replies
	NotifyEmail           *string // email address notified of declines, failed invitations and sealing problems
	// Appearance of emails, pages and certificates; see Branding.
	PrimaryColor *string // #rrggbb
	Footer       *string
	SupportURL   *string `gorm:"column:support_url"`
	LogoSHA256   *string `gorm:"column:logo_sha256"` // SHA-256 of the stored PNG
	UpdatedAt    time.Time
}

// TableName returns the name of the database table.
func (Settings) TableName() string { return "tenant_settings" }

// WithDefaults returns s with each nil field replaced by the same field of lower.
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

// Check adds the problems with the settings to p.
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
	// White text must be readable on the color, and text in the color must be readable on white.
	if s.PrimaryColor != nil {
		if c, err := contrast.Parse(*s.PrimaryColor); err != nil {
			p.Add("primaryColor", "must be a color of the form #rrggbb")
		} else if ratio := contrast.Ratio(c, contrast.White); ratio < contrast.Minimum {
			// The ratio is rounded down, because 4.49 is insufficient and must not be displayed as 4.5.
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

// SupportedLanguages lists the languages of emails, text messages and signing pages.
var SupportedLanguages = locales.Tags()

// LanguageOrDefault returns the language of emails, which is English by default.
func (s *Settings) LanguageOrDefault() string { return Deref(s.Language, "en") }

// ReminderInterval returns the time between reminders, or fallback if the setting is nil.
func (s *Settings) ReminderInterval(fallback time.Duration) time.Duration {
	return hoursOr(s.ReminderIntervalHours, fallback)
}

func hoursOr(hours *int, fallback time.Duration) time.Duration {
	if hours == nil {
		return fallback
	}
	return time.Duration(*hours) * time.Hour
}

// SenderOrDefault returns the sender name in emails, or fallback if the setting is nil.
func (s *Settings) SenderOrDefault(fallback string) string { return Deref(s.SenderName, fallback) }

// Limits for a tenant's branding.
const (
	MaxLogo       = 512 << 10 // bytes of the uploaded file
	maxFooter     = 500       // characters
	maxSupportURL = 500
)

// Branding is the appearance of a tenant's emails, pages and certificates. It consists of the logo and the settings. A
// nil setting means the default.
type Branding struct {
	Settings

	Logo []byte // PNG returned by picture.Logo, or nil
}

// TenantLogo is the logo of a tenant's branding. It is stored in a separate table because settings are read frequently.
type TenantLogo struct {
	AppID    uuid.UUID `gorm:"primaryKey"`
	TenantID string    `gorm:"primaryKey"`
	SHA256   string    `gorm:"column:sha256"`
	PNG      []byte    `gorm:"column:png"`
}

// Branded reports whether any part of the branding differs from the default.
func (s *Settings) Branded() bool {
	return s.PrimaryColor != nil || s.Footer != nil || s.SupportURL != nil || s.LogoSHA256 != nil
}

func isSupportURL(s string) bool {
	u, err := url.Parse(s)
	return err == nil && len(s) <= maxSupportURL && u.Scheme == "https" && u.Hostname() != "" && u.User == nil && plaintext.Strip(s) == s
}
