package notify_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"countersign/notify"
)

const number = "+4915112345678"

func gateway(t *testing.T, h http.HandlerFunc) *notify.Twilio {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	tw, err := notify.NewTwilio(strings.Replace(s.URL, "://", "://AC1:t%3Aken@", 1) + "/2010-04-01/Accounts/AC1/Messages.json?From=+15005550006")
	require.NoError(t, err)
	return tw
}

func TestTwilio(t *testing.T) {
	t.Parallel()
	var form url.Values
	var path, account, token string
	tw := gateway(t, func(w http.ResponseWriter, r *http.Request) {
		account, token, _ = r.BasicAuth()
		path = r.URL.String()
		_ = r.ParseForm()
		form = r.PostForm
		w.WriteHeader(http.StatusCreated)
		_, _ = io.WriteString(w, `{"sid":"SM1"}`)
	})
	require.NoError(t, tw.Send(t.Context(), number, "402913 ist Ihr Code – 契約"))
	assert.Equal(t, url.Values{"To": {number}, "From": {"+15005550006"}, "Body": {"402913 ist Ihr Code – 契約"}}, form)
	assert.Equal(t, "AC1", account)
	assert.Equal(t, "t:ken", token)
	assert.Equal(t, "/2010-04-01/Accounts/AC1/Messages.json", path)
	assert.NotContains(t, tw.String(), "ken")
}

func TestTwilioRejections(t *testing.T) {
	t.Parallel()
	const forGood, rejected, server = "for good", "refused", "the server"
	cases := []struct {
		name   string
		status int
		body   string
		kind   string
	}{
		{"invalid number", 400, `{"code":21211,"message":"The 'To' number +4915112345678 is not valid"}`, forGood},
		{"unsubscribed", 400, `{"code":21610}`, forGood},
		{"invalid sender", 400, `{"code":21212}`, rejected},
		{"no reason", 400, `nonsense`, rejected},
		{"wrong token", 401, `{"code":20003}`, rejected},
		{"not found", 404, `{"code":20404}`, rejected},
		{"too many", 429, `{"code":20429}`, rejected},
		{"broken", 500, ``, server},
		{"redirect", 302, ``, server},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			hits := 0
			tw := gateway(t, func(w http.ResponseWriter, _ *http.Request) {
				hits++
				w.Header().Set("Location", "/elsewhere")
				w.WriteHeader(c.status)
				_, _ = io.WriteString(w, c.body)
			})
			err := tw.Send(t.Context(), number, "text")
			require.ErrorContains(t, err, "SMS: rejected with ")
			assert.NotContains(t, err.Error(), "4915")
			kind := server
			if _, ok := errors.AsType[*notify.PermanentError](err); ok {
				kind = forGood
			} else if _, ok := errors.AsType[*notify.RejectedError](err); ok {
				kind = rejected
			}
			assert.Equal(t, c.kind, kind)
			assert.Equal(t, 1, hits)
		})
	}
}

func TestTwilioBadInput(t *testing.T) {
	t.Parallel()
	tw := gateway(t, func(http.ResponseWriter, *http.Request) { t.Error("must not be called") })
	var permanent *notify.PermanentError
	for _, to := range []string{"", "015112345678", "+0151", "+49 151 12345678", "+491511234567890123", "ada@example.com"} {
		require.ErrorAs(t, tw.Send(t.Context(), to, "text"), &permanent, to)
	}
	require.ErrorAs(t, tw.Send(t.Context(), number, ""), &permanent)
	require.ErrorAs(t, tw.Send(t.Context(), number, strings.Repeat("x", 1601)), &permanent)
}

func TestTwilioUnreachable(t *testing.T) {
	t.Parallel()
	tw, err := notify.NewTwilio("http://AC1:token@127.0.0.1:1/2010-04-01/Accounts/AC1/Messages.json?From=Sign")
	require.NoError(t, err)
	err = tw.Send(t.Context(), number, "text")
	require.ErrorContains(t, err, "connection refused")
	assert.NotContains(t, err.Error(), "token")

	slow := gateway(t, func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		<-r.Context().Done()
	})
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	require.ErrorIs(t, slow.Send(ctx, number, "text"), context.DeadlineExceeded)
}

func TestTwilioURL(t *testing.T) {
	t.Parallel()
	const path = "/2010-04-01/Accounts/AC1/Messages.json"
	for raw, want := range map[string]string{
		"":                                       "scheme",
		"ftp://AC1:secret@x" + path + "?From=+1": "scheme",
		"https://AC1:secret@x/other?From=+1":     "expected",
		"https://x" + path + "?From=+1":          "account and token",
		"https://AC1@x" + path + "?From=+1":      "account and token",
		"https://AC1:secret@x" + path:            "From or MessagingServiceSid",
		"https://AC1:secret@x" + path + "?From=a&MessagingServiceSid=b": "From or MessagingServiceSid",
		"https://AC1:secret%zz@x" + path:                                "parsed",
	} {
		_, err := notify.NewTwilio(raw)
		require.ErrorContains(t, err, want, raw)
		assert.NotContains(t, err.Error(), "secret")
	}
	_, err := notify.NewTwilio("https://AC1:secret@x" + path + "?MessagingServiceSid=MG1")
	require.NoError(t, err)
}
