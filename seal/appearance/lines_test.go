package appearance_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"countersign/seal/appearance"
)

func linesOf(t *testing.T, content, page string) *appearance.Lines {
	t.Helper()
	lines, err := open(t, pdf(content, letter+page)).Lines(1)
	require.NoError(t, err)
	return lines
}

// TestLines checks that strokes, the edges of path frames, thin rectangles and dashed lines are each found once as
// lines, and that invisible lines are not found.
func TestLines(t *testing.T) {
	t.Parallel()
	got := linesOf(t, `100 692 m 300 692 l S
		400 592 100 100 re S
		100 491 200 1 re f
		100 392 m 150 392 l 152 392 m 200 392 l S
		1 1 1 RG 100 292 m 300 292 l S 0 0 0 RG
		100 192 m 300 220 l S
		100 150 m 150 160 180 190 200 150 c S
		q 2 0 0 2 0 0 cm 50 50 m 100 50 l S Q`, "")
	assert.Equal(t, []appearance.Line{{At: 100, From: 100, To: 300}, {At: 100, From: 400, To: 500}, {At: 200, From: 400, To: 500}, {At: 300.5, From: 100, To: 300}, {At: 400, From: 100, To: 200}, {At: 692, From: 100, To: 200}}, got.Horizontal)
	assert.Equal(t, []appearance.Line{{At: 400, From: 100, To: 200}, {At: 500, From: 100, To: 200}}, got.Vertical)
	assert.Empty(t, got.Images)
	assert.InDelta(t, 612, got.Width, 0)

	turned := linesOf(t, `100 692 m 300 692 l S`, "/Rotate 90 /UserUnit 2")
	assert.Empty(t, turned.Horizontal)
	assert.Equal(t, []appearance.Line{{At: 1384, From: 200, To: 600}}, turned.Vertical)

	image := linesOf(t, "q 200 0 0 100 50 60 cm BI /W 1 /H 1 /BPC 8 /CS /G ID x EI Q", "")
	assert.Equal(t, []appearance.Box{{X: 50, Y: 632, W: 200, H: 100}}, image.Images)
}

// TestLines_OfADrawing_AreOmitted checks that lines are omitted for a page with more lines than a form would have.
func TestLines_OfADrawing_AreOmitted(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	for i := range 25_000 {
		fmt.Fprintf(&b, "%d 0 m %d 700 l S\n", i%600, i%600)
	}
	got := linesOf(t, b.String(), "")
	assert.True(t, got.Truncated)
	assert.Empty(t, got.Vertical)
	_, err := open(t, pdf("", letter)).Lines(2)
	require.ErrorIs(t, err, appearance.ErrNoPage)
}
