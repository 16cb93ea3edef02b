package notify_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"mime"
	netmail "net/mail"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/emersion/go-message"
	"github.com/emersion/go-message/mail"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"countersign/notify"
)

const messageID = "0123456789abcdef0123456789abcdef@example.com"

func sender(t *testing.T, m *mailServer, query string, change ...func(*notify.SMTPConfig)) *notify.SMTP {
	t.Helper()
	cfg := notify.SMTPConfig{
		URL: "smtp://" + m.addr + query, From: "Countersign <sign@example.com>", Timeout: 10 * time.Second, RootCAs: m.roots,
		Now: func() time.Time { return time.Date(2026, 11, 21, 8, 15, 0, 0, time.FixedZone("CET", 3600)) },
	}
	for _, f := range change {
		f(&cfg)
	}
	s, err := notify.NewSMTP(cfg)
	require.NoError(t, err)
	return s
}

func hello() notify.Mail {
	return notify.Mail{
		To: notify.Address{Name: "Ada Lovelace", Email: "ada@example.net"}, Subject: "Hello", Text: "Text\n",
		HTML: "<p>HTML</p>", MessageID: messageID,
	}
}

func file(name string, open func() (io.ReadCloser, error)) notify.Attachment {
	return notify.Attachment{Name: name, ContentType: "application/pdf", Open: func(context.Context) (io.ReadCloser, error) { return open() }}
}

func bytesFile(name string, b []byte) notify.Attachment {
	return file(name, func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(b)), nil })
}

func TestSend(t *testing.T) {
	t.Parallel()
	server := serve(t, serverKind{})
	m := hello()
	m.FromName = "Nörthwind, Legal \"& Söhne\""
	m.Subject = "Vertrag über 契約 " + strings.Repeat("ä", 100)
	m.Text = ".leading dot\n\nÜmläut " + strings.Repeat("x", 2000) + "\n"
	pdf := bytes.Repeat([]byte{0, 1, 2, '\r', '\n', '.', '\n', 0xff}, 50_000)
	m.Attachments = []notify.Attachment{bytesFile("Vertrag – 契約.pdf", pdf), bytesFile("b.pdf", []byte("%PDF"))}
	require.NoError(t, sender(t, server, "?tls=none").Send(t.Context(), m))

	got := server.messages()
	require.Len(t, got, 1)
	assert.Equal(t, "sign@example.com", got[0].from)
	assert.Equal(t, "ada@example.net", got[0].to)
	assert.False(t, got[0].utf8)
	for line := range strings.SplitSeq(string(got[0].raw), "\r\n") {
		require.LessOrEqual(t, len(line), 998)
		require.NotContains(t, line, "\n")
	}
	assert.Contains(t, string(got[0].raw), "\r\nMessage-ID: <"+messageID+">\r\n")
	parsed, err := netmail.ReadMessage(bytes.NewReader(got[0].raw))
	require.NoError(t, err)
	from, err := parsed.Header.AddressList("From")
	require.NoError(t, err)
	assert.Equal(t, []*netmail.Address{{Name: m.FromName, Address: "sign@example.com"}}, from)
	to, err := parsed.Header.AddressList("To")
	require.NoError(t, err)
	assert.Equal(t, []*netmail.Address{{Name: "Ada Lovelace", Address: "ada@example.net"}}, to)
	subject, err := new(mime.WordDecoder).DecodeHeader(parsed.Header.Get("Subject"))
	require.NoError(t, err)
	assert.Equal(t, m.Subject, subject)
	assert.Equal(t, "Sat, 21 Nov 2026 07:15:00 +0000", parsed.Header.Get("Date"))
	assert.Equal(t, "auto-generated", parsed.Header.Get("Auto-Submitted"))
	assert.Empty(t, parsed.Header.Get("User-Agent"))

	parts := leaves(t, got[0].raw)
	require.Len(t, parts, 4)
	assert.Equal(t, m.Text, strings.ReplaceAll(string(parts[0].body), "\r\n", "\n"))
	assert.Equal(t, "text/plain; charset=UTF-8", parts[0].kind)
	assert.Equal(t, m.HTML, strings.TrimSpace(string(parts[1].body)))
	assert.Equal(t, "Vertrag – 契約.pdf", parts[2].name)
	assert.True(t, bytes.Equal(pdf, parts[2].body), "the attachment's bytes")
	assert.Equal(t, "b.pdf", parts[3].name)
}

