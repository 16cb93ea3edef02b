package templates

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	htmltemplate "html/template"
	"strings"
	"sync"
	texttemplate "text/template"
)

//go:embed letter.html letter.txt
var files embed.FS

// letter is the content of an email before rendering. The HTML and the plain text are both rendered from it, so that
// they have the same content.
type letter struct {
	Phrases     *phrases
	Branding    Branding
	Brand       string // name shown above the content
	Subject     string
	Preheader   string // preview text that email programs show after the subject
	Heading     string
	Greeting    string
	Blocks      []block
	Footer      string
	FooterLinks []button
}

// letter returns the beginning of a letter from a sender to a recipient. Both names are optional.
func (p *phrases) letter(branding Branding, sender, recipient string) letter {
	return letter{Phrases: p, Branding: branding, Brand: brand(sender), Greeting: p.greeting(recipient), Footer: p.sentBy(sender)}
}

// block is an element of a letter. At most one of its fields is set. An empty block is not rendered.
type block struct {
	Paragraph []span
	Note      []span // smaller text at the end
	Quote     *quote
	Documents []document
	Items     []item
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
	item struct {
		Title, URL string
		Lines      []string
	}
	fact   struct{ Label, Value string }
	button struct{ Label, URL, Short string }
)

// set contains a text and the color of the links in it.
type set struct {
	Spans  []span
	Accent string
}

// Set returns the spans for the HTML template.
func (l letter) Set(spans []span) set { return set{spans, l.Branding.Accent()} }

func plain(s string) span           { return span{Text: s} }
func strong(s string) span          { return span{Text: s, Strong: true} }
func link(url string) span          { return span{Text: url, URL: url} }
func paragraph(spans ...span) block { return block{Paragraph: spans} }
func note(spans ...span) block      { return block{Note: spans} }

// quoted returns a block with a person's text, or an empty block if there is no text.
func quoted(from, text string) block {
	if words := lines(text); len(words) > 0 {
		return block{Quote: &quote{from, words}}
	}
	return block{}
}

// maxDisplayedURL is the maximum length of an address that is shown below a button. A longer address would take up a
// third of a phone's screen.
const maxDisplayedURL = 100

func action(label, url string) block {
	b := &button{Label: label, URL: url}
	if len(url) <= maxDisplayedURL {
		b.Short = url
	}
	return block{Button: b}
}

// console returns a block with a link to the console, or an empty block if its URL is unknown.
func (p *phrases) console(url string) block {
	if url == "" {
		return block{}
	}
	return action(p.OpenConsole, url)
}

// outlookOpen returns a conditional comment for Outlook. Its Word engine does not support max-width, and there is no
// other way to set a width. The comment is not in the template, because html/template removes comments.
func outlookOpen() htmltemplate.HTML {
	return `<!--[if mso]><table role="presentation" width="560" align="center" cellpadding="0" cellspacing="0" border="0"><tr><td><![endif]-->`
}

func outlookClose() htmltemplate.HTML {
	return `<!--[if mso]></td></tr></table><![endif]-->`
}

// The templates are parsed on first use. Parsing panics if an embedded template is invalid, which the tests detect.
var (
	htmlLetter = sync.OnceValue(func() *htmltemplate.Template {
		outlook := htmltemplate.FuncMap{"outlookOpen": outlookOpen, "outlookClose": outlookClose}
		return htmltemplate.Must(htmltemplate.New("letter.html").Funcs(outlook).ParseFS(files, "letter.html"))
	})
	textLetter = sync.OnceValue(func() *texttemplate.Template {
		return texttemplate.Must(texttemplate.ParseFS(files, "letter.txt"))
	})
)

func (l letter) render() (Content, error) {
	var h, t bytes.Buffer
	if err := errors.Join(htmlLetter().Execute(&h, l), textLetter().Execute(&t, l)); err != nil {
		return Content{}, fmt.Errorf("mail template: %w", err)
	}
	return Content{Subject: l.Subject, Text: strings.TrimSpace(t.String()) + "\n", HTML: h.String()}, nil
}
