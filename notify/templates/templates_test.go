package templates_test

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"countersign/notify/templates"
)

var update = flag.Bool("update", false, "rewrite the golden files")

const token = "eyJhbGciOiJFUzI1NiIsInR5cCI6InNpZ25lcitqd3QifQ.eyJzdWIiOiIwMTlhYTcxOS03YzNhLTdkMGUifQ.mZ3Rk0l2Zr1sV9ZKq4d2hQ8xJt5yB7nEwPpLgUoIcAf"

func signingURL() string { return "https://sign.example.com/sign/" + token }

func at(s string) time.Time {
	t, err := time.Parse(time.RFC3339, s)
	if err != nil {
		panic(err)
	}
	return t
}

func deadline() *time.Time {
	t := at("2026-12-05T08:15:00+01:00")
	return &t
}

func hash(c string) string { return strings.Repeat(c, 64) }

type mail interface {
	Render() (templates.Content, error)
}

func mails() map[string]mail {
	invitation := templates.Invitation{
		RecipientName: "Ada Lovelace",
		SenderName:    "Northwind Legal",
		Subject:       "Master service agreement 2027",
		Message:       "Dear Ada,\n\nplease sign before the board meets <b>on Friday</b>.\nBest regards\nGrace",
		SigningURL:    signingURL(),
		ExpiresAt:     deadline(),
		DocumentNames: []string{"Master service agreement.pdf", "Annex A – price list.pdf"},
	}
	return map[string]mail{
		"invitation":       invitation,
		"invitation-plain": templates.Invitation{SigningURL: signingURL()},
		"invitation-hostile": templates.Invitation{
			RecipientName: "<script>alert(1)</script>\r\nBcc: x@example.com",
			SenderName:    "Evil \u202egro.elpmaxe\u202c & Söhne",
			Subject:       "A \"quoted\" <subject>\r\nX-Injected: 1 " + strings.Repeat("verylongword", 30),
			Message:       "<img src=x onerror=alert(1)>\r\n\r\n\r\n\r\n{{.Subject}} 日本語 العربية 👩‍⚖️\x00\x07 ünïcödé",
			SigningURL:    "javascript:alert(1)",
			DocumentNames: []string{strings.Repeat("W", 300) + ".pdf"},
		},
		"reminder": templates.Reminder(invitation),
		"code": templates.Code{
			RecipientName: "Ada Lovelace", Subject: "Master service agreement 2027",
			Code: "402913", ValidFor: 10 * time.Minute,
		},
		"completed-attached": templates.Completed{
			RecipientName: "Ada Lovelace", SenderName: "Northwind Legal", Subject: "Master service agreement 2027",
			CompletedAt: at("2026-11-21T07:15:00Z"),
			Documents:   []templates.CompletedDocument{{Name: "Master service agreement.pdf", SHA256: hash("a1")[:64]}},
			VerifyURL:   "https://sign.example.com/verify",
		},
		"completed-links": templates.Completed{
			RecipientName: "Ada Lovelace", SenderName: "Northwind Legal", Subject: "Master service agreement 2027",
			CompletedAt: at("2026-11-21T07:15:00Z"),
			Documents: []templates.CompletedDocument{
				{Name: "Master service agreement.pdf", SHA256: hash("a"), DownloadURL: "https://sign.example.com/download/" + token[:60]},
				{Name: "Annex A – price list.pdf", SHA256: hash("b"), DownloadURL: "https://sign.example.com/download/" + token[10:70]},
			},
			VerifyURL: "https://sign.example.com/verify",
		},
		"declined": templates.Closed{
			RecipientName: "Grace Hopper", SenderName: "Northwind Legal", Subject: "Master service agreement 2027",
			Kind: templates.Declined, ByName: "Ada Lovelace", ReasonText: "Clause 4 is not what we agreed.\nPlease call me.",
			At: at("2026-11-21T07:15:00Z"),
		},
		"voided": templates.Closed{
			RecipientName: "Grace Hopper", SenderName: "Northwind Legal", Subject: "Master service agreement 2027",
			Kind: templates.Voided, At: at("2026-11-21T07:15:00Z"),
		},
		"expired": templates.Closed{
			RecipientName: "Grace Hopper", Kind: templates.Expired, At: at("2026-11-21T07:15:00Z"),
		},
		"deletion": templates.DeletionReminder{
			RecipientName: "Ada Lovelace", SenderName: "Northwind Legal", Subject: "Master service agreement 2027",
			DownloadURL: "https://sign.example.com/download/" + token[:60], PurgeOn: at("2027-01-31T00:00:00Z"), DaysLeft: 7,
		},
		"webhook-disabled": templates.WebhookDisabled{
			RecipientName: "Northwind operations", URL: "https://hooks.northwind.example/countersign/events",
			Since: at("2026-11-16T03:00:00Z"), LastError: "timeout", ConsoleURL: "https://sign.example.com/console/webhooks",
		},
	}
}

