package templates

import (
	"strings"
	"unicode/utf16"
)

// One text message holds 160 characters of the GSM 7-bit alphabet or 70 UTF-16
// units (3GPP TS 23.038).
const (
	gsmLength  = 160
	ucs2Length = 70
	gsmBasic   = "@£$¥èéùìòÇ\nØø\rÅåΔ_ΦΓΛΩΠΨΣΘΞÆæßÉ !\"#¤%&'()*+,-./0123456789:;<=>?" +
		"¡ABCDEFGHIJKLMNOPQRSTUVWXYZÄÖÑÜ§¿abcdefghijklmnopqrstuvwxyzäöñüà"
	gsmExtended = "^{}\\[~]|€"
)

// SMS writes the text message, as short as it takes to fit one part; a link too
// long for that still comes with the sender's name. Without a link it says that
// there is a mail.
func (d Invitation) SMS() string {
	sender, subject := line(d.SenderName, 40), line(d.Subject, 60)
	asks := "You are asked"
	if sender != "" {
		asks = sender + " asks you"
	}
	forms := []string{asks + " to sign: " + d.SigningURL, "Please sign: " + d.SigningURL}
	if d.SigningURL == "" {
		const look = " Please look into your mail."
		forms = []string{asks + " to sign a document." + look, "You are asked to sign a document." + look}
		if subject != "" {
			forms = append([]string{asks + ` to sign "` + subject + `".` + look}, forms...)
		}
		return firstShort(forms, len(forms)-1)
	}
	if subject != "" {
		forms = append([]string{asks + ` to sign "` + subject + `": ` + d.SigningURL}, forms...)
	}
	return firstShort(forms, len(forms)-2)
}

// SMS writes the text message.
func (d Code) SMS() string {
	code, valid := line(d.Code, 20), duration(d.ValidFor)
	forms := []string{code + " is your signing code. Valid for " + valid + ". Tell nobody."}
	if subject := line(d.Subject, 60); subject != "" {
		forms = append([]string{code + ` is your code to sign "` + subject + `". Valid for ` + valid + ". Tell nobody."}, forms...)
	}
	return firstShort(forms, len(forms)-1)
}

// firstShort returns the first form that fits one message, or the one at
// fallback if none does.
func firstShort(forms []string, fallback int) string {
	for _, form := range forms {
		if oneMessage(form) {
			return form
		}
	}
	return forms[fallback]
}

func oneMessage(s string) bool {
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
