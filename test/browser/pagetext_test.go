package browser_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestTextOfPages checks that the text layer over a page image matches the words of the page, also on rotated pages.
// The text can be selected, copied and searched at every zoom level.
func TestTextOfPages(t *testing.T) {
	t.Parallel()
	leaves := []leaf{
		{title: "Upright", lines: []string{"The quick brown fox jumps over the lazy dog.", "Rent: 940 a month"}},
		{title: "Turned", lines: []string{"This page is displayed sideways."}, extra: "/Rotate 90"},
		{title: "Large", lines: []string{"A unit is two points here."}, extra: "/UserUnit 2/MediaBox[0 0 300 842]"},
	}
	e := svc.create(t, "Text of pages", []object{{"name": "Ada", "email": "pagetext@example.com", "authMethod": "none"}}, leaseFields()[:1], pdfOf(leaves...))
	b := open(t, desktop)
	b.visit(e.Signers[0].SigningURL)
	b.button("I agree")
	b.until(`document.querySelectorAll(".textLayer span").length > 10`)
	// Compare the center of each word, according to the service's text, with the center of the word's element.
	const offset = `(async (page) => {
		const layer = document.querySelectorAll(".sheet")[page - 1].querySelector(".textLayer");
		if (!layer) return 1e3;
		const text = await (await fetch(performance.getEntriesByType("resource").find((r) => r.name.endsWith("/pages/" + page + "/text")).name)).json();
		const sheet = layer.closest(".sheet").getBoundingClientRect(), scale = sheet.width / text.width;
		const spans = [...layer.querySelectorAll("span")].filter((s) => s.textContent.trim());
		if (spans.length !== text.words.length) return 2e3;
		return Math.max(...text.words.map((w, i) => {
			const r = spans[i].getBoundingClientRect();
			return Math.max(Math.abs((r.left + r.right) / 2 - sheet.left - (w.x + w.w / 2) * scale), Math.abs((r.top + r.bottom) / 2 - sheet.top - (w.y + w.h / 2) * scale)) / scale;
		}));
	})`
	for page := 1; page <= len(leaves); page++ {
		eval[bool](b, `(document.querySelectorAll(".sheet")[`+string(rune('0'+page-1))+`].scrollIntoView({ block: "center", behavior: "instant" }), true)`)
		at := `(` + offset + `)(` + string(rune('0'+page)) + `)`
		b.eventually("the text layer matches the words", func() bool { return eval[float64](b, at) < 2.5 })
		b.click(`document.querySelector(".zoom button:last-child")`)
		b.eventually("the text layer matches the words of the larger page", func() bool { return eval[float64](b, at) < 2.5 })
	}
	require.Equal(t, "Upright\nThe quick brown fox jumps over the lazy dog.\nRent: 940 a month", eval[string](b, `(() => { getSelection().selectAllChildren(document.querySelector(".textLayer")); const s = getSelection().toString().trim(); getSelection().removeAllRanges(); return s; })()`))
	require.True(t, eval[bool](b, `find("fox jumps over the lazy")`))
	require.True(t, eval[bool](b, `find("displayed sideways")`))
}

// TestTextOfBothDirections checks that lines that mix left-to-right and right-to-left words are copied in logical
// order.
func TestTextOfBothDirections(t *testing.T) {
	t.Parallel()
	lines := []string{"The tenant (المستأجر) pays 940 EUR [שכירות] a month.", "يدفع المستأجر (السيد أحمد) إيجارا قدره 940 يورو.", "השוכר (דוד) משלם 940 אירו."}
	html := `<style>p { font: 14pt "Noto Sans", "Noto Sans Arabic", "Noto Sans Hebrew" }</style>`
	for _, l := range lines {
		html += `<p dir="auto">` + l + `</p>`
	}
	e := svc.create(t, "Both directions", []object{{"name": "Ada", "email": "directions@example.com", "authMethod": "none"}}, leaseFields()[:1], printed(t, html))
	b := open(t, desktop)
	b.visit(e.Signers[0].SigningURL)
	b.button("I agree")
	b.until(`document.querySelector(".textLayer") !== null`)
	copied := eval[string](b, `(() => { getSelection().selectAllChildren(document.querySelector(".textLayer")); return getSelection().toString().trim(); })()`)
	require.Equal(t, lines, strings.Split(copied, "\n"))
	require.Equal(t, "ltr rtl rtl", eval[string](b, `[...document.querySelectorAll(".textLayer > div")].map((l) => l.dir).join(" ")`))
}
