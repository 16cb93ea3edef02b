package prepare_test

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"countersign/pdf"
	"countersign/pdf/pagetext"
	"countersign/prepare"
)

// shared returns a file with two pages that paint the same form. The form contains tags, and so does each page's own
// content, which consists of two streams.
func shared() []byte {
	stream := func(entries, s string) string {
		return fmt.Sprintf("<<%s/Length %d>>\nstream\n%s\nendstream", entries, len(s), s)
	}
	return assemble([]string{
		"<</Type/Catalog/Pages 2 0 R>>",
		"<</Type/Pages/Kids[3 0 R 4 0 R]/Count 2/MediaBox[0 0 600 800]/Resources<</Font<</F1 5 0 R>>/XObject<</X 6 0 R>>>>>>",
		"<</Type/Page/Parent 2 0 R/Contents[7 0 R 8 0 R]>>",
		"<</Type/Page/Parent 2 0 R/Contents 9 0 R/Rotate 90>>",
		"<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding>>",
		stream("/Type/XObject/Subtype/Form/BBox[0 0 300 100]", "BT /F1 12 Tf 10 20 Td (Foot {{initial;role=Tenant}} end) Tj ET"),
		stream("", "q 1 0 0 1 50 50 cm /X Do Q BT /F1 12 Tf 72 700 Td (Hello you) Tj ET"),
		stream("", "BT /F1 12 Tf 72 600 Td (Sign {{signature}} here) Tj ( and [date|req|signer1]) Tj ET"),
		stream("", "q 1 0 0 1 90 90 cm /X Do Q BT /F1 12 Tf 72 700 Td (no tag) Tj ET"),
	})
}

// without removes the tags from a file. It returns the resulting file and the changes.
func without(t *testing.T, b []byte) ([]byte, []prepare.Change) {
	t.Helper()
	r, err := prepare.Prepare(t.Context(), open(t, b), sha256.Sum256(b), prepare.Options{Tags: prepare.TagsDetect})
	require.NoError(t, err)
	return append(bytes.Clone(b), r.Appended...), r.Changes
}

// glyphs returns the glyphs on all pages, except those of tags.
func glyphs(t *testing.T, b []byte, tags []prepare.FoundTag) []string {
	t.Helper()
	type code struct {
		page int
		at   pagetext.Position
	}
	gone := make(map[code]bool)
	for _, tag := range tags {
		for _, g := range tag.Glyphs {
			gone[code{tag.Place.Page, g}] = true
		}
	}
	f := open(t, b)
	r := pagetext.NewReader(f)
	var all []string
	_, err := f.Walk(func(p *pdf.Page) error {
		page, err := r.Page(t.Context(), p)
		require.NoError(t, err)
		for _, g := range page.Glyphs {
			if !gone[code{p.Index + 1, g.Position}] {
				all = append(all, fmt.Sprintf("%d %s %.3f %.3f", p.Index+1, g.Text, g.Box.X, g.Box.Y))
			}
		}
		return nil
	})
	require.NoError(t, err)
	return all
}

// TestRemoveTags checks that neither this package nor other programs find a tag in the revision, that everything else
// keeps its position, and that the revision is reproducible.
func TestRemoveTags(t *testing.T) {
	t.Parallel()
	original := shared()
	tags, err := prepare.FindTags(t.Context(), open(t, original))
	require.NoError(t, err)
	require.Len(t, tags, 4)
	result, changes := without(t, original)
	require.Equal(t, []prepare.Change{{Kind: prepare.TagsRemoved, Page: 1, Count: 3}, {Kind: prepare.TagsRemoved, Page: 2, Count: 1}}, changes)
	require.True(t, bytes.HasPrefix(result, original))
	again, _ := without(t, original)
	require.Equal(t, result, again)
	left, err := prepare.FindTags(t.Context(), open(t, result))
	require.NoError(t, err)
	require.Empty(t, left)
	require.Equal(t, glyphs(t, original, tags), glyphs(t, result, nil))

	name := filepath.Join(t.TempDir(), "a.pdf")
	require.NoError(t, os.WriteFile(name, result, 0o600))
	text, err := exec.CommandContext(t.Context(), "pdftotext", name, "-").Output()
	require.NoError(t, err)
	require.NotContains(t, string(text), "{{")
	require.NotContains(t, string(text), "[date")
	require.Equal(t, 2, strings.Count(string(text), "Foot"))
	require.Contains(t, string(text), "Hello you")
	out, err := exec.CommandContext(t.Context(), "qpdf", "--check", name).CombinedOutput()
	require.NoError(t, err, string(out))
}
