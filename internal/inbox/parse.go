package inbox

import (
	"cmp"
	"errors"
	"fmt"
	"html"
	"io"
	"net/url"
	"regexp"
	"strings"

	"github.com/emersion/go-message"
	_ "github.com/emersion/go-message/charset" // for emails in charsets other than UTF-8
	"github.com/emersion/go-message/mail"
)

const (
	maxDepth = 8       // nesting of multiparts
	maxParts = 200     // leaf parts of one email
	maxText  = 2 << 20 // maximum size of the stored text, and of the stored HTML, in bytes
	maxLinks = 200
)

// parse parses the headers and parts of an email. If the email is malformed, it returns the parts that can be read.
// The stored source is complete.
func parse(r io.Reader) (Message, error) {
	var m Message
	err := walkLeaves(r, func(root mail.Header) {
		m.Subject, _ = root.Subject()
		m.MessageID, _ = root.MessageID()
		if from, _ := root.AddressList("From"); len(from) > 0 {
			m.From, m.FromName = from[0].Address, from[0].Name
		}
	}, m.addLeaf)
	m.Links = links(m.Text, m.HTML)
	return m, err
}

// addLeaf uses the first text part and the first HTML part as the body, and all other parts as attachments.
func (m *Message) addLeaf(leaf *message.Entity) error {
	kind, name, _ := describe(leaf)
	if m.wouldAttach(leaf) {
		size, err := io.Copy(io.Discard, leaf.Body)
		m.Attachments = append(m.Attachments, Attachment{Name: name, ContentType: kind, Size: size})
		return err
	}
	body := &m.Text
	if kind == "text/html" {
		body = &m.HTML
	}
	var err error
	*body, err = readText(leaf.Body)
	return err
}

// wouldAttach reports whether addLeaf treats leaf as an attachment.
func (m *Message) wouldAttach(leaf *message.Entity) bool {
	switch kind, _, attached := describe(leaf); {
	case attached:
		return true
	case kind == "text/plain":
		return m.Text != ""
	case kind == "text/html":
		return m.HTML != ""
	}
	return true
}

// describe returns a leaf's media type and file name, and reports whether it is marked as an attachment.
func describe(leaf *message.Entity) (kind, name string, attached bool) {
	kind, params, err := leaf.Header.ContentType()
	if err != nil || kind == "" {
		kind = "application/octet-stream"
	}
	disposition, _, _ := leaf.Header.ContentDisposition()
	file := mail.AttachmentHeader{Header: leaf.Header}
	name, _ = file.Filename()
	name = cmp.Or(name, params["name"])
	attached = disposition == "attachment" || name != ""
	return strings.ToLower(kind), cmp.Or(name, "unnamed"), attached
}

func readText(r io.Reader) (string, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxText))
	return strings.ReplaceAll(strings.ToValidUTF8(string(data), "\ufffd"), "\r\n", "\n"), err
}

var errTooManyParts = errors.New("inbox: too many parts")

// walkLeaves calls head with the email's header, and leaf with each part that is not a multipart, in order.
func walkLeaves(r io.Reader, head func(mail.Header), leaf func(*message.Entity) error) error {
	root, err := message.Read(r)
	if err != nil && !isUnknownEncoding(err) {
		return fmt.Errorf("inbox: %w", err)
	}
	if head != nil {
		head(mail.Header{Header: root.Header})
	}
	parts := 0
	return walk(root, 0, func(e *message.Entity) error {
		if parts++; parts > maxParts {
			return errTooManyParts
		}
		return leaf(e)
	})
}

func walk(e *message.Entity, depth int, leaf func(*message.Entity) error) error {
	parts := e.MultipartReader()
	if parts == nil || depth == maxDepth {
		return leaf(e)
	}
	for {
		part, err := parts.NextPart()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil && !isUnknownEncoding(err) {
			return fmt.Errorf("inbox: %w", err)
		}
		if err := walk(part, depth+1, leaf); err != nil {
			return err
		}
	}
}

// isUnknownEncoding reports whether err was caused by an unknown charset or encoding. The content is then used without
// decoding.
func isUnknownEncoding(err error) bool {
	return message.IsUnknownCharset(err) || message.IsUnknownEncoding(err)
}

var (
	textLink = regexp.MustCompile(`https?://[^\s<>"'\x60]+`)
	htmlLink = regexp.MustCompile(`(?i)\bhref\s*=\s*(?:"([^"]*)"|'([^']*)')`)
)

// links returns the unique http and https links of a message, in order.
func links(text, markup string) []string {
	out, seen := []string{}, map[string]bool{}
	add := func(s string) {
		u, err := url.Parse(s)
		if err != nil || (u.Scheme != "http" && u.Scheme != "https") || seen[s] || len(out) == maxLinks {
			return
		}
		seen[s] = true
		out = append(out, s)
	}
	for _, s := range textLink.FindAllString(text, -1) {
		add(strings.TrimRight(s, ".,;:!?)]}"))
	}
	for _, match := range htmlLink.FindAllStringSubmatch(markup, -1) {
		add(html.UnescapeString(match[1] + match[2]))
	}
	return out
}
