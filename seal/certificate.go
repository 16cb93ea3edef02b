package seal

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"countersign/seal/lang"
	"countersign/seal/text"
	"countersign/seal/verify"
)

// Dimensions of the certificate's pages, in points.
const (
	certMargin = 50.0
	certFoot   = 46.0 // height reserved at the bottom
	rowHeight  = 15.0

	signerLabelW  = 78.0 // width of the labels in a signer's entry
	signerLeading = 12.0
)

// Text styles of the certificate.
var (
	faceTitle   = face{text.Bold, 21, ink}
	faceSubject = face{text.Sans, 11.5, gray}
	faceName    = face{text.Bold, 10.5, ink}
	faceBody    = face{text.Sans, 8.5, ink}
	faceLabel   = face{text.Sans, 8.5, gray}
	faceMono    = face{text.Mono, 7.2, ink}
	faceSmall   = face{text.Sans, 7.5, ink}
	faceHead    = face{text.Bold, 7, gray}
	faceFine    = face{text.Sans, 6.8, gray}
)

// certificate lays out the pages of the audit certificate.
type certificate struct {
	t       *typesetter
	text    *lang.Text
	job     *Job
	service string
	events  []auditEvent
	names   map[string]string // names of signers, by actor
	signed  map[string][]byte // PNG of the signature, by signer
	w, h    float64
	pages   []*canvas
	y       float64
	sigBox  [4]float64 // x, y, w, h of the visible seal on the first page
	linkBox [4]float64 // position of the address of the verification page

	accent rgbColor
}

func newCertificate(t *typesetter, job *Job, service string, paper [2]float64) (*certificate, error) {
	events, err := parseEvents(job.Events)
	if err != nil {
		return nil, err
	}
	c := &certificate{
		t: t, text: lang.ForTag(job.Language), job: job, service: service, events: events, w: paper[0], h: paper[1],
		names: map[string]string{"system": service}, signed: map[string][]byte{}, accent: accentOf(job.Color),
	}
	for _, s := range job.Signers {
		c.names["signer:"+s.ID] = s.Name
	}
	for _, v := range job.Values {
		if v.Kind == Signature && c.signed[v.SignerID] == nil {
			c.signed[v.SignerID] = v.PNG
		}
	}
	return c, nil
}

func (c *certificate) draw() error {
	c.newPage()
	c.drawHead()
	c.drawSummary()
	c.drawSigners()
	c.drawAttachments()
	c.drawEvents(c.closingHeight())
	c.drawClosing()
	for i, p := range c.pages {
		c.drawFoot(p, i)
		if p.err != nil {
			return p.err
		}
	}
	return nil
}

func (c *certificate) page() *canvas  { return c.pages[len(c.pages)-1] }
func (c *certificate) right() float64 { return c.w - certMargin }
func (c *certificate) inner() float64 { return c.w - 2*certMargin }

func (c *certificate) newPage() {
	p := c.t.canvas(c.w, c.h)
	p.mirror = c.text.RightToLeft
	c.pages = append(c.pages, p)
	p.rect(0, 0, c.w, 5, c.accent)
	p.line(c.bold(9), certMargin, 34, c.service)
	p.lineRight(faceFine, c.right(), 34, fmt.Sprintf(c.text.PageHead, c.job.Envelope.ID))
	p.rule(certMargin, 42, c.right(), 42, 0.5, pale)
	c.y = 66
}

// ensureSpace starts a new page if fewer than h points remain on the current page, and reports whether it did so.
func (c *certificate) ensureSpace(h float64) bool {
	if c.y+h <= c.h-certFoot {
		return false
	}
	c.newPage()
	return true
}

func (c *certificate) drawHead() {
	p := c.page()
	c.y = 78
	if c.job.Logo != nil {
		c.drawLogo()
	}
	p.line(faceTitle, certMargin, c.y, c.text.Title)
	c.y += 19
	subject := cmp.Or(c.job.Envelope.Subject, c.job.Document.Name)
	c.y = p.lines(faceSubject, certMargin, c.y, 15, p.wrap(faceSubject, subject, c.inner(), 2)) + 4
}

type row struct {
	label, value string
	mono         bool
}

