// Package locales contains all texts for signers and senders, in one folder for each language. The files of a language
// contain the texts of the signing pages (pages.json), the builder page (builder.json), the console (console.json),
// the verification page (verification.json), emails and text messages (mail.json), and the audit certificate
// (certificate.json). The folder also contains the disclosures for signing electronically (consent.txt), and for
// approving or reading (consent_answer.txt). The web pages are built from the same files. languages.json contains each
// language's own name for itself.
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

// Default is the language for users whose language is not supported.
const Default = "en"

//go:embed */*.json */*.txt
var files embed.FS

// Tags returns the ISO 639-1 codes of the supported languages, starting with English.
func Tags() []string { return slices.Clone(tags) }

//nolint:gochecknoglobals // read once, never changed
var tags = folders()

func folders() []string {
	entries, _ := files.ReadDir(".") // never fails, because the files are embedded
	found := []string{Default}
	for _, f := range entries {
		if f.IsDir() && f.Name() != Default {
			found = append(found, f.Name())
		}
	}
	return found
}

// Match returns the supported language for a BCP 47 tag, or English if the language is not supported.
func Match(tag string) string {
	base, _, _ := strings.Cut(strings.ToLower(tag), "-")
	if slices.Contains(tags, base) {
		return base
	}
	return Default
}

// Text returns the content of a language's file.
func Text(tag, file string) (string, error) {
	b, err := files.ReadFile(tag + "/" + file)
	return string(b), err
}

// Load reads a JSON file in every language into a T. The keys in the file are the names of T's fields. Load panics if
// a file contains an unknown key, which tests would detect.
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

// Plural contains the plural forms (CLDR) of a text with a number. If a form is empty, Other is used.
type Plural struct{ Zero, One, Two, Few, Many, Other string }

// Form returns the form that a language uses for the number n.
func (p Plural) Form(tag string, n int) string {
	forms := map[plural.Form]string{plural.Zero: p.Zero, plural.One: p.One, plural.Two: p.Two, plural.Few: p.Few, plural.Many: p.Many}
	if s := forms[plural.Cardinal.MatchPlural(language.Make(tag), n, 0, 0, 0, 0)]; s != "" {
		return s
	}
	return p.Other
}
