// Package inbox is a mailbox for development and tests. An SMTP listener and a Twilio-compatible endpoint store
// received messages, and a web page and a JSON API show them. Nothing is delivered.
package inbox

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

const (
	maxMessages = 1000
	maxMessage  = 40 << 20 // bytes of one received email
	maxTotal    = 1 << 30  // bytes of all stored emails

	maxBeginning = 120 // characters of a text message in a summary
)

// Kind distinguishes emails from text messages.
type Kind string

// The kinds of messages.
const (
	KindMail Kind = "mail"
	KindSMS  Kind = "sms"
)

// Message is a message in the API's format.
type Message struct {
	// ID increases with each message. It is the time of receipt in microseconds, with 16 digits.
	ID          string       `json:"id"`
	Kind        Kind         `json:"kind"`
	From        string       `json:"from"` // bare address or phone number
	FromName    string       `json:"fromName,omitempty"`
	To          []string     `json:"to"` // bare addresses from the SMTP envelope, or the phone number
	Subject     string       `json:"subject"`
	Date        time.Time    `json:"date"` // time of receipt in UTC
	MessageID   string       `json:"messageId,omitempty"`
	Size        int64        `json:"size"` // bytes as received
	Text        string       `json:"text"`
	HTML        string       `json:"html"`
	Links       []string     `json:"links"`
	Attachments []Attachment `json:"attachments"`
}

// Attachment is a file attached to an email.
type Attachment struct {
	Name        string `json:"name"`
	ContentType string `json:"contentType"`
	Size        int64  `json:"size"`
	URL         string `json:"url"` // relative to the inbox's address
}

// Inbox stores the newest messages, up to 1000 messages and 1 GiB. A directory contains two files for each message:
// <id>.eml with the email as received (emails only) and <id>.json with the message as shown. An Inbox is safe for
// concurrent use by one process.
type Inbox struct {
	dir string
	now func() time.Time

	mu    sync.Mutex
	index []Message // oldest first, as returned by summary
	total int64
	last  int64 // newest ID, in microseconds
}

// Open reads the messages stored in dir. It creates dir if it does not exist.
func Open(dir string, now func() time.Time) (*Inbox, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("inbox: %w", err)
	}
	entries, err := os.ReadDir(dir) // sorted by name, and thus by age
	if err != nil {
		return nil, fmt.Errorf("inbox: %w", err)
	}
	b := &Inbox{dir: dir, now: now}
	for _, e := range entries {
		name := e.Name()
		if strings.HasPrefix(name, temporary) {
			_ = os.Remove(filepath.Join(dir, name)) // left over from a crash, and never acknowledged
			continue
		}
		id, ok := strings.CutSuffix(name, ".json")
		if !ok || !validID(id) {
			continue
		}
		m, err := b.read(id)
		if err != nil {
			continue // an unreadable message must not prevent the start
		}
		b.addToIndex(m)
	}
	b.prune()
	return b, nil
}

const temporary = "incoming-"

func validID(id string) bool {
	return len(id) == 16 && strings.Trim(id, "0123456789") == ""
}

// summary returns m without its text, HTML and links. It keeps the beginning of a text message, which has no subject.
func summary(m Message) Message {
	beginning := ""
	if m.Kind == KindSMS {
		beginning = m.Text
		if runes := []rune(m.Text); len(runes) > maxBeginning {
			beginning = string(runes[:maxBeginning])
		}
	}
	m.Text, m.HTML, m.Links = beginning, "", nil
	return withoutNulls(m)
}

// withoutNulls replaces nil slices with empty ones, so that they are not encoded as null.
func withoutNulls(m Message) Message {
	if m.To == nil {
		m.To = []string{}
	}
	if m.Links == nil {
		m.Links = []string{}
	}
	if m.Attachments == nil {
		m.Attachments = []Attachment{}
	}
	return m
}

