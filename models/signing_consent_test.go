package models_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"countersign/locales"
	"countersign/models"
)

// TestDisclosures_ExistInEachLanguage checks that each language has its own text with the same number of paragraphs.
func TestDisclosures_ExistInEachLanguage(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, language := range []string{"en", "de", "fr", "es", "pt", "ar", "ja"} {
		d := new(models.Signer).Disclosure(language + "-XX")
		require.Equal(t, language, d.Language)
		require.True(t, strings.HasSuffix(d.Version, "-"+language))
		require.Len(t, strings.Split(d.Text, "\n\n"), 3, language)
		require.False(t, seen[d.Hash()], language)
		seen[d.Hash()] = true
		again, ok := models.DisclosureOf(d.Version)
		require.True(t, ok)
		require.Equal(t, d, again)
	}
	require.Equal(t, "en", new(models.Signer).Disclosure("tlh").Language)
	for kind, answers := range map[models.RecipientKind]bool{
		models.RecipientSigner: false, models.RecipientInPerson: false, models.RecipientApprover: true, models.RecipientViewer: true,
	} {
		s := &models.Signer{Kind: kind}
		for _, language := range locales.Tags() {
			d := s.Disclosure(language)
			require.Equal(t, language, d.Language)
			require.Equal(t, answers, d.Version == "2026-11-answer-"+language, kind)
			require.Equal(t, !answers, d == new(models.Signer).Disclosure(language), kind)
			again, ok := models.DisclosureOf(d.Version)
			require.True(t, ok)
			require.Equal(t, d, again)
			require.True(t, s.Shows(d))
			require.Equal(t, !answers, s.Shows(new(models.Signer).Disclosure(language)), "approvers and viewers consent to a different text")
			require.Len(t, strings.Split(d.Text, "\n\n"), 3, language)
		}
	}
	for _, version := range []string{"", "en", "2026-11", "2026-11-", "2026-11-tlh", "2026-11-../locales/en", "2026-11-de/../en", "2026-11-en/", "2026-11-EN", "2026-11-answer-", "2026-11-answer-tlh", "2026-11-answer-answer-en", "2026-11-answer-../en"} {
		_, ok := models.DisclosureOf(version)
		require.False(t, ok, version)
	}
}
