package seal

import (
	"fmt"
	"strings"

	"countersign/seal/text"
)

// drawEvents draws the audit chain as a table that flows over pages.
func (c *certificate) drawEvents() {
	const seqW, timeW, whoW, ipW = 24.0, 104.0, 118.0, 92.0
	eventW := c.inner() - seqW - timeW - whoW - ipW
	xs := []float64{certMargin, certMargin + seqW, certMargin + seqW + timeW, certMargin + seqW + timeW + eventW, c.right() - ipW}
	header := func() {
		p := c.page()
		c.y += 8
		for i, s := range []string{"#", "TIME (UTC)", "EVENT", "WHO", "IP ADDRESS"} {
			p.line(faceHead, xs[i], c.y, s)
		}
		c.y += 5
		p.rule(certMargin, c.y, c.right(), c.y, 0.4, pale)
	}
	c.section("Events", 3*rowHeight)
	header()
	for _, e := range c.events {
		p := c.page()
		what := p.wrap(faceSmall, describe(e), eventW-8, 2)
		who := p.wrap(faceSmall, or(c.names[e.Actor], actorWords(e.Actor)), whoW-8, 2)
		ip := p.wrap(faceSmall, or(e.IP, "–"), ipW, 2)
		lines := max(len(what), len(who), len(ip))
		h := rowHeight + float64(lines-1)*9.5
		if c.room(h) {
			header()
		}
		p = c.page()
		base := c.y + 10.5
		p.line(face{text.Sans, 7.5, grey}, xs[0], base, fmt.Sprint(e.Seq))
		p.line(faceSmall, xs[1], base, e.Timestamp.UTC().Format("2006-01-02  15:04:05"))
		for col, cell := range [][]text.Line{what, who, ip} {
			for i, l := range cell {
				p.show(faceSmall, xs[2+col], base+float64(i)*9.5, l)
			}
		}
		c.y += h
		p.rule(certMargin, c.y, c.right(), c.y, 0.3, pale)
	}
	c.y += 28
}

func actorWords(actor string) string {
	if strings.HasPrefix(actor, "app:") {
		return "Sending application"
	}
	return actor
}

func (c *certificate) drawValues() {
	c.section("Values entered", 4*rowHeight)
	c.y += 10
	p := c.page()
	c.y = p.paragraph(faceBody, certMargin, c.y, c.inner(), 11.5,
		"The original was signed digitally before it was uploaded. So that its signatures stay valid it is attached "+
			"unchanged as original.pdf, and what the signers entered is listed here.") + 4
	for _, v := range c.job.Values {
		h := rowHeight
		if len(v.PNG) > 0 {
			h = 40
		}
		c.room(h)
		p := c.page()
		base := c.y + 10.5
		p.line(faceSmall, certMargin, base, fmt.Sprintf("Page %d", v.Page))
		p.line(faceSmall, certMargin+44, base, string(v.Kind))
		p.line(faceSmall, certMargin+110, base, c.names["signer:"+v.SignerID])
		switch {
		case len(v.PNG) > 0:
			p.image(certMargin+240, c.y+3, 120, h-6, v.PNG)
		case v.Kind == Checkbox:
			p.line(faceSmall, certMargin+240, base, map[bool]string{true: "checked", false: "not checked"}[v.Checked])
		default:
			lines := p.wrap(faceSmall, v.Text, c.inner()-240, 0)
			for i, l := range lines {
				p.show(faceSmall, certMargin+240, base+float64(i)*9.5, l)
			}
			h += float64(max(len(lines), 1)-1) * 9.5
		}
		c.y += h
		p.rule(certMargin, c.y, c.right(), c.y, 0.3, pale)
	}
	c.y += 26
}

func (c *certificate) drawClosing() {
	if len(c.job.Documents) > 1 {
		c.section("Documents of this envelope", 3*rowHeight)
		for _, d := range c.job.Documents {
			c.room(26)
			p := c.page()
			title := fmt.Sprintf("%d  %s (%s)", d.Order, or(d.Name, "Document"), plural(d.PageCount, "page"))
			for _, l := range p.wrap(faceSmall, title, c.inner(), 1) {
				p.show(faceSmall, certMargin, c.y+11, l)
			}
			p.line(faceMono, certMargin, c.y+21, d.SHA256)
			c.y += 28
		}
		c.y += 20
	}
	c.section("How to verify this document", 90)
	c.y += 11
	s := "This PDF begins with the original file, byte for byte; everything that was added follows it. "
	if c.embedded {
		s = "The original file is attached to this PDF, byte for byte, as original.pdf. "
	}
	s += "It carries a digital signature that covers the whole file, so that any later change is shown by PDF readers. The attachment seal.json holds " +
		"this record, signed by " + c.service + ", with the complete audit chain: the hash of each event covers the one before it. " +
		"The seal is that of the service; it attests what the signers did and when."
	p := c.page()
	c.y = p.paragraph(faceBody, certMargin, c.y, c.inner(), 12, s)
	if c.job.VerifyURL != "" {
		for _, l := range p.wrap(faceBody, "To check it online: "+c.job.VerifyURL, c.inner(), 2) {
			p.show(faceBody, certMargin, c.y, l)
			c.y += 12
		}
	}
}
