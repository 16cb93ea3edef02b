package notify

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"mime"
	netmail "net/mail"
	"net/textproto"
	"regexp"
	"strings"
	"unicode/utf8"

	gomail "github.com/wneessen/go-mail"
	"golang.org/x/net/idna"

	"countersign/internal/plaintext"
)

const (
	maxAddress     = 254 // bytes, RFC 5321 §4.5.3.1.3 less the angle brackets
	maxHeaderText  = 255 // characters
	maxFileName    = 180 // bytes, so that with RFC 2231 encoding a header line stays below 998
	maxAttachments = 100
	encodedSize    = 36 // bytes of text in one encoded word, which takes 60 of the 76 characters of a line
)

// messageID matches the subset of RFC 5322 §3.6.4 that needs no folding or quoting.
var messageID = regexp.MustCompile(`^[A-Za-z0-9!#$%&'*+/=?^_{|}~.-]{1,128}@[A-Za-z0-9.-]{1,253}$`)

// outgoing is a composed email with open attachments.
type outgoing struct {
	msg     *gomail.Msg
	utf8    bool // the local part of the recipient's address requires SMTPUTF8
	readers []*attachmentReader
}

type attachmentReader struct {
	io.ReadCloser
	err error
}

func (o *outgoing) close() {
	for _, r := range o.readers {
		_ = r.Close() // the file was read completely or is abandoned
	}
}

func (o *outgoing) readErr() error {
	for _, r := range o.readers {
		if r.err != nil {
			return r.err
		}
	}
	return nil
}

func (s *SMTP) compose(ctx context.Context, m Mail) (*outgoing, error) {
	to, _, err := asciiDomain(m.To.Email)
	if err != nil {
		return nil, &PermanentError{fmt.Errorf("recipient: %w", err)}
	}
	if !messageID.MatchString(m.MessageID) {
		return nil, &PermanentError{errors.New("malformed Message-ID")}
	}
	from := s.from
	if name := headerText(m.FromName); name != "" {
		from.Name = name
	}
	msg := gomail.NewMsg(gomail.WithNoDefaultUserAgent())
	msg.FromMailAddress(&from)
	msg.ToMailAddress(&netmail.Address{Name: headerText(m.To.Name), Address: to})
	if m.ReplyTo != "" {
		address, _, err := asciiDomain(m.ReplyTo)
		if err != nil {
			return nil, &PermanentError{fmt.Errorf("reply-to: %w", err)}
		}
		msg.SetAddrHeaderFromMailAddress(gomail.HeaderReplyTo, &netmail.Address{Name: from.Name, Address: address})
	}
	setSubject(msg, headerText(m.Subject))
	msg.SetMessageIDWithValue(m.MessageID)
	msg.SetGenHeader("Auto-Submitted", "auto-generated") // RFC 3834 §5
	if err := setThread(msg, m); err != nil {
		return nil, err
	}
	if s.now != nil {
		msg.SetDateWithValue(s.now().UTC())
	}
	msg.SetBodyString(gomail.TypeTextPlain, m.Text)
	if m.HTML != "" {
		msg.AddAlternativeString(gomail.TypeTextHTML, m.HTML)
	}
	msg.SetEmbeds(embeds(m.Inline))
	out := &outgoing{msg: msg, utf8: !ascii(to)}
	if err := out.attach(ctx, m.Attachments); err != nil {
		out.close()
		return nil, err
	}
	return out, nil
}

// listAddress matches URLs that need no escaping in List-Unsubscribe (RFC 2369 §2) and that fit into a header line that
// servers accept.
var listAddress = regexp.MustCompile(`^https?://[A-Za-z0-9._~:/?#@!$&'*+;=%\[\]-]{1,900}$`)

// setThread sets the headers that email programs use to group emails into a thread (RFC 5322 §3.6.4) and to offer to
// unsubscribe (RFC 2369, RFC 8058).
func setThread(msg *gomail.Msg, m Mail) error {
	if m.Thread != "" {
		if !messageID.MatchString(m.Thread) {
			return &PermanentError{errors.New("malformed Message-ID of the thread")}
		}
		msg.SetGenHeaderPreformatted(gomail.HeaderInReplyTo, "<"+m.Thread+">")
		msg.SetGenHeaderPreformatted(gomail.HeaderReferences, "<"+m.Thread+">")
	}
	if m.UnsubscribeURL != "" {
		if !listAddress.MatchString(m.UnsubscribeURL) {
			return &PermanentError{errors.New("malformed unsubscribe address")}
		}
		msg.SetGenHeaderPreformatted(gomail.HeaderListUnsubscribe, "<"+m.UnsubscribeURL+">")
		msg.SetGenHeaderPreformatted(gomail.HeaderListUnsubscribePost, "List-Unsubscribe=One-Click")
	}
	return nil
}

