// Package locales holds every text that signers and senders read, a folder for each
// language: of the signing pages (pages.json), of the page where documents are prepared (builder.json), of the console
// (console.json), of the verification page (verification.json), of mails and text messages (mail.json), of the audit certificate
// (certificate.json), and the consent to sign electronically (consent.txt), or to approve or read (consent_answer.txt). The pages are
// built from the same files. languages.json names the languages in their own words.
package locales

import (
	"bytes"
	"embed"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/text/feature/plural"
	"golang.org/x/text/language"
)

// Default is the language for people with an unsupported language.
const Default = "en"

//go:embed */*.json */*.txt
var files embed.FS

// Tags returns the languages (ISO 639-1), English first.
func Tags() []string { return slices.Clone(tags) }

//nolint:gochecknoglobals // read once, never changed
var tags = folders()

func folders() []string {
	entries, _ := files.ReadDir(".") // embedded: it cannot fail
	found := []string{Default}
	for _, f := range entries {
		if f.IsDir() && f.Name() != Default {
			found = append(found, f.Name())
		}
	}
	return found
}

// Match returns the supported language for a BCP 47 tag, or English.
func Match(tag string) string {
	base, _, _ := strings.Cut(strings.ToLower(tag), "-")
	if slices.Contains(tags, base) {
		return base
	}
	return Default
}

// Text returns a file of a language.
func Text(tag, file string) (string, error) {
	b, err := files.ReadFile(tag + "/" + file)
	return string(b), err
}

// Load reads a JSON file of every language. Its keys are the names of T's fields. An unknown key panics, which tests
// find.
func Load[T any](file string) map[string]*T {
	all := make(map[string]*T)
	for _, tag := range tags {
		b, err := files.ReadFile(tag + "/" + file)
		if err == nil {
			d := json.NewDecoder(bytes.NewReader(b))
			d.DisallowUnknownFields()
			all[tag] = new(T)
			err = d.Decode(all[tag])
		}
		if err != nil {
			panic(fmt.Sprintf("locales: %s of %s: %v", file, tag, err))
		}
	}
	return all
}

// RightToLeft reports whether a language is written from right to left.
func RightToLeft(tag string) bool {
	script, _ := language.Make(tag).Script()
	return slices.Contains([]string{"Arab", "Hebr"}, script.String())
}

// Plural is a text with a number in its plural forms (CLDR). Other is used where a form is empty.
type Plural struct{ Zero, One, Two, Few, Many, Other string }

// Form returns the form that a language uses for n things.
func (p Plural) Form(tag string, n int) string {
	forms := map[plural.Form]string{plural.Zero: p.Zero, plural.One: p.One, plural.Two: p.Two, plural.Few: p.Few, plural.Many: p.Many}
	if s := forms[plural.Cardinal.MatchPlural(language.Make(tag), n, 0, 0, 0, 0)]; s != "" {
		return s
	}
	return p.Other
}
