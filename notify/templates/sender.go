package templates

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"countersign/locales"
)

// NotificationKind is the subject of a notification.
type NotificationKind string

// The kinds of notifications.
const (
	NotificationCompleted NotificationKind = "completed"
	NotificationDeclined  NotificationKind = "declined"
	NotificationExpired   NotificationKind = "expired"
	NotificationBounced   NotificationKind = "bounced"
	NotificationStuck     NotificationKind = "sealingProblem"
	NotificationOpened    NotificationKind = "opened"
	NotificationSigned    NotificationKind = "signed"
)

// To is the console user who receives an email about the envelopes that they sent.
type To struct {
	Language       string // BCP 47; English for unsupported languages
	Branding       Branding
	RecipientName  string
	SenderName     string         // sender name of the tenant (optional)
	Zone           *time.Location // time zone in which times are displayed, or nil for UTC
	SettingsURL    string
	UnsubscribeURL string
}

// Notification notifies a console user about an event in an envelope that they sent. All notifications about an
// envelope have the same subject, so that email programs group them into one thread.
type Notification struct {
	To

	Subject      string // name of the envelope
	Kind         NotificationKind
	ByName       string  // person who acted or could not be reached
	ByAddress    string  // address that could not be reached
	ByRequest    Request // the request to that person
	ReasonText   string  // the signer's reason, or the mail server's (optional)
	At           time.Time
	NotAllSigned bool     // for completed: some recipients approved or read
	Waiting      []string // names of the recipients who have not acted
	EnvelopeURL  string
}

// Digest reports the events of sent envelopes to a console user.
type Digest struct {
	To

	Envelopes []DigestEnvelope
	More      int // number of envelopes that are not listed
	Until     time.Time
	Hour      int // hour of the day at which digests are sent
}

// DigestEnvelope is an envelope in a digest.
type DigestEnvelope struct {
	Subject string // name of the envelope
	URL     string
	Events  []DigestEvent
}

// DigestEvent is an event of an envelope in a digest.
type DigestEvent struct {
	Kind   NotificationKind
	ByName string // person who acted or could not be reached
}

// maxWaiting is the maximum number of names in a list.
const maxWaiting = 10

// letterTo returns the beginning of an email to a console user.
func (p *phrases) letterTo(to To) letter {
	l := p.letter(to.Branding, to.SenderName, to.RecipientName)
	l.Footer = p.NotifyNote
	for _, b := range []button{{Label: p.NotifySettings, URL: to.SettingsURL}, {Label: p.Unsubscribe, URL: to.UnsubscribeURL}} {
		if b.URL != "" {
			l.FooterLinks = append(l.FooterLinks, b)
		}
	}
	return l
}

// Render renders the email. It returns an error for an unknown kind.
func (d Notification) Render() (Content, error) {
	p := phrasesIn(d.Language)
	what, by := cmp.Or(line(d.Subject, maxSubject), p.ADocument), line(d.ByName, maxName)
	l := p.letterTo(d.To)
	l.Subject = p.about(p.NotifySubject, what)
	var text, last string
	waiting := p.WaitingFor
	switch d.Kind {
	case NotificationCompleted:
		l.Heading, text, last = p.CompletedHeading, p.CompletedText, p.CompletedGet
		if d.NotAllSigned {
			l.Heading, text = p.about(p.CompletedSubject, what), p.CompletedOther
		}
	case NotificationDeclined:
		l.Heading, text, last = p.DeclinedHeading, p.DeclinedBy, p.LinksEnded
		if !d.ByRequest.signs() {
			l.Heading, text = p.about(p.DeclinedSubject, what), p.DeclinedByOther
		}
		waiting = ""
	case NotificationExpired:
		l.Heading, text, waiting = p.ExpiredHeading, p.Expired, p.Missing
	case NotificationBounced:
		l.Heading, text, last = p.BouncedHeading, p.Bounced, p.BouncedNote
		if !d.ByRequest.signs() {
			l.Heading, text, last = p.about(p.BouncedSubject, what), p.BouncedOther, p.BouncedNoteOther
		}
		waiting = ""
	case NotificationStuck:
		l.Heading, text, last = p.StuckHeading, p.Stuck, p.StuckNote
	case NotificationOpened:
		l.Heading, text = p.OpenedHeading, p.Opened
	case NotificationSigned:
		l.Heading, text = p.SignedHeading, p.SignedBy
		if !d.ByRequest.signs() {
			l.Heading, text = l.Subject, p.SignedByOther
		}
	default:
		return Content{}, fmt.Errorf("mail template: unknown kind %q", d.Kind)
	}
	spans := fill(text, asStrong("name", by), asStrong("address", line(d.ByAddress, maxSubject)), asStrong("document", what), as("time", p.momentIn(d.At, d.Zone)))
	l.Preheader = p.text(spans)
	l.Blocks = []block{paragraph(spans...), quoted(p.Reason, d.ReasonText)}
	if names := p.names(d.Waiting); names != "" && waiting != "" {
		l.Blocks = append(l.Blocks, paragraph(fill(waiting, asStrong("names", names))...))
	}
	if last != "" {
		l.Blocks = append(l.Blocks, paragraph(plain(last)))
	}
	l.Blocks = append(l.Blocks, action(p.OpenEnvelope, d.EnvelopeURL))
	return l.render()
}

