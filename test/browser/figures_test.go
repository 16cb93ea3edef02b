package browser_test

import (
	"fmt"
	"regexp"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/stretchr/testify/require"
)

// TestFigures checks that the signing page loads little data before it displays the first page, and displays it
// quickly. The numbers are printed by "make bench-web".
func TestFigures(t *testing.T) {
	t.Parallel()
	e := svc.create(t, "Figures", []object{{"name": "Ada", "email": "figures@example.com", "authMethod": "none"}}, leaseFields(), leaseDocument())
	b := open(t, phone)
	b.visit(e.Signers[0].SigningURL)
	b.see("Sign electronically")
	type loaded struct {
		Script  float64 `json:"script"`
		Picture float64 `json:"picture"`
		Style   float64 `json:"style"`
		Font    float64 `json:"font"`
		Paint   float64 `json:"paint"`
		// Before is the number of requests that precede the request for the first page, and Contexts is the number of
		// requests for the signer's context. InParallel reports whether the context was requested before any script
		// arrived.
		Before     float64 `json:"before"`
		Contexts   float64 `json:"contexts"`
		InParallel bool    `json:"inParallel"`
	}
	b.until(fetched("/pages/1?"))
	f := eval[loaded](b, `new Promise((done) => {
		const all = performance.getEntriesByType("resource");
		const page = all.find((r) => /\/pages\/1\?/.test(r.name)), contexts = all.filter((r) => /\/v1\/signing\/[^/]+\?language=/.test(r.name)), scripts = all.filter((r) => /\.js$/.test(r.name));
		const before = all.filter((r) => r.startTime < page.startTime).length, inParallel = contexts[0].startTime < Math.min(...scripts.map((r) => r.responseEnd));
		const sum = (pattern) => performance.getEntriesByType("resource").filter((r) => pattern.test(new URL(r.name).pathname)).reduce((n, r) => n + r.encodedBodySize, 0);
		new PerformanceObserver((list) => done({ before, inParallel, contexts: contexts.length, script: sum(/\.js$/), picture: sum(/\/pages\/1$/), style: sum(/css$/), font: sum(/woff2$/), paint: list.getEntries().at(-1).startTime })).observe({ type: "largest-contentful-paint", buffered: true });
	})`)
	t.Logf("script %.1f KB, style %.1f KB, fonts %.1f KB, the first page %.1f KB (as sent), %.0f requests before it; largest contentful paint after %.0f ms",
		f.Script/1e3, f.Style/1e3, f.Font/1e3, f.Picture/1e3, f.Before, f.Paint)
	require.Equal(t, 1, int(f.Contexts), "the page must use the preloaded context")
	require.True(t, f.InParallel, "the context is requested in parallel with the scripts")
	require.Less(t, f.Before, 8.0, "only six requests, and the font, may precede the first page")
	require.Less(t, f.Script, 60e3)
	require.NotZero(t, f.Script)
	require.NotZero(t, f.Picture)
	require.Less(t, f.Font, 60e3, "only one typeface, for the script of the page")
	b.waitUntilStill()
}

// TestFiguresOnSlowNetworks checks that, on a slow network, the data of the first page is loaded while the signer reads
// the disclosure, and that no fonts are loaded.
func TestFiguresOnSlowNetworks(t *testing.T) {
	t.Parallel()
	for _, n := range []struct {
		name          string
		latency, kbit float64 // in milliseconds and kilobits per second
		readTime      time.Duration
	}{
		{"Slow 3G", 400, 400, 10 * time.Second},
		{"Fast 3G", 150, 1600, 5 * time.Second},
	} {
		for _, reads := range []bool{false, true} {
			e := svc.create(t, "Slow", []object{{"name": "Ada", "email": "slow@example.com", "authMethod": "none"}}, leaseFields(), leaseDocument())
			b := open(t, phone)
			b.slow(n.latency, n.kbit, 4)
			start := time.Now()
			b.visit(e.Signers[0].SigningURL)
			b.see("Sign electronically")
			consent := time.Since(start)
			if reads {
				b.eventually("the signer has read", func() bool { return time.Since(start) >= consent+n.readTime })
				b.until(fetched("/pages/1?") + " && " + fetched("/pages/1/text"))
				b.until(`performance.getEntriesByType("resource").every((r) => r.responseEnd > 0)`)
			}
			loaded := eval[float64](b, countFetched)
			agreed := time.Now()
			b.button("I agree")
			b.until(`document.querySelector(".sheet .paint img") !== null`)
			all, after := time.Since(start), time.Since(agreed)
			what := map[bool]string{false: "agreeing at once", true: fmt.Sprintf("reading for %v", n.readTime)}[reads]
			t.Logf("%s, processor 4 times slower, %s: disclosure after %.1f s; first page after %.1f s, %.1f s after agreeing", n.name, what, consent.Seconds(), all.Seconds(), after.Seconds())
			if reads {
				require.InDelta(t, loaded, eval[float64](b, countFetched), 0, "%s: the first page's data must be fetched before the signer consents", n.name)
			}
			require.True(t, eval[bool](b, `performance.getEntriesByType("resource").every((r) => !r.name.endsWith(".woff2"))`), "%s: fonts must not delay the page", n.name)
			b.waitUntilStill()
		}
	}
}

