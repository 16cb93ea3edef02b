package notify_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"countersign/notify"
)

func TestSMTPConfig(t *testing.T) {
	t.Parallel()
	for url, want := range map[string]string{
		"smtp://mail.example.com":                               "smtp mail.example.com:587 (starttls)",
		"smtps://mail.example.com":                              "smtp mail.example.com:465 (implicit)",
		"smtp://mail.example.com?tls=none":                      "smtp mail.example.com:25 (none)",
		"smtp://user:secret@[::1]:2525/?tls=implicit":           "smtp [::1]:2525 (implicit)",
		"smtps://user:secret@mail.example.com:465?tls=implicit": "smtp mail.example.com:465 (implicit)",
	} {
		s, err := notify.NewSMTP(notify.SMTPConfig{URL: url, From: "sign@example.com"})
		require.NoError(t, err, url)
		assert.Equal(t, want, s.String())
	}
	for url, want := range map[string]string{
		"":                                       "scheme",
		"http://mail.example.com":                "scheme",
		"mail.example.com:25":                    "scheme",
		"smtp://":                                "no host",
		"smtp://mail.example.com:0":              "port",
		"smtp://mail.example.com:99999":          "port",
		"smtp://mail.example.com?tls=maybe":      "tls must be",
		"smtp://mail.example.com?starttls=1":     `unknown parameter "starttls"`,
		"smtps://mail.example.com?tls=none":      "smtps implies TLS",
		"smtp://secret@mail.example.com":         "user and password",
		"smtp://:secret@mail.example.com":        "user and password",
		"smtp://user:secret@mail.example.com/x":  "only host",
		"smtp://user:secret%zz@mail.example.com": "parsed",
	} {
		_, err := notify.NewSMTP(notify.SMTPConfig{URL: url, From: "sign@example.com"})
		require.ErrorContains(t, err, want, url)
		assert.NotContains(t, err.Error(), "secret")
	}
	for _, from := range []string{"", "Sign", "sign@", "a@b.c, d@e.f", "sign@[10.0.0.1]"} {
		_, err := notify.NewSMTP(notify.SMTPConfig{URL: "smtp://mail.example.com", From: from})
		require.ErrorContains(t, err, "mail sender", from)
	}
}
