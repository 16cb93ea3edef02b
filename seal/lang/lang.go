// Package lang holds the words of the audit certificate and of the line at the foot of each page, in every
// language that the signing pages have.
package lang

import (
	"fmt"
	"strings"

	"golang.org/x/text/feature/plural"
	"golang.org/x/text/language"
)

// Text is every text in one language. Verbs of fmt stand for what is put in.
type Text struct {
	Tag         string // ISO 639-1
	RightToLeft bool

	SealLine string // service, envelope id, hash of the original

	Title       string
	PageHead    string // envelope id
	PageFoot    string // hash of the original
	Status      string
	Completed   string
	Document    string // also for a document without a name
	DocumentOf  string // number, of how many
	Pages       Plural
	Envelope    string
	Sent        string
	Sealed      string
	OriginalSum string
	ChainHead   string
	VerifyThis  string
	SealedBy    string // who
	SealedOn    string // time

	Signers        Plural
	IdentityCheck  string
	CodeConfirmed  string
	ConsentGiven   string
	Disclosure     string // version
	Shown          string
	ShownUnknown   string
	ShownDocuments string
	ShownEntries   string // names
	Signed         string
	IPAddress      string
	Device         string
	SignerOf       string // number, of how many
	ByEmailCode    string
	BySMSCode      string
	ByLinkAlone    string

	Events             string
	ColumnTime         string
	ColumnEvent        string
	ColumnWho          string
	ColumnIP           string
	SendingApplication string
	ConsoleUser        string
	EventNames         map[string]string
	PageViewed         string // page
	PageViewedFor      string // page, seconds
	ByEmail            string // event
	BySMS              string // event

	Values      string
	ValuesIntro string
	Kinds       map[string]string // by the field's type
	Place       string            // page; points from the left, from the top
	Checked     string
	NotChecked  string

	DocumentsOfEnvelope string
	HowToVerify         string
	BeginsWithOriginal  string
	OriginalAttached    string
	OriginalProtected   string
	Prepared            string // what was taken out, hash of the document
	PreparedKinds       map[string]string
	Explained           string // service
	Online              string // address

	SignatureOf, InitialsOf, CheckedBy string // signer, as read aloud
}

// Plural is a text with a number, by the forms of CLDR. Other is used where a form is empty.
type Plural struct{ Zero, One, Two, Few, Many, Other string }

// Count returns the text for n things.
func (t *Text) Count(p Plural, n int) string {
	form := map[plural.Form]string{plural.Zero: p.Zero, plural.One: p.One, plural.Two: p.Two, plural.Few: p.Few, plural.Many: p.Many}[plural.Cardinal.MatchPlural(language.Make(t.Tag), n, 0, 0, 0, 0)]
	if form == "" {
		form = p.Other
	}
	if strings.Contains(form, "%d") {
		return fmt.Sprintf(form, n)
	}
	return form
}

// ForTag returns the texts of a language given by any tag of BCP 47, English if there are none of it.
func ForTag(tag string) *Text {
	base, _, _ := strings.Cut(strings.ToLower(tag), "-")
	for _, t := range all {
		if t.Tag == base {
			return t
		}
	}
	return &english
}

// All returns the texts of every language.
func All() []*Text { return all }

//nolint:gochecknoglobals // a constant table
var all = []*Text{&english, &german, &french, &spanish, &portuguese, &japanese, &arabic}
