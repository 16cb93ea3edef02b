package models

import (
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

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

func firstNonNil[T any](a, b *T) *T {
	if a != nil {
		return a
	}
	return b
}

// Check notes what is wrong with the choices.
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
	s.checkBranding(p)
}

// SupportedLanguages are those of mails, text messages and signing pages.
var SupportedLanguages = locales.Tags()

// LanguageOrDefault is the language of mails, English where nothing is chosen.
func (s *Settings) LanguageOrDefault() string {
	if s.Language == nil {
		return "en"
	}
	return *s.Language
}

// ReminderInterval is the time between reminders, fallback where nothing is chosen.
func (s *Settings) ReminderInterval(fallback time.Duration) time.Duration {
	if s.ReminderIntervalHours == nil {
		return fallback
	}
	return time.Duration(*s.ReminderIntervalHours) * time.Hour
}

// SenderOrDefault is the name in mails, fallback where nothing is chosen.
func (s *Settings) SenderOrDefault(fallback string) string {
	if s.SenderName == nil {
		return fallback
	}
	return *s.SenderName
}
