package browser_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	devtools "github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/dom"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

// tryIt operates the request forms of the API reference as a user does, with the mouse and the keyboard.
type tryIt struct {
	*tab
	downloads string // directory to which the browser saves files

	mu       sync.Mutex
	statuses map[network.RequestID]int64
	finished []network.RequestID // requests to paths below /v1, in the order of completion
	choosers []cdp.BackendNodeID // inputs for which a file chooser was opened
}

const (
	requestForm   = `document.querySelector(".scalar-client--open [role=dialog]")`
	closeForm     = `[...document.querySelectorAll("button")].find((b) => b.textContent.trim() === "Close Client")`
	sendRequest   = `[...` + requestForm + `.querySelectorAll("button")].find((b) => b.textContent.trim().startsWith("Send") && b.offsetParent !== null)`
	saveResponse  = requestForm + `.querySelector("a[aria-label='Download Response Body']")`
	authorize     = `[...document.querySelectorAll("button")].find((b) => b.textContent.trim() === "Authorize" && b.offsetParent !== null)`
	accessToken   = `[...document.querySelectorAll("label")].some((l) => l.textContent.trim() === "Access Token")`
	clientIDField = `document.querySelector("[data-placeholder='12345']")`
	control       = 2 // modifier of key events
	secretField   = `document.querySelector("[placeholder='XYZ123']")`
)

// openReference opens the reference, and obtains an access token with its form.
func openReference(t *testing.T) *tryIt {
	t.Helper()
	p := &tryIt{tab: open(t, desktop), downloads: t.TempDir(), statuses: make(map[network.RequestID]int64)}
	require.NoError(t, chromedp.Listen(p.ctx, func(event any) {
		p.mu.Lock()
		defer p.mu.Unlock()
		switch e := event.(type) {
		case *network.EventResponseReceived:
			if strings.Contains(e.Response.URL, "/v1/") {
				p.statuses[e.RequestID] = e.Response.Status
			}
		case *network.EventLoadingFinished:
			if p.statuses[e.RequestID] != 0 {
				p.finished = append(p.finished, e.RequestID)
			}
		case *page.EventFileChooserOpened:
			p.choosers = append(p.choosers, e.BackendNodeID)
		}
	}))
	call(p.tab, page.Enable, page.EnableParams{})
	call(p.tab, page.SetInterceptFileChooserDialog, page.SetInterceptFileChooserDialogParams{Enabled: true})
	call(p.tab, devtools.SetDownloadBehavior, devtools.SetDownloadBehaviorParams{
		Behavior: "allow", DownloadPath: p.downloads, BrowserContextID: chromedp.FromContext(p.ctx).BrowserContextID,
	})
	p.visit(svc.base + "/docs")
	p.click(clientIDField)
	p.insert(svc.client)
	p.click(secretField)
	p.insert(svc.secret)
	p.click(authorize)
	p.until(accessToken)
	return p
}

// insert inserts text at the focus, as if pasted from the clipboard.
func (p *tryIt) insert(text string) {
	p.t.Helper()
	call(p.tab, input.InsertText, input.InsertTextParams{Text: text})
}

// replace replaces the complete text in an editor.
func (p *tryIt) replace(find, text string) {
	p.t.Helper()
	p.click(find)
	p.until(`(` + find + `).contains(document.activeElement)`)
	call(p.tab, input.DispatchKeyEvent, input.DispatchKeyEventParams{Type: "rawKeyDown", Key: "a", Code: "KeyA", WindowsVirtualKeyCode: 65, Modifiers: control, Commands: []string{"selectAll"}})
	call(p.tab, input.DispatchKeyEvent, input.DispatchKeyEventParams{Type: "keyUp", Key: "a", Code: "KeyA", WindowsVirtualKeyCode: 65, Modifiers: control})
	p.insert(text)
	p.until(fmt.Sprintf(`(%s)?.innerText.trim() === %q`, find, text))
}

// formRow returns an expression for the row of a parameter or form field.
func formRow(name string) string {
	return fmt.Sprintf(`[...%s.querySelectorAll("tr")].find((r) => r.querySelector(".code-input-lite__editor")?.textContent === %q)`, requestForm, name)
}

// operation opens the request form of an operation from the list of operations.
func (p *tryIt) operation(tag, method, path string) {
	p.t.Helper()
	if eval[bool](p.tab, requestForm+" !== null") {
		p.click(closeForm)
		p.until(requestForm + " === null")
	}
	p.until("Boolean(" + fmt.Sprintf(`document.querySelector("a[href='#api/tag/%s']")`, tag) + ")")
	eval[bool](p.tab, fmt.Sprintf(`(location.hash = "api/tag/%s/%s%s", true)`, tag, method, path))
	p.click(fmt.Sprintf(`[...document.querySelectorAll("button.show-api-client-button")].find((b) => b.textContent.trim() === "Test Request(%s %s)")`, strings.ToLower(method), path))
	p.until(requestForm + " !== null")
}

func (p *tryIt) set(name, value string) {
	p.t.Helper()
	p.replace(formRow(name)+`?.querySelectorAll(".code-input-lite__editor")[1]`, value)
}