// slow throttles the network and the CPU of a tab. The latency is in milliseconds, and the rate is in kilobits per
// second.
func (b *tab) slow(latency, kbit, processor float64) {
	b.t.Helper()
	bytesPerSecond := kbit * 1000 / 8
	call(b, network.EmulateNetworkConditionsByRule, network.EmulateNetworkConditionsByRuleParams{MatchedNetworkConditions: []*network.Conditions{
		{URLPattern: "", Latency: latency, DownloadThroughput: bytesPerSecond, UploadThroughput: bytesPerSecond},
	}})
	call(b, network.OverrideNetworkState, network.OverrideNetworkStateParams{Latency: latency, DownloadThroughput: bytesPerSecond, UploadThroughput: bytesPerSecond, ConnectionType: network.ConnectionTypeCellular3g})
	call(b, emulation.SetCPUThrottlingRate, emulation.SetCPUThrottlingRateParams{Rate: processor})
}

// countFetched counts the requests for the first page's text and for its image at the lowest level.
const countFetched = `performance.getEntriesByType("resource").filter((r) => /\/pages\/1(\?level=1|\/text)$/.test(r.name)).length`

// fetched returns an expression that reports whether a resource whose URL contains the given string has been loaded.
func fetched(name string) string {
	return `performance.getEntriesByType("resource").some((r) => r.name.includes("` + name + `") && r.responseEnd > 0)`
}

// TestErasedPagesAreNotRead checks that a page that was erased to save memory does not count as read or viewed until it
// has been rendered again.
func TestErasedPagesAreNotRead(t *testing.T) {
	t.Parallel()
	const pages = 24
	leaves := make([]leaf, pages)
	for i := range leaves {
		leaves[i] = leaf{title: fmt.Sprintf("Sheet %d", i+1), lines: []string{"A line of text"}}
	}
	e := svc.create(t, "Erased", []object{{"name": "Ada", "email": "erased@example.com", "authMethod": "none"}}, leaseFields()[:1], pdfOf(leaves...))
	b := open(t, phone)
	b.visit(e.Signers[0].SigningURL)
	b.until(`Boolean(` + buttonOf("I agree") + `)`)
	// No page counts as viewed while the pages are rendered for the first time.
	eval[bool](b, `(Object.defineProperty(document, "visibilityState", { configurable: true, get: () => window.looking ? "visible" : "hidden" }), true)`)
	b.button("I agree")
	for i := range pages {
		b.until(fmt.Sprintf(`(() => { const s = document.querySelectorAll(".sheet")[%d]; s?.scrollIntoView({ block: "center", behavior: "instant" }); return Boolean(s?.querySelector(".paint img")); })()`, i))
	}
	b.until(`document.querySelector(".sheet .paint img") !== null && document.querySelector(".sheet").querySelector(".paint img") === null`)
	b.see("24 pages left to read")
	eval[bool](b, `(() => { const before = window.fetch; window.waiting = [];
		window.fetch = async (...a) => { if (window.waiting && /\/pages\/1\?/.test(a[0])) await new Promise((go) => window.waiting.push(go)); return before(...a); };
		window.draw = () => { const all = window.waiting; window.waiting = null; for (const go of all ?? []) go(); return true; };
		window.looking = true; document.dispatchEvent(new Event("visibilitychange")); document.querySelector(".sheet").scrollIntoView({ block: "center", behavior: "instant" }); return true; })()`)
	b.until(`window.waiting.length > 0`)
	eval[bool](b, `new Promise((done) => setTimeout(() => done(true), 3000))`)
	require.True(t, eval[bool](b, `document.querySelector(".sheet").querySelector(".paint img") === null`))
	b.see("24 pages left to read")
	b.until(`window.draw()`)
	b.until(`document.querySelector(".sheet").querySelector(".paint img") !== null`)
	b.see("23 pages left to read")
	b.waitUntilStill()
}

// TestPrinting checks that all pages can be printed before signing, including unviewed ones, and that only a few of
// them remain in memory afterwards.
func TestPrinting(t *testing.T) {
	t.Parallel()
	const pages = 20
	leaves := make([]leaf, pages)
	for i := range leaves {
		leaves[i] = leaf{title: fmt.Sprintf("Sheet %d", i+1), lines: []string{"A line of text"}}
	}
	e := svc.create(t, "Printed", []object{{"name": "Ada", "email": "printed@example.com", "authMethod": "none"}}, leaseFields()[:1], pdfOf(leaves...))
	b := open(t, desktop)
	b.visit(e.Signers[0].SigningURL)
	b.button("I agree")
	b.see("20 pages left to read")
	eval[bool](b, `(() => { window.print = () => { window.printed = document.querySelectorAll(".sheet .paint img").length; }; return true; })()`)
	b.button("Print")
	b.until(fmt.Sprintf(`window.printed === %d`, pages))
	b.until(`document.querySelectorAll(".sheet .paint img").length <= 16`)
	for paper, height := range map[string]float64{"Letter": 11, "A4": 11.69} {
		made := call(b, page.PrintToPDF, page.PrintToPDFParams{PaperHeight: height})
		require.Len(t, regexp.MustCompile(`/Type ?/Page\b`).FindAll(made.Data, -1), pages, "one sheet of %s for each page", paper)
	}
	b.waitUntilStill()
}
