package templates

import (
	"cmp"
	"fmt"
)

// Render renders the email.
func (d Completed) Render() (Content, error) {
	p := phrasesIn(d.Language)
	what := cmp.Or(line(d.Subject, maxSubject), p.YourDocument)
	phrase, heading := p.CompletedText, p.CompletedHeading
	if d.NotAllSigned {
		phrase, heading = p.CompletedOther, p.about(p.CompletedSubject, what)
	}
	text := fill(phrase, asStrong("document", what), as("time", p.moment(d.CompletedAt)))
	l := p.letter(d.Branding, d.SenderName, d.RecipientName)
	l.Subject, l.Heading, l.Preheader = p.about(p.CompletedSubject, what), heading, d.where(p)
	l.Blocks = []block{paragraph(append(text, plain(p.And+d.where(p)))...), {Documents: d.documents()}}
	if d.VerifyURL != "" {
		l.Blocks = append(l.Blocks, note(plain(p.CheckNote+" "), link(d.VerifyURL)))
	}
	return l.render()
}

// Render renders the email.
func (d CopyNotice) Render() (Content, error) {
	p := phrasesIn(d.Language)
	what, sender := cmp.Or(line(d.Subject, maxSubject), p.ADocument), line(d.SenderName, maxName)
	text := p.CopyNotice
	if sender == "" {
		text = p.CopyNoticeNobody
	}
	l := p.letter(d.Branding, d.SenderName, d.RecipientName)
	l.Subject, l.Heading, l.Preheader = p.about(p.CopyNoticeSubject, what), p.CopyNoticeHeading, p.CopyNoticeNote
	l.Blocks = []block{paragraph(fill(text, asStrong("sender", sender), asStrong("document", what))...), note(plain(p.CopyNoticeNote))}
	return l.render()
}

// about returns a subject line about a document.
func (p *phrases) about(phrase, what string) string {
	return line(p.fill(phrase, asStrong("document", what)), maxSubject)
}

func (d Completed) where(p *phrases) string {
	attached, linked := 0, 0
	for _, doc := range d.Documents {
		if doc.DownloadURL == "" {
			attached++
		} else {
			linked++
		}
	}
	switch {
	case linked == 0:
		return p.CopyAttached
	case attached == 0:
		return p.CopyLinked
	}
	return p.CopyMixed
}

func (d Completed) documents() []document {
	docs := make([]document, 0, len(d.Documents))
	for _, doc := range d.Documents {
		docs = append(docs, document{
			Name: line(doc.Name, maxName), SHA256: doc.SHA256,
			DownloadURL: doc.DownloadURL, Attached: doc.DownloadURL == "",
		})
	}
	return docs
}

// Render renders the email. It returns an error for an unknown kind.
func (d Closed) Render() (Content, error) {
	p := phrasesIn(d.Language)
	what, by := cmp.Or(line(d.Subject, maxSubject), p.YourDocument), line(d.ByName, maxName)
	l := p.letter(d.Branding, d.SenderName, d.RecipientName)
	var subject, someone, nobody string
	switch d.Kind {
	case Declined:
		subject, l.Heading, someone, nobody = p.DeclinedSubject, p.DeclinedHeading, p.DeclinedBy, p.Declined
		if !d.ByRequest.signs() {
			l.Heading, someone = p.about(subject, what), p.DeclinedByOther
		}
	case Voided:
		subject, l.Heading, someone, nobody = p.VoidedSubject, p.VoidedHeading, p.VoidedBy, p.Voided
	case Expired:
		subject, l.Heading, someone, nobody = p.ExpiredSubject, p.ExpiredHeading, p.Expired, p.Expired
	default:
		return Content{}, fmt.Errorf("mail template: unknown kind %q", d.Kind)
	}
	l.Subject = p.about(subject, what)
	intro := someone
	if by == "" {
		intro = nobody
	}
	spans, last := fill(intro, asStrong("name", by), asStrong("document", what), as("time", p.moment(d.At))), p.LinksEnded
	l.Preheader = p.NothingToSign
	if d.Copy {
		last, l.Preheader = p.NoCopy, p.NoCopy
	}
	l.Blocks = []block{paragraph(spans...), quoted(p.Reason, d.ReasonText), paragraph(plain(last))}
	return l.render()
}