func (b *Inbox) addToIndex(m Message) {
	b.index = append(b.index, summary(m))
	b.total += m.Size
	micros, _ := strconv.ParseInt(m.ID, 10, 64) // 16 digits
	b.last = max(b.last, micros)
}

// prune removes the oldest messages until no limit is exceeded.
func (b *Inbox) prune() {
	for len(b.index) > maxMessages || b.total > maxTotal && len(b.index) > 1 {
		b.remove(b.index[0].ID)
		b.total -= b.index[0].Size
		b.index = b.index[1:]
	}
}

func (b *Inbox) remove(id string) {
	_ = os.Remove(b.path(id, ".json")) // a missing file is not an error
	_ = os.Remove(b.path(id, ".eml"))
}

func (b *Inbox) path(id, ext string) string { return filepath.Join(b.dir, id+ext) }

// add assigns an ID to m and stores it. A nonempty source is the path of a file that add moves into the inbox as the
// message's source.
func (b *Inbox) add(m Message, source string) (Message, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	m.Date = b.now().UTC()
	m.ID = fmt.Sprintf("%016d", max(m.Date.UnixMicro(), b.last+1))
	for i := range m.Attachments {
		m.Attachments[i].URL = fmt.Sprintf("/api/messages/%s/attachments/%d", m.ID, i)
	}
	if source != "" {
		if err := os.Rename(source, b.path(m.ID, ".eml")); err != nil {
			return Message{}, fmt.Errorf("inbox: %w", err)
		}
	}
	if err := b.write(m); err != nil {
		b.remove(m.ID)
		return Message{}, fmt.Errorf("inbox: %w", err)
	}
	b.addToIndex(m)
	b.prune()
	return m, nil
}

// write stores m atomically, so that a crash does not leave a partial message.
func (b *Inbox) write(m Message) error {
	data, err := json.Marshal(m)
	if err != nil {
		return err
	}
	path := filepath.Join(b.dir, temporary+m.ID)
	if err := os.WriteFile(path, data, 0o600); err != nil {
		return err
	}
	return os.Rename(path, b.path(m.ID, ".json"))
}

func (b *Inbox) read(id string) (Message, error) {
	var m Message
	data, err := os.ReadFile(b.path(id, ".json"))
	if err != nil {
		return m, err
	}
	if err := json.Unmarshal(data, &m); err != nil {
		return m, err
	}
	if m.ID != id {
		return m, errors.New("inbox: the file contains a different message")
	}
	return withoutNulls(m), nil
}

// Filter selects messages. Zero fields match all messages.
type Filter struct {
	To    string // recipient, case-insensitive
	Kind  Kind
	After string // ID; only newer messages match
	Limit int    // maximum number of messages, or 0 for 100
}

// List returns the summaries of the matching messages, newest first.
func (b *Inbox) List(f Filter) []Message {
	b.mu.Lock()
	defer b.mu.Unlock()
	out := []Message{}
	for _, m := range slices.Backward(b.index) {
		if m.ID <= f.After || len(out) == cmp.Or(f.Limit, 100) {
			break
		}
		sent := f.To == "" || slices.ContainsFunc(m.To, func(to string) bool { return strings.EqualFold(to, f.To) })
		if sent && (f.Kind == "" || m.Kind == f.Kind) {
			out = append(out, m)
		}
	}
	return out
}

// Get returns a complete message. The error wraps fs.ErrNotExist if the message does not exist.
func (b *Inbox) Get(id string) (Message, error) {
	if !validID(id) {
		return Message{}, fs.ErrNotExist
	}
	return b.read(id)
}

// Source opens the unmodified source of an email. The error wraps fs.ErrNotExist if the email does not exist.
func (b *Inbox) Source(id string) (io.ReadCloser, error) {
	if !validID(id) {
		return nil, fs.ErrNotExist
	}
	return os.Open(b.path(id, ".eml"))
}

// Clear removes all messages. Their IDs are not reused.
func (b *Inbox) Clear() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, m := range b.index {
		b.remove(m.ID)
	}
	b.index, b.total = nil, 0
}
