package browser_test

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"image"
	"image/png"
	"math"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

// fourPeople returns four signers of one routing group.
func fourPeople(name string) []object {
	var out []object
	for i := range 4 {
		out = append(out, object{"name": fmt.Sprintf("Person %d", i+1), "email": fmt.Sprintf("%s-%d@example.com", name, i+1), "authMethod": "none", "routingOrder": 1})
	}
	return out
}

// signsAsBuilt sends a draft and signs for all signers. It checks that the sealed file contains each signer's entries
// in the placed fields, and differs from the original only there. It returns the sealed file and the entered words by
// field ID.
func (s *service) signsAsBuilt(t *testing.T, id string) (sealed []byte, entered map[string]string) {
	t.Helper()
	fields := s.fields(t, id)
	var original pdfFile
	require.NoError(t, s.app.call(&original, "download", id, "original"))
	var e envelope
	s.json(t, http.MethodPost, "/v1/envelopes/"+id+"/send", object{}, &e)
	entered = map[string]string{}
	for _, signer := range e.Signers {
		at := signingPath(signer.SigningURL)
		s.signerPosts(t, at+"/consent", object{})
		var values []object
		for i, f := range fields {
			if f.SignerID != signer.ID {
				continue
			}
			switch f.Type {
			case "signature", "initial":
				values = append(values, object{"fieldId": f.ID, "signatureImageBase64": base64.StdEncoding.EncodeToString(paper(true))})
				continue
			case "checkbox":
				entered[f.ID] = "true"
			case "date":
				entered[f.ID] = "2027-01-31"
			default:
				entered[f.ID] = fmt.Sprintf("W%03d", i)
			}
			values = append(values, object{"fieldId": f.ID, "textValue": entered[f.ID]})
		}
		s.signerPosts(t, at+"/sign", object{"fields": values})
	}
	sealed = s.completed(t, id)
	words := wordsOf(t, sealed)
	for _, f := range fields {
		value := entered[f.ID]
		if !strings.HasPrefix(value, "W") || f.Comb {
			continue
		}
		i := slices.IndexFunc(words, func(w word) bool { return w.Text == value })
		require.GreaterOrEqual(t, i, 0, "%s of %+v is not in the sealed file", value, f)
		w := words[i]
		require.Equal(t, f.Page, w.Page, value)
		require.True(t, w.XMin >= f.X-1 && w.XMax <= f.X+f.W+1 && (w.YMin+w.YMax)/2 >= f.Y && (w.YMin+w.YMax)/2 <= f.Y+f.H, "%s is at %+v, and its field at %+v", value, w, f)
	}
	differsInFields(t, original.Base64, sealed, fields)
	return sealed, entered
}

// differsInFields renders both files, and checks that they differ in every filled field and nowhere else.
func differsInFields(t *testing.T, original, sealed []byte, fields []placedField) {
	t.Helper()
	const unit = 0.75 // pixels per point
	const foot = 14   // pixels at the bottom of a page, which contain the envelope's ID
	before, after := drawn(t, original, unit), drawn(t, sealed, unit)
	require.GreaterOrEqual(t, len(after), len(before))
	met := map[string]bool{}
	for i := range before {
		require.Equal(t, before[i].Bounds(), after[i].Bounds(), "page %d", i+1)
		for y := range before[i].Bounds().Dy() - foot {
			for x := range before[i].Bounds().Dx() {
				if !differs(before[i].At(x, y), after[i].At(x, y)) {
					continue
				}
				px, py := (float64(x)+0.5)/unit, (float64(y)+0.5)/unit
				inside := false
				for _, f := range fields {
					if f.Page == i+1 && px >= f.X-3 && px <= f.X+f.W+3 && py >= f.Y-3 && py <= f.Y+f.H+3 {
						inside, met[f.ID] = true, true
					}
				}
				require.True(t, inside, "page %d differs at %.0f, %.0f, outside all fields", i+1, px, py)
			}
		}
	}
	for _, f := range fields {
		require.True(t, met[f.ID], "no value was sealed into %+v", f)
	}
}

func differs(a, b interface{ RGBA() (r, g, b, a uint32) }) bool {
	r, g, bl, _ := a.RGBA()
	r2, g2, bl2, _ := b.RGBA()
	return math.Abs(float64(r)-float64(r2))+math.Abs(float64(g)-float64(g2))+math.Abs(float64(bl)-float64(bl2)) > 0x6000
}

