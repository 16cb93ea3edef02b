package templates

import (
	"bytes"
	"embed"
	"fmt"
	htmltemplate "html/template"
	"strings"
	"sync"
	texttemplate "text/template"
)

//go:embed letter.html letter.txt
var files embed.FS

// letter is a mail before it is set in HTML and in plain text: both say the
// same because both are set from this.
type letter struct {
	words     *phrases
	Look      Look
	Brand     string // the name above it
	Subject   string
	Preheader string // what a mail program shows beside the subject
	Heading   string
	Greeting  string
	Blocks    []block
	Footer    string
}

// block is one element of a letter; exactly one of its fields is filled.
type block struct {
	Paragraph []span
	Note      []span // smaller, at the end
	Quote     *quote
	Documents []document
	Code      string
	Facts     []fact
	Button    *button
}

// Lang, Dir, Start and the phrases below are for the templates.
func (l letter) Lang() string { return l.words.Tag }

// Dir is the direction of the text.
func (l letter) Dir() string {
	if l.words.RTL {
		return "rtl"
	}
	return "ltr"
}

// Start is the side that lines begin on.
func (l letter) Start() string {
	if l.words.RTL {
		return "right"
	}
	return "left"
}

// OpenLink, Download and Attached are phrases of the frame.
func (l letter) OpenLink() string { return l.words.OpenLink }

// Download names a link to a file.
func (l letter) Download() string { return l.words.Download }

// Support names the link to the sender's help.
func (l letter) Support() string { return l.words.Support }

// Attached says where a file is.
func (l letter) Attached() string { return l.words.Attached }

type (
	span struct {
		Text   string
		Strong bool
		URL    string
	}
	quote struct {
		From  string
		Lines []string
	}
	document struct {
		Name, SHA256, DownloadURL string
		Attached                  bool
	}
	fact   struct{ Label, Value string }
	button struct{ Label, URL, Short string }
)

// set is text with the colour of its links.
type set struct {
	Spans  []span
	Accent string
}

// Set is for the template of HTML.
func (l letter) Set(spans []span) set { return set{spans, l.Look.Accent()} }

func plain(s string) span           { return span{Text: s} }
func strong(s string) span          { return span{Text: s, Strong: true} }
func link(url string) span          { return span{Text: url, URL: url} }
func paragraph(spans ...span) block { return block{Paragraph: spans} }
func note(spans ...span) block      { return block{Note: spans} }

// maxShown is the longest address that is shown below a button: a longer one
// fills a third of a phone.
const maxShown = 100

func action(label, url string) block {
	b := &button{Label: label, URL: url}
	if len(url) <= maxShown {
		b.Short = url
	}
	return block{Button: b}
}

// Conditional comments are the only way to give Outlook's Word engine, which
// knows no max-width, a width; html/template drops comments of its own.
func outlookOpen() htmltemplate.HTML {
	return `<!--[if mso]><table role="presentation" width="560" align="center" cellpadding="0" cellspacing="0" border="0"><tr><td><![endif]-->`
}

func outlookClose() htmltemplate.HTML {
	return `<!--[if mso]></td></tr></table><![endif]-->`
}

var htmlLetter = sync.OnceValues(func() (*htmltemplate.Template, error) {
	return htmltemplate.New("letter.html").
		Funcs(htmltemplate.FuncMap{"outlookOpen": outlookOpen, "outlookClose": outlookClose}).
		ParseFS(files, "letter.html")
})

var textLetter = sync.OnceValues(func() (*texttemplate.Template, error) {
	return texttemplate.ParseFS(files, "letter.txt")
})

func (l letter) render() (Content, error) {
	html, err := htmlLetter()
	if err != nil {
		return Content{}, fmt.Errorf("mail template: %w", err)
	}
	text, err := textLetter()
	if err != nil {
		return Content{}, fmt.Errorf("mail template: %w", err)
	}
	var h, t bytes.Buffer
	if err := html.Execute(&h, l); err != nil {
		return Content{}, fmt.Errorf("mail template: %w", err)
	}
	if err := text.Execute(&t, l); err != nil {
		return Content{}, fmt.Errorf("mail template: %w", err)
	}
	return Content{Subject: l.Subject, Text: strings.TrimSpace(t.String()) + "\n", HTML: h.String()}, nil
}
