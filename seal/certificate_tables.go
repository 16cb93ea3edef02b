package seal

import (
	"cmp"
	"fmt"
	"strings"

	"countersign/seal/manifest"
	"countersign/seal/text"
	"countersign/seal/verify"
)

// minLastEvents is the minimum number of table rows that move to the next page together with the following section. The
// section is therefore never the only content of a page.
const minLastEvents = 3

// drawEvents draws the audit chain as a table, which can span several pages. It reserves the given height for the
// content that follows the table.
func (c *certificate) drawEvents(closing float64) {
	const seqW, timeW, whoW, ipW = 24.0, 104.0, 118.0, 92.0
	eventW := c.inner() - seqW - timeW - whoW - ipW
	xs := []float64{certMargin, certMargin + seqW, certMargin + seqW + timeW, certMargin + seqW + timeW + eventW, c.right() - ipW}
	header := func() {
		p := c.page()
		c.y += 8
		for i, s := range []string{"#", c.text.ColumnTime, c.text.ColumnEvent, c.text.ColumnWho, c.text.ColumnIP} {
			p.line(faceHead, xs[i], c.y, s)
		}
		c.y += 5
		p.rule(certMargin, c.y, c.right(), c.y, 0.4, pale)
	}
	type row struct {
		cells [3][]text.Line
		h     float64
	}
	rows := make([]row, len(c.events))
	last := closing // height of the last rows and the content that follows them
	signers := newPersons(c.job.Signers)
	for i, e := range c.events {
		p := c.page()
		actor := signers.name(e.Actor)
		what := p.wrap(faceSmall, c.describe(e, signers), eventW-8, 0)
		by := p.wrap(faceSmall, cmp.Or(actor, c.names[e.Actor], c.actor(e.Actor)), whoW-8, 0)
		ip := p.wrapAt(":.", faceSmall, cmp.Or(e.IP, "–"), ipW, 0)
		rows[i] = row{[3][]text.Line{what, by, ip}, rowHeight + float64(max(len(what), len(by), len(ip))-1)*9.5}
		if i >= len(c.events)-minLastEvents {
			last += rows[i].h
		}
	}
	c.section(c.text.Events, 3*rowHeight)
	header()
	for i, r := range rows {
		need := r.h
		if i == max(len(rows)-minLastEvents, 0) {
			need = min(last, c.h/2)
		}
		if c.ensureSpace(need) {
			header()
		}
		p := c.page()
		base := c.y + 10.5
		p.line(face{text.Sans, 7.5, gray}, xs[0], base, fmt.Sprint(c.events[i].Seq))
		p.line(faceSmall, xs[1], base, c.events[i].Timestamp.UTC().Format("2006-01-02  15:04:05"))
		for col, cell := range r.cells {
			p.lines(faceSmall, xs[2+col], base, 9.5, cell)
		}
		c.y += r.h
		p.rule(certMargin, c.y, c.right(), c.y, 0.3, pale)
	}
	c.y += 28
}

func (c *certificate) actor(actor string) string {
	switch kind, _, _ := strings.Cut(actor, ":"); kind {
	case "app":
		return c.text.SendingApplication
	case "user":
		return c.text.ConsoleUser
	}
	return actor
}

// howToHeight is the minimum height of the verification section.
const howToHeight = 114.0

// closingHeight returns the height of the content that must be on the same page as the end of the event table.
func (c *certificate) closingHeight() float64 {
	if len(c.job.Documents) > 1 {
		return 28 + 3*rowHeight
	}
	return 28 + c.howToHeight()
}

// howToHeight returns the height of the verification section.
func (c *certificate) howToHeight() float64 {
	if c.showed() {
		return howToHeight + 24
	}
	return howToHeight
}

// showed reports whether pages were displayed to signers.
func (c *certificate) showed() bool {
	return c.job.Appearance != nil && len(c.job.Appearance.Pages) > 0
}

