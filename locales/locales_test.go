package locales_test

import (
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/text/feature/plural"
	"golang.org/x/text/language"

	"countersign/locales"
)

var catalogues = []string{"pages.json", "builder.json", "console.json", "verification.json", "mail.json", "certificate.json"}

// filled matches the placeholders in a text, which are words in braces or fmt verbs.
var filled = regexp.MustCompile(`\{[a-zA-Z]+\}|%[a-z]`)

func placesOf(text string) []string {
	found := filled.FindAllString(text, -1)
	if !slices.Contains(found, "%d") && !slices.Contains(found, "%s") {
		slices.Sort(found) // words can be reordered and repeated, but verbs cannot
		found = slices.Compact(found)
	}
	return found
}

func read(t *testing.T, tag, file string) map[string]any {
	t.Helper()
	text, err := locales.Text(tag, file)
	require.NoError(t, err)
	var all map[string]any
	require.NoError(t, json.Unmarshal([]byte(text), &all), "%s of %s", file, tag)
	return all
}

// TestEveryLanguageIsComplete checks that every language has the same texts and placeholders as English, and all
// plural forms.
func TestEveryLanguageIsComplete(t *testing.T) {
	t.Parallel()
	for _, file := range catalogues {
		english := read(t, locales.Default, file)
		require.NotEmpty(t, english)
		for _, tag := range locales.Tags() {
			compare(t, tag, file, english, read(t, tag, file))
		}
	}
}

func compare(t *testing.T, tag, at string, want, got map[string]any) {
	t.Helper()
	for key := range got {
		assert.Contains(t, want, key, "%s in %s has no English counterpart", at, tag)
	}
	for key, w := range want {
		name := at + ": " + key
		switch w := w.(type) {
		case string:
			g, ok := got[key].(string)
			require.True(t, ok, "%s lacks %s", tag, name)
			if key != "and" { // separates two sentences, and can be empty
				assert.NotEmpty(t, strings.TrimSpace(g), "%s of %s", name, tag)
			}
			assert.Equal(t, placesOf(w), placesOf(g), "%s of %s: %q", name, tag, g)
		case []any:
			g, ok := got[key].([]any)
			require.True(t, ok && len(g) == len(w), "%s lacks %s", tag, name)
		case map[string]any:
			g, ok := got[key].(map[string]any)
			require.True(t, ok, "%s lacks %s", tag, name)
			if other, counted := w["other"].(string); counted {
				comparePlural(t, tag, name, other, g)
			} else {
				compare(t, tag, name, w, g)
			}
		default:
			t.Fatalf("%s has a type that this test does not support", name)
		}
	}
}

var forms = map[plural.Form]string{plural.Other: "other", plural.Zero: "zero", plural.One: "one", plural.Two: "two", plural.Few: "few", plural.Many: "many"}

// comparePlural requires exactly the plural forms that the language uses for whole numbers. The form "zero" is
// optional, because "other" can replace it. The forms zero, one and two may omit the number.
func comparePlural(t *testing.T, tag, name, want string, got map[string]any) {
	t.Helper()
	of := map[string]bool{"other": true}
	for n := range 200 {
		of[forms[plural.Cardinal.MatchPlural(language.Make(tag), n, 0, 0, 0, 0)]] = true
	}
	for form := range got {
		assert.Contains(t, of, form, "%s in %s has a plural form that the language does not use", name, tag)
	}
	for form := range of {
		if form == "zero" && got[form] == nil {
			continue
		}
		g, ok := got[form].(string)
		if !assert.True(t, ok && g != "", "%s in %s lacks the plural form %q", name, tag, form) {
			continue
		}
		missing := slices.DeleteFunc(placesOf(want), func(w string) bool { return slices.Contains(placesOf(g), w) })
		if slices.Contains([]string{"zero", "one", "two"}, form) {
			missing = slices.DeleteFunc(missing, func(w string) bool { return w == "{n}" || w == "%d" })
		}
		assert.Empty(t, missing, "%s of %s, form %q: %q", name, tag, form, g)
	}
}

// otherWords lists, for each language, the words for an envelope that texts in that language must not use.
var otherWords = map[string]*regexp.Regexp{"ar": regexp.MustCompile(`مظروف|مظاريف|مغلف`), "de": regexp.MustCompile(`Vorg(ang|äng)`), "ja": regexp.MustCompile(`封筒`)}

// TestEnvelope_IsOneWordPerLanguage checks that emails, pages, console and certificate use the same word for an
// envelope.
func TestEnvelope_IsOneWordPerLanguage(t *testing.T) {
	t.Parallel()
	for tag, other := range otherWords {
		for _, name := range catalogues {
			content, err := locales.Text(tag, name)
			require.NoError(t, err)
			assert.Empty(t, other.FindAllString(content, -1), "%s of %s", name, tag)
		}
	}
}

// TestButtonNames_BeginWithTheVisibleText checks the accessible names of buttons that are longer than the visible text
// (WCAG 2.5.3). In the builder, such a name must begin with the visible text. In the console, it must contain the
// visible text.
func TestButtonNames_BeginWithTheVisibleText(t *testing.T) {
	t.Parallel()
	for _, tag := range locales.Tags() {
		texts := read(t, tag, "builder.json")
		for shown, name := range map[string]string{"showPages": "showPagesOf", "hidePages": "hidePagesOf"} {
			assert.Regexp(t, `^`+regexp.QuoteMeta(texts[shown].(string))+`:? `, texts[name], tag)
		}
		texts = read(t, tag, "console.json")
		for name, shown := range map[string]string{
			"removeName": "remove", "downloadName": "download", "restartWorkflowOf": "restartWorkflow", "retryNowOf": "retryNow", "remindName": "remind",
			"correctEmailOf": "correctEmail", "reassignName": "reassign", "replaceName": "replace", "copyLinkOf": "copyLink", "newLinkTo": "newLink", "copiesAgainTo": "copiesAgain", "newEnvelopeFrom": "newEnvelope",
		} {
			assert.Contains(t, strings.ToLower(texts[name].(string)), strings.ToLower(texts[shown].(string)), "%s: %s", tag, name)
		}
	}
}

// TestLanguagesAreNamed checks that languages.json lists all supported languages. The pages offer the languages in
// this file.
func TestLanguagesAreNamed(t *testing.T) {
	t.Parallel()
	b, err := os.ReadFile("languages.json")
	require.NoError(t, err)
	var names map[string]string
	require.NoError(t, json.Unmarshal(b, &names))
	assert.Len(t, names, len(locales.Tags()))
	for _, tag := range locales.Tags() {
		assert.NotEmpty(t, names[tag], tag)
		for _, file := range []string{"consent.txt", "consent_answer.txt"} {
			text, err := locales.Text(tag, file)
			require.NoError(t, err, tag)
			assert.Len(t, strings.Split(strings.TrimSpace(text), "\n\n"), 3, "%s: paragraphs of %s", tag, file)
		}
	}
}

func TestMatch(t *testing.T) {
	t.Parallel()
	for tag, want := range map[string]string{"de": "de", "de-AT": "de", "PT-br": "pt", "": "en", "tlh": "en", "ar": "ar", "d": "en", "../de": "en"} {
		assert.Equal(t, want, locales.Match(tag), tag)
	}
	assert.True(t, locales.RightToLeft("ar"))
	assert.False(t, locales.RightToLeft("ja"))
}
