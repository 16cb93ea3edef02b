package browser_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// The first load of the signing page is small, and is on the screen soon. "make bench-web" prints it.
func TestFigures(t *testing.T) {
	t.Parallel()
	e := svc.create(t, "Figures", []object{{"name": "Ada", "email": "figures@example.com", "authMethod": "none"}}, leaseFields(), lease())
	b := open(t, phone)
	b.visit(e.Signers[0].SigningURL)
	b.see("Signing electronically")
	type loaded struct {
		Script float64 `json:"script"`
		Style  float64 `json:"style"`
		Font   float64 `json:"font"`
		Paint  float64 `json:"paint"`
	}
	f := eval[loaded](b, `new Promise((done) => {
		const sum = (end) => performance.getEntriesByType("resource").filter((r) => new URL(r.name).pathname.endsWith(end)).reduce((n, r) => n + r.encodedBodySize, 0);
		new PerformanceObserver((list) => done({ script: sum("js"), style: sum("css"), font: sum("woff2"), paint: list.getEntries().at(-1).startTime })).observe({ type: "largest-contentful-paint", buffered: true });
	})`)
	t.Logf("before the viewer is needed: script %.1f KB, style %.1f KB, fonts %.1f KB (as sent); largest contentful paint after %.0f ms", f.Script/1e3, f.Style/1e3, f.Font/1e3, f.Paint)
	require.Less(t, f.Script, 150e3)
	require.NotZero(t, f.Script)

	b.button("I agree")
	b.until(`document.querySelector(".sheet canvas") !== null`)
	first := eval[float64](b, `performance.now()`)
	sent := eval[float64](b, `performance.getEntriesByType("resource").filter((r) => /js$/.test(new URL(r.name).pathname)).reduce((n, r) => n + r.encodedBodySize, 0)`)
	t.Logf("with the viewer: script %.1f KB (as sent); first page drawn %.0f ms after the page was opened, the consent included", sent/1e3, first)
}