// drawn returns the pages of a file as rendered by Poppler.
func drawn(t *testing.T, file []byte, unit float64) []image.Image {
	t.Helper()
	dir := t.TempDir()
	out, err := exec.CommandContext(t.Context(), "pdftoppm", "-r", fmt.Sprint(72*unit), "-cropbox", "-png", filed(t, "drawn.pdf", file), filepath.Join(dir, "p")).CombinedOutput()
	require.NoError(t, err, "%s", out)
	names, err := filepath.Glob(filepath.Join(dir, "*.png"))
	require.NoError(t, err)
	slices.Sort(names)
	var pages []image.Image
	for _, name := range names {
		raw, err := os.ReadFile(name)
		require.NoError(t, err)
		picture, err := png.Decode(bytes.NewReader(raw))
		require.NoError(t, err)
		pages = append(pages, picture)
	}
	return pages
}

// suggestionLabels returns the sorted labels of the builder's suggestions.
func (b *tab) suggestionLabels() []string {
	b.t.Helper()
	return eval[[]string](b, `[...document.querySelectorAll(".bsuggestion")].map((s) => s.title.replace("Add a field: ", "").normalize("NFKC")).sort()`)
}

// TestBuilderOnRealDocuments checks that blanks found in the lines and text of a page are suggested as fields, but
// never accepted automatically. Accepted and placed fields must be sealed at their positions, next to their labels, for
// every rotation of the page.
func TestBuilderOnRealDocuments(t *testing.T) {
	t.Parallel()
	form := []string{"1 Wages", "2 Interest", "Family name", "I have income from abroad", "I keep books", "Place and date", "Signature", "Street and number", "Tax number"}
	for _, d := range []struct {
		name    string
		file    func(t *testing.T) []byte
		offered []string
		beside  map[string]string // label of each field, by a word on the same line of the page
	}{
		{"tax-form", taxForm, form, map[string]string{"Family": "Family name", "Street": "Street and number"}},
		{"turned", turned, form, map[string]string{"Family": "Family name", "Street": "Street and number"}},
		{"scanned", func(t *testing.T) []byte { t.Helper(); return scanned(t, leaseDocument()) }, nil, nil},
		{"landscape", landscape, []string{"Name", "Signature"}, map[string]string{"Name:": "Name"}},
		{"right-to-left", rightToLeft, []string{"חתימה", "التوقيع"}, nil},
	} {
		t.Run(d.name, func(t *testing.T) {
			t.Parallel()
			e := svc.draft(t, d.name, fourPeople("docs-"+d.name), d.file(t))
			b := open(t, desktop)
			b.builds(e, nil)
			b.until(fmt.Sprintf(`document.querySelectorAll(".bsuggestion").length === %d`, len(d.offered)))
			b.accessible()
			b.shot("builder-" + d.name)
			slices.Sort(d.offered)
			got := b.suggestionLabels()
			slices.Sort(got)
			require.ElementsMatch(t, d.offered, got)
			require.Empty(t, svc.fields(t, e.ID), "no suggestion is accepted automatically")
			want := 4
			if len(d.offered) > 0 {
				b.click(fmt.Sprintf(`document.querySelector('.bsuggestion[title$=%q]')`, got[0]))
				b.saved()
				require.Len(t, svc.fields(t, e.ID), 1, "one key press accepts one suggestion")
				b.button(fmt.Sprintf("Add all (%d)", len(d.offered)-1))
				b.until(`document.querySelectorAll(".bsuggestion").length === 0`)
				want += len(d.offered)
			}
			width := eval[float64](b, `(() => { const r = document.querySelector(".bpage").getBoundingClientRect(); return r.width / parseFloat(document.querySelector(".bzoom span").textContent) * 100; })()`)
			for i := range 4 {
				b.click(fmt.Sprintf(`[...document.querySelectorAll(".bchoose")][%d]`, i))
				b.button([]string{"Signature", "Text", "Initials", "Text"}[i])
				at := eval[point](b, fmt.Sprintf(`(() => { const r = document.querySelector(".bpage").getBoundingClientRect(); const k = r.width / %g; return { X: r.x + %g * k, Y: r.y + %g * k }; })()`, width, 130+float64(i%2)*220, 430+float64(i/2)*60))
				b.do(chromedp.MouseClickXY(at.X, at.Y))
			}
			b.saved()
			fields := svc.fields(t, e.ID)
			require.Len(t, fields, want)
			for _, f := range fields[want-4:] {
				require.NotEmpty(t, f.SignerID)
			}
			sealed, entered := svc.signsAsBuilt(t, e.ID)
			words := wordsOf(t, sealed)
			for lead, label := range d.beside {
				named := words[slices.IndexFunc(words, func(w word) bool { return w.Text == lead })]
				f := fields[slices.IndexFunc(fields, func(f placedField) bool { return f.Label == label })]
				value := words[slices.IndexFunc(words, func(w word) bool { return w.Text == entered[f.ID] })]
				require.Greater(t, value.XMin, named.XMax, "%s must be sealed after its name", label)
				require.InDelta(t, (named.YMin+named.YMax)/2, (value.YMin+value.YMax)/2, 12, "%s must be sealed on the line of its name", label)
			}
			b.waitUntilStill()
		})
	}
}
