package sealing_test

import (
	"fmt"
	"image"
	"image/png"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"countersign/seal"
	"countersign/test/kit/sealkit"
)

// TestScripts checks that text in every script is drawn and can be extracted as text.
func TestScripts(t *testing.T) {
	t.Parallel()
	texts := []string{
		"Ada Lovelace, Countess", "Þórður Ærøskøbing Łódź Việt Nam", "Ελληνική Δημοκρατία", "Съешь ещё этих мягких булок", "שלום עולם",
		"مرحبا بالعالم", "नमस्ते दुनिया क्षत्रिय", "北京市朝阳区 東京都", "ひらがな カタカナ", "대한민국 서울특별시", "বাংলাদেশ", "தமிழ்நாடு",
		"ქართული Հայերեն", "አማርኛ", "√2 ≤ ∞ → ✓",
	}
	k := sealkit.NewFixture(t)
	j := sealkit.Job(t, sealkit.SimplePDF(1))
	j.Values = nil
	for i, s := range texts {
		j.Values = append(j.Values, seal.Value{
			FieldID: fmt.Sprint(i), SignerID: sealkit.AdaID, Kind: seal.Text, Page: 1, X: 72, Y: 120 + 32*float64(i), W: 300, H: 22, Text: s,
		})
	}
	file, _ := sealkit.Sealed(t, k.Sealer(t), j)
	words, err := sealkit.Run(t, "pdftotext", "-f", "1", "-l", "1", "-enc", "UTF-8", file, "-")
	require.NoError(t, err)
	for _, s := range texts {
		require.Contains(t, words, s)
	}
	fonts, err := sealkit.Run(t, "pdffonts", file)
	require.NoError(t, err)
	require.NotContains(t, fonts, "no  yes", "every added font must be embedded")
}

// TestTextFits checks that any text is drawn within its field.
func TestTextFits(t *testing.T) {
	t.Parallel()
	long := "a text that is much too long for one line of this field and has to be broken into several lines or made smaller"
	tests := []struct {
		name string
		w, h float64
		text string
	}{
		{"short", 200, 20, "Ágjpq|"},
		{"long in a wide field", 300, 24, long},
		{"long in a flat field", 120, 9, long},
		{"long in a tall field", 90, 120, long},
		{"lines", 150, 30, "one\ntwo\nthree"},
		{"one long word", 60, 40, "Donaudampfschifffahrtselektrizitätenhauptbetriebswerkbauunterbeamtengesellschaft"},
		{"right to left", 80, 24, "محمد بن عبد الله (2026) والحمد لله رب العالمين"},
	}
	k := sealkit.NewFixture(t)
	s := k.Sealer(t)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			j := sealkit.Job(t, sealkit.ClassicPDF(sealkit.Layout{Pages: []sealkit.Page{{Extra: "/MediaBox[0 0 400 300]", Content: "q Q"}}}))
			j.Values = []seal.Value{{FieldID: "f", SignerID: sealkit.AdaID, Kind: seal.Text, Page: 1, X: 50, Y: 60, W: tt.w, H: tt.h, Text: tt.text}}
			file, _ := sealkit.Sealed(t, s, j)
			out := filepath.Join(t.TempDir(), "p")
			msg, err := sealkit.Run(t, "pdftoppm", "-r", "144", "-f", "1", "-l", "1", "-png", "-singlefile", file, out)
			require.NoError(t, err, msg)
			f, err := os.Open(out + ".png")
			require.NoError(t, err)
			defer func() { require.NoError(t, f.Close()) }()
			img, err := png.Decode(f)
			require.NoError(t, err)
			img = img.(interface { //nolint:forcetypeassert // the interface of pictures from image/png
				SubImage(r image.Rectangle) image.Image
			}).SubImage(image.Rect(0, 0, 800, 570)) // excludes the line at the bottom of the page
			box := sealkit.InkBounds(img, func(r, g, b uint32) bool { return r < 160 && g < 160 && b < 160 })
			require.False(t, box.Empty(), "no text was drawn")
			field := image.Rect(100, 120, 100+int(2*tt.w), 120+int(2*tt.h)).Inset(-2)
			require.True(t, box.In(field), "ink %v, field %v", box, field)
			require.Greater(t, box.Dy(), 3)
		})
	}
}
