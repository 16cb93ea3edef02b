package browser_test

import (
	"bytes"
	"fmt"
	"image"
	"image/jpeg"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/stretchr/testify/require"
)

// What the signing page loads before the viewer is small, and is on the screen soon. "make bench-web" prints it.
func TestFigures(t *testing.T) {
	t.Parallel()
	e := svc.create(t, "Figures", []object{{"name": "Ada", "email": "figures@example.com", "authMethod": "none"}}, leaseFields(), leaseDocument())
	b := open(t, phone)
	b.visit(e.Signers[0].SigningURL)
	b.see("Sign electronically")
	type loaded struct {
		Script float64 `json:"script"`
		Viewer float64 `json:"viewer"`
		Style  float64 `json:"style"`
		Font   float64 `json:"font"`
		Paint  float64 `json:"paint"`
	}
	b.until(`performance.getEntriesByType("resource").some((r) => r.name.includes("pdf.worker"))`)
	f := eval[loaded](b, `new Promise((done) => {
		const sum = (pattern, not = /$^/) => performance.getEntriesByType("resource").filter((r) => pattern.test(new URL(r.name).pathname) && !not.test(r.name)).reduce((n, r) => n + r.encodedBodySize, 0);
		new PerformanceObserver((list) => done({ script: sum(/\.js$/, /\/pdf[.-]/), viewer: sum(/\/pdf[.-][^/]*$/), style: sum(/css$/), font: sum(/woff2$/), paint: list.getEntries().at(-1).startTime })).observe({ type: "largest-contentful-paint", buffered: true });
	})`)
	t.Logf("without the viewer: script %.1f KB, style %.1f KB, fonts %.1f KB; the viewer %.1f KB (as sent); largest contentful paint after %.0f ms",
		f.Script/1e3, f.Style/1e3, f.Font/1e3, f.Viewer/1e3, f.Paint)
	require.Less(t, f.Script, 60e3)
	require.NotZero(t, f.Script)
	require.NotZero(t, f.Viewer)
	require.Less(t, f.Viewer, 240e3, "what the pages do not use of pdf.js is left out")
	b.waitUntilStill()
}

// TestFiguresOnSlowNetworks: on a slow network the viewer and the first page load while the signer reads the
// disclosure.
func TestFiguresOnSlowNetworks(t *testing.T) {
	t.Parallel()
	for _, n := range []struct {
		name          string
		latency, kbit float64 // milliseconds, kilobits a second
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
				b.until(fetched("/documents/") + " && " + fetched("pdf.worker"))
				b.until(`performance.getEntriesByType("resource").every((r) => r.responseEnd > 0)`)
			}
			loaded := eval[float64](b, countFetched)
			agreed := time.Now()
			b.button("I agree")
			b.until(`document.querySelector(".sheet .paint img") !== null`)
			all, after := time.Since(start), time.Since(agreed)
			what := map[bool]string{false: "agreeing at once", true: fmt.Sprintf("reading for %v", n.readTime)}[reads]
			t.Logf("%s, processor 4 times slower, %s: what is agreed to after %.1f s; first page after %.1f s, %.1f s after agreeing", n.name, what, consent.Seconds(), all.Seconds(), after.Seconds())
			if reads {
				require.InDelta(t, loaded, eval[float64](b, countFetched), 0, "%s: what the first page needs was fetched before it was agreed to", n.name)
			}
			b.waitUntilStill()
		}
	}
}

// slow makes the network and the processor of a tab slow: milliseconds of latency, kilobits a second.
func (b *tab) slow(latency, kbit, processor float64) {
	b.t.Helper()
	bytesPerSecond := kbit * 1000 / 8
	call(b, network.EmulateNetworkConditionsByRule, network.EmulateNetworkConditionsByRuleParams{MatchedNetworkConditions: []*network.Conditions{
		{URLPattern: "", Latency: latency, DownloadThroughput: bytesPerSecond, UploadThroughput: bytesPerSecond},
	}})
	call(b, network.OverrideNetworkState, network.OverrideNetworkStateParams{Latency: latency, DownloadThroughput: bytesPerSecond, UploadThroughput: bytesPerSecond, ConnectionType: network.ConnectionTypeCellular3g})
	call(b, emulation.SetCPUThrottlingRate, emulation.SetCPUThrottlingRateParams{Rate: processor})
}

// countFetched counts the files of documents and of the viewer that a page has asked for.
const countFetched = `performance.getEntriesByType("resource").filter((r) => /\/documents\/|pdf/.test(r.name)).length`

// fetched is whether a page has something of this name.
func fetched(name string) string {
	return `performance.getEntriesByType("resource").some((r) => r.name.includes("` + name + `") && r.responseEnd > 0)`
}

// TestDecodedPagesAreFreed: the decoded data of a long document's pages is freed when they are out of sight.
func TestDecodedPagesAreFreed(t *testing.T) {
	t.Parallel()
	const pages = 60
	leaves := make([]leaf, pages)
	for i := range leaves {
		picture := image.NewGray(image.Rect(0, 0, 300, 420))
		for j := range picture.Pix {
			picture.Pix[j] = uint8(j + i)
		}
		var b bytes.Buffer
		require.NoError(t, jpeg.Encode(&b, picture, nil))
		leaves[i] = leaf{title: fmt.Sprintf("Sheet %d", i+1), picture: b.Bytes()}
	}
	e := svc.create(t, "Scans", []object{{"name": "Ada", "email": "scans@example.com", "authMethod": "none"}}, leaseFields(), pdfOf(leaves...))
	b := open(t, phone)
	call(b, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: `{
		window.freed = 0;
		for (const kind of [ImageBitmap, window.VideoFrame].filter(Boolean)) { // what pictures are decoded to
			const close = kind.prototype.close;
			kind.prototype.close = function () { window.freed++; return close.call(this); };
		}
	}`})
	b.visit(e.Signers[0].SigningURL)
	b.button("I agree")
	for i := range pages {
		b.until(fmt.Sprintf(`(() => { const s = document.querySelectorAll(".sheet")[%d]; s?.scrollIntoView({ block: "center", behavior: "instant" }); return Boolean(s?.querySelector(".paint img")); })()`, i))
	}
	b.until(fmt.Sprintf(`window.freed >= %d`, pages-20)) // some are still in sight, or kept
	b.waitUntilStill()
}

// TestErasedPagesAreNotRead: a page that was erased to save memory counts as read, and as looked at, only once it is drawn again.
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
	// Nothing is looked at while the pages are drawn for the first time.
	eval[bool](b, `(Object.defineProperty(document, "visibilityState", { configurable: true, get: () => window.looking ? "visible" : "hidden" }), true)`)
	b.button("I agree")
	for i := range pages {
		b.until(fmt.Sprintf(`(() => { const s = document.querySelectorAll(".sheet")[%d]; s?.scrollIntoView({ block: "center", behavior: "instant" }); return Boolean(s?.querySelector(".paint img")); })()`, i))
	}
	b.until(`document.querySelector(".sheet .paint img") !== null && document.querySelector(".sheet").querySelector(".paint img") === null`)
	b.see("24 pages left to read")
	// The viewer draws in animation frames: without them drawing does not end.
	eval[bool](b, `(() => { const before = window.requestAnimationFrame.bind(window); window.waiting = [];
		window.requestAnimationFrame = (f) => { if (!window.waiting) return before(f); window.waiting.push(f); return 0; };
		window.draw = () => { const all = window.waiting; window.waiting = null; for (const f of all ?? []) before(f); return true; };
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
