package browser_test

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"countersign/locales"
)

// textsOf returns the strings of each message of a catalog in a language. A message with plural forms has several
// strings.
func textsOf(t *testing.T, catalogue, language string) map[string][]string {
	t.Helper()
	file, err := locales.Text(language, catalogue)
	require.NoError(t, err)
	var all map[string]any
	require.NoError(t, json.Unmarshal([]byte(file), &all))
	out := map[string][]string{}
	for key, text := range all {
		switch text := text.(type) {
		case string:
			out[key] = []string{text}
		case map[string]any:
			for _, form := range text {
				out[key] = append(out[key], form.(string))
			}
		}
	}
	return out
}

// requireTranslated checks that the page contains none of the English strings in the catalog, neither visibly nor for
// screen readers.
func (b *tab) requireTranslated(catalogue, language string) {
	b.t.Helper()
	own := slices.Concat(slices.Collect(maps.Values(textsOf(b.t, catalogue, language)))...)
	var english []string
	for _, texts := range textsOf(b.t, catalogue, locales.Default) {
		for _, text := range texts {
			if !strings.Contains(text, "{") && !slices.Contains(own, text) {
				english = append(english, text)
			}
		}
	}
	shown := eval[[]string](b, `(() => {
		const out = [], walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
		for (let n = walk.nextNode(); n; n = walk.nextNode()) out.push(n.data.trim());
		for (const e of document.body.querySelectorAll("*")) for (const a of ["aria-label", "title", "placeholder"]) out.push(e.getAttribute(a) ?? "");
		return out.filter(Boolean);
	})()`)
	require.Greater(b.t, len(shown), 30)
	for _, text := range shown {
		require.NotContains(b.t, english, text, "the page must be in English")
	}
}

// fits checks that no text in the toolbar or in either sidebar is truncated, on a wide screen and on a tablet.
func (b *tab) fits() {
	b.t.Helper()
	for _, width := range []int64{820, b.device.width} {
		b.size(width, b.device.height)
		b.settled()
		cut := eval[[]string](b, `[...document.querySelectorAll(":is(.bbar, .bside) :not(.sr, option)")].filter((e) => {
			const r = e.getBoundingClientRect(), side = e.closest(".bbar, .bside").getBoundingClientRect();
			return r.width > 0 && (r.left < side.left - 1 || r.right > side.right + 1 || (e.matches("button") && e.scrollWidth > e.clientWidth + 1));
		}).map((e) => e.className + ": " + e.textContent)`)
		require.Empty(b.t, cut, "at %d pixels", width)
	}
}

// TestBuilderInOtherLanguages checks that the builder uses the user's language and its text direction, and loads the
// messages of no other language.
func TestBuilderInOtherLanguages(t *testing.T) {
	t.Parallel()
	for _, language := range []string{"de", "ar", "ja"} {
		t.Run(language, func(t *testing.T) {
			t.Parallel()
			texts := textsOf(t, "builder.json", language)
			say := func(key string) string {
				require.Len(t, texts[key], 1, key)
				return texts[key][0]
			}
			e := svc.draft(t, "Workshop lease", twoPeople(), leaseDocument())
			b := open(t, device{width: 1280, height: 860, language: language + "-XX"})
			b.builds(e, object{"send": true})
			require.Equal(t, language, eval[string](b, "document.documentElement.lang"))
			require.Equal(t, locales.RightToLeft(language), eval[string](b, "document.documentElement.dir") == "rtl")
			b.titled(say("pageTitle"))
			require.Equal(t, 1, eval[int](b, `performance.getEntriesByType("resource").filter((r) => /\/builder-[^/]*\.js$/.test(r.name)).length`), "number of loaded text files")
			b.button(say("signature"))
			b.press(1, 200, 300)
			b.until(`document.querySelector(".bstate.saved") !== null && document.querySelectorAll(".bfield").length === 1`)
			require.Len(t, svc.fields(t, e.ID), 1)
			b.requireTranslated("builder.json", language)
			b.fits()
			b.checked("builder-" + language)
			for _, dialog := range [][2]string{{"preview", "backToFields"}, {"sendMore", "cancel"}, {"add", "cancel"}} {
				b.button(say(dialog[0]))
				b.until(`document.querySelector("dialog[open]") !== null`)
				b.requireTranslated("builder.json", language)
				b.checked("builder-" + language + "-" + dialog[0])
				b.button(say(dialog[1]))
				b.until(`document.querySelector("dialog[open]") === null`)
			}
			b.waitUntilStill()
		})
	}
}