type leaf struct {
	kind, name string
	body       []byte
}

func leaves(t *testing.T, raw []byte) []leaf {
	t.Helper()
	root, err := message.Read(bytes.NewReader(raw))
	require.NoError(t, err)
	var out []leaf
	require.NoError(t, root.Walk(func(_ []int, e *message.Entity, err error) error {
		if err != nil || e.MultipartReader() != nil {
			return err
		}
		name, _ := (&mail.AttachmentHeader{Header: e.Header}).Filename()
		body, err := io.ReadAll(e.Body)
		out = append(out, leaf{e.Header.Get("Content-Type"), name, body})
		return err
	}))
	return out
}

func TestSubjects(t *testing.T) {
	t.Parallel()
	server := serve(t, serverKind{})
	s := sender(t, server, "?tls=none")
	for _, want := range []string{
		"", "Lease", "Verträge", strings.Repeat("契約書の確認 ", 30) + "x", strings.Repeat("x", 255), "a " + strings.Repeat("x", 250),
		strings.Repeat("👩‍⚖️", 60), "plain ASCII that is long enough to be folded over several lines of the header, one after the other",
	} {
		m := hello()
		m.Subject = want
		require.NoError(t, s.Send(t.Context(), m))
		messages := server.messages()
		raw := messages[len(messages)-1].raw
		assert.NotContains(t, string(raw), "Subject:\r\n")
		parsed, err := netmail.ReadMessage(bytes.NewReader(raw))
		require.NoError(t, err)
		got, err := new(mime.WordDecoder).DecodeHeader(parsed.Header.Get("Subject"))
		require.NoError(t, err)
		assert.Equal(t, want, got)
	}
}

func TestSend_TextOnly(t *testing.T) {
	t.Parallel()
	server := serve(t, serverKind{})
	m := hello()
	m.HTML = ""
	require.NoError(t, sender(t, server, "?tls=none").Send(t.Context(), m))
	parts := leaves(t, server.messages()[0].raw)
	require.Len(t, parts, 1)
	assert.Equal(t, "Text", strings.TrimSpace(string(parts[0].body)))
}

func TestNoHeaderIsInjected(t *testing.T) {
	t.Parallel()
	server := serve(t, serverKind{})
	for _, evil := range []string{
		"x\r\nBcc: evil@example.org", "x\nBcc: evil@example.org", "x\rBcc: evil@example.org", "x\r\n\r\nBody", "x\u2028Bcc: a@b.c",
		"x\x00\x0bBcc: a@b.c", "x\r\n Bcc: folded@example.org", strings.Repeat("long ", 60) + "\r\nBcc: a@b.c",
		"=?utf-8?q?x=0D=0ABcc:_evil@example.org?=", "=?utf-8?b?eA0KQmNjOiBldmlsQGV4YW1wbGUub3Jn?=",
		"\xff\xfe\r\nBcc: a@b.c", `"; name="x"` + "\r\nBcc: a@b.c",
	} {
		m := hello()
		m.To.Name, m.FromName, m.Subject = evil, evil, evil
		m.Attachments = []notify.Attachment{bytesFile("../../"+evil+".pdf", []byte("%PDF"))}
		m.Attachments[0].ContentType = "application/pdf\r\nBcc: evil@example.org"
		require.NoError(t, sender(t, server, "?tls=none").Send(t.Context(), m), "%q", evil)
	}
	for _, got := range server.messages() {
		assert.Equal(t, "ada@example.net", got.to)
		parsed, err := netmail.ReadMessage(bytes.NewReader(got.raw))
		require.NoError(t, err)
		assert.Subset(t, []string{
			"Auto-Submitted", "Content-Type", "Date", "From", "Message-Id", "Mime-Version", "Subject", "To",
		}, keys(parsed.Header))
		for _, name := range []string{"From", "To"} {
			list, err := parsed.Header.AddressList(name)
			require.NoError(t, err)
			require.Len(t, list, 1)
			assert.NotContains(t, list[0].Name, "\n")
		}
		subject, err := new(mime.WordDecoder).DecodeHeader(parsed.Header.Get("Subject"))
		require.NoError(t, err)
		assert.NotContains(t, subject, "\n")
		parts := leaves(t, got.raw)
		require.Len(t, parts, 3)
		assert.NotContains(t, parts[2].name, "/")
		assert.NotContains(t, parts[2].name, "\n")
		assert.Equal(t, "%PDF", string(parts[2].body))
	}
}

