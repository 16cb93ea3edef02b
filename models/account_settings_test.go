package models_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"countersign/models"
)

// TestSupportURL_IsAPlainHTTPSAddress checks that the support URL must use HTTPS, contain no credentials, and consist
// of visible characters.
func TestSupportURL_IsAPlainHTTPSAddress(t *testing.T) {
	t.Parallel()
	const good = "https://example.com/help"
	for text, want := range map[string]bool{
		good: true, good + "/" + strings.Repeat("x", 500-len(good)-1): true, good + "/" + strings.Repeat("x", 500-len(good)): false,
		"http://example.com/help": false, "javascript:alert(1)": false, "https://": false, "https://user@example.com/": false,
		"https://example.com/\u202ehelp": false, "https://example.com/he\u200blp": false, "help": false, "": false,
	} {
		problems := rejected(func(p models.Problems) { (&models.Settings{SupportURL: &text}).Check(p) })
		require.Equal(t, want, len(problems) == 0, "%q: %v", text, problems)
	}
}

// TestSettings_AreBounded checks that each setting is accepted only within its limits, and that unset settings are
// valid.
func TestSettings_AreBounded(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 256)
	for name, tries := range map[string][]struct {
		s    models.Settings
		good bool
	}{
		"": {{models.Settings{}, true}},
		"defaultExpiryDays": {
			{models.Settings{DefaultExpiryDays: ptr(0)}, false},
			{models.Settings{DefaultExpiryDays: ptr(1)}, true},
			{models.Settings{DefaultExpiryDays: ptr(3650)}, true},
			{models.Settings{DefaultExpiryDays: ptr(3651)}, false},
		},
		"reminderIntervalHours": {
			{models.Settings{ReminderIntervalHours: ptr(-1)}, false},
			{models.Settings{ReminderIntervalHours: ptr(0)}, true},
			{models.Settings{ReminderIntervalHours: ptr(8760)}, true},
			{models.Settings{ReminderIntervalHours: ptr(8761)}, false},
		},
		"retentionDays": {
			{models.Settings{RetentionDays: ptr(-1)}, false},
			{models.Settings{RetentionDays: ptr(0)}, true},
			{models.Settings{RetentionDays: ptr(36500)}, true},
			{models.Settings{RetentionDays: ptr(36501)}, false},
		},
		"fieldOrigin": {
			{models.Settings{FieldOrigin: ptr(models.OriginTopLeft)}, true},
			{models.Settings{FieldOrigin: ptr(models.OriginBottomLeft)}, true},
			{models.Settings{FieldOrigin: ptr(models.Origin("middle"))}, false},
		},
		"senderName": {
			{models.Settings{SenderName: ptr("")}, false},
			{models.Settings{SenderName: ptr(long[1:])}, true},
			{models.Settings{SenderName: &long}, false},
		},
		"language": {
			{models.Settings{Language: ptr("ja")}, true},
			{models.Settings{Language: ptr("tlh")}, false},
		},
		"replyTo":     {{models.Settings{ReplyTo: ptr("a@example.com")}, true}, {models.Settings{ReplyTo: ptr("nobody")}, false}},
		"notifyEmail": {{models.Settings{NotifyEmail: ptr("a@example.com")}, true}, {models.Settings{NotifyEmail: ptr("nobody")}, false}},
	} {
		for _, try := range tries {
			if want := []string{name}; try.good {
				require.Empty(t, rejected(try.s.Check), name)
			} else {
				require.Equal(t, want, rejected(try.s.Check))
			}
		}
	}
}

// TestSettings_InheritDefaults checks that a tenant's setting takes precedence over the app's, and the app's over the
// service's.
func TestSettings_InheritDefaults(t *testing.T) {
	t.Parallel()
	upper := models.Settings{
		DefaultExpiryDays: ptr(1), ReminderIntervalHours: ptr(2), RetentionDays: ptr(3), FieldOrigin: ptr(models.OriginBottomLeft),
		SenderName: ptr("a"), Language: ptr("de"), ReplyTo: ptr("a@example.com"), NotifyEmail: ptr("b@example.com"),
		PrimaryColor: ptr("#112233"), Footer: ptr("f"), SupportURL: ptr("https://a.example"), LogoSHA256: ptr("aa"),
	}
	lower := models.Settings{
		DefaultExpiryDays: ptr(10), ReminderIntervalHours: ptr(20), RetentionDays: ptr(30), FieldOrigin: ptr(models.OriginTopLeft),
		SenderName: ptr("b"), Language: ptr("fr"), ReplyTo: ptr("c@example.com"), NotifyEmail: ptr("d@example.com"),
		PrimaryColor: ptr("#445566"), Footer: ptr("g"), SupportURL: ptr("https://b.example"), LogoSHA256: ptr("bb"),
	}
	require.Equal(t, upper, upper.WithDefaults(lower))
	require.Equal(t, upper, models.Settings{}.WithDefaults(upper))
	require.Equal(t, upper, upper.WithDefaults(models.Settings{}))
	none := &models.Settings{}
	require.Equal(t, []any{"en", time.Minute, "App"}, []any{none.LanguageOrDefault(), none.ReminderInterval(time.Minute), none.SenderOrDefault("App")})
	require.Equal(t, []any{"de", 2 * time.Hour, "a"}, []any{upper.LanguageOrDefault(), upper.ReminderInterval(time.Minute), upper.SenderOrDefault("App")})
}
