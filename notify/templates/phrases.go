package templates

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"countersign/locales"
)

// phrases contains the wording of emails and text messages in one language. Words in braces are placeholders.
type phrases struct {
	Tag    string `json:"-"` // ISO 639-1
	RTL    bool   `json:"-"`
	Dir    string `json:"-"` // HTML dir attribute
	Start  string `json:"-"` // side on which lines begin
	Months [12]string
	Time   string // {day} {month} {year} {time}
	Date   string // {day} {month} {year}
	And    string // between two sentences

	senderPhrases

	Hello, HelloNobody                                         string
	SentBy, SentByService                                      string
	Support                                                    string
	OpenLink, Download                                         string
	Attached, Reason                                           string
	MessageFrom, Message                                       string
	ADocument, YourDocument                                    string
	Documents, More                                            locales.Plural // {n}
	DaysLeft, Minutes                                          locales.Plural // {n}
	InviteHeading, InviteNobody                                string
	InviteSubject                                              string
	Asks, AsksNobody                                           string
	SignButton, SignBy                                         string
	AsksApprove, AsksRead, AsksHost, AnswerHeading, OpenButton string
	AsksWitness, WitnessHeading, HostHeading                   string
	InviteSubjectApprove, InviteSubjectRead                    string
	LinkUntil                                                  string
	YoursAlone, YoursAloneOther                                string
	ReminderSubject                                            string
	ReminderHeading                                            string
	ReminderOf                                                 string
	CodeHeading, CodeHeadingOther, CodeSubject                 string
	CodePreheader, CodeNote                                    string
	CodeIntro, CodeIntroFor, CodeIntroOther                    string
	CodeValid                                                  string
	CompletedSubject                                           string
	CompletedHeading                                           string
	CompletedText, CompletedOther                              string
	CopyAttached, CopyLinked                                   string
	CopyMixed, CheckNote                                       string
	DeclinedSubject                                            string
	DeclinedHeading                                            string
	DeclinedBy, DeclinedByOther, Declined                      string
	VoidedSubject                                              string
	VoidedHeading                                              string
	VoidedBy, Voided                                           string
	ExpiredSubject                                             string
	ExpiredHeading, Expired                                    string
	NothingToSign, LinksEnded                                  string
	DeletionToday                                              string
	DeletionHeading                                            string
	DeletionPreheader                                          string
	DeletionText, DeletionNote                                 string
	OpenConsole                                                string
	CopyNoticeSubject                                          string
	CopyNoticeHeading                                          string
	CopyNotice                                                 string
	CopyNoticeNobody                                           string
	CopyNoticeNote                                             string
	NoCopy                                                     string
	DelegatedSubject                                           string
	DelegatedHeading, Delegated                                string
	DelegatedNote                                              string
	BouncedSubject                                             string
	BouncedHeading, Bounced, BouncedOther                      string
	BouncedNote, BouncedNoteOther                              string
	StuckSubject, StuckHeading                                 string
	Stuck, StuckNote                                           string
	StuckCauses                                                map[string]string // by the code of the sealing problem
	HookHeading, HookPreheader                                 string
	Hook, HookNote                                             string
	HookEndpoint, HookSince                                    string
	HookError, NotKnown                                        string
	SMSLinkFor, SMSLink                                        string
	SMSLinkNobody                                              string
	SMSMailFor, SMSMail                                        string
	SMSMailNobody, SMSLook                                     string
	SMSCodeFor, SMSCode, SMSCodeOther                          string
}

//nolint:gochecknoglobals // read once, never changed
var languages = loadPhrases()

func loadPhrases() map[string]*phrases {
	all := locales.Load[phrases]("mail.json")
	for tag, p := range all {
		p.Tag, p.RTL, p.Dir, p.Start = tag, locales.RightToLeft(tag), "ltr", "left"
		if p.RTL {
			p.Dir, p.Start = "rtl", "right"
		}
	}
	return all
}

// phrasesIn returns the phrases of a language tag, or the English phrases if the language has none.
func phrasesIn(tag string) *phrases { return languages[locales.Match(tag)] }

// value is the text for a placeholder.
type value struct {
	name string
	text span
}

func as(name, text string) value       { return value{name, plain(text)} }
func asStrong(name, text string) value { return value{name, strong(text)} }

// fill replaces the placeholders of a phrase, and returns the result as spans.
func fill(phrase string, values ...value) []span {
	var out []span
	for phrase != "" {
		before, rest, opens := strings.Cut(phrase, "{")
		name, behind, closes := strings.Cut(rest, "}")
		if !opens || !closes {
			return append(out, plain(phrase))
		}
		if before != "" {
			out = append(out, plain(before))
		}
		filled := plain("{" + name + "}")
		for _, v := range values {
			if v.name == name {
				filled = v.text
			}
		}
		out, phrase = append(out, filled), behind
	}
	return out
}

// fill replaces the placeholders of a phrase, and returns the result as text, for subjects and previews.
func (p *phrases) fill(phrase string, values ...value) string { return p.text(fill(phrase, values...)) }

func (p *phrases) text(spans []span) string {
	var b strings.Builder
	for _, s := range spans {
		b.WriteString(p.isolated(s))
	}
	return b.String()
}

// isolated returns the text of a span. In right-to-left text it isolates a name, title or address, so that the span's
// direction does not affect the direction of the surrounding text (UAX #9 §2.2).
func (p *phrases) isolated(s span) string {
	if p.RTL && (s.Strong || s.URL != "") {
		return "\u2068" + s.Text + "\u2069"
	}
	return s.Text
}

func (p *phrases) count(c locales.Plural, n int, values ...value) string {
	return p.fill(c.Form(p.Tag, n), append(values, as("n", fmt.Sprint(n)))...)
}

func (p *phrases) moment(t time.Time) string {
	return p.momentIn(t, time.UTC)
}

func (p *phrases) day(t time.Time) string {
	t = t.UTC()
	return p.fill(p.Date, as("day", fmt.Sprint(t.Day())), as("month", p.Months[t.Month()-1]), as("year", fmt.Sprint(t.Year()))) + " (UTC)"
}

func (p *phrases) minutes(d time.Duration) string {
	return p.count(p.Minutes, max(int(d/time.Minute), 1))
}

func (p *phrases) greeting(name string) string {
	if name = line(name, maxName); name != "" {
		return p.fill(p.Hello, asStrong("name", name))
	}
	return p.HelloNobody
}

// sentBy returns the footer.
func (p *phrases) sentBy(sender string) string {
	if sender = line(sender, maxName); sender != "" {
		return p.fill(p.SentBy, asStrong("sender", sender))
	}
	return p.SentByService
}

// brand returns the name shown above an email.
func brand(sender string) string { return cmp.Or(line(sender, maxName), "Countersign") }
