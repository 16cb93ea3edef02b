// Package lang contains the text of the audit certificate and of the line at the foot of each page, in every language
// supported by package locales.
package lang

import (
	"fmt"
	"strings"

	"countersign/locales"
)

// Text contains all strings in one language. Their placeholders are fmt verbs, whose arguments are listed in the
// comments on the fields.
type Text struct {
	Tag         string `json:"-"` // ISO 639-1
	RightToLeft bool   `json:"-"`

	SealLine string // service, envelope ID, hash of the original

	Title       string
	PageHead    string // envelope ID
	PageFoot    string // hash of the original
	Status      string
	Completed   string
	Document    string // also used for a document without a name
	DocumentOf  string // number, total
	Pages       locales.Plural
	Envelope    string
	Sent        string
	Sealed      string
	OriginalSum string
	ChainHead   string
	VerifyThis  string
	SealedBy    string // sealer
	SealedOn    string // time

	Signers        locales.Plural
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
	SignerOf       string // number, total
	Part           string
	PartKinds      map[string]string // by kind
	HostedBy       string            // name, address
	WitnessOf      string            // name
	Previously     string
	PreviousUntil  string // name, address, time
	ReasonGiven    string // reason
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
	EventOf            string // event, name
	EventNames         map[string]string
	PageViewed         string // page
	PageViewedFor      string // page, seconds
	PagesViewedAgain   string // number of views, seconds
	ByEmail            string // event
	BySMS              string // event

	Attachments  string
	AttachmentOf string // file name, signer, size in bytes

	DocumentsOfEnvelope string
	HowToVerify         string
	BeginsWithOriginal  string
	OriginalProtected   string
	OriginalRepaired    string
	OriginalSigned      string // signers
	Prepared            string // removed content, hash of the document
	PreparedKinds       map[string]string
	Explained           string // service
	Reproducible        string
	Online              string // address

	SignatureOf, InitialsOf, CheckedBy string // signer; alternative texts for screen readers
}

// Count returns the text for a count of n.
func (t *Text) Count(p locales.Plural, n int) string {
	form := p.Form(t.Tag, n)
	if strings.Contains(form, "%d") {
		return fmt.Sprintf(form, n)
	}
	return form
}

// ForTag returns the strings for a BCP 47 tag, or the English ones if the language is not supported.
func ForTag(tag string) *Text { return texts[locales.Match(tag)] }

//nolint:gochecknoglobals // read once, never changed
var texts = load()

func load() map[string]*Text {
	all := locales.Load[Text]("certificate.json")
	for tag, t := range all {
		t.Tag, t.RightToLeft = tag, locales.RightToLeft(tag)
	}
	return all
}
