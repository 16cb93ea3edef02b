package browser_test

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/dom"
	"github.com/stretchr/testify/require"
)

// signedByAPI creates an envelope with one signer, signs it as an API client, and returns the sealed file.
func (s *service) signedByAPI(t *testing.T, email string) (envelope, []byte) {
	t.Helper()
	e := s.create(t, "Sealed lease", []object{{"name": "Grace Hopper", "email": email, "authMethod": "none"}},
		[]object{{"signerId": "0", "type": "text", "page": 1, "x": 72, "y": 500, "w": 200, "h": 20}}, leaseDocument())
	at := "/v1/signing/" + e.Signers[0].SigningURL[strings.LastIndex(e.Signers[0].SigningURL, "/")+1:]
	_, err := s.do(http.MethodGet, s.base+at+"/documents/"+e.Documents[0].ID+"/pages/1?level=2", "", nil, nil)
	require.NoError(t, err)
	s.signs(t, at)
	return e, s.completed(t, e.ID)
}

// signs fills in a signer's only text field, and signs as an API client.
func (s *service) signs(t *testing.T, at string) {
	t.Helper()
	var c struct{ Fields []struct{ ID string } }
	_, err := s.do(http.MethodGet, s.base+at, "", nil, &c)
	require.NoError(t, err)
	s.signerPosts(t, at+"/consent", object{})
	s.signerPosts(t, at+"/sign", object{"fields": []object{{"fieldId": c.Fields[0].ID, "textValue": "Grace"}}})
}

// choose selects a file in the page's file input.
func (b *tab) choose(selector, name string, content []byte) {
	b.t.Helper()
	b.chooseAt(selector, filepath.Join(b.t.TempDir(), name), content)
}

// chooseAt writes a file to a path and selects it in the page's file input, as a user would.
func (b *tab) chooseAt(selector, path string, content []byte) {
	b.t.Helper()
	require.NoError(b.t, os.WriteFile(path, content, 0o600))
	b.chooseFiles(selector, path)
}

func (b *tab) chooseFiles(selector string, paths ...string) {
	b.t.Helper()
	// A click event dispatched by a script does not open the dialog.
	eval[bool](b, fmt.Sprintf(`document.querySelector(%q).dispatchEvent(new Event("click", { bubbles: true }))`, selector))
	root := call(b, dom.GetDocument, dom.GetDocumentParams{})
	node := call(b, dom.QuerySelector, dom.QuerySelectorParams{NodeID: root.Root.NodeID, Selector: selector})
	call(b, dom.SetFileInputFiles, dom.SetFileInputFilesParams{Files: paths, NodeID: node.NodeID})
}

// TestBrandedDownload checks that the download page and the receipt of a tenant with branding have its logo, color,
// footer and support link.
func TestBrandedDownload(t *testing.T) {
	t.Parallel()
	const tenant = "harbour-branding"
	svc.json(t, http.MethodPut, "/v1/tenants/"+tenant+"/branding", object{
		"logo": base64.StdEncoding.EncodeToString(paper(true)), "primaryColor": "#7a1f3d", "footer": "Harbour Ltd\n3 Harbour Street", "supportUrl": "https://harbour.example/help",
	}, nil)
	e := svc.createFor(t, tenant, "Branded lease", []object{{"name": "Grace Hopper", "email": "branded-portal@example.com", "authMethod": "none"}},
		[]object{{"signerId": "0", "type": "text", "page": 1, "x": 72, "y": 500, "w": 200, "h": 20}}, leaseDocument())
	svc.signs(t, signingPath(e.Signers[0].SigningURL))
	svc.completed(t, e.ID)
	_, links := svc.mail(t, "branded-portal@example.com", "/download/")
	at := slices.IndexFunc(links, func(l string) bool { return strings.Contains(l, "/download/") })
	require.GreaterOrEqual(t, at, 0)
	const colour = "rgb(122, 31, 61)"
	for _, l := range []device{handset, {width: 1280, height: 800, dark: true}} {
		b := open(t, l)
		b.visit(links[at])
		b.see("Your sealed document")
		b.see("3 Harbour Street")
		b.until(`document.querySelector("img.senderlogo")?.naturalWidth > 0`)
		require.Equal(t, colour, eval[string](b, `getComputedStyle(document.querySelector("a.button")).backgroundColor`))
		b.accessible()
		b.shot(fmt.Sprintf("download-branded-%d", l.width))
		b.visit(e.Signers[0].SigningURL) // the page is now a receipt
		b.see("You signed")
		b.see("3 Harbour Street")
		b.until(`document.querySelector("img.senderlogo")?.naturalWidth > 0`)
		b.accessible()
		b.shot(fmt.Sprintf("receipt-branded-%d", l.width))
		b.waitUntilStill()
	}
}

func TestDownload(t *testing.T) {
	t.Parallel()
	svc.signedByAPI(t, "portal@example.com")
	_, links := svc.mail(t, "portal@example.com", "/download/")
	link := ""
	for _, l := range links {
		if strings.Contains(l, "/download/") {
			link = l
		}
	}
	b := open(t, phone)
	b.visit(link)
	b.see("Your sealed document")
	// The pages are displayed one after another, with their text.
	b.until(`document.querySelector(".sealedpage img")?.naturalWidth > 0 && document.querySelectorAll(".sealedpage .textLayer span").length > 10`)
	b.until(`(() => { scrollTo(0, document.body.scrollHeight); const all = document.querySelectorAll(".sealedpage"); return all.length > 2 && document.querySelector(".sealedpages > p") === null && all[all.length - 1].querySelector("img") !== null; })()`)
	eval[bool](b, `(scrollTo(0, 0), true)`)
	b.checked("download")
	require.True(t, strings.HasSuffix(eval[string](b, `document.querySelector("a.button").href`), "/document"))
	d := open(t, device{width: 1280, height: 800, dark: true})
	d.visit(link)
	d.see("Your sealed document")
	d.accessible()
	d.visit(svc.base + "/download/nonsense")
	d.see("This link doesn't work")
	d.accessible()
	d.waitUntilStill()
	b.waitUntilStill()
}
