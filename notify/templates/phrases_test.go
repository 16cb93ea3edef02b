package templates

import (
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"countersign/internal/contrast"
	"countersign/models"
)

var braces = regexp.MustCompile(`\{[a-z]+\}`)

// TestPhrases_AreComplete checks that mail.json contains a phrase for each field of phrases.
func TestPhrases_AreComplete(t *testing.T) {
	t.Parallel()
	for tag, p := range languages {
		v := reflect.ValueOf(*p)
		for i := range v.NumField() {
			if name := v.Type().Field(i).Name; name != "And" && name != "RTL" {
				assert.False(t, v.Field(i).IsZero(), "%s.%s", tag, name)
			}
		}
	}
}

// TestEverySealingProblemHasACause checks that a notice explains each sealing problem in every language.
func TestEverySealingProblemHasACause(t *testing.T) {
	t.Parallel()
	for tag, p := range languages {
		texts := map[string]bool{}
		for _, problem := range []models.SealingProblem{
			models.SealingOriginalMissing, models.SealingOriginalChanged, models.SealingRejected, models.SealingChainBroken, models.SealingFailing,
		} {
			cause := p.StuckCauses[string(problem)]
			mail, err := Notice{Language: tag, Subject: "Lease", Kind: NoticeStuck, Cause: string(problem), At: time.Now()}.Render()
			require.NoError(t, err)
			require.NotEmpty(t, cause, "%s %s", tag, problem)
			require.Contains(t, strings.Join(strings.Fields(mail.Text), " "), cause, tag)
			if tag != "en" {
				require.NotEqual(t, languages["en"].StuckCauses[string(problem)], cause, tag)
			}
			texts[cause] = true
		}
		require.Len(t, texts, 5, tag)
		require.Len(t, p.StuckCauses, 5, tag)
	}
}

func TestTimesByLanguage(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 12, 5, 8, 15, 0, 0, time.FixedZone("", 3600))
	for name, want := range map[string]string{
		"en": "5 December 2026, 07:15 UTC", "de": "5. Dezember 2026, 07:15 UTC", "fr": "5 décembre 2026 à 07:15 UTC", "es": "5 de diciembre de 2026, 07:15 UTC",
		"pt": "5 de dezembro de 2026, 07:15 UTC", "ja": "2026年12月5日 07:15 UTC", "ar": "5 ديسمبر 2026، 07:15 UTC", "de-AT": "5. Dezember 2026, 07:15 UTC", "xx": "5 December 2026, 07:15 UTC", "": "5 December 2026, 07:15 UTC",
	} {
		assert.Equal(t, want, phrasesIn(name).moment(at), name)
	}
}

func TestPluralsByLanguage(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		language string
		n        int
		want     string
	}{
		{"en", 1, "1 day left to download: X"},
		{"en", 14, "14 days left to download: X"},
		{"de", 1, "Noch 1 Tag zum Herunterladen: X"},
		{"ar", 1, "بقي يوم واحد للتنزيل: X"},
		{"ar", 2, "بقي يومان للتنزيل: X"},
		{"ar", 7, "بقيت 7 أيام للتنزيل: X"},
		{"ar", 14, "بقي 14 يومًا للتنزيل: X"},
		{"ar", 100, "بقي 100 يوم للتنزيل: X"},
	} {
		p := phrasesIn(c.language)
		assert.Equal(t, c.want, p.count(p.DaysLeft, c.n, as("document", "X")), "%s %d", c.language, c.n)
	}
}

// TestContrast checks that text is legible in light and in dark mode (WCAG 2, 1.4.3).
func TestContrast(t *testing.T) {
	t.Parallel()
	mail, err := Invitation{SenderName: "Acme", Subject: "Lease", Message: "Please.", SigningURL: "https://sign.example.com/x", DocumentNames: []string{"a.pdf"}}.Render()
	require.NoError(t, err)
	html := mail.HTML
	for _, of := range [][3]string{
		{"ground", "#f3f5f6", "#16222b #55646f"},
		{"card", "#ffffff", "#16222b #33424d #55646f #0f5570"},
		{"panel", "#f3f7f9", "#16222b #33424d #55646f #0f5570"},
		{"button", "#0f5570", "#ffffff"},
		{"dark ground", "#0e1419", "#f3f5f6 #a2b1ba"},
		{"dark card", "#172027", "#f3f5f6 #d3dce1 #a2b1ba #7cc4de"},
		{"dark panel", "#1d2a33", "#f3f5f6 #d3dce1 #a2b1ba #7cc4de"},
		{"dark button", "#7cc4de", "#06222d"},
	} {
		require.Contains(t, html, of[1], of[0])
		for _, ink := range strings.Fields(of[2]) {
			require.Contains(t, html, ink, of[0])
			assert.GreaterOrEqual(t, contrastOf(t, ink, of[1]), 4.5, "%s on %s", ink, of[0])
		}
	}
	for _, color := range regexp.MustCompile(`#[0-9a-f]{6}`).FindAllString(html, -1) {
		assert.NotContains(t, []string{"#1d4ed8", "#6b7280"}, color)
	}
}

