package templates

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"countersign/locales"
)

// TestRequests_HaveTheirOwnTexts checks that messages to an approver, viewer, witness or host state the request and do
// not ask for a signature. If COUNTERSIGN_TEST_MAILS is set to a directory, the messages are saved there for
// inspection.
func TestRequests_HaveTheirOwnTexts(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 12, 5, 7, 15, 0, 0, time.UTC)
	for _, tag := range locales.Tags() {
		p := phrasesIn(tag)
		sign := Invitation{Language: tag, RecipientName: "Ann", SenderName: "Acme", SigningURL: "https://s.example/x", ExpiresAt: &at, DocumentNames: []string{"lease.pdf"}}
		signed, err := sign.Render()
		require.NoError(t, err)
		subjects, messages := map[string]Request{signed.Subject: ""}, map[string]Request{sign.SMS(): ""}
		for _, ask := range []Request{RequestApproval, RequestReading, RequestHosting, RequestWitnessing} {
			in := sign
			in.Request, in.SignerName = ask, "Ines Person"
			got, err := in.Render()
			require.NoError(t, err)
			name := tag + " " + string(ask)
			assert.NotContains(t, subjects, got.Subject, name)
			assert.Contains(t, got.Subject, "Acme", name)
			assert.NotContains(t, got.HTML, p.InviteHeading, name)
			assert.Equal(t, ask == RequestHosting || ask == RequestWitnessing, strings.Contains(got.Text, "Ines Person"), name)
			assert.Equal(t, ask == RequestWitnessing, strings.Contains(got.Text, p.YoursAlone), "%s: only a witness signs", name)
			assert.Equal(t, ask == RequestWitnessing, strings.Contains(got.Text, p.SignButton), name)
			assert.Empty(t, braces.FindAllString(got.Subject+got.Text, -1), name)
			again, err := Reminder(in).Render()
			require.NoError(t, err)
			assert.Contains(t, again.Subject, strings.NewReplacer("\u2068", "", "\u2069", "").Replace(got.Subject), "%s: a reminder must have the invitation's subject", name)
			assert.NotContains(t, again.HTML, p.ReminderHeading, name)
			nobody := in
			nobody.SenderName, nobody.Request = "", ask
			plain, err := nobody.Render()
			require.NoError(t, err)
			assert.NotEqual(t, p.InviteNobody, plain.Subject, name)

			mailed := in
			mailed.SigningURL, mailed.Subject = "", "Lease 12b"
			for what, text := range map[string]string{"link": in.SMS(), "mail": mailed.SMS()} {
				assert.NotContains(t, messages, text, "%s %s", name, what)
				assert.Contains(t, text, "Acme", "%s %s", name, what)
				assert.Empty(t, braces.FindAllString(text, -1), "%s %s", name, what)
				messages[text] = ask
			}
			assert.Contains(t, in.SMS(), "https://s.example/x", name)
			assert.Contains(t, mailed.SMS(), p.SMSLook, name)
			subjects[got.Subject] = ask
			if dir := os.Getenv("COUNTERSIGN_TEST_MAILS"); dir != "" {
				require.NoError(t, os.WriteFile(filepath.Join(dir, tag+"-asks-"+string(ask)+".html"), []byte(got.HTML), 0o600))
			}
		}
	}
}

// TestTexts_ForRecipientsWhoDoNotSign checks that emails to or about recipients who approve, read or receive copies do
// not mention signing.
func TestTexts_ForRecipientsWhoDoNotSign(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 12, 5, 7, 15, 0, 0, time.UTC)
	render := func(m interface{ Render() (Content, error) }) string {
		got, err := m.Render()
		require.NoError(t, err)
		assert.Empty(t, braces.FindAllString(got.Subject+got.Text, -1))
		return got.Subject + "\n" + got.Text + "\n" + got.HTML // the HTML includes the heading
	}
	for _, tag := range locales.Tags() {
		p := phrasesIn(tag)
		code := Code{Language: tag, SenderName: "Acme", Code: "402913", ValidFor: 10 * time.Minute, Request: RequestApproval}
		assert.NotContains(t, render(code), p.CodeHeading, tag)
		assert.Contains(t, render(code), p.CodeIntroOther, tag)
		assert.Equal(t, p.fill(p.SMSCodeOther, as("code", "402913"), as("duration", p.minutes(10*time.Minute))), code.SMS(), tag)
		code.Request = RequestWitnessing
		assert.Contains(t, render(code), p.CodeIntro, "%s: the code for a witness must mention signing", tag)

		done := Completed{Language: tag, Subject: "Lease", CompletedAt: at, Documents: []CompletedDocument{{Name: "a.pdf"}}}
		assert.Contains(t, render(done), p.CompletedHeading, tag)
		done.NotAllSigned = true
		assert.NotContains(t, render(done), p.CompletedHeading, tag)

		closed := Closed{Language: tag, Subject: "Lease", Kind: Declined, ByName: "Ann", ByRequest: RequestReading, At: at}
		assert.NotContains(t, render(closed), p.DeclinedHeading, tag)
		assert.Contains(t, render(closed), p.LinksEnded, tag)
		closed.Copy = true
		assert.Contains(t, render(closed), p.NoCopy, tag)
		assert.NotContains(t, render(closed), p.LinksEnded, "%s: the recipient had no link", tag)

		for _, kind := range []NoticeKind{NoticeDeclined, NoticeBounced} {
			notice := Notice{Language: tag, Subject: "Lease", Kind: kind, ByName: "Ann", ByAddress: "ann@example.com", At: at}
			signs := render(notice)
			notice.ByRequest = RequestNothing
			other := render(notice)
			assert.NotEqual(t, signs, other, tag)
			assert.Contains(t, other, "Ann", tag)
			assert.Equal(t, kind == NoticeBounced, strings.Contains(other, "ann@example.com"), tag)
		}
	}
}
