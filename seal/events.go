package seal

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// auditEvent contains the members of an audit event that are printed on the certificate.
type auditEvent struct {
	Seq       int            `json:"seq"`
	Event     string         `json:"event"`
	Timestamp time.Time      `json:"timestamp"`
	Actor     string         `json:"actor"`
	IP        string         `json:"ip"`
	Detail    map[string]any `json:"detail"`
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

// describe returns a readable description of an event. The argument signers contains the signers before the event. If
// the event replaces a signer, describe updates signers.
func (c *certificate) describe(e auditEvent, signers persons) string {
	s := cmp.Or(c.text.EventNames[e.Event], e.Event)
	number := func(key string) (int, bool) {
		n, ok := e.Detail[key].(float64)
		return int(n), ok && n >= 0 && n < 1e9
	}
	switch e.Event {
	case "page_viewed":
		page, ok := number("page")
		if !ok {
			return s
		}
		if ms, ok := number("dwellMs"); ok && ms >= 1000 {
			return fmt.Sprintf(c.text.PageViewedFor, page, ms/1000)
		}
		return fmt.Sprintf(c.text.PageViewed, page)
	case "pages_viewed_again":
		views, ok := number("views")
		ms, timed := number("dwellMs")
		if ok && timed {
			return fmt.Sprintf(c.text.PagesViewedAgain, views, ms/1000)
		}
	case "signer.replaced", "signer.delegated":
		id, _ := e.Detail["signerId"].(string)
		if name := signers.advance(id); name != "" {
			return fmt.Sprintf(c.text.EventOf, s, name)
		}
	case "invitation.sent", "invitation.failed", "reminder.sent", "otp.requested":
		switch e.Detail["channel"] {
		case "email":
			return fmt.Sprintf(c.text.ByEmail, s)
		case "sms":
			return fmt.Sprintf(c.text.BySMS, s)
		}
	}
	return s
}

// persons maps each signer to the people who acted as that signer. After an event that names a successor, later events
// belong to the next person. Events must be passed in order.
type persons map[string][]string // by signer ID, in order of succession

func newPersons(signers []Signer) persons {
	p := persons{}
	for _, s := range signers {
		for _, was := range s.Previous {
			p[s.ID] = append(p[s.ID], was.Name)
		}
		p[s.ID] = append(p[s.ID], s.Name)
	}
	return p
}

// name returns the name of an actor "signer:<id>", or "" for any other actor.
func (p persons) name(actor string) string {
	id, ok := strings.CutPrefix(actor, "signer:")
	if names := p[id]; ok && len(names) > 0 {
		return names[0]
	}
	return ""
}

// advance switches a signer to the next person and returns that person's name, or "" if it is unknown.
func (p persons) advance(signer string) string {
	names := p[signer]
	if len(names) < 2 {
		return ""
	}
	p[signer] = names[1:]
	return names[1]
}