func (c *certificate) drawSummary() {
	const qr, pad, labelW = 92.0, 14.0, 92.0
	p := c.page()
	d := c.job.Document
	rows := []row{
		{c.text.Status, c.text.Completed, false},
		{c.text.Document, fmt.Sprintf("%s (%s)", cmp.Or(d.Name, c.text.Document), c.text.Count(c.text.Pages, d.PageCount)), false},
	}
	if len(c.job.Documents) > 1 {
		rows = append(rows, row{"", fmt.Sprintf(c.text.DocumentOf, d.Order, len(c.job.Documents)), false})
	}
	rows = append(rows,
		row{c.text.Envelope, c.job.Envelope.ID, false},
		row{c.text.Sent, verify.Moment(c.job.Envelope.SentAt), false},
		row{c.text.Sealed, verify.Moment(c.job.SealedAt), false},
		row{c.text.OriginalSum, c.job.OriginalSHA256, true},
		row{c.text.ChainHead, c.job.ChainHead, true},
	)
	textW := c.inner() - qr - 3*pad - labelW
	type set struct {
		row
		lines []text.Line
		face  face
	}
	var sets []set
	height := 2 * pad
	for _, r := range rows {
		f := faceBody
		value := r.value
		if r.mono {
			f = faceMono
			value = splitHash(value)
		}
		lines := p.wrap(f, value, textW, 3)
		sets = append(sets, set{r, lines, f})
		height += float64(len(lines))*11.5 + 2.5
	}
	height = max(height, qr+2*pad+22) - 4
	p.rect(certMargin, c.y, c.inner(), height, tint)
	p.rect(certMargin, c.y, 2.5, height, c.accent)
	y := c.y + pad + 8
	for _, s := range sets {
		p.line(faceLabel, certMargin+pad, y, s.label)
		y = p.lines(s.face, certMargin+pad+labelW, y, 11.5, s.lines) + 2.5
	}
	x := c.right() - pad - qr
	if c.job.VerifyURL != "" {
		p.qr(x, c.y+pad, qr)
		s := c.text.VerifyThis
		p.line(c.bold(7.5), x+(qr-p.width(c.bold(7.5), s))/2, c.y+pad+qr+12, s)
		c.linkBox = [4]float64{x, c.y + pad, qr, qr + 16}
	}
	c.y += height + 16
	// The visible part of the digital signature.
	c.sigBox = [4]float64{certMargin, c.y, c.inner(), 34}
	c.y += 34 + 26
}

func (c *certificate) section(title string, need float64) {
	c.ensureSpace(need + 24)
	p := c.page()
	p.line(c.bold(11), certMargin, c.y, title)
	c.y += 7
	p.rule(certMargin, c.y, c.right(), c.y, 0.8, c.accent)
	c.y += 5
}

func (c *certificate) drawSigners() {
	c.section(c.text.Count(c.text.Signers, len(c.job.Signers)), 100)
	for i, s := range c.job.Signers {
		rows := []row{
			{c.text.IdentityCheck, c.identityCheck(s), false},
			{c.text.CodeConfirmed, verify.Moment(s.VerifiedAt), false},
			{c.text.ConsentGiven, c.consent(s), false},
			{c.text.Signed, verify.Moment(s.SignedAt), false},
			{c.text.Shown, c.displayedValues(s), false},
			{c.text.IPAddress, cmp.Or(s.IP, "–"), false},
			{c.text.Device, cmp.Or(s.UserAgent, "–"), false},
		}
		if s.AuthMethod == "none" {
			rows = append(rows[:1], rows[2:]...)
		}
		if says := c.part(s); says != "" {
			rows = append([]row{{c.text.Part, says, false}}, rows...)
		}
		const signW = 130.0
		p := c.page()
		textW := c.inner() - signW - signerLabelW - 16
		height := 42.0
		lines := make([][]text.Line, len(rows))
		for k, r := range rows {
			lines[k] = p.wrap(faceBody, r.value, textW, 0)
			height += float64(len(lines[k])) * signerLeading
		}
		contact := s.Email
		if s.Phone != "" {
			contact += " · " + s.Phone
		}
		names := p.wrap(faceName, s.Name, c.inner()-signW-16, 0)
		contacts := p.wrapAt("@.-_+ ", faceLabel, contact, c.inner()-signW-16, 0)
		height += float64(len(names)-1)*13 + float64(len(contacts)-1)*12
		c.ensureSpace(height)
		p = c.page()
		c.y += 15
		top := c.y - 12
		c.y = p.lines(faceName, certMargin, c.y, 13, names) - 1
		c.y = p.lines(faceLabel, certMargin, c.y, 12, contacts) + 3
		for k, r := range rows {
			p.line(faceLabel, certMargin, c.y, r.label)
			c.y = p.lines(faceBody, certMargin+signerLabelW, c.y, signerLeading, lines[k])
		}
		if img := c.signed[s.ID]; img != nil {
			bx, by := c.right()-signW, top+4
			p.image(bx+8, by, signW-16, 46, img)
			p.rule(bx, by+50, c.right(), by+50, 0.5, pale)
			p.lineRight(faceFine, c.right(), by+59, fmt.Sprintf(c.text.SignerOf, i+1, len(c.job.Signers)))
		}
		c.drawPrevious(s)
		if i < len(c.job.Signers)-1 {
			c.page().rule(certMargin, c.y+2, c.right(), c.y+2, 0.4, pale)
			c.y += 7
		}
	}
	c.y += 26
}