// names joins up to maxWaiting names in a list, and adds an ellipsis if there are more.
func (p *phrases) names(all []string) string {
	var out []string
	for _, name := range all[:min(len(all), maxWaiting)] {
		out = append(out, line(name, maxName))
	}
	if len(all) > maxWaiting {
		out = append(out, "…")
	}
	return strings.Join(out, ", ")
}

// Render renders the email.
func (d Digest) Render() (Content, error) {
	p := phrasesIn(d.Language)
	l := p.letterTo(d.To)
	n := len(d.Envelopes) + d.More
	intro := fill(p.DigestIntro, as("time", p.momentIn(d.Until, d.Zone)))
	l.Subject, l.Heading, l.Preheader = p.count(p.DigestSubject, n), p.DigestHeading, p.text(intro)
	var items []item
	for _, e := range d.Envelopes {
		i := item{Title: cmp.Or(line(e.Subject, maxSubject), p.ADocument), URL: e.URL}
		for _, ev := range e.Events {
			i.Lines = append(i.Lines, p.fill(p.digestPhrase(ev.Kind), asStrong("name", line(ev.ByName, maxName))))
		}
		items = append(items, i)
	}
	l.Blocks = []block{paragraph(intro...), {Items: items}}
	if d.More > 0 {
		l.Blocks = append(l.Blocks, paragraph(plain(p.count(p.DigestMore, d.More))))
	}
	l.Footer = p.fill(p.DigestNote, as("time", fmt.Sprintf("%02d:00 %s", d.Hour, zoneName(d.Zone))))
	return l.render()
}

func (p *phrases) digestPhrase(k NotificationKind) string {
	switch k {
	case NotificationCompleted:
		return p.DigestCompleted
	case NotificationDeclined:
		return p.DigestDeclined
	case NotificationExpired:
		return p.DigestExpired
	case NotificationBounced:
		return p.DigestBounced
	case NotificationStuck:
		return p.DigestStuck
	case NotificationOpened:
		return p.DigestOpened
	case NotificationSigned:
		return p.DigestSigned
	}
	return ""
}

// momentIn formats a time in a zone, followed by the zone's name.
func (p *phrases) momentIn(t time.Time, zone *time.Location) string {
	if zone == nil {
		zone = time.UTC
	}
	t = t.In(zone)
	return p.fill(p.Time, as("day", fmt.Sprint(t.Day())), as("month", p.Months[t.Month()-1]), as("year", fmt.Sprint(t.Year())), as("time", t.Format("15:04")+" "+zoneName(zone)))
}

func zoneName(zone *time.Location) string {
	if zone == nil || zone == time.UTC {
		return "UTC"
	}
	return "(" + zone.String() + ")"
}

// senderPhrases contains the wording of emails to console users about envelopes that they sent.
type senderPhrases struct {
	NotifySubject                   string
	OpenedHeading, Opened           string
	SignedHeading                   string
	SignedBy, SignedByOther         string
	WaitingFor, Missing             string // {names}
	CompletedGet                    string
	OpenEnvelope                    string
	NotifyNote, NotifySettings      string
	Unsubscribe                     string
	DigestSubject, DigestMore       locales.Plural // {n}
	DigestHeading                   string
	DigestIntro, DigestNote         string
	DigestCompleted, DigestDeclined string
	DigestExpired, DigestBounced    string
	DigestStuck                     string
	DigestOpened, DigestSigned      string
}
