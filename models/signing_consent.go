package models

import (
	"strings"

	"countersign/locales"
)

// disclosureEdition names the edition of the texts (consent.txt and consent_answer.txt in
// locales). A change of any of them is a new edition.
const disclosureEdition = "2026-11"

// answerMark is the prefix of the text's version for recipients who approve or read.
const answerMark = "answer-"

// Disclosure is the text that a signer reads and accepts before signing.
type Disclosure struct {
	Language string // ISO 639-1
	Version  string // as recorded: edition, "answer" for recipients who approve or read, and language
	Text     string // paragraphs, separated by empty lines
	answers  bool   // for recipients who approve or read
}

// Disclosure returns the disclosure in a language: of signing, or of approving and reading. tag is any BCP 47 tag; a
// language without a translation results in English.
func (s *Signer) Disclosure(tag string) Disclosure {
	d, _ := disclosure(locales.Match(tag), !s.rules().signs)
	return d
}

// Shows reports whether d is a text that the signer is shown.
func (s *Signer) Shows(d Disclosure) bool { return d.answers == !s.rules().signs }

// DisclosureOf is the disclosure of a version, if that is still shown.
func DisclosureOf(version string) (Disclosure, bool) {
	language, ok := strings.CutPrefix(version, disclosureEdition+"-")
	if !ok {
		return Disclosure{}, false
	}
	language, answers := strings.CutPrefix(language, answerMark)
	return disclosure(language, answers)
}

func disclosure(language string, answers bool) (Disclosure, bool) {
	file, mark := "consent.txt", ""
	if answers {
		file, mark = "consent_answer.txt", answerMark
	}
	text, err := locales.Text(language, file)
	if err != nil {
		return Disclosure{}, false
	}
	return Disclosure{Language: language, Version: disclosureEdition + "-" + mark + language, Text: strings.TrimSpace(text), answers: answers}, true
}

// Hash is the SHA-256 of the text, in lowercase hex.
func (d Disclosure) Hash() string { return hexDigest([]byte(d.Text)) }