func keys(h netmail.Header) []string {
	var out []string
	for k := range h {
		out = append(out, k)
	}
	return out
}

func TestSend_InvalidEmails(t *testing.T) {
	t.Parallel()
	server := serve(t, serverKind{})
	s := sender(t, server, "?tls=none")
	var permanent *notify.PermanentError
	for _, addr := range []string{
		"", "ada", "@example.net", "ada@", "ada lovelace@example.net", "ada@example.net, evil@example.org", "ada@example..net",
		"ada@example.net\r\nRCPT TO:<evil@example.org>", "Ada <ada@example.net>", "ada@-x-.net", strings.Repeat("x", 250) + "@example.net",
		"<ada@example.net>", "ada@[127.0.0.1]",
	} {
		m := hello()
		m.To.Email = addr
		err := s.Send(t.Context(), m)
		require.ErrorAs(t, err, &permanent, "%q", addr)
		assert.NotContains(t, err.Error(), "ada")
	}
	for _, id := range []string{"", "x", "<x@y>", "x@y\r\nBcc: z", "x y@z", "é@z"} {
		m := hello()
		m.MessageID = id
		require.ErrorAs(t, s.Send(t.Context(), m), &permanent, "%q", id)
	}
	assert.Empty(t, server.messages())
}

func TestInternationalAddresses(t *testing.T) {
	t.Parallel()
	server, old := serve(t, serverKind{}), serve(t, serverKind{noUTF8: true})
	m := hello()
	m.To.Email = "ada@bücher.example"
	require.NoError(t, sender(t, old, "?tls=none").Send(t.Context(), m))
	assert.Equal(t, "ada@xn--bcher-kva.example", old.messages()[0].to)

	m.To.Email = "añа@bücher.example"
	require.NoError(t, sender(t, server, "?tls=none").Send(t.Context(), m))
	assert.Equal(t, "añа@xn--bcher-kva.example", server.messages()[0].to)
	assert.True(t, server.messages()[0].utf8)
	var permanent *notify.PermanentError
	require.ErrorAs(t, sender(t, old, "?tls=none").Send(t.Context(), m), &permanent)
}

// TestServerLines checks that the error contains the server's text on one line of limited length, without other
// people's addresses and names.
func TestServerLines(t *testing.T) {
	t.Parallel()
	for said, want := range map[string]string{
		"Mailbox full":                                    "rejected with 550 5.2.2: Mailbox full",
		"<ada@example.net>: over quota":                   "550 5.2.2: [address]: over quota",
		"user ADA is unknown, ask postmaster@example.net": "550 5.2.2: user [address] is unknown, ask [address]",
		"adamant, canada":                                 "550 5.2.2: adamant, canada",
		strings.Repeat("long ", 100):                      "long…",
		"":                                                "rejected with 550 5.2.2",
	} {
		m := hello()
		m.To.Email = "ada@example.net"
		err := sender(t, serve(t, serverKind{}, func(m *mailServer) {
			m.rcptErr = rejection(550, "5.2.2", said)
		}), "?tls=none").Send(t.Context(), m)
		require.ErrorContains(t, err, want)
		require.Less(t, len(err.Error()), 300)
		require.NotContains(t, err.Error(), "ada@")
		require.NotContains(t, err.Error(), "postmaster")
	}
}