// Render renders the email.
func (d DeletionReminder) Render() (Content, error) {
	p := phrasesIn(d.Language)
	what, date := cmp.Or(line(d.Subject, maxSubject), p.YourDocument), p.day(d.PurgeOn)
	l := p.letter(d.Branding, d.SenderName, d.RecipientName)
	l.Subject, l.Heading, l.Preheader = p.about(p.DeletionToday, what), p.DeletionHeading, p.fill(p.DeletionPreheader, as("date", date))
	l.Blocks = []block{
		paragraph(fill(p.DeletionText, asStrong("document", what), asStrong("date", date))...),
		action(p.Download, d.DownloadURL),
		note(plain(p.DeletionNote)),
	}
	if d.DaysLeft > 0 {
		l.Subject = line(p.count(p.DaysLeft, d.DaysLeft, asStrong("document", what)), maxSubject)
	}
	return l.render()
}

// Render renders the email. It returns an error for an unknown kind.
func (d Notice) Render() (Content, error) {
	p := phrasesIn(d.Language)
	what, by := cmp.Or(line(d.Subject, maxSubject), p.ADocument), line(d.ByName, maxName)
	l := p.letter(Branding{}, "", "")
	l.Brand = brand(d.SenderName)
	var subject, text, last string
	reason := d.ReasonText
	switch d.Kind {
	case NoticeDeclined:
		subject, l.Heading, text, last = p.DeclinedSubject, p.DeclinedHeading, p.DeclinedBy, p.LinksEnded
		if !d.ByRequest.signs() {
			l.Heading, text = p.about(subject, what), p.DeclinedByOther
		}
	case NoticeBounced:
		subject, l.Heading, text, last = p.BouncedSubject, p.BouncedHeading, p.Bounced, p.BouncedNote
		if !d.ByRequest.signs() {
			l.Heading, text, last = p.about(subject, what), p.BouncedOther, p.BouncedNoteOther
		}
	case NoticeDelegated:
		subject, l.Heading, text, last = p.DelegatedSubject, p.DelegatedHeading, p.Delegated, p.DelegatedNote
	case NoticeStuck:
		subject, l.Heading, text, last = p.StuckSubject, p.StuckHeading, p.Stuck, p.StuckNote
		reason = p.StuckCauses[d.Cause]
	default:
		return Content{}, fmt.Errorf("mail template: unknown kind %q", d.Kind)
	}
	l.Subject = p.about(subject, what)
	spans := fill(text, asStrong("name", by), asStrong("address", line(d.ByAddress, maxSubject)), asStrong("document", what), as("time", p.moment(d.At)))
	l.Preheader = p.text(spans)
	l.Blocks = []block{paragraph(spans...), quoted(p.Reason, reason), paragraph(plain(last)), p.console(d.ConsoleURL)}
	return l.render()
}

// Render renders the email.
func (d WebhookDisabled) Render() (Content, error) {
	p := phrasesIn(d.Language)
	l := p.letter(Branding{}, "", d.RecipientName)
	l.Subject, l.Heading, l.Preheader = p.HookHeading, p.HookHeading, p.fill(p.HookPreheader, as("time", p.moment(d.Since)))
	facts := []fact{
		{p.HookEndpoint, line(d.URL, 2048)},
		{p.HookSince, p.moment(d.Since)},
		{p.HookError, cmp.Or(line(d.LastError, maxSubject), p.NotKnown)},
	}
	l.Blocks = []block{paragraph(plain(p.Hook)), {Facts: facts}, p.console(d.ConsoleURL), note(plain(p.HookNote))}
	return l.render()
}
