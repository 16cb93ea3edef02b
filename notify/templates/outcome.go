package templates

import "fmt"

// Render writes the mail.
func (d Completed) Render() (Content, error) {
	what := subjectOr(d.Subject, "your document")
	l := letter{
		Subject:   line("Completed: "+what, maxSubject),
		Heading:   "Everyone has signed",
		Preheader: "All signatures are complete. Your signed copy is " + d.where() + ".",
		Greeting:  greeting(d.RecipientName),
		Footer:    sentBy(d.SenderName),
		Blocks: []block{
			paragraph(strong(what), plain(" was signed by everyone and sealed on "+moment(d.CompletedAt)+". Your signed copy is "+d.where()+".")),
		},
	}
	if len(d.Documents) > 0 {
		l.Blocks = append(l.Blocks, block{Documents: d.documents()})
	}
	if d.VerifyURL != "" {
		l.Blocks = append(l.Blocks, note(plain("Each file carries a digital seal that shows any later change. Check a file at any time: "), link(d.VerifyURL)))
	}
	return l.render()
}

func (d Completed) where() string {
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
		return "attached"
	case attached == 0:
		return "ready to download"
	}
	return "attached, the larger files as links"
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

// Render writes the mail; an unknown kind is an error.
func (d Closed) Render() (Content, error) {
	what, by, when := subjectOr(d.Subject, "your document"), line(d.ByName, maxName), " on "+moment(d.At)+"."
	l := letter{
		Greeting: greeting(d.RecipientName), Footer: sentBy(d.SenderName),
		Preheader: "Nothing more needs to be signed.",
	}
	someone := []span{strong(by), plain(" "), {}, strong(what), plain(when)}
	nobody := []span{plain("The signing of "), strong(what), {}, plain(when)}
	switch d.Kind {
	case Declined:
		l.Subject, l.Heading = "Declined: "+what, "Signing was declined"
		someone[2], nobody[2] = plain("declined to sign "), plain(" was declined")
	case Voided:
		l.Subject, l.Heading = "Cancelled: "+what, "Signing was cancelled"
		someone[2], nobody[2] = plain("cancelled the signing of "), plain(" was cancelled")
	case Expired:
		l.Subject, l.Heading = "Expired: "+what, "The deadline has passed"
		by, nobody = "", []span{plain("The deadline to sign "), strong(what), plain(" passed" + when)}
	default:
		return Content{}, fmt.Errorf("mail template: unknown kind %q", d.Kind)
	}
	l.Subject = line(l.Subject, maxSubject)
	intro := someone
	if by == "" {
		intro = nobody
	}
	l.Blocks = append(l.Blocks, paragraph(intro...))
	if words := lines(d.ReasonText); len(words) > 0 {
		l.Blocks = append(l.Blocks, block{Quote: &quote{"Reason", words}})
	}
	l.Blocks = append(l.Blocks, paragraph(plain("Nothing more needs to be signed, and the links sent for it no longer work.")))
	return l.render()
}

// Render writes the mail.
func (d DeletionReminder) Render() (Content, error) {
	what := subjectOr(d.Subject, "your document")
	left := "Less than a day"
	if d.DaysLeft > 0 {
		left = count(d.DaysLeft, "day")
	}
	l := letter{
		Subject:   line(left+" left to download: "+what, maxSubject),
		Heading:   "Keep your signed copy",
		Preheader: "It will be deleted on " + day(d.PurgeOn) + ".",
		Greeting:  greeting(d.RecipientName),
		Footer:    sentBy(d.SenderName),
		Blocks: []block{
			paragraph(plain("Your signed copy of "), strong(what), plain(" will be deleted on "), strong(day(d.PurgeOn)), plain(". Download it to keep it.")),
			action("Download", d.DownloadURL),
			note(plain("Once you have downloaded it, we stop reminding you.")),
		},
	}
	return l.render()
}

// Render writes the mail.
func (d WebhookDisabled) Render() (Content, error) {
	l := letter{
		Subject:   "A webhook endpoint was switched off",
		Heading:   "A webhook endpoint was switched off",
		Preheader: "It failed every delivery since " + moment(d.Since) + ".",
		Greeting:  greeting(d.RecipientName),
		Footer:    sentBy(""),
		Blocks: []block{
			paragraph(plain("Every delivery to this endpoint has failed for days, so it was switched off. It gets no more events.")),
			{Facts: []fact{
				{"Endpoint", line(d.URL, 2048)},
				{"Failing since", moment(d.Since)},
				{"Last error", subjectOr(d.LastError, "not known")},
			}},
		},
	}
	if d.ConsoleURL != "" {
		l.Blocks = append(l.Blocks, action("Open the console", d.ConsoleURL))
	}
	l.Blocks = append(l.Blocks, note(plain("Once it works again, switch it on and have the failed deliveries sent again.")))
	return l.render()
}

func subjectOr(s, instead string) string {
	if s = line(s, maxSubject); s != "" {
		return s
	}
	return instead
}