func TestRejections(t *testing.T) {
	t.Parallel()
	const other, rejected, permanent = "other", "refused", "permanent"
	rcpt := func(code int, enhanced string) func(*mailServer) {
		return func(m *mailServer) { m.rcptErr = rejection(code, enhanced, "ada@example.net") }
	}
	data := func(code int, enhanced string) func(*mailServer) {
		return func(m *mailServer) { m.dataErr = rejection(code, enhanced, "from ada@example.net") }
	}
	sender550 := func(m *mailServer) { m.mailErr = rejection(550, "5.1.1", "no ada@example.net") }
	cases := []struct {
		name   string
		refuse func(*mailServer)
		want   string
		text   string
	}{
		{"sender 550", sender550, other, "sender rejected with 550 5.1.1"},
		{"recipient 421", rcpt(421, "4.3.2"), other, "recipient rejected with 421 4.3.2"},
		{"server's disk is full", data(452, "4.3.1"), other, "message rejected with 452 4.3.1"},

		{"no such mailbox", rcpt(550, "5.1.1"), permanent, "recipient rejected with 550 5.1.1"},
		{"bad address, by another code", rcpt(501, "5.1.3"), permanent, "recipient rejected with 501 5.1.3"},
		{"mailbox is closed", rcpt(550, "5.2.1"), permanent, "recipient rejected with 550 5.2.1"},
		{"no mailbox, no reason", rcpt(550, ""), permanent, "recipient rejected with 550"},
		{"no mailbox, undefined", rcpt(550, "5.0.0"), permanent, "recipient rejected with 550 5.0.0"},
		{"address rejected", rcpt(550, "5.1.0"), permanent, "recipient rejected with 550 5.1.0"},
		{"no such mailbox, said late", data(554, "5.1.1"), permanent, "message rejected with 554 5.1.1"},
		{"content is not converted", data(554, "5.6.3"), permanent, "message rejected with 554 5.6.3"},

		{"recipient later", rcpt(450, "4.1.1"), rejected, "recipient rejected with 450 4.1.1"},
		{"greylisted", data(451, "4.7.1"), rejected, "message rejected with 451 4.7.1"},
		{"relay access denied", rcpt(554, "5.7.1"), rejected, "recipient rejected with 554 5.7.1"},
		{"sender address not owned by user", rcpt(553, "5.7.1"), rejected, "recipient rejected with 553 5.7.1"},
		{"sender's domain not found", rcpt(550, "5.1.8"), rejected, "recipient rejected with 550 5.1.8"},
		{"login required", rcpt(530, ""), rejected, "recipient rejected with 530"},
		{"daily quota", data(550, "5.4.5"), rejected, "message rejected with 550 5.4.5"},
		{"message too big for the system", data(552, "5.3.4"), rejected, "message rejected with 552 5.3.4"},
		{"sender identity not verified, no reason", data(554, ""), rejected, "message rejected with 554"},
		{"not allowed to send as", data(554, "5.2.252"), rejected, "message rejected with 554 5.2.252"},
		{"some error on submission", data(554, "5.2.0"), rejected, "message rejected with 554 5.2.0"},
		{"spam", data(554, "5.7.1"), rejected, "message rejected with 554 5.7.1"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			err := sender(t, serve(t, serverKind{}, c.refuse), "?tls=none").Send(t.Context(), hello())
			require.ErrorContains(t, err, c.text)
			assert.NotContains(t, err.Error(), "ada")
			require.ErrorContains(t, err, "[address]", "the server's response is retained without the address")
			got := other
			if _, ok := errors.AsType[*notify.PermanentError](err); ok {
				got = permanent
			} else if _, ok := errors.AsType[*notify.RejectedError](err); ok {
				got = rejected
			}
			assert.Equal(t, c.want, got)
		})
	}
}

// TestTooLarge checks that an email rejected because of the size of its attachments results in a distinct error. If the
// server announces a size limit, the error is returned before the email is sent.
func TestTooLarge(t *testing.T) {
	t.Parallel()
	m := hello()
	m.Attachments = []notify.Attachment{bytesFile("a.pdf", make([]byte, 1000))}
	m.Attachments[0].Size = 1000
	large := func(err error) bool {
		_, ok := errors.AsType[*notify.TooLargeError](err)
		return ok
	}
	for _, answer := range []error{rejection(552, "5.3.4", ""), rejection(552, "", ""), rejection(554, "5.2.3", "")} {
		server := serve(t, serverKind{}, func(m *mailServer) { m.dataErr = answer })
		assert.True(t, large(sender(t, server, "?tls=none").Send(t.Context(), m)), "%v", answer)
		assert.False(t, large(sender(t, server, "?tls=none").Send(t.Context(), hello())), "the email has no attachments that could be omitted")
	}
	server := serve(t, serverKind{}, func(m *mailServer) { m.dataErr = rejection(554, "5.7.1", "") })
	assert.False(t, large(sender(t, server, "?tls=none").Send(t.Context(), m)))

	says := serve(t, serverKind{limit: 1300}, func(m *mailServer) { m.dataErr = rejection(451, "", "") })
	err := sender(t, says, "?tls=none").Send(t.Context(), m)
	assert.True(t, large(err), "the encoded file has 1404 bytes")
	var permanent *notify.PermanentError
	require.ErrorAs(t, err, &permanent)
	assert.False(t, large(sender(t, says, "?tls=none").Send(t.Context(), hello())))
}