func (c *certificate) drawClosing() {
	if len(c.job.Documents) > 1 {
		c.section(c.text.DocumentsOfEnvelope, 3*rowHeight)
		for _, d := range c.job.Documents {
			c.ensureSpace(26)
			p := c.page()
			title := fmt.Sprintf("%d  %s (%s)", d.Order, cmp.Or(d.Name, c.text.Document), c.text.Count(c.text.Pages, d.PageCount))
			p.lines(faceSmall, certMargin, c.y+11, 0, p.wrap(faceSmall, title, c.inner(), 1))
			p.line(faceMono, certMargin, c.y+21, d.SHA256)
			c.y += 28
		}
		c.y += 20
	}
	c.section(c.text.HowToVerify, c.howToHeight()-24)
	c.y += 11
	s := c.text.BeginsWithOriginal
	if c.job.Prepared != nil {
		s = c.prepared(s)
	}
	if s += " " + fmt.Sprintf(c.text.Explained, c.service); c.showed() {
		s += " " + c.text.Reproducible
	}
	p := c.page()
	c.y = p.paragraph(faceBody, certMargin, c.y, c.inner(), 12, s)
	if c.job.VerifyURL != "" {
		c.y = p.lines(faceBody, certMargin, c.y, 12, p.wrap(faceBody, fmt.Sprintf(c.text.Online, c.job.VerifyURL), c.inner(), 2))
	}
}

// prepared returns the sentences about the position of the original in the sealed file, and about content that was
// removed from the original before anyone read it. If the original was not rewritten, the first sentence is the
// argument.
func (c *certificate) prepared(begins string) string {
	p := c.job.Prepared
	if p.As == manifest.Rewritten {
		begins = c.rewritten()
	}
	var kinds []string
	counts := make(map[string]int)
	for _, change := range p.Changes {
		if counts[change.Kind] == 0 {
			kinds = append(kinds, change.Kind)
		}
		counts[change.Kind] += change.Count
	}
	for i, kind := range kinds {
		kinds[i] = fmt.Sprintf("%s (%d)", cmp.Or(c.text.PreparedKinds[kind], kind), counts[kind])
	}
	if len(kinds) == 0 {
		return begins
	}
	return begins + " " + fmt.Sprintf(c.text.Prepared, strings.Join(kinds, ", "), p.SHA256)
}

// rewritten returns the sentences that explain why the sealed file contains the original as an attachment rather than
// beginning with it.
func (c *certificate) rewritten() string {
	var out []string
	for _, change := range c.job.Prepared.Changes {
		switch change.Kind {
		case manifest.PasswordRemoved:
			out = append(out, c.text.OriginalProtected)
		case manifest.Repaired:
			out = append(out, c.text.OriginalRepaired)
		case manifest.SignaturesRemoved:
			out = append(out, fmt.Sprintf(c.text.OriginalSigned, uploadSignatures(c.job.Prepared.Signatures)))
		}
	}
	return strings.Join(out, " ")
}

// Limits for the list of an original's signatures.
const (
	maxUploadSignatures = 16
	maxUploadSigner     = 80 // in characters
)

// uploadSignatures returns a list of digital signatures with the signers and times that they claim.
func uploadSignatures(all []manifest.Signature) string {
	var out []string
	for _, s := range all[:min(len(all), maxUploadSignatures)] {
		by := []rune(cmp.Or(s.By, "?"))
		says := string(by[:min(len(by), maxUploadSigner)])
		if s.At != nil {
			says += " (" + verify.Moment(*s.At) + ")"
		}
		out = append(out, says)
	}
	if len(out) == 0 || len(all) > len(out) {
		out = append(out, "…")
	}
	return strings.Join(out, ", ")
}

// drawPrevious draws the list of persons who were replaced by s. The list can be longer than a page.
func (c *certificate) drawPrevious(s Signer) {
	for _, was := range s.Previous {
		says := fmt.Sprintf(c.text.PreviousUntil, was.Name, was.Email, verify.Moment(was.Until))
		if was.Reason != "" {
			says += "\n" + fmt.Sprintf(c.text.ReasonGiven, was.Reason)
		}
		for i, l := range c.page().wrap(faceBody, says, c.inner()-signerLabelW, 0) {
			c.ensureSpace(signerLeading)
			if i == 0 {
				c.page().line(faceLabel, certMargin, c.y, c.text.Previously)
			}
			c.page().show(faceBody, certMargin+signerLabelW, c.y, l)
			c.y += signerLeading
		}
	}
}

// part returns a description of a signer's role, or "" for an ordinary signer.
func (c *certificate) part(s Signer) string {
	switch {
	case s.WitnessFor != "":
		return fmt.Sprintf(c.text.WitnessOf, cmp.Or(c.names["signer:"+s.WitnessFor], s.WitnessFor))
	case s.Host != nil:
		return fmt.Sprintf(c.text.HostedBy, s.Host.Name, s.Host.Email)
	}
	return cmp.Or(c.text.PartKinds[s.Kind], s.Kind)
}