func contrastOf(t *testing.T, a, b string) float64 {
	t.Helper()
	x, err := contrast.Parse(a)
	require.NoError(t, err)
	y, err := contrast.Parse(b)
	require.NoError(t, err)
	return contrast.Ratio(x, y)
}

// TestEveryMailInEveryLanguage renders all emails in all languages. It checks that no placeholder and no English text
// remains, and that the sender and the request come first. If COUNTERSIGN_TEST_MAILS is set to a directory, the emails
// are saved there for inspection.
func TestEveryMailInEveryLanguage(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 12, 5, 7, 15, 0, 0, time.UTC)
	for _, tag := range models.SupportedLanguages {
		invitation := Invitation{
			Language: tag, RecipientName: "Charles Babbage", SenderName: "Acme GmbH", Subject: "Lease 12b", Message: "Hi Grace,\nplease sign soon.", SigningURL: "https://sign.example.com/sign/" + strings.Repeat("x", 400),
			ShortURL: "https://sign.example.com/sign/0123456789abcdef0123456789abcdefx", ExpiresAt: &at, DocumentNames: []string{"lease.pdf", "plan.pdf"},
		}
		to := To{Language: tag, RecipientName: "Grace Hopper", SenderName: "Acme GmbH", Zone: time.FixedZone("Europe/Berlin", 3600), SettingsURL: "https://sign.example.com/console#/account", UnsubscribeURL: "https://sign.example.com/unsubscribe/" + strings.Repeat("z", 300)}
		notification := func(kind NotificationKind) Notification {
			return Notification{To: to, Subject: "Lease 12b", Kind: kind, ByName: "Ada Lovelace", ByAddress: "ada@example.com", ReasonText: map[NotificationKind]string{NotificationDeclined: "Clause 4.", NotificationBounced: "550 no such user"}[kind], At: at, Waiting: []string{"Bob Hill", "Eve Stone"}, EnvelopeURL: "https://sign.example.com/console#/envelopes/1"}
		}
		untitled := invitation
		untitled.Subject = ""
		approve, read, host := invitation, invitation, invitation
		approve.Request, read.Request, host.Request, host.SignerName = RequestApproval, RequestReading, RequestHosting, "Ines Person"
		for name, m := range map[string]interface{ Render() (Content, error) }{
			"invitation": invitation, "approve": approve, "read": read, "host": host, "remind-host": Reminder(host), "untitled": untitled, "reminder": Reminder(invitation), "code": Code{Language: tag, RecipientName: "Ada", SenderName: "Acme GmbH", Subject: "Lease 12b", Code: "402913", ValidFor: 10 * time.Minute},
			"completed": Completed{
				Language: tag, RecipientName: "Ada", SenderName: "Acme GmbH", Subject: "Lease 12b", CompletedAt: at, VerifyURL: "https://sign.example.com/verify",
				Documents: []CompletedDocument{{Name: "Lease 12b.pdf", SHA256: strings.Repeat("a", 64)}, {Name: "Plan.pdf", SHA256: strings.Repeat("b", 64), DownloadURL: "https://sign.example.com/download/" + strings.Repeat("y", 300)}},
			},
			"copy-notice":      CopyNotice{Language: tag, RecipientName: "Carl", SenderName: "Acme GmbH", Subject: "Lease 12b"},
			"copy-nobody":      CopyNotice{Language: tag},
			"declined":         Closed{Language: tag, RecipientName: "Grace", SenderName: "Acme GmbH", Subject: "Lease 12b", Kind: Declined, ByName: "Ada", ReasonText: "Clause 4.", At: at},
			"voided":           Closed{Language: tag, RecipientName: "Grace", SenderName: "Acme GmbH", Subject: "Lease 12b", Kind: Voided, At: at},
			"expired":          Closed{Language: tag, RecipientName: "Grace", SenderName: "Acme GmbH", Subject: "Lease 12b", Kind: Expired, At: at},
			"deletion":         DeletionReminder{Language: tag, RecipientName: "Ada", SenderName: "Acme GmbH", Subject: "Lease 12b", DownloadURL: "https://sign.example.com/download/z", PurgeOn: at, DaysLeft: 7},
			"notice-declined":  Notice{Language: tag, SenderName: "Acme GmbH", Subject: "Lease 12b", Kind: NoticeDeclined, ByName: "Ada", ReasonText: "Clause 4.", At: at, ConsoleURL: "https://sign.example.com/console"},
			"notice-delegated": Notice{Language: tag, SenderName: "Acme GmbH", Subject: "Lease 12b", Kind: NoticeDelegated, ByName: "Ada", ByAddress: "bob@example.com", ReasonText: "On leave", At: at, ConsoleURL: "https://sign.example.com/console"},
			"notice-bounced":   Notice{Language: tag, SenderName: "Acme GmbH", Subject: "Lease 12b", Kind: NoticeBounced, ByName: "Ada", ByAddress: "ada@example.com", ReasonText: "550 no such user", At: at, ConsoleURL: "https://sign.example.com/console"},
			"notice-stuck":     Notice{Language: tag, SenderName: "Acme GmbH", Subject: "Lease 12b", Kind: NoticeStuck, Cause: string(models.SealingOriginalMissing), At: at, ConsoleURL: "https://sign.example.com/console"},
			"notify-completed": notification(NotificationCompleted),
			"notify-declined":  notification(NotificationDeclined),
			"notify-expired":   notification(NotificationExpired),
			"notify-bounced":   notification(NotificationBounced),
			"notify-stuck":     notification(NotificationStuck),
			"notify-opened":    notification(NotificationOpened),
			"notify-signed":    notification(NotificationSigned),
			"digest": Digest{To: to, Until: at, Hour: 8, More: 2, Envelopes: []DigestEnvelope{
				{Subject: "Lease 12b", URL: "https://sign.example.com/console#/envelopes/1", Events: []DigestEvent{{Kind: NotificationOpened, ByName: "Ada Lovelace"}, {Kind: NotificationSigned, ByName: "Ada Lovelace"}, {Kind: NotificationCompleted}}},
				{Subject: "Order 7", URL: "https://sign.example.com/console#/envelopes/2", Events: []DigestEvent{{Kind: NotificationBounced, ByName: "Bob Hill"}, {Kind: NotificationDeclined, ByName: "Eve Stone"}, {Kind: NotificationExpired}, {Kind: NotificationStuck}}},
			}},
			"webhook": WebhookDisabled{Language: tag, URL: "https://hooks.example.com/x", Since: at, LastError: "timeout", ConsoleURL: "https://sign.example.com/console"},
		} {
			got, err := m.Render()
			require.NoError(t, err, "%s %s", tag, name)
			assert.Empty(t, braces.FindAllString(got.Subject+got.Text+strings.SplitN(got.HTML, "</style>", 2)[1], -1), "%s %s", tag, name)
			assert.Contains(t, got.HTML, `lang="`+tag+`"`)
			assert.Equal(t, tag == "ar" || tag == "he", strings.Contains(got.HTML, `dir="rtl"`))
			if tag != "en" {
				for _, english := range []string{"Hello", "please", "Please", "Download", "signed", "Reason", "Sent ", "deadline"} {
					text := strings.ReplaceAll(got.Text, "please sign soon.", "")
					if tag == "nl" && english == "Download" {
						continue // the Dutch word is the same
					}
					assert.NotRegexp(t, `\b`+strings.TrimSpace(english)+`\b`, got.Subject+text, "%s %s", tag, name)
				}
			}
			switch name {
			case "invitation":
				assert.Equal(t, "Lease 12b", got.Subject, "the envelope's subject must be the email's subject")
				first := strings.Split(got.Text, "\n")[2]
				assert.Contains(t, first, "Acme GmbH")
				assert.Contains(t, first, "Lease 12b")
				assert.Less(t, strings.Index(got.HTML, "Acme GmbH"), strings.Index(got.HTML, "<table"), "%s: email programs show the requester next to the subject", tag)
				assert.NotContains(t, got.HTML, ">Countersign<")
				assert.Equal(t, 1, strings.Count(got.HTML, strings.Repeat("x", 400)), "only the button contains the long link")
			case "approve", "read", "host", "remind-host":
				assert.NotContains(t, got.Text, phrasesIn(tag).SignButton, "%s %s", tag, name)
				assert.Contains(t, got.Text, phrasesIn(tag).OpenButton)
				assert.Contains(t, got.Text, "Lease 12b")
				assert.Equal(t, strings.HasSuffix(name, "host"), strings.Contains(got.Text, "Ines Person"), "%s %s", tag, name)
			case "untitled":
				assert.Contains(t, got.Subject, "Acme GmbH")
				assert.NotContains(t, got.Subject, "lease")
			}
			if strings.Contains(got.HTML, "panel quote") { // a quotation is aligned with its label, even if its text has the opposite direction
				assert.Contains(t, got.HTML, "text-align:"+map[string]string{"ltr": "left", "rtl": "right"}[phrasesIn(tag).Dir])
			}
			if dir := os.Getenv("COUNTERSIGN_TEST_MAILS"); dir != "" {
				require.NoError(t, os.WriteFile(filepath.Join(dir, tag+"-"+name+".html"), []byte(got.HTML), 0o600))
			}
		}
	}
}