// option selects the value of a parameter that has a list of values. If the page moves during a click, the list may
// close without a selection, and is opened again.
func (p *tryIt) option(name, value string) {
	p.t.Helper()
	list := formRow(name) + `?.querySelector("button[aria-haspopup]")`
	item := fmt.Sprintf(`[...document.querySelectorAll("[role=menuitem], [role=option]")].find((o) => o.textContent.trim() === %q)`, value)
	p.eventually("the parameter "+name+" is "+value, func() bool {
		if eval[bool](p.tab, fmt.Sprintf(`(%s)?.textContent.trim() === %q`, list, value)) {
			return true
		}
		if eval[bool](p.tab, "Boolean("+item+")") {
			p.tryClick(item, p.point, atOrigin)
		} else {
			p.tryClick(list, p.point, atOrigin)
		}
		return false
	})
}

func (p *tryIt) body(v any) {
	p.t.Helper()
	b, err := json.Marshal(v)
	require.NoError(p.t, err)
	p.replace(requestForm+`?.querySelector(".cm-content")`, string(b))
}

// file chooses a file for a form field.
func (p *tryIt) file(name, path string) {
	p.t.Helper()
	p.click(`[...(` + formRow(name) + `?.querySelectorAll("button") ?? [])].find((b) => b.textContent.trim() === "Select File")`)
	var node cdp.BackendNodeID
	p.eventually("a file can be chosen", func() bool {
		p.mu.Lock()
		defer p.mu.Unlock()
		if len(p.choosers) > 0 {
			node, p.choosers = p.choosers[0], p.choosers[1:]
		}
		return node != 0
	})
	call(p.tab, dom.SetFileInputFiles, dom.SetFileInputFilesParams{Files: []string{path}, BackendNodeID: node})
	p.until(formRow(name) + `?.innerText.includes(` + fmt.Sprintf("%q", filepath.Base(path)) + `)`)
}

// send sends the request of the form, and returns the response body. It checks that the response has the given status
// and is displayed.
func (p *tryIt) send(status int) []byte {
	p.t.Helper()
	p.mu.Lock()
	before := len(p.finished)
	p.mu.Unlock()
	p.click(sendRequest)
	var id network.RequestID
	p.eventually("the response is displayed", func() bool {
		p.mu.Lock()
		defer p.mu.Unlock()
		if len(p.finished) == before {
			return false
		}
		id = p.finished[before]
		return true
	})
	b := call(p.tab, network.GetResponseBody, network.GetResponseBodyParams{RequestID: id}).Body
	p.mu.Lock()
	got := p.statuses[id]
	p.mu.Unlock()
	require.EqualValues(p.t, status, got, "%s", b)
	p.until(fmt.Sprintf(`%s.innerText.includes("%d %s")`, requestForm, status, http.StatusText(status)))
	return b
}

// sendFor sends the request of the form, and returns the decoded response.
func sendFor[T any](p *tryIt, status int) T {
	p.t.Helper()
	var v T
	require.NoError(p.t, json.Unmarshal(p.send(status), &v))
	return v
}

// TestReference_SendsRequests checks that an envelope can be created, sent, signed, sealed, downloaded and verified
// with only the request forms of the reference. Calls to tab.waitUntilStill report requests to other hosts.
func TestReference_SendsRequests(t *testing.T) {
	t.Parallel()
	p := openReference(t)
	type identified struct{ ID, Status string }

	p.operation("envelopes", "POST", "/v1/envelopes")
	p.file("file", filepath.Join(svc.root, "docs", "contract.pdf"))
	p.set("data", `{"tenantId":"acme","subject":"Tried","signers":[{"name":"Ada Lovelace","email":"tried@example.com","authMethod":"none"}],"fields":[{"signerId":"0","type":"text","page":1,"x":72,"y":600,"w":200,"h":20}]}`)
	created := sendFor[identified](p, http.StatusCreated)
	require.Equal(t, "draft", created.Status)

	p.operation("envelopes", "POST", "/v1/envelopes/{id}/send")
	p.set("id", created.ID)
	sent := sendFor[envelope](p, http.StatusOK)
	token := strings.TrimPrefix(signingPath(sent.Signers[0].SigningURL), "/v1/signing/")

	p.operation("signing", "GET", "/v1/signing/{token}")
	p.set("token", token)
	signing := sendFor[struct {
		Fields  []identified
		Consent struct{ Version string }
	}](p, http.StatusOK)

	p.operation("signing", "POST", "/v1/signing/{token}/consent")
	p.set("token", token)
	p.body(object{"version": signing.Consent.Version})
	p.send(http.StatusOK)

	p.operation("signing", "POST", "/v1/signing/{token}/sign")
	p.set("token", token)
	p.body(object{"fields": []object{{"fieldId": signing.Fields[0].ID, "textValue": "London"}}})
	p.send(http.StatusOK)

	p.operation("envelopes", "GET", "/v1/envelopes/{id}")
	p.set("id", created.ID)
	p.eventually("the envelope is sealed", func() bool { return sendFor[identified](p, http.StatusOK).Status == "completed" })

	p.operation("documents", "GET", "/v1/envelopes/{id}/document")
	p.set("id", created.ID)
	p.option("kind", "sealed")
	sealed := p.send(http.StatusOK)
	saved := filepath.Join(p.downloads, eval[string](p.tab, saveResponse+".download"))
	p.click(saveResponse)
	p.eventually("the file is saved", func() bool { // Chromium creates an empty file first
		file, err := os.ReadFile(saved)
		return err == nil && bytes.Equal(file, sealed)
	})

	p.operation("verification", "POST", "/v1/verify")
	p.file("file", saved)
	report := sendFor[struct{ Verdict string }](p, http.StatusOK)
	require.Equal(t, "valid", report.Verdict)
	p.waitUntilStill()
}