// displayedValues returns a description of the other signers' values that a signer was shown.
func (c *certificate) displayedValues(s Signer) string {
	if s.Shown == nil {
		return c.text.ShownUnknown
	}
	if len(s.Shown.Signers) == 0 {
		return c.text.ShownDocuments
	}
	names := make([]string, 0, len(s.Shown.Signers))
	for _, id := range s.Shown.Signers {
		names = append(names, cmp.Or(c.names["signer:"+id], id))
	}
	return fmt.Sprintf(c.text.ShownEntries, strings.Join(names, ", "))
}

func (c *certificate) consent(s Signer) string {
	if s.ConsentAt.IsZero() || s.ConsentVersion == "" {
		return verify.Moment(s.ConsentAt)
	}
	return verify.Moment(s.ConsentAt) + ", " + fmt.Sprintf(c.text.Disclosure, s.ConsentVersion)
}

// identityCheck returns a description of how a signer's identity was checked.
func (c *certificate) identityCheck(s Signer) string {
	switch s.AuthMethod {
	case "email_otp":
		return c.text.ByEmailCode
	case "sms_otp":
		return c.text.BySMSCode
	case "none":
		return c.text.ByLinkAlone
	}
	return s.AuthMethod
}

func (c *certificate) drawFoot(p *canvas, i int) {
	y := c.h - 26
	p.rule(certMargin, y-11, c.right(), y-11, 0.4, pale)
	p.line(faceFine, certMargin, y, fmt.Sprintf(c.text.PageFoot, c.job.OriginalSHA256))
	p.lineRight(faceFine, c.right(), y, fmt.Sprintf("%d / %d", i+1, len(c.pages)))
}

// appearance draws the visible part of the digital signature.
func (c *certificate) appearance(signer string) *canvas {
	p := c.t.canvas(c.sigBox[2], c.sigBox[3])
	p.mirror = c.text.RightToLeft
	p.stroke(c.accent)
	p.op("w", 0.8)
	p.op("re", 0.4, 0.4, p.w-0.8, p.h-0.8)
	p.op("S")
	p.stroke(c.accent)
	p.op("w", 1.6)
	p.op("J", 1)
	p.op("j", 1)
	tick := p.left(14, 13)
	p.op("m", tick, p.h/2)
	p.op("l", tick+4.5, p.h/2-5)
	p.op("l", tick+13, p.h/2+6)
	p.op("S")
	p.line(c.bold(9), 38, 14.5, fmt.Sprintf(c.text.SealedBy, signer))
	p.line(faceFine, 38, 25.5, fmt.Sprintf(c.text.SealedOn, verify.Moment(c.job.SealedAt)))
	return p
}

// qr draws the QR code with the address of the verification page as vector graphics.
func (c *canvas) qr(x, y, size float64) {
	bits, err := c.t.ahead.qr()
	if err != nil {
		c.fail(fmt.Errorf("seal: QR code: %w", err))
		return
	}
	c.rect(x, y, size, size, rgbColor{1, 1, 1})
	x = c.left(x, size)
	quiet := 4.0
	unit := size / (float64(len(bits)) + 2*quiet)
	c.fill(ink)
	for r, line := range bits {
		for k := 0; k < len(line); {
			if !line[k] {
				k++
				continue
			}
			n := k
			for n < len(line) && line[n] {
				n++
			}
			c.op("re", x+(quiet+float64(k))*unit, c.h-y-(quiet+float64(r)+1)*unit, float64(n-k)*unit, unit)
			k = n
		}
	}
	c.op("f")
}

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// splitHash breaks a hash into two halves that fit on short lines.
func splitHash(s string) string {
	if len(s) != 64 {
		return s
	}
	return s[:32] + "\n" + s[32:]
}

// accentOf returns the certificate's accent color: the sender's, specified as #rrggbb, or the service's.
func accentOf(s string) rgbColor {
	if len(s) != len("#rrggbb") || s[0] != '#' {
		return accent
	}
	n, err := strconv.ParseUint(s[1:], 16, 24)
	if err != nil {
		return accent
	}
	return rgbColor{float64(n>>16) / 255, float64(n>>8&255) / 255, float64(n&255) / 255}
}

// bold returns a bold face in the certificate's accent color.
func (c *certificate) bold(size float64) face { return face{text.Bold, size, c.accent} }

// drawLogo draws the sender's logo above the title and reserves space for it.
func (c *certificate) drawLogo() {
	const w, h = 180.0, 36.0
	p := c.page()
	p.image(certMargin, 52, w, h, c.job.Logo)
	c.y += h + 8
}
