package templates

// CopyNotice tells somebody who signs nothing that a copy will come.
type CopyNotice struct {
	Language      string // BCP 47; English where there are no phrases in it
	Look          Look
	RecipientName string
	SenderName    string // may be empty
	Subject       string // what the envelope is called
}

// Render writes the mail.
func (d CopyNotice) Render() (Content, error) {
	p := phrasesIn(d.Language)
	what, sender := subjectOr(d.Subject, p.ADocument), line(d.SenderName, maxName)
	text := p.CopyNotice
	if sender == "" {
		text = p.CopyNoticeNobody
	}
	return letter{
		words: p, Look: d.Look, Brand: brand(d.SenderName), Subject: p.about(p.CopyNoticeSubject, what), Heading: p.CopyNoticeHeading, Preheader: p.CopyNoticeNote,
		Greeting: p.greeting(d.RecipientName), Footer: p.sentBy(d.SenderName),
		Blocks: []block{paragraph(fill(text, asStrong("sender", sender), asStrong("document", what))...), note(plain(p.CopyNoticeNote))},
	}.render()
}
