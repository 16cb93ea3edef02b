package models_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"countersign/models"
)

// Each language has its own text of the same paragraphs.
func TestDisclosures(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, language := range []string{"en", "de", "fr", "es", "pt", "ar", "ja"} {
		d := models.DisclosureIn(language + "-XX")
		require.Equal(t, language, d.Language)
		require.True(t, strings.HasSuffix(d.Version, "-"+language))
		require.Len(t, strings.Split(d.Text, "\n\n"), 3, language)
		require.False(t, seen[d.Hash()], language)
		seen[d.Hash()] = true
		again, ok := models.DisclosureOf(d.Version)
		require.True(t, ok)
		require.Equal(t, d, again)
	}
	require.Equal(t, "en", models.DisclosureIn("tlh").Language)
	for _, version := range []string{"", "en", "2026-11", "2026-11-", "2026-11-tlh", "2026-11-../locales/en", "2026-11-de/../en", "2026-11-en/", "2026-11-EN"} {
		_, ok := models.DisclosureOf(version)
		require.False(t, ok, version)
	}
}
