package inbox_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/smtp"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"countersign/internal/inbox"
	"countersign/notify"
)

type runningInbox struct {
	box  *inbox.Inbox
	web  *httptest.Server
	smtp string // host:port
}

// clock returns a clock that advances by one millisecond with each reading.
func clock() func() time.Time {
	var mu sync.Mutex
	at := time.Date(2026, 11, 21, 7, 15, 0, 0, time.UTC)
	return func() time.Time {
		mu.Lock()
		defer mu.Unlock()
		at = at.Add(time.Millisecond)
		return at
	}
}

func start(t *testing.T, dir string) runningInbox {
	t.Helper()
	box, err := inbox.Open(dir, clock())
	require.NoError(t, err)
	ln, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- box.ServeSMTP(ctx, ln) }()
	web := httptest.NewServer(box.Handler())
	t.Cleanup(func() {
		web.Close()
		cancel()
		assert.NoError(t, <-done)
	})
	return runningInbox{box, web, ln.Addr().String()}
}

func (r runningInbox) send(t *testing.T, m notify.Mail) {
	t.Helper()
	sender, err := notify.NewSMTP(notify.SMTPConfig{
		URL: "smtp://" + r.smtp + "?tls=none", From: "Countersign <sign@example.com>",
	})
	require.NoError(t, err)
	require.NoError(t, sender.Send(t.Context(), m))
}

func (r runningInbox) raw(t *testing.T, to []string, lines ...string) error {
	t.Helper()
	return smtp.SendMail(r.smtp, nil, "from@example.com", to, []byte(strings.Join(lines, "\r\n")))
}

func (r runningInbox) do(t *testing.T, method, path string, header http.Header) (*http.Response, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, r.web.URL+path, nil)
	require.NoError(t, err)
	if header != nil {
		req.Header = header
	}
	res, err := r.web.Client().Do(req)
	require.NoError(t, err)
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	return res, string(body)
}

func (r runningInbox) messages(t *testing.T, query string) []inbox.Message {
	t.Helper()
	res, body := r.do(t, http.MethodGet, "/api/messages"+query, nil)
	require.Equal(t, http.StatusOK, res.StatusCode, body)
	var out []inbox.Message
	require.NoError(t, json.Unmarshal([]byte(body), &out))
	return out
}

func (r runningInbox) sms(t *testing.T, to, text string) {
	t.Helper()
	sender, err := notify.NewTwilio(strings.Replace(r.web.URL, "http://", "http://AC1:token@", 1) +
		"/2010-04-01/Accounts/AC1/Messages.json?From=%2B15005550006")
	require.NoError(t, err)
	require.NoError(t, sender.Send(t.Context(), to, text))
}

func mail(to, subject string) notify.Mail {
	return notify.Mail{
		To: notify.Address{Name: "Ada", Email: to}, FromName: "Northwind Legal", Subject: subject,
		Text: "Hello,\nsee https://sign.example.com/sign/abc.\n", MessageID: "0123456789abcdef@example.com",
		HTML: `<!DOCTYPE html><html><head><title>x</title></head><body><a href="https://sign.example.com/sign/abc?a=1&amp;b=2">Sign</a></body></html>`,
	}
}

func attachment(name, kind string, content []byte) notify.Attachment {
	return notify.Attachment{
		Name: name, ContentType: kind,
		Open: func(context.Context) (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(content)), nil },
	}
}

func TestMail(t *testing.T) {
	t.Parallel()
	r := start(t, t.TempDir())
	pdf := bytes.Repeat([]byte("%PDF-1.7\r\n\x00\xff.\r\n"), 10_000)
	m := mail("ada@example.com", "Prüfung ✓ "+strings.Repeat("long ", 40))
	m.Attachments = []notify.Attachment{
		attachment("Ünïcode – 契約書.pdf", "application/pdf", pdf),
		attachment("notes.txt", "text/plain", []byte("plain text that is no body")),
	}
	r.send(t, m)

	found := r.messages(t, "?to=ADA@example.com")
	require.Len(t, found, 1)
	got := found[0]
	assert.Equal(t, inbox.KindMail, got.Kind)
	assert.Equal(t, "sign@example.com", got.From)
	assert.Equal(t, "Northwind Legal", got.FromName)
	assert.Equal(t, []string{"ada@example.com"}, got.To)
	assert.Equal(t, strings.TrimSpace(m.Subject), got.Subject)
	assert.Equal(t, m.MessageID, got.MessageID)
	assert.Equal(t, m.Text, got.Text)
	assert.Equal(t, m.HTML, strings.TrimSpace(got.HTML))
	assert.Equal(t, []string{"https://sign.example.com/sign/abc", "https://sign.example.com/sign/abc?a=1&b=2"}, got.Links)
	require.Len(t, got.Attachments, 2)
	assert.Equal(t, "Ünïcode – 契約書.pdf", got.Attachments[0].Name)
	assert.Equal(t, int64(len(pdf)), got.Attachments[0].Size)

	res, body := r.do(t, http.MethodGet, got.Attachments[0].URL, nil)
	assert.Equal(t, "application/pdf", res.Header.Get("Content-Type"))
	assert.True(t, strings.HasPrefix(res.Header.Get("Content-Disposition"), "attachment"))
	assert.Len(t, body, len(pdf))
	assert.Zero(t, strings.Compare(string(pdf), body), "the attachment's bytes")
	_, body = r.do(t, http.MethodGet, got.Attachments[1].URL, nil)
	assert.Equal(t, "plain text that is no body", body)
	_, body = r.do(t, http.MethodGet, "/api/messages/"+got.ID+"/source", nil)
	assert.Contains(t, body, "Auto-Submitted: auto-generated\r\n")
	assert.Contains(t, body, "Message-ID: <"+m.MessageID+">\r\n")
	res, _ = r.do(t, http.MethodGet, "/api/messages/"+got.ID+"/attachments/2", nil)
	assert.Equal(t, http.StatusNotFound, res.StatusCode)
}

