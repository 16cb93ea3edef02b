package notify

import (
	"context"
	"errors"
	"fmt"
	"net/textproto"
	"regexp"
	"strconv"
	"strings"
	"unicode"

	gomail "github.com/wneessen/go-mail"

	"countersign/internal/netfail"
)

// Errors contain no personal data, so addresses are removed from a server's responses (RFC 5321 §4.2, RFC 3463).

// ServerError is a problem that is not specific to one message. It wraps a response of the mail server, or the reason
// why there was none. Use errors.As to detect it.
type ServerError struct{ Err error }

// Error returns the cause. It contains no address and no name of a person.
func (s *ServerError) Error() string { return s.Err.Error() }

// Unwrap returns the cause.
func (s *ServerError) Unwrap() error { return s.Err }

var enhancedCode = regexp.MustCompile(`\b[245]\.\d{1,3}\.\d{1,3}\b`)

// connectFailure returns the reason why no authenticated connection was established. The error is never permanent,
// because the configuration or the server can be fixed. It contains neither the login nor the password.
func connectFailure(ctx context.Context, err error, login, password string) error {
	if err = describeConnection(ctx, err, login, password); ctx.Err() != nil {
		return err
	}
	return &ServerError{err}
}

// oauthFailure returns the reason why no access token was obtained. Like a failure to connect, the error is never
// permanent.
func oauthFailure(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return fmt.Errorf("mail server: %w", ctx.Err())
	}
	return &ServerError{fmt.Errorf("mail server: %w", err)}
}

// rejected reports whether err is a permanent (5xx) response of the server.
func rejected(err error) bool {
	answer, ok := errors.AsType[*textproto.Error](err)
	return ok && answer.Code >= 500
}

func describeConnection(ctx context.Context, err error, private ...string) error {
	var answer *textproto.Error
	var protocol textproto.ProtocolError
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("mail server: %w", ctx.Err())
	case errors.As(err, &answer):
		return fmt.Errorf("mail server: rejected with %s", smtpAnswer(answer.Code, enhancedCode.FindString(answer.Msg), answer.Msg, private...))
	case errors.As(err, &protocol):
		return errors.New("mail server: not an SMTP server")
	}
	if cause := netfail.CauseOf(err); cause != netfail.Unknown {
		return fmt.Errorf("mail server: %s", cause)
	}
	// The error is the library's own, which reports, for example, that the server does not offer TLS or AUTH.
	return fmt.Errorf("mail server: %w", err)
}

// sendFailure returns the reason why the server did not accept the email to an address. The parameter attached reports
// whether the email has attachments.
func sendFailure(ctx context.Context, err error, recipient string, attached bool) error {
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
		return &ServerError{errors.New("mail: connection lost while sending")}
	default:
		return errors.New("mail: not sent")
	}
	code, enhanced := failed.ErrorCode(), failed.EnhancedStatusCode()
	if code == 0 {
		return &ServerError{fmt.Errorf("mail: connection lost at the %s", step)}
	}
	err = rejection(fmt.Errorf("mail: %s rejected with %s", step, smtpAnswer(code, enhanced, serverLine(failed), recipient)), step, code, enhanced)
	if attached && (code == 552 || enhanced == "5.3.4" || enhanced == "5.2.3") {
		return &TooLargeError{err}
	}
	return err
}

// rejection wraps the error that describes a server's response.
func rejection(err error, step string, code int, enhanced string) error {
	switch {
	case step == stepSender, code == 421, strings.HasPrefix(enhanced, "4.3."):
		return &ServerError{err} // the server rejects all emails from the service, at least temporarily
	case final(step, code, enhanced):
		return &PermanentError{err}
	}
	return &RejectedError{err}
}

// The steps at which the server can reject an email.
const (
	stepSender    = "sender"
	stepRecipient = "recipient"
	stepMessage   = "message"
)

// final reports whether a response means that this address, or this message, will never be accepted. Servers also use
// 5xx codes for problems that can be fixed: with the sender, the login or a quota. They report many of these only after
// RCPT or DATA.
func final(step string, code int, enhanced string) bool {
	if code < 500 {
		return false
	}
	if enhanced == "" || strings.HasPrefix(enhanced, "5.0.") {
		return step == stepRecipient && code >= 550 // other codes concern commands and the login
	}
	switch enhanced {
	case "5.1.7", "5.1.8", "5.2.252": // the sender's address; 5.2.252 is Microsoft's SendAsDenied
		return false
	case "5.1.0", "5.2.0", "5.6.0": // the response does not specify the kind of failure
		return step == stepRecipient
	}
	subject := enhanced[:strings.LastIndexByte(enhanced, '.')]
	return subject == "5.1" || subject == "5.2" || subject == "5.6"
}

// serverLine returns the server's response, which the library provides only within an error message.
func serverLine(failed *gomail.SendError) string {
	line := strings.TrimPrefix(failed.Error(), failed.Reason.String()+": ")
	for _, own := range []string{", affected recipient(s): ", ", affected message ID: "} {
		line, _, _ = strings.Cut(line, own)
	}
	if at := strings.IndexByte(line, '"'); at >= 0 { // textproto quotes the response
		if said, err := strconv.Unquote(line[at:]); err == nil {
			return said
		}
	}
	return line
}

// maxServerLine is the maximum length of the stored part of a server's response, in characters.
const maxServerLine = 200

var (
	addressInLine = regexp.MustCompile(`<[^<>]*>|[^\s<>"'(),;:=]+@[^\s<>"'(),;]+`)
	codesInLine   = regexp.MustCompile(`(?m)^[2-5]\d\d[ -]?|\b[245]\.\d{1,3}\.\d{1,3}\b ?`)
)

// smtpAnswer returns the codes and the text of a response on one line. It removes anything that looks like an address.
// It also removes the given private values, which are logins, passwords and the local parts of addresses.
func smtpAnswer(code int, enhanced, line string, private ...string) string {
	codes := strings.TrimSpace(fmt.Sprintf("%d %s", code, enhanced))
	line = codesInLine.ReplaceAllString(addressInLine.ReplaceAllString(line, "[address]"), "")
	for _, private := range private {
		if local, _, _ := strings.Cut(private, "@"); local != "" {
			line = regexp.MustCompile(`(?i)(^|[^\pL\pN])`+regexp.QuoteMeta(local)+`($|[^\pL\pN])`).ReplaceAllString(line, "${1}[address]${2}")
		}
	}
	if line = oneLine(line); line == "" {
		return codes
	}
	return codes + ": " + line
}

// oneLine returns a server's text as one line of limited length.
func oneLine(said string) string {
	line := strings.Join(strings.FieldsFunc(said, func(r rune) bool { return unicode.IsSpace(r) || !unicode.IsPrint(r) }), " ")
	if runes := []rune(line); len(runes) > maxServerLine {
		line = strings.TrimSpace(string(runes[:maxServerLine])) + "…"
	}
	return line
}
