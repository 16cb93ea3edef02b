package browser_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/accessibility"
	"github.com/stretchr/testify/require"
)

// spoken returns what a screen reader announces on the page, in order: the name of each node, preceded by its role
// unless the node is text.
func (b *tab) spoken() []string {
	b.t.Helper()
	tree := call(b, accessibility.GetFullAXTree, accessibility.GetFullAXTreeParams{})
	nodes := map[accessibility.NodeID]*accessibility.Node{}
	for _, n := range tree.Nodes {
		nodes[n.NodeID] = n
	}
	text := func(v *accessibility.Value) (s string) {
		if v != nil {
			require.NoError(b.t, json.Unmarshal(v.Value, &s))
		}
		return strings.TrimSpace(s)
	}
	var out []string
	var walk func(n *accessibility.Node)
	walk = func(n *accessibility.Node) {
		role, name := text(n.Role), text(n.Name)
		switch {
		case n.Ignored || name == "" || role == "InlineTextBox":
		case role == "StaticText":
			out = append(out, name)
		default:
			out = append(out, role+" "+name)
		}
		for _, id := range n.ChildIDs {
			if c := nodes[id]; c != nil {
				walk(c)
			}
		}
	}
	walk(tree.Nodes[0])
	return out
}

// TestFieldsInReadingOrder checks that screen readers reach each field after the words that precede it, in two columns,
// and in right-to-left and vertical text. The Tab key follows the same order.
func TestFieldsInReadingOrder(t *testing.T) {
	t.Parallel()
	html := `<style>@page { size: 595pt 842pt; margin: 60pt } body { font: 11pt/1.5 "Noto Sans", "Noto Sans Arabic", "Noto Sans CJK JP"; margin: 0 }
		.c { display: flex; height: 120pt } .c div { width: 230pt } p { margin: 0 0 24pt } .v { writing-mode: vertical-rl; position: absolute; top: 420pt; left: 0 }</style>
		<h1>Lease</h1><h2>Terms of the lease</h2><div class=c><div><p>First left</p><p>Second left</p></div><div><p>First right</p><p>Second right</p></div></div>
		<p dir=rtl>يدفع المستأجر إيجارا</p><p dir=rtl>السيد أحمد</p><div class=v>賃貸契約書</div>`
	beside := func(text, label string, dx, dy, w, h float64) object {
		return object{"signerId": "0", "type": "text", "label": label, "anchor": object{"text": text, "at": "over", "dx": dx, "dy": dy}, "w": w, "h": h, "required": false}
	}
	e := svc.create(t, "Order", []object{{"name": "Ada", "email": "order@example.com", "authMethod": "none"}}, []object{
		{"signerId": "0", "type": "text", "label": "under vertical", "page": 1, "x": 60, "y": 60 + 420 + 60, "w": 16, "h": 30, "required": false},
		beside("أحمد", "under sir", 0, 22, 60, 14), beside("إيجارا", "left of rent", -90, 0, 60, 14),
		beside("Second right", "under second right", 0, 20, 60, 14), beside("First right", "under first right", 0, 20, 60, 14),
		beside("Second left", "under second left", 0, 20, 60, 14), beside("First left", "under first left", 0, 20, 60, 14),
		beside("Lease", "above lease", 0, -30, 60, 14), beside("Lease", "under lease", 100, 26, 60, 14),
	}, printed(t, html))
	b := open(t, desktop)
	b.visit(e.Signers[0].SigningURL)
	b.button("I agree")
	b.until(`document.querySelector(".textLayer") !== null`)
	b.shot("reading-order")
	spoken := b.spoken()
	from := slices.Index(spoken, "group Page 1 of 1")
	require.GreaterOrEqual(t, from, 0, spoken)
	require.Contains(t, spoken, "heading Lease", "the field below is not part of the heading")
	order := []string{
		"button above lease", "heading Lease", "button under lease", "heading Terms of the lease", "First left", "button under first left", "Second left", "button under second left",
		"First right", "button under first right", "Second right", "button under second right", "يدفع المستأجر إيجارا", "button left of rent",
		"السيد أحمد", "button under sir", "賃貸契約書", "button under vertical",
	}
	rest := strings.Join(spoken[from:], " ")
	var labels []string
	for _, part := range order {
		_, after, found := strings.Cut(rest, part+" ")
		require.True(t, found, "%q does not follow in %q", part, rest)
		rest = after
		if label, ok := strings.CutPrefix(part, "button "); ok {
			labels = append(labels, label)
		}
	}
	// The Tab key follows the same order.
	eval[bool](b, `(document.querySelector(".field").focus(), true)`)
	for _, label := range labels {
		require.Contains(t, eval[string](b, `document.activeElement.ariaLabel`), label+" (")
		b.keys("\t")
	}
	copied := eval[string](b, `(() => { getSelection().selectAllChildren(document.querySelector(".textLayer")); return getSelection().toString().trim(); })()`)
	require.Equal(t, "Lease\nTerms of the lease\nFirst left\nSecond left\nFirst right\nSecond right\nيدفع المستأجر إيجارا\nالسيد أحمد\n賃貸契約書", copied)
	require.True(t, eval[bool](b, `find("First left")`))
	b.checked("reading-order")
}