func TestHTMLIsSandboxed(t *testing.T) {
	t.Parallel()
	r := start(t, t.TempDir())
	r.send(t, mail("ada@example.com", "Hello"))
	id := r.messages(t, "")[0].ID
	res, body := r.do(t, http.MethodGet, "/api/messages/"+id+"/html", nil)
	policy := res.Header.Get("Content-Security-Policy")
	assert.Contains(t, policy, "sandbox allow-popups allow-popups-to-escape-sandbox;")
	assert.NotContains(t, policy, "allow-scripts")
	assert.NotContains(t, policy, "allow-same-origin")
	assert.Contains(t, policy, "default-src 'none'")
	assert.Contains(t, body, `<head><base target="_blank">`)
	for _, path := range []string{"/", "/inbox.js", "/inbox.css"} {
		res, _ := r.do(t, http.MethodGet, path, nil)
		assert.Equal(t, http.StatusOK, res.StatusCode)
		assert.Contains(t, res.Header.Get("Content-Security-Policy"), "script-src 'self'")
		assert.NotContains(t, res.Header.Get("Content-Security-Policy"), "unsafe")
	}
}

func TestSMSAndFilters(t *testing.T) {
	t.Parallel()
	r := start(t, t.TempDir())
	r.send(t, mail("ada@example.com", "one"))
	r.sms(t, "+4915112345678", "402913 is your code. https://s.example/x")
	r.send(t, mail("grace@example.com", "two"))

	all := r.messages(t, "")
	require.Len(t, all, 3)
	assert.Equal(t, "two", all[0].Subject, "newest first")
	sms := r.messages(t, "?kind=sms")
	require.Len(t, sms, 1)
	assert.Equal(t, "+15005550006", sms[0].From)
	assert.Equal(t, "402913 is your code. https://s.example/x", sms[0].Text)
	assert.Equal(t, []string{"https://s.example/x"}, sms[0].Links)
	assert.Len(t, r.messages(t, "?kind=mail"), 2)
	assert.Len(t, r.messages(t, "?to=%2B4915112345678"), 1)
	assert.Len(t, r.messages(t, "?to=+4915112345678"), 1, "an unescaped plus")
	assert.Empty(t, r.messages(t, "?to=nobody@example.com"))
	assert.Len(t, r.messages(t, "?limit=2"), 2)
	assert.Len(t, r.messages(t, "?after="+all[2].ID), 2)
	assert.Empty(t, r.messages(t, "?after="+all[0].ID))
	assert.Len(t, r.messages(t, "?after="+url.QueryEscape(all[1].Date.Format(time.RFC3339Nano))), 1)
	assert.Empty(t, r.messages(t, "?summary=1")[0].Text)
	for _, bad := range []string{"?kind=fax", "?after=yesterday", "?limit=0", "?limit=x"} {
		res, _ := r.do(t, http.MethodGet, "/api/messages"+bad, nil)
		assert.Equal(t, http.StatusBadRequest, res.StatusCode, bad)
	}
	for _, bad := range []string{"x", "0000000000000001", "..%2f..%2fetc"} {
		res, _ := r.do(t, http.MethodGet, "/api/messages/"+bad, nil)
		assert.Equal(t, http.StatusNotFound, res.StatusCode, bad)
	}
}

func TestInbox_SurvivesARestart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	first := start(t, dir)
	m := mail("ada@example.com", "kept")
	m.Attachments = []notify.Attachment{attachment("a.pdf", "application/pdf", []byte("%PDF"))}
	first.send(t, m)
	first.sms(t, "+4915112345678", "kept too")
	before := first.messages(t, "")

	second := start(t, dir)
	assert.Equal(t, before, second.messages(t, ""))
	_, body := second.do(t, http.MethodGet, before[1].Attachments[0].URL, nil)
	assert.Equal(t, "%PDF", body)
	second.sms(t, "+4915112345678", "new")
	assert.Greater(t, second.messages(t, "")[0].ID, before[0].ID)

	res, _ := second.do(t, http.MethodDelete, "/api/messages", nil)
	assert.Equal(t, http.StatusNoContent, res.StatusCode)
	assert.Empty(t, second.messages(t, ""))
	assert.Empty(t, start(t, dir).messages(t, ""))
}

