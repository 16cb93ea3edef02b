package templates

// Render writes the mail. Its subject is the envelope's, unless that is empty.
func (d Invitation) Render() (Content, error) {
	l := d.letter()
	l.Subject = line(d.Subject, maxSubject)
	if l.Subject == "" {
		l.Subject = d.asks() + " to sign " + d.what()
	}
	l.Heading = "Your signature is requested"
	l.Preheader = d.asks() + " to review and sign " + d.what() + "."
	return l.render()
}

// Render writes the mail.
func (d Reminder) Render() (Content, error) {
	in := Invitation(d)
	l := in.letter()
	l.Subject = line("Reminder: "+in.what(), maxSubject)
	if in.named() == "" {
		l.Subject = "Reminder: please sign " + in.what()
	}
	l.Heading = "Your signature is still needed"
	l.Preheader = "A reminder: " + in.asks() + " to review and sign " + in.what() + "."
	if in.sender() == "" {
		l.Preheader = "A reminder: you are asked to review and sign " + in.what() + "."
	}
	return l.render()
}

func (d Invitation) sender() string { return line(d.SenderName, maxName) }

func (d Invitation) asks() string {
	if sender := d.sender(); sender != "" {
		return sender + " asks you"
	}
	return "You are asked"
}

func (d Invitation) named() string { return line(d.Subject, maxSubject) }

// what names the thing to sign: its subject, its only document, or what it is.
func (d Invitation) what() string {
	if subject := d.named(); subject != "" {
		return subject
	}
	switch len(d.DocumentNames) {
	case 0:
		return "a document"
	case 1:
		if name := line(d.DocumentNames[0], maxName); name != "" {
			return name
		}
		return "a document"
	}
	return count(len(d.DocumentNames), "document")
}

func (d Invitation) letter() letter {
	l := letter{Greeting: greeting(d.RecipientName), Footer: sentBy(d.SenderName)}
	intro := []span{plain("You are asked to review and sign "), strong(d.what()), plain(".")}
	if sender := d.sender(); sender != "" {
		intro = []span{strong(sender), plain(" asks you to review and sign "), strong(d.what()), plain(".")}
	}
	l.Blocks = append(l.Blocks, paragraph(intro...))
	if words := lines(d.Message); len(words) > 0 {
		from := "Message"
		if sender := d.sender(); sender != "" {
			from += " from " + sender
		}
		l.Blocks = append(l.Blocks, block{Quote: &quote{from, words}})
	}
	if docs := documentNames(d.DocumentNames); len(docs) > 0 {
		l.Blocks = append(l.Blocks, block{Documents: docs})
	}
	l.Blocks = append(l.Blocks, action("Review and sign", d.SigningURL))
	if d.ExpiresAt != nil {
		l.Blocks = append(l.Blocks, paragraph(plain("Please sign by "), strong(moment(*d.ExpiresAt)), plain(". The link stops working then.")))
	}
	l.Blocks = append(l.Blocks, note(plain("The link is yours alone: please do not forward this mail. "+
		"If you did not expect it, you can ignore it; nothing is signed unless you sign.")))
	return l
}

func documentNames(names []string) []document {
	var docs []document
	for i, name := range names {
		if i == maxDocuments {
			docs = append(docs, document{Name: "and " + count(len(names)-i, "more document")})
			break
		}
		if name = line(name, maxName); name != "" {
			docs = append(docs, document{Name: name})
		}
	}
	return docs
}

// Render writes the mail. The code is not in the subject, which mail servers log.
func (d Code) Render() (Content, error) {
	l := letter{
		Subject:   "Your signing code",
		Heading:   "Your signing code",
		Preheader: "Enter " + line(d.Code, maxName) + " on the signing page. It is valid for " + duration(d.ValidFor) + ".",
		Greeting:  greeting(d.RecipientName),
		Footer:    sentBy(""),
	}
	intro := []span{plain("Enter this code on the signing page to go on:")}
	if subject := line(d.Subject, maxSubject); subject != "" {
		l.Subject = line("Your code for "+subject, maxSubject)
		intro = []span{plain("Enter this code on the signing page to go on with "), strong(subject), plain(":")}
	}
	l.Blocks = []block{
		paragraph(intro...),
		{Code: line(d.Code, maxName)},
		paragraph(plain("It is valid for "), strong(duration(d.ValidFor)), plain(" and works once.")),
		note(plain("Tell nobody this code: we never ask for it by phone or mail. " +
			"If you did not request it, you can ignore this mail.")),
	}
	return l.render()
}
