package seal

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// auditEvent is the part of an event of the audit chain that is printed.
type auditEvent struct {
	Seq       int            `json:"seq"`
	Event     string         `json:"event"`
	Timestamp time.Time      `json:"timestamp"`
	Actor     string         `json:"actor"`
	IP        string         `json:"ip"`
	UserAgent string         `json:"userAgent"`
	Detail    map[string]any `json:"detail"`
	PrevHash  string         `json:"prevHash"`
	Hash      string         `json:"hash"`
}

func parseEvents(raw []json.RawMessage) ([]auditEvent, error) {
	events := make([]auditEvent, len(raw))
	for i, r := range raw {
		if err := json.Unmarshal(r, &events[i]); err != nil {
			return nil, fmt.Errorf("seal: event %d of the audit chain: %w", i+1, err)
		}
	}
	return events, nil
}

// words says in plain words what an event means.
//
//nolint:gochecknoglobals // a constant table
var words = map[string]string{
	"envelope.created":    "Envelope created",
	"document.added":      "Document added",
	"signer.added":        "Signer added",
	"field.added":         "Field placed",
	"envelope.sent":       "Envelope sent for signature",
	"invitation.sent":     "Invitation sent",
	"invitation.failed":   "Invitation could not be delivered",
	"reminder.sent":       "Reminder sent",
	"signer.viewed":       "Signing link opened",
	"otp.requested":       "Verification code requested",
	"otp.verified":        "Verification code confirmed",
	"signer.otp_failed":   "Wrong verification code entered three times",
	"consent.given":       "Consent to sign electronically given",
	"page_viewed":         "Page viewed",
	"signer.signed":       "Signed",
	"signer.declined":     "Declined to sign",
	"envelope.declined":   "Envelope declined",
	"envelope.voided":     "Envelope voided",
	"envelope.expired":    "Envelope expired",
	"document.sealed":     "Document sealed",
	"sealing.failed":      "Sealing failed and was tried again",
	"envelope.completed":  "Envelope completed",
	"document.downloaded": "Sealed document downloaded",
	"document.purged":     "Files deleted after the retention period",
}

func describe(e auditEvent) string {
	s, ok := words[e.Event]
	if !ok {
		s = e.Event
	}
	number := func(key string) (int, bool) {
		n, ok := e.Detail[key].(float64)
		return int(n), ok && n >= 0 && n < 1e9
	}
	switch e.Event {
	case "page_viewed":
		if p, ok := number("page"); ok {
			s = fmt.Sprintf("Page %d viewed", p)
		}
		if ms, ok := number("dwellMs"); ok && ms >= 1000 {
			s += fmt.Sprintf(" for %d s", ms/1000)
		}
	case "invitation.sent", "invitation.failed", "reminder.sent", "otp.requested":
		if ch, ok := e.Detail["channel"].(string); ok {
			s += " by " + map[string]string{"email": "e-mail", "sms": "text message"}[ch]
			s = strings.TrimSuffix(s, " by ")
		}
	}
	return s
}

// authWords says how a signer's identity was checked.
func authWords(s Signer) string {
	switch s.AuthMethod {
	case "email_otp":
		return "One-time code sent by e-mail"
	case "sms_otp":
		return "One-time code sent by text message"
	case "none":
		return "Possession of the personal signing link"
	}
	return s.AuthMethod
}

func utc(t time.Time) string {
	if t.IsZero() {
		return "–"
	}
	return t.UTC().Format("2006-01-02 15:04:05 UTC")
}
