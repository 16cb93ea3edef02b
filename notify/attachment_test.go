package notify_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"countersign/notify"
)

func TestBrokenAttachment(t *testing.T) {
	t.Parallel()
	server := serve(t, serverKind{})
	s := sender(t, server, "?tls=none")
	lost := errors.New("object not found")
	m := hello()
	m.Attachments = []notify.Attachment{file("a.pdf", func() (io.ReadCloser, error) { return nil, lost })}
	require.ErrorIs(t, s.Send(t.Context(), m), lost)

	closed := make(chan struct{})
	m.Attachments = []notify.Attachment{
		bytesFile("a.pdf", []byte("%PDF")),
		file("b.pdf", func() (io.ReadCloser, error) {
			return &failingCloser{Reader: io.MultiReader(strings.NewReader(strings.Repeat("x", 100_000)), failingReader{lost}), closed: closed}, nil
		}),
		bytesFile("c.pdf", []byte("%PDF")),
	}
	err := s.Send(t.Context(), m)
	require.ErrorIs(t, err, lost)
	var permanent *notify.PermanentError
	assert.NotErrorAs(t, err, &permanent)
	<-closed
	assert.Eventually(t, func() bool { return server.cutMessages() == 1 }, 10*time.Second, 5*time.Millisecond)
	assert.Empty(t, server.messages(), "no truncated email may be sent")
}

type failingReader struct{ err error }

func (f failingReader) Read([]byte) (int, error) { return 0, f.err }

type failingCloser struct {
	io.Reader
	closed chan struct{}
}

func (b *failingCloser) Close() error {
	close(b.closed)
	return nil
}

// smtpConversation returns the responses of a server that accepts every email. It calls end for the responses to the
// end of DATA and to QUIT.
func smtpConversation(end func(line string) (string, bool)) func(string) (string, bool) {
	data := false
	return func(line string) (string, bool) {
		verb := strings.ToUpper(strings.TrimSpace(line))
		switch {
		case data && verb == ".":
			data = false
			return end("DATA")
		case data:
			return "", true
		case strings.HasPrefix(verb, "EHLO"):
			return "250 localhost\r\n", true
		case verb == "DATA":
			data = true
			return "354 go\r\n", true
		case verb == "QUIT":
			return end("QUIT")
		}
		return "250 ok\r\n", true
	}
}

// TestSend_AcceptedEmail_IsNotSentAgain checks that an accepted email is not sent again, regardless of how the
// connection ends.
func TestSend_AcceptedEmail_IsNotSentAgain(t *testing.T) {
	t.Parallel()
	cases := map[string]func(string) (string, bool){
		"hangs up after DATA": func(string) (string, bool) { return "250 taken\r\n", false },
		"refuses QUIT": func(step string) (string, bool) {
			if step == "DATA" {
				return "250 taken\r\n", true
			}
			return "500 no\r\n", true
		},
		"never answers QUIT": func(step string) (string, bool) {
			if step == "DATA" {
				return "250 taken\r\n", true
			}
			return "", true
		},
	}
	for name, end := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := sender(t, &mailServer{addr: smtpScript(t, "220 hello\r\n", smtpConversation(end))}, "?tls=none")
			require.NoError(t, s.Send(t.Context(), hello()))
		})
	}
}

func TestSend_UncertainResult_IsRetried(t *testing.T) {
	t.Parallel()
	s := sender(t, &mailServer{addr: smtpScript(t, "220 hello\r\n", smtpConversation(func(string) (string, bool) { return "", false }))}, "?tls=none")
	err := s.Send(t.Context(), hello())
	require.ErrorContains(t, err, "connection lost")
	var permanent *notify.PermanentError
	assert.NotErrorAs(t, err, &permanent)
}

func TestSend_UnreachableServers(t *testing.T) {
	t.Parallel()
	silent := smtpScript(t, "", func(string) (string, bool) { return "", true })
	stuck := smtpScript(t, "220 hello\r\n", smtpConversation(func(string) (string, bool) { return "", true }))
	web := smtpScript(t, "HTTP/1.1 400 Bad Request\r\n\r\n", func(string) (string, bool) { return "", false })
	short := func(c *notify.SMTPConfig) { c.Timeout = 200 * time.Millisecond }
	for name, addr := range map[string]string{"silent": silent, "stuck after DATA": stuck} {
		start := time.Now()
		err := sender(t, &mailServer{addr: addr}, "?tls=none", short).Send(t.Context(), hello())
		require.ErrorIs(t, err, context.DeadlineExceeded, name)
		assert.Less(t, time.Since(start), 5*time.Second)
	}
	require.ErrorContains(t, sender(t, &mailServer{addr: web}, "?tls=none").Check(t.Context()), "not an SMTP server")
	require.ErrorContains(t, sender(t, &mailServer{addr: "127.0.0.1:1"}, "").Check(t.Context()), "connection refused")
	require.ErrorContains(t, sender(t, &mailServer{addr: "mail.invalid:25"}, "").Check(t.Context()), "name not found")

	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(50*time.Millisecond, cancel)
	require.ErrorIs(t, sender(t, &mailServer{addr: silent}, "?tls=none").Send(ctx, hello()), context.Canceled)
}

// TestInlinePicture checks that the image is related to the HTML part, and that the attachment is separate from both.
func TestInlinePicture(t *testing.T) {
	t.Parallel()
	server := serve(t, serverKind{})
	m := hello()
	m.HTML = `<img src="cid:logo">`
	m.Inline = notify.Logo("logo", []byte("a picture"))
	m.Attachments = []notify.Attachment{bytesFile("a.pdf", []byte("%PDF"))}
	require.NoError(t, sender(t, server, "?tls=none").Send(t.Context(), m))
	sent := server.messages()
	require.Len(t, sent, 1)
	text := strings.ReplaceAll(string(sent[0].raw), "\r\n", "\n")
	mixed, related := strings.Index(text, "multipart/mixed"), strings.Index(text, "multipart/related")
	require.Positive(t, mixed)
	require.Greater(t, related, mixed)
	picture := text[strings.Index(text, "Content-Id: <logo>")-200:]
	assert.Contains(t, picture, "Content-Type: image/png")
	assert.Contains(t, picture, "Content-Disposition: inline; filename=logo.png")
	assert.Contains(t, picture, "YSBwaWN0dXJl")
	assert.Less(t, strings.Index(text, "YSBwaWN0dXJl"), strings.Index(text, "a.pdf"))
	require.Nil(t, notify.Logo("logo", nil))
}