func TestGolden(t *testing.T) {
	t.Parallel()
	for name, m := range mails() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := m.Render()
			require.NoError(t, err)
			golden(t, name+".html", got.HTML)
			golden(t, name+".txt", "Subject: "+got.Subject+"\n\n"+got.Text)
		})
	}
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		require.NoError(t, os.MkdirAll("testdata", 0o750))
		require.NoError(t, os.WriteFile(path, []byte(got), 0o600))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, string(want), got)
}

// TestRender_HostileData_IsSafe checks that an email loads no external content and runs no scripts, and has a subject
// of a single line, whatever its data contains.
func TestRender_HostileData_IsSafe(t *testing.T) {
	t.Parallel()
	for name, m := range mails() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := m.Render()
			require.NoError(t, err)
			lower := strings.ToLower(got.HTML)
			for _, bad := range []string{"<script", "<img", "<link", "url(", "@import", `href="javascript:`, "\x00"} {
				assert.NotContains(t, lower, bad)
			}
			assert.NotContains(t, got.Subject, "\n")
			assert.NotContains(t, got.Subject, "\r")
			assert.LessOrEqual(t, len([]rune(got.Subject)), 255)
			assert.NotContains(t, got.Subject+got.Text+got.HTML, "\u202e")
			assert.Less(t, len(got.HTML), 100<<10, "Gmail clips longer emails")
			assert.NotEmpty(t, got.Text)
		})
	}
}

func TestSubject_ContainsTheEnvelopeSubject(t *testing.T) {
	t.Parallel()
	got, err := templates.Invitation{Subject: "Lease 12b", SigningURL: signingURL()}.Render()
	require.NoError(t, err)
	assert.Equal(t, "Lease 12b", got.Subject)
}

func TestDatesAreUTC(t *testing.T) {
	t.Parallel()
	got, err := mails()["invitation"].Render()
	require.NoError(t, err)
	assert.Contains(t, got.Text, "5 December 2026, 07:15 UTC")
	assert.Contains(t, got.HTML, "5 December 2026, 07:15 UTC")
}

func TestUnknownKind(t *testing.T) {
	t.Parallel()
	_, err := templates.Closed{Kind: "lost"}.Render()
	require.ErrorContains(t, err, "unknown kind")
}

func TestSMS(t *testing.T) {
	t.Parallel()
	short := "https://s.example/" + strings.Repeat("x", 40)
	cases := []struct{ name, got, want string }{
		{
			"all of it",
			templates.Invitation{SenderName: "Northwind", Subject: "Lease", SigningURL: short}.SMS(),
			`Northwind asks you to sign "Lease": ` + short,
		},
		{
			"the subject does not fit",
			templates.Invitation{SenderName: "Northwind", Subject: strings.Repeat("Lease ", 30), SigningURL: short + strings.Repeat("x", 20)}.SMS(),
			"Northwind asks you to sign: " + short + strings.Repeat("x", 20),
		},
		{
			"one letter outside GSM",
			templates.Invitation{SenderName: "Łódź", Subject: "Umowa", SigningURL: short}.SMS(),
			"Please sign: " + short,
		},
		{
			"nothing fits",
			templates.Invitation{SenderName: "Northwind", SigningURL: signingURL()}.SMS(),
			"Northwind asks you to sign: " + signingURL(),
		},
		{
			"no sender",
			templates.Invitation{SigningURL: short}.SMS(),
			"Please sign: " + short,
		},
		{
			"without a link",
			templates.Invitation{SenderName: "Northwind", Subject: "Lease"}.SMS(),
			`Northwind asks you to sign "Lease". Please check your email.`,
		},
		{
			"without a link, outside GSM",
			templates.Invitation{SenderName: "Łódź", Subject: strings.Repeat("Umowa ", 30)}.SMS(),
			"Łódź asks you to sign a document. Please check your email.",
		},
		{
			"code",
			templates.Code{Subject: "Lease", Code: "402913", ValidFor: 10 * time.Minute}.SMS(),
			`402913 is your code to sign "Lease". Expires in 10 minutes. Don't share.`,
		},
		{
			"code in another script",
			templates.Code{Subject: "契約書", Code: "402913", ValidFor: 10 * time.Minute}.SMS(),
			`402913 is your code to sign "契約書". Expires in 10 minutes. Don't share.`,
		},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			assert.Equal(t, c.want, c.got)
		})
	}
}
