package notify

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"time"
	"unicode/utf8"

	"countersign/internal/netfail"
)

const (
	maxSMS        = 1600 // characters, the limit of Twilio's Body
	maxSMSAnswer  = 64 << 10
	twilioTimeout = 15 * time.Second
)

var e164 = regexp.MustCompile(`^\+[1-9]\d{6,14}$`)

// SMS sends text messages. Send sends a message to a telephone number in E.164 format. It returns a *PermanentError if
// a retry cannot succeed, and a *RejectedError if the server rejected this message for a reason that may be temporary
// or can be fixed. The error does not contain the number.
type SMS interface {
	Send(ctx context.Context, to, text string) error
}

// Twilio sends text messages through the Messages resource of Twilio or a compatible server. It is safe for concurrent
// use.
type Twilio struct {
	endpoint       string
	account, token string
	sender         url.Values
	client         *http.Client
}

// NewTwilio parses a URL of the form
//
//	https://SID:TOKEN@host/2010-04-01/Accounts/SID/Messages.json?From=%2B15005550006
//
// The user and password are the account SID and its token, or an API key and its secret. The query contains either
// From, which is a number or sender name, or MessagingServiceSid. A "+" in From need not be escaped. Plain http is
// accepted for gateways in the same network. Redirects are never followed. The errors do not contain the URL, because
// it includes the token.
func NewTwilio(rawURL string) (*Twilio, error) {
	u, err := url.Parse(strings.ReplaceAll(rawURL, "=+", "=%2B"))
	if err != nil {
		return nil, errors.New("SMS URL: cannot be parsed")
	}
	token, ok := u.User.Password()
	q := u.Query()
	from, service := q.Get("From"), q.Get("MessagingServiceSid")
	switch {
	case u.Scheme != "https" && u.Scheme != "http":
		return nil, errors.New("SMS URL: the scheme must be https or http")
	case u.Hostname() == "" || !strings.HasSuffix(u.Path, "/Messages.json"):
		return nil, errors.New("SMS URL: expected https://SID:TOKEN@host/2010-04-01/Accounts/SID/Messages.json?From=…")
	case !ok || u.User.Username() == "" || token == "":
		return nil, errors.New("SMS URL: account and token are missing")
	case (from == "") == (service == ""):
		return nil, errors.New("SMS URL: From or MessagingServiceSid is required")
	}
	t := &Twilio{account: u.User.Username(), token: token, sender: url.Values{"From": {from}}}
	if from == "" {
		t.sender = url.Values{"MessagingServiceSid": {service}}
	}
	u.User, u.RawQuery, u.Fragment = nil, "", ""
	t.endpoint = u.String()
	t.client = &http.Client{
		Timeout:       twilioTimeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return t, nil
}

// String returns the address of the server, without the credentials.
func (t *Twilio) String() string { return "sms " + t.endpoint }

// Send posts one message. It returns nil if the server accepted the message for sending.
func (t *Twilio) Send(ctx context.Context, to, text string) error {
	switch {
	case !e164.MatchString(to):
		return &PermanentError{errors.New("SMS: the number is not in E.164 form")}
	case text == "" || utf8.RuneCountInString(text) > maxSMS:
		return &PermanentError{fmt.Errorf("SMS: the text is empty or longer than %d characters", maxSMS)}
	}
	form := url.Values{"To": {to}, "Body": {text}}
	maps.Copy(form, t.sender)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, t.endpoint, strings.NewReader(form.Encode()))
	if err != nil {
		return errors.New("SMS: malformed URL")
	}
	req.SetBasicAuth(t.account, t.token)
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.Header.Set("Accept", "application/json")
	res, err := t.client.Do(req)
	if err != nil {
		return smsFailure(ctx, err)
	}
	defer func() { _ = res.Body.Close() }()
	body, _ := io.ReadAll(io.LimitReader(res.Body, maxSMSAnswer)) // the error is ignored, because the body only explains the status
	if res.StatusCode >= 200 && res.StatusCode <= 299 {
		return nil
	}
	var rejection struct {
		Code int `json:"code"`
	}
	_ = json.Unmarshal(body, &rejection)
	err = fmt.Errorf("SMS: rejected with %d (code %d)", res.StatusCode, rejection.Code)
	switch {
	case res.StatusCode == http.StatusBadRequest && recipientErrorCodes(rejection.Code):
		return &PermanentError{err}
	case res.StatusCode >= 400 && res.StatusCode <= 499:
		return &RejectedError{err}
	}
	return err
}

// recipientErrorCodes reports whether one of Twilio's error codes concerns this telephone number or message. Other
// codes concern the account or the sender and can be fixed.
func recipientErrorCodes(code int) bool {
	switch code {
	case 21211, 21214, 21217, 21604, 21610, 21612, 21614, 21617, 21635:
		return true
	}
	return false
}

func smsFailure(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return fmt.Errorf("SMS: %w", ctx.Err())
	}
	if cause := netfail.CauseOf(err); cause != netfail.Unknown {
		return fmt.Errorf("SMS server: %s", cause)
	}
	return errors.New("SMS server: no response")
}
