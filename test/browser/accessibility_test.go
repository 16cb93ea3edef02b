package browser_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

// shots returns the directory for screenshots, which is empty if screenshots are disabled.
func shots() string { return os.Getenv("BROWSER_TEST_SHOTS") }

// shot takes a screenshot of the window.
func (b *tab) shot(name string) {
	if shots() == "" {
		return
	}
	ctx, cancel := context.WithTimeout(b.ctx, 20*time.Second) // a page that hangs cannot be captured
	defer cancel()
	picture, err := chromedp.Run(ctx, func(ctx context.Context, t *chromedp.Target) (page.CaptureScreenshotResult, error) {
		return cdp.Call(ctx, t, page.CaptureScreenshot, page.CaptureScreenshotParams{})
	})
	if err == nil {
		_ = os.MkdirAll(shots(), 0o750)
		_ = os.WriteFile(filepath.Join(shots(), name+".png"), picture.Data, 0o600)
	}
}

// checked runs axe on the current state of the page and takes screenshots of it.
func (b *tab) checked(name string) {
	b.t.Helper()
	b.accessible()
	b.pictures(name)
}

// pictures takes screenshots of the current state in light and dark mode, on desktop, tablet and phone screens.
func (b *tab) pictures(name string) {
	b.t.Helper()
	if shots() == "" {
		return
	}
	for _, width := range []int64{1280, 820, 390} {
		height := map[int64]int64{1280: 860, 820: 1180, 390: 844}[width]
		b.size(width, height)
		for _, dark := range []bool{false, true} {
			b.scheme(dark)
			b.settled()
			b.shot(fmt.Sprintf("%s-%d-%s", name, width, map[bool]string{false: "light", true: "dark"}[dark]))
		}
	}
	b.size(b.device.width, b.device.height)
	b.scheme(b.device.dark)
	b.settled()
}

// settled waits until the page is laid out and its fonts are loaded.
func (b *tab) settled() {
	b.t.Helper()
	eval[bool](b, `document.fonts.ready.then(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(true)))))`)
}

// accessible checks that axe reports no problems on the page. It also checks the contrast in the other color scheme.
func (b *tab) accessible() {
	b.t.Helper()
	eval[bool](b, axeScript(b.t))
	b.axe(`{ runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"] }`)
	b.scheme(!b.device.dark)
	b.settled()
	b.axe(`{ runOnly: { type: "rule", values: ["color-contrast"] } }`)
	b.scheme(b.device.dark)
	wide := eval[float64](b, "document.documentElement.scrollWidth - document.documentElement.clientWidth")
	require.LessOrEqual(b.t, wide, 0.0, "the page is wider than the screen")
}

func axeScript(t *testing.T) string {
	t.Helper()
	axe, err := os.ReadFile(filepath.Join(svc.root, "web", "node_modules", "axe-core", "axe.min.js"))
	require.NoError(t, err, "axe is not installed: run npm --prefix web ci")
	return `Boolean(window.axe) || (() => {` + string(axe) + `; return true; })()`
}

func (b *tab) axe(options string) {
	b.t.Helper()
	found := eval[[]string](b, `axe.run(document, `+options+`)
		.then((r) => r.violations.map((v) => v.id + ": " + v.nodes.map((n) => n.html.slice(0, 160) + " " + n.failureSummary).join(" | ")))`)
	if len(found) > 0 {
		b.shot("failure")
	}
	require.Empty(b.t, found)
}

// answers replaces the API's response to requests for a path with the given response, in pages that are opened later.
func (b *tab) answers(address string, status int, body string) {
	b.t.Helper()
	call(b, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: fmt.Sprintf(`{
		const before = window.fetch;
		window.fetch = (input, ...more) => new URL(input, location.href).pathname === %q
			? Promise.resolve(new Response(%q, { status: %d, headers: { "Content-Type": "application/json" } })) : before(input, ...more);
	}`, address, body, status)})
}