func TestBounds(t *testing.T) {
	t.Parallel()
	r := start(t, t.TempDir())
	var workers sync.WaitGroup
	for w := range 4 {
		workers.Go(func() {
			for i := range 252 {
				r.sms(t, "+4915112345678", fmt.Sprintf("message %d %d", w, i))
			}
		})
	}
	workers.Wait()
	all := r.messages(t, "?limit=1000&summary=1")
	require.Len(t, all, 1000)
	for i := range all[1:] {
		require.Greater(t, all[i].ID, all[i+1].ID)
	}

	err := r.raw(t, []string{"ada@example.com"}, "Subject: big", "", strings.Repeat(strings.Repeat("x", 998)+"\r\n", 42<<10))
	require.ErrorContains(t, err, "552", "a mail over 40 MB")
}

func TestMalformedMails(t *testing.T) {
	t.Parallel()
	nested := []string{"Subject: nested", "Content-Type: multipart/mixed; boundary=b0", ""}
	for i := range 50 {
		nested = append(nested, fmt.Sprintf("--b%d", i), fmt.Sprintf("Content-Type: multipart/mixed; boundary=b%d", i+1), "")
	}
	parts := []string{"Subject: parts", "Content-Type: multipart/mixed; boundary=b", ""}
	for range 1000 {
		parts = append(parts, "--b", "Content-Type: application/x", "", "x")
	}
	cases := map[string][]string{
		"no header":        {"just text"},
		"empty":            {""},
		"unknown charset":  {"Subject: charset", "Content-Type: text/plain; charset=klingon", "", "Q'apla"},
		"unknown encoding": {"Subject: encoding", "Content-Transfer-Encoding: rot13", "", "uryyb"},
		"bad base64":       {"Subject: base64", "Content-Type: text/plain", "Content-Transfer-Encoding: base64", "", "!!!"},
		"bad type":         {"Subject: type", "Content-Type: ;;;", "", "x"},
		"cut multipart":    {"Subject: cut", "Content-Type: multipart/mixed; boundary=b", "", "--b", "", "text"},
		"nested":           nested,
		"many parts":       parts,
	}
	r := start(t, t.TempDir())
	for name, lines := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			to := strings.ReplaceAll(name, " ", "-") + "@example.com"
			require.NoError(t, r.raw(t, []string{to}, lines...))
			found := r.messages(t, "?to="+to)
			require.Len(t, found, 1)
			res, _ := r.do(t, http.MethodGet, "/api/messages/"+found[0].ID+"/source", nil)
			assert.Equal(t, http.StatusOK, res.StatusCode)
			assert.LessOrEqual(t, len(found[0].Attachments), 200)
		})
	}
}

func TestLatin1(t *testing.T) {
	t.Parallel()
	r := start(t, t.TempDir())
	require.NoError(t, r.raw(t, []string{"ada@example.com"},
		"Subject: =?iso-8859-1?q?Gr=FC=DFe?=", "Content-Type: text/plain; charset=iso-8859-1", "", "Gr\xfc\xdfe"))
	got := r.messages(t, "")[0]
	assert.Equal(t, "Grüße", got.Subject)
	assert.Equal(t, "Grüße", strings.TrimSpace(got.Text))
}

func TestTwilioRejections(t *testing.T) {
	t.Parallel()
	r := start(t, t.TempDir())
	for _, form := range []url.Values{
		{"From": {"+1"}, "Body": {"x"}},
		{"To": {"+4915112345678"}, "Body": {"x"}},
		{"To": {"+4915112345678"}, "From": {"+1"}},
	} {
		res, err := r.web.Client().PostForm(r.web.URL+"/2010-04-01/Accounts/AC1/Messages.json", form) //nolint:noctx // a test
		require.NoError(t, err)
		_ = res.Body.Close()
		assert.Equal(t, http.StatusBadRequest, res.StatusCode)
	}
	assert.Empty(t, r.messages(t, ""))
}

// TestOtherOriginsAreRejected checks that a page from another origin in the developer's browser can neither delete nor
// add messages.
func TestOtherOriginsAreRejected(t *testing.T) {
	t.Parallel()
	r := start(t, t.TempDir())
	r.sms(t, "+4915112345678", "stays")
	res, _ := r.do(t, http.MethodDelete, "/api/messages", http.Header{"Sec-Fetch-Site": {"cross-site"}})
	assert.Equal(t, http.StatusForbidden, res.StatusCode)
	assert.Len(t, r.messages(t, ""), 1)
}

func TestServeSMTPEndsWithItsContext(t *testing.T) {
	t.Parallel()
	box, err := inbox.Open(t.TempDir(), clock())
	require.NoError(t, err)
	ln, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.NoError(t, box.ServeSMTP(ctx, ln))

	require.ErrorContains(t, box.ServeSMTP(t.Context(), ln), "inbox", "a listener that is closed")
}

func TestOpenFails(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	_, err := inbox.Open(file, clock())
	require.ErrorContains(t, err, "inbox")
}
