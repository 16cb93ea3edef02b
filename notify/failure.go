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

// sendFailure describes why the server did not take the mail, which may have attachments.
func sendFailure(ctx context.Context, err error, attached bool) error {
	if ctx.Err() != nil {
		return fmt.Errorf("mail: %w", ctx.Err())
	}
	failed, ok := errors.AsType[*gomail.SendError](err)
	if !ok {
		return errors.New("mail: not sent")
	}
	var step string
	switch failed.Reason {
	case gomail.ErrSMTPMailFrom:
		step = stepSender
	case gomail.ErrSMTPRcptTo:
		step = stepRecipient
	case gomail.ErrSMTPData, gomail.ErrSMTPDataClose:
		step = stepMessage
	case gomail.ErrWriteContent, gomail.ErrConnCheck:
		return errors.New("mail: connection lost while sending")
	default:
		return errors.New("mail: not sent")
	}
	code, enhanced := failed.ErrorCode(), failed.EnhancedStatusCode()
	if code == 0 {
		return fmt.Errorf("mail: connection lost at the %s", step)
	}
	err = refusal(fmt.Errorf("mail: %s refused with %s", step, smtpCodes(code, enhanced)), step, code, enhanced)
	if attached && (code == 552 || enhanced == "5.3.4" || enhanced == "5.2.3") {
		return &TooLargeError{err}
	}
	return err
}

// refusal marks the error of an answer of the server.
func refusal(err error, step string, code int, enhanced string) error {
	switch {
	case step == stepSender, code == 421, strings.HasPrefix(enhanced, "4.3."):
		return err // the server takes no mails of ours, or none at the moment
	case final(step, code, enhanced):
		return &PermanentError{err}
	}
	return &RefusedError{err}
}

// At what the server refuses a mail.
const (
	stepSender    = "sender"
	stepRecipient = "recipient"
	stepMessage   = "message"
)

// final reports whether an answer says that this address, or this message, will never be
// taken. Servers answer by 5xx also what concerns the sender, the login or a quota, and many
// do so only after RCPT or DATA: that can be mended.
func final(step string, code int, enhanced string) bool {
	if code < 500 {
		return false
	}
	if enhanced == "" || strings.HasPrefix(enhanced, "5.0.") {
		return step == stepRecipient && code >= 550 // the others are about commands and the login
	}
	switch enhanced {
	case "5.1.7", "5.1.8", "5.2.252": // the sender's address; Microsoft's SendAsDenied
		return false
	case "5.1.0", "5.2.0", "5.6.0": // of what kind is not said
		return step == stepRecipient
	}
	subject := enhanced[:strings.LastIndexByte(enhanced, '.')]
	return subject == "5.1" || subject == "5.2" || subject == "5.6"
}

func smtpCodes(code int, enhanced string) string {
	return strings.TrimSpace(fmt.Sprintf("%d %s", code, enhanced))
}
