package browser_test
import ("os";"testing")
func TestZZ(t *testing.T) {
	pdf, _ := os.ReadFile("/tmp/pagesweb/t.pdf")
	e := svc.create(t, "Text", []object{{"name": "Ada", "email": "zz@example.com", "authMethod": "none"}}, leaseFields()[:1], pdf)
	b := open(t, desktop)
	b.visit(e.Signers[0].SigningURL)
	b.button("I agree")
	b.until(`document.querySelectorAll(".textLayer span").length > 10`)
	b.size(1280, 1300)
	b.shot("plain")
	eval[bool](b, `(() => { const s = new CSSStyleSheet(); s.replaceSync(".textLayer{color:red !important} .textLayer>div{background:rgb(0 0 255/.12)} .textLayer span{outline:1px solid rgb(0 128 0/.5)} .paint img{opacity:.45}"); document.adoptedStyleSheets.push(s); return true; })()`)
	b.shot("text")
	t.Log(eval[string](b, `(() => { getSelection().selectAllChildren(document.querySelector(".textLayer")); return getSelection().toString(); })()`))
	t.Log(eval[bool](b, `(() => { getSelection().removeAllRanges(); return find("landlord, and the tenant"); })()`))
	t.Log(eval[bool](b, `find("Rotated draft text")`))
	t.Log(eval[bool](b, `find("東京都")`))
}
