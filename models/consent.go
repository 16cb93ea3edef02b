package models

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"countersign/locales"
)

// disclosureEdition names the edition of the texts (consent.txt in locales). A change of any of
// them is a new edition.
const disclosureEdition = "2026-11"

// Disclosure is what a signer is shown, and agrees to, before signing.
type Disclosure struct {
	Language string // ISO 639-1
	Version  string // edition and language: what the record keeps
	Text     string // paragraphs, separated by empty lines
}

// DisclosureIn is the disclosure in a language, which may be any tag of BCP 47.
// What there is no text in is shown in English.
func DisclosureIn(tag string) Disclosure {
	d, _ := disclosure(locales.Match(tag))
	return d
}

// DisclosureOf is the disclosure of a version, if that is still shown.
func DisclosureOf(version string) (Disclosure, bool) {
	language, ok := strings.CutPrefix(version, disclosureEdition+"-")
	if !ok {
		return Disclosure{}, false
	}
	return disclosure(language)
}

func disclosure(language string) (Disclosure, bool) {
	text, err := locales.Text(language, "consent.txt")
	if err != nil {
		return Disclosure{}, false
	}
	return Disclosure{Language: language, Version: disclosureEdition + "-" + language, Text: strings.TrimSpace(text)}, true
}

// Hash is the SHA-256 of the text, in lowercase hex.
func (d Disclosure) Hash() string {
	sum := sha256.Sum256([]byte(d.Text))
	return hex.EncodeToString(sum[:])
}
