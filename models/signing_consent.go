package models

import (
	"strings"

	"countersign/locales"
)

// disclosureEdition is the edition of the texts in consent.txt and consent_answer.txt in locales. Changing any of these
// texts requires a new edition.
const disclosureEdition = "2026-11"

// answerVersionPrefix is part of the version of the text for recipients who approve or read.
const answerVersionPrefix = "answer-"

// Disclosure is the text that a signer reads and accepts before signing.
type Disclosure struct {
	Language string // ISO 639-1
	Version  string // as recorded in the audit trail, for example 2026-11-en or 2026-11-answer-en
	Text     string // paragraphs, separated by blank lines
	answers  bool   // whether the text is for recipients who approve or read
}

// Disclosure returns the disclosure for signing, or for approving and reading, in the language of a BCP 47 tag. If
// there is no translation, the English text is returned.
func (s *Signer) Disclosure(tag string) Disclosure {
	d, _ := disclosure(locales.Match(tag), !s.rules().signs)
	return d
}

// Shows reports whether d is a text that is shown to the signer.
func (s *Signer) Shows(d Disclosure) bool { return d.answers == !s.rules().signs }

// DisclosureOf returns the disclosure with the given version, if it belongs to the current edition.
func DisclosureOf(version string) (Disclosure, bool) {
	language, ok := strings.CutPrefix(version, disclosureEdition+"-")
	if !ok {
		return Disclosure{}, false
	}
	language, answers := strings.CutPrefix(language, answerVersionPrefix)
	return disclosure(language, answers)
}

func disclosure(language string, answers bool) (Disclosure, bool) {
	file, mark := "consent.txt", ""
	if answers {
		file, mark = "consent_answer.txt", answerVersionPrefix
	}
	text, err := locales.Text(language, file)
	if err != nil {
		return Disclosure{}, false
	}
	return Disclosure{Language: language, Version: disclosureEdition + "-" + mark + language, Text: strings.TrimSpace(text), answers: answers}, true
}

// Hash returns the SHA-256 hash of the text, in lowercase hexadecimal.
func (d Disclosure) Hash() string { return hexDigest([]byte(d.Text)) }
