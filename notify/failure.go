package notify

import (
	"context"
	"errors"
	"fmt"
	"net/textproto"
	"regexp"
	"strings"

	gomail "github.com/wneessen/go-mail"

	"countersign/internal/netfail"
)

// What a server says often quotes addresses, so that of its answers only the
// status codes are kept (RFC 5321 §4.2, RFC 3463).

var enhancedCode = regexp.MustCompile(`\b[245]\.\d{1,3}\.\d{1,3}\b`)

// connectFailure describes why no authenticated connection was had. It is never
// permanent: the configuration or the server can be mended meanwhile.
func connectFailure(ctx context.Context, err error) error {
	var answer *textproto.Error
	var protocol textproto.ProtocolError
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("mail server: %w", ctx.Err())
	case errors.As(err, &answer):
		return fmt.Errorf("mail server: refused with %s", smtpCodes(answer.Code, enhancedCode.FindString(answer.Msg)))
	case errors.As(err, &protocol):
		return errors.New("mail server: does not speak SMTP")
	}
	if cause := netfail.CauseOf(err); cause != netfail.Unknown {
		return fmt.Errorf("mail server: %s", cause)
	}
	return fmt.Errorf("mail server: %w", err) // the library's own words: no TLS or no AUTH on offer
}

// sendFailure describes why the server did not take the mail.
func sendFailure(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return fmt.Errorf("mail: %w", ctx.Err())
	}
	failed, ok := errors.AsType[*gomail.SendError](err)
	if !ok {
		return errors.New("mail: not sent")
	}
	var step string
	var final bool
	switch failed.Reason {
	case gomail.ErrSMTPMailFrom:
		step = "sender" // a matter of configuration: worth a retry
	case gomail.ErrSMTPRcptTo:
		step, final = "recipient", true
	case gomail.ErrSMTPData, gomail.ErrSMTPDataClose:
		step, final = "message", true
	case gomail.ErrWriteContent, gomail.ErrConnCheck:
		return errors.New("mail: connection lost while sending")
	default:
		return errors.New("mail: not sent")
	}
	code := failed.ErrorCode()
	if code == 0 {
		return fmt.Errorf("mail: connection lost at the %s", step)
	}
	err = fmt.Errorf("mail: %s refused with %s", step, smtpCodes(code, failed.EnhancedStatusCode()))
	if final && code >= 500 {
		return &PermanentError{err}
	}
	return err
}

func smtpCodes(code int, enhanced string) string {
	return strings.TrimSpace(fmt.Sprintf("%d %s", code, enhanced))
}
