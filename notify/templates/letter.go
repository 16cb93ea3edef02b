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
	button struct{ Label, URL string }
)

func plain(s string) span            { return span{Text: s} }
func strong(s string) span           { return span{Text: s, Strong: true} }
func link(url string) span           { return span{Text: url, URL: url} }
func paragraph(spans ...span) block  { return block{Paragraph: spans} }
func note(spans ...span) block       { return block{Note: spans} }
func action(label, url string) block { return block{Button: &button{label, url}} }

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