// embeds returns the images of the HTML as related parts (RFC 2392).
func embeds(all []Inline) []*gomail.File {
	files := make([]*gomail.File, 0, len(all))
	for _, p := range all {
		f := file(p.Name, p.ContentType, "inline")
		f.Header.Set("Content-Id", "<"+p.ID+">")
		f.Writer = func(w io.Writer) (int64, error) {
			n, err := w.Write(p.Content)
			return int64(n), err
		}
		files = append(files, f)
	}
	return files
}

// file returns an email part for a file, without the file's content.
func file(name, contentType, disposition string) *gomail.File {
	return &gomail.File{Name: name, Header: textproto.MIMEHeader{
		"Content-Type":        {contentType},
		"Content-Disposition": {mime.FormatMediaType(disposition, map[string]string{"filename": name})},
	}}
}

// setSubject writes the subject so that its first word is on the same line as the header's name. Some email programs
// interpret a fold immediately after the colon as a leading space.
func setSubject(msg *gomail.Msg, subject string) {
	first, _, _ := strings.Cut(subject, " ")
	if ascii(subject) && len(first) < encodedSize {
		msg.Subject(subject)
		return
	}
	var words []string
	for subject != "" {
		n := min(len(subject), encodedSize)
		for n < len(subject) && !utf8.RuneStart(subject[n]) {
			n--
		}
		words = append(words, "=?utf-8?b?"+base64.StdEncoding.EncodeToString([]byte(subject[:n]))+"?=") // RFC 2047 §4.1
		subject = subject[n:]
	}
	msg.SetGenHeaderPreformatted(gomail.HeaderSubject, strings.Join(words, "\r\n "))
}

// attach opens all files before the connection is established, so that no connection is wasted if a file cannot be
// opened.
func (o *outgoing) attach(ctx context.Context, attachments []Attachment) error {
	if len(attachments) > maxAttachments {
		return &PermanentError{fmt.Errorf("more than %d attachments", maxAttachments)}
	}
	files := make([]*gomail.File, 0, len(attachments))
	for i, a := range attachments {
		body, err := a.Open(ctx)
		if err != nil {
			return fmt.Errorf("open attachment %d: %w", i+1, err)
		}
		r := &attachmentReader{ReadCloser: body}
		o.readers = append(o.readers, r)
		kind := a.ContentType
		if _, _, err := mime.ParseMediaType(kind); err != nil {
			kind = "application/octet-stream"
		}
		f := file(fileName(a.Name), kind, "attachment")
		f.Writer = func(w io.Writer) (int64, error) {
			n, err := io.Copy(w, r)
			if err != nil {
				r.err = err
			}
			return n, err
		}
		files = append(files, f)
	}
	o.msg.SetAttachments(files)
	return nil
}

// asciiDomain validates a bare addr-spec and converts its domain to the ASCII form that every server supports (RFC
// 5891). The errors do not contain the address.
func asciiDomain(addr string) (spec, domain string, err error) {
	if len(addr) > maxAddress {
		return "", "", errors.New("address too long")
	}
	parsed, err := netmail.ParseAddress("<" + addr + ">")
	if err != nil {
		return "", "", errors.New("malformed address")
	}
	local := parsed.Address[:strings.LastIndexByte(parsed.Address, '@')]
	domain, err = idna.Lookup.ToASCII(parsed.Address[len(local)+1:])
	if err != nil || domain == "" {
		return "", "", errors.New("malformed domain in address")
	}
	return local + "@" + domain, domain, nil
}

func ascii(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r >= utf8.RuneSelf })
}

// headerText returns s as a single line of limited length for a header. The line contains no sequence that would be
// decoded as an encoded word (RFC 2047).
func headerText(s string) string {
	return plaintext.Cut(strings.ReplaceAll(plaintext.Line(s), "=?", "= ?"), maxHeaderText)
}

// fileName returns a file name that is safe to save, with the extension of the original name.
func fileName(name string) string {
	name = strings.Map(func(r rune) rune {
		if strings.ContainsRune(`/\:*?"<>|`, r) {
			return '_'
		}
		return r
	}, headerText(name))
	name = strings.TrimLeft(name, ". ")
	if name == "" {
		return "document"
	}
	if len(name) <= maxFileName {
		return name
	}
	ext := ""
	if i := strings.LastIndexByte(name, '.'); i > 0 && len(name)-i <= 10 {
		ext = name[i:]
	}
	stem := name[:maxFileName-len(ext)]
	for !utf8.ValidString(stem) {
		stem = stem[:len(stem)-1]
	}
	return strings.TrimSpace(stem) + ext
}
