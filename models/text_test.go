package models_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"countersign/models"
)

// TestTexts_AreBounded checks that limits count characters rather than bytes, and that invisible characters are
// rejected.
func TestTexts_AreBounded(t *testing.T) {
	t.Parallel()
	for text, good := range map[string][2]bool{ // whether each is valid as a text and as a paragraph
		"":         {false, false},
		"a":        {false, false},
		"ab":       {true, true},
		"äöüß€":    {true, true},
		"abcdef":   {false, false},
		"   ":      {false, false},
		" a ":      {true, true},
		"a\nb":     {false, true},
		"a\rb":     {false, true},
		"a\tb":     {false, true},
		"a\x00b":   {false, false},
		"a\u202eb": {false, false},
		"a\u200bb": {false, false},
		"ab\xff":   {false, false},
		"\n\n\n":   {false, false},
	} {
		require.Equal(t, good[0], len(rejected(func(p models.Problems) { models.CheckText(p, "x", text, 2, 5) })) == 0, "text %q", text)
		require.Equal(t, good[1], len(rejected(func(p models.Problems) { models.CheckParagraph(p, "x", text, 2, 5) })) == 0, "paragraph %q", text)
	}
	require.Empty(t, rejected(func(p models.Problems) { models.CheckText(p, "x", "  ", 0, 5) }), "an optional text can consist of spaces")
}
