package templates

import (
	"strings"
	"unicode/utf16"
)

// One text message can contain 160 characters of the GSM 7-bit alphabet or 70 UTF-16 code units (3GPP TS 23.038).
const (
	gsmLength  = 160
	ucs2Length = 70
	gsmBasic   = "@£$¥èéùìòÇ\nØø\rÅåΔ_ΦΓΛΩΠΨΣΘΞÆæßÉ !\"#¤%&'()*+,-./0123456789:;<=>?" +
		"¡ABCDEFGHIJKLMNOPQRSTUVWXYZÄÖÑÜ§¿abcdefghijklmnopqrstuvwxyzäöñüà"
	gsmExtended = "^{}\\[~]|€"
)

// SMS returns the text message, shortened to fit into a single message. If the link is too long for that, the text
// still begins with the sender's name. Without a link, the text refers to an email.
func (d Invitation) SMS() string {
	p := phrasesIn(d.Language)
	sender, subject := line(d.SenderName, 40), line(d.Subject, 60)
	if d.Request != "" {
		return d.otherSMS(p, subject)
	}
	withSubject, plainly, nobody := p.SMSLinkFor, p.SMSLink, p.SMSLinkNobody
	if d.SigningURL == "" {
		withSubject, plainly, nobody = p.SMSMailFor, p.SMSMail, p.SMSMailNobody
	}
	var forms []string
	for _, phrase := range []string{withSubject, plainly, nobody} {
		if phrase == withSubject && subject == "" || phrase != nobody && sender == "" {
			continue
		}
		forms = append(forms, p.fill(phrase, as("sender", sender), as("document", subject), as("link", d.SigningURL)))
	}
	fallback := len(forms) - 1
	if d.SigningURL != "" && fallback > 0 {
		fallback--
	}
	return preferShort(forms, fallback)
}

// otherSMS is like SMS, but for a recipient other than an ordinary signer.
func (d Invitation) otherSMS(p *phrases, subject string) string {
	d.SenderName = line(d.SenderName, 40)
	request := d.request(p)
	short, long := request+": "+d.SigningURL, request+": "+subject+" "+d.SigningURL
	if d.SigningURL == "" {
		short, long = request+". "+p.SMSLook, request+": "+subject+". "+p.SMSLook
	}
	if subject == "" {
		return short
	}
	return preferShort([]string{long, short}, 1)
}

// SMS returns the text message.
func (d Code) SMS() string {
	p := phrasesIn(d.Language)
	values := []value{as("code", line(d.Code, 20)), as("duration", p.minutes(d.ValidFor)), as("document", line(d.Subject, 60))}
	if !d.Request.signs() {
		return p.fill(p.SMSCodeOther, values...)
	}
	forms := []string{p.fill(p.SMSCode, values...)}
	if line(d.Subject, 60) != "" {
		forms = append([]string{p.fill(p.SMSCodeFor, values...)}, forms...)
	}
	return preferShort(forms, len(forms)-1)
}

// preferShort returns the first form that fits into one message. If none fits, it returns forms[fallback].
func preferShort(forms []string, fallback int) string {
	for _, form := range forms {
		if singleSMS(form) {
			return form
		}
	}
	return forms[fallback]
}

func singleSMS(s string) bool {
	length := 0
	for _, r := range s {
		switch {
		case strings.ContainsRune(gsmBasic, r):
			length++
		case strings.ContainsRune(gsmExtended, r):
			length += 2
		default:
			return len(utf16.Encode([]rune(s))) <= ucs2Length
		}
	}
	return length <= gsmLength
}