func TestTLSAndAuth(t *testing.T) {
	t.Parallel()
	login := func(c *notify.SMTPConfig) { c.URL = strings.Replace(c.URL, "://", "://mailer:p%40ss%3Aword@", 1) }
	wrong := func(c *notify.SMTPConfig) { c.URL = strings.Replace(c.URL, "://", "://mailer:wrong-secret@", 1) }
	smtps := func(c *notify.SMTPConfig) { c.URL = strings.Replace(c.URL, "smtp:", "smtps:", 1) }
	systemRoots := func(c *notify.SMTPConfig) { c.RootCAs = nil }
	type change = []func(*notify.SMTPConfig)
	cases := []struct {
		name   string
		kind   serverKind
		query  string
		change change
		err    string
	}{
		{"starttls by default", serverKind{tls: true}, "", nil, ""},
		{"starttls and login", serverKind{tls: true, auth: true}, "?tls=starttls", change{login}, ""},
		{"starttls missing", serverKind{}, "", nil, "STARTTLS"},
		{"starttls not trusted", serverKind{tls: true}, "", change{systemRoots}, "the certificate is not trusted"},
		{"implicit", serverKind{implicit: true, auth: true}, "?tls=implicit", change{login}, ""},
		{"smtps", serverKind{implicit: true}, "", change{smtps}, ""},
		{"smtps not trusted", serverKind{implicit: true}, "", change{smtps, systemRoots}, "the certificate is not trusted"},
		{"implicit to a plain server", serverKind{}, "?tls=implicit", nil, "does not use TLS"},
		{"plain login", serverKind{auth: true}, "?tls=none", change{login}, ""},
		{"wrong password", serverKind{tls: true, auth: true}, "", change{wrong}, "rejected with 535 5.7.8"},
		{"login not on offer", serverKind{tls: true}, "", change{login}, "AUTH"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			server := serve(t, c.kind)
			s := sender(t, server, c.query, c.change...)
			checkErr, sendErr := s.Check(t.Context()), s.Send(t.Context(), hello())
			if c.err == "" {
				require.NoError(t, checkErr)
				require.NoError(t, sendErr)
				assert.Len(t, server.messages(), 1)
				return
			}
			for _, err := range []error{checkErr, sendErr} {
				require.ErrorContains(t, err, c.err)
				assert.NotContains(t, err.Error(), "mailer")
				var down *notify.ServerError
				require.ErrorAs(t, err, &down)
				assert.NotContains(t, err.Error(), "secret")
				var permanent *notify.PermanentError
				assert.NotErrorAs(t, err, &permanent, "the configuration can be corrected")
			}
		})
	}
}

func TestConcurrentSends(t *testing.T) {
	t.Parallel()
	server := serve(t, serverKind{tls: true, auth: true})
	s := sender(t, server, "", func(c *notify.SMTPConfig) { c.URL = strings.Replace(c.URL, "://", "://mailer:p%40ss%3Aword@", 1) })
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() { assert.NoError(t, s.Send(context.Background(), hello())) })
	}
	all.Wait()
	assert.Len(t, server.messages(), 20)
}

func TestMessageIDIsStable(t *testing.T) {
	t.Parallel()
	s, err := notify.NewSMTP(notify.SMTPConfig{URL: "smtp://mail.example.com", From: "Sign <sign@bücher.example>"})
	require.NoError(t, err)
	a := s.MessageID("invitation", "envelope", "signer")
	assert.Equal(t, a, s.MessageID("invitation", "envelope", "signer"))
	assert.NotEqual(t, a, s.MessageID("invitation", "envelopesigner", ""))
	assert.Regexp(t, `^[0-9a-f]{32}@xn--bcher-kva\.example$`, a)
}
