package templates

import "cmp"

// Render renders the email. The subject is the envelope's subject, if there is one.
func (d Invitation) Render() (Content, error) {
	p := phrasesIn(d.Language)
	l := d.letter(p)
	l.Subject = cmp.Or(d.named(), d.request(p))
	l.Heading = cmp.Or(d.other(p).heading, p.InviteHeading)
	l.Preheader = p.text(d.requestSentence(p))
	return l.render()
}

// Render renders the email.
func (d Reminder) Render() (Content, error) {
	inv := Invitation(d)
	p := phrasesIn(inv.Language)
	l := inv.letter(p)
	l.Subject = p.about(p.ReminderSubject, cmp.Or(inv.named(), inv.request(p)))
	l.Heading = cmp.Or(inv.other(p).heading, p.ReminderHeading)
	l.Preheader = p.fill(p.ReminderOf, as("sentence", p.text(inv.requestSentence(p))))
	return l.render()
}

func (d Invitation) sender() string { return line(d.SenderName, maxName) }

func (d Invitation) named() string { return line(d.Subject, maxSubject) }

// requestTexts contains the wording of an invitation to a recipient other than an ordinary signer.
type requestTexts struct{ sentence, subject, heading string }

// other returns the wording for a recipient other than an ordinary signer. It is empty for an ordinary signer.
func (d Invitation) other(p *phrases) requestTexts {
	switch d.Request {
	case RequestApproval:
		return requestTexts{p.AsksApprove, p.InviteSubjectApprove, p.AnswerHeading}
	case RequestReading:
		return requestTexts{p.AsksRead, p.InviteSubjectRead, p.AnswerHeading}
	case RequestHosting:
		return requestTexts{p.AsksHost, "{sender}: " + p.HostHeading, p.HostHeading}
	case RequestWitnessing:
		return requestTexts{p.AsksWitness, "{sender}: " + p.WitnessHeading, p.WitnessHeading}
	case RequestNothing:
	}
	return requestTexts{}
}

// request returns the email's subject for an envelope without a subject.
func (d Invitation) request(p *phrases) string {
	other := d.other(p)
	if sender := d.sender(); sender != "" {
		return p.fill(cmp.Or(other.subject, p.InviteSubject), asStrong("sender", sender))
	}
	return cmp.Or(other.heading, p.InviteNobody)
}

// requestSentence returns the sentence that states the sender and the request.
func (d Invitation) requestSentence(p *phrases) []span {
	if phrase := d.other(p).sentence; phrase != "" {
		return fill(phrase, asStrong("sender", brand(d.SenderName)), asStrong("document", d.what(p)), asStrong("name", line(d.SignerName, maxName)))
	}
	if sender := d.sender(); sender != "" {
		return fill(p.Asks, asStrong("sender", sender), asStrong("document", d.what(p)))
	}
	return fill(p.AsksNobody, asStrong("document", d.what(p)))
}

// what returns the name of the envelope, which is its subject, the name of its only document, or a general term.
func (d Invitation) what(p *phrases) string {
	what := d.named()
	if names := d.DocumentNames; what == "" && len(names) > 1 {
		what = p.count(p.Documents, len(names))
	} else if what == "" && len(names) == 1 {
		what = line(names[0], maxName)
	}
	return cmp.Or(what, p.ADocument)
}

func (d Invitation) letter(p *phrases) letter {
	from := p.Message
	if sender := d.sender(); sender != "" {
		from = p.fill(p.MessageFrom, asStrong("sender", sender))
	}
	label, until, alone := p.SignButton, p.SignBy, p.YoursAlone
	if !d.Request.signs() {
		label, until, alone = p.OpenButton, p.LinkUntil, p.YoursAloneOther
	}
	sign := action(label, d.SigningURL)
	if d.ShortURL != "" {
		sign.Button.Short = d.ShortURL
	}
	l := p.letter(d.Branding, d.SenderName, d.RecipientName)
	l.Blocks = []block{paragraph(d.requestSentence(p)...), quoted(from, d.Message), {Documents: documentNames(p, d.DocumentNames)}, sign}
	if d.ExpiresAt != nil {
		l.Blocks = append(l.Blocks, paragraph(fill(until, asStrong("time", p.moment(*d.ExpiresAt)))...))
	}
	l.Blocks = append(l.Blocks, note(plain(alone)))
	return l
}

func documentNames(p *phrases, names []string) []document {
	var docs []document
	for i, name := range names {
		if i == maxDocuments {
			docs = append(docs, document{Name: p.count(p.More, len(names)-i)})
			break
		}
		if name = line(name, maxName); name != "" {
			docs = append(docs, document{Name: name})
		}
	}
	return docs
}

// Render renders the email. The code is not in the subject, because mail servers log subjects.
func (d Code) Render() (Content, error) {
	p := phrasesIn(d.Language)
	code, valid := line(d.Code, maxName), p.minutes(d.ValidFor)
	l := p.letter(d.Branding, d.SenderName, d.RecipientName)
	l.Heading, l.Preheader = p.CodeHeading, p.fill(p.CodePreheader, asStrong("code", code), as("duration", valid))
	intro, introFor := p.CodeIntro, p.CodeIntroFor
	if !d.Request.signs() {
		l.Heading, intro, introFor = p.CodeHeadingOther, p.CodeIntroOther, p.CodeIntroOther
		l.Preheader = p.fill("{code}. "+p.CodeValid, asStrong("code", code), as("duration", valid))
	}
	l.Subject = l.Heading
	if subject := line(d.Subject, maxSubject); subject != "" {
		l.Subject, intro = p.about(p.CodeSubject, subject), introFor
	}
	l.Blocks = []block{
		paragraph(fill(intro, asStrong("document", line(d.Subject, maxSubject)))...),
		{Code: code},
		paragraph(fill(p.CodeValid, asStrong("duration", valid))...),
		note(plain(p.CodeNote)),
	}
	return l.render()
}
