package browser_test

import (
	"bytes"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/cdproto/dom"
	"github.com/stretchr/testify/require"
)

// signedByAPI creates an envelope of one signer, signs it as the API's client would, and returns the sealed file.
func (s *service) signedByAPI(t *testing.T, email string) (envelope, []byte) {
	t.Helper()
	e := s.create(t, "Sealed lease", []object{{"name": "Grace Hopper", "email": email, "authMethod": "none"}},
		[]object{{"signerId": "0", "type": "text", "page": 1, "x": 72, "y": 500, "w": 200, "h": 20}}, lease())
	base := "/v1/signing/" + e.Signers[0].SigningURL[strings.LastIndex(e.Signers[0].SigningURL, "/")+1:]
	var c struct{ Fields []struct{ ID string } }
	_, err := s.do(http.MethodGet, s.base+base, "", nil, &c)
	require.NoError(t, err)
	s.json(t, http.MethodPost, base+"/consent", object{}, nil)
	s.json(t, http.MethodPost, base+"/sign", object{"fields": []object{{"fieldId": c.Fields[0].ID, "textValue": "Grace"}}}, nil)
	return e, s.completed(t, e.ID)
}

// choose gives a file to the page's file input.
func (b *tab) choose(selector, name string, content []byte) {
	b.t.Helper()
	path := filepath.Join(b.t.TempDir(), name)
	require.NoError(b.t, os.WriteFile(path, content, 0o600))
	root := call(b, dom.GetDocument, dom.GetDocumentParams{})
	node := call(b, dom.QuerySelector, dom.QuerySelectorParams{NodeID: root.Root.NodeID, Selector: selector})
	call(b, dom.SetFileInputFiles, dom.SetFileInputFilesParams{Files: []string{path}, NodeID: node.NodeID})
}

func TestVerify(t *testing.T) {
	t.Parallel()
	_, sealed := svc.signedByAPI(t, "verify@example.com")
	b := open(t, desktop)
	b.visit(svc.base + "/verify")
	b.see("Verify a document")
	b.accessible()
	b.shot("verify-1280")
	b.choose("#file", "lease.pdf", sealed)
	b.see("The seal is intact")
	b.see("Grace Hopper")
	b.see("envelope.created")
	b.accessible()
	b.shot("valid-1280")

	b.button("Verify another document")
	tampered := bytes.Replace(sealed, []byte("The rent is 940"), []byte("The rent is 140"), 1)
	require.NotEqual(t, sealed, tampered)
	b.choose("#file", "lease.pdf", tampered)
	b.see("The seal is broken")
	b.accessible()
	b.calm()

	p := open(t, look{width: 390, height: 844, touch: true, dark: true})
	p.visit(svc.base + "/verify")
	p.see("Verify a document")
	p.choose("#file", "plain.pdf", lease())
	p.see("The seal is broken")
	p.accessible()
	p.shot("broken-390")
	p.button("Verify another document")
	other, err := startService(t.TempDir())
	require.NoError(t, err)
	defer other.stop()
	_, foreign := other.signedByAPI(t, "foreign@example.com")
	p.choose("#file", "foreign.pdf", foreign)
	p.see("Sealed, but not by a key known here")
	p.accessible()
	p.shot("foreign-390")
	p.calm()
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
	b.accessible()
	b.shot("download-390")
	require.True(t, strings.HasSuffix(eval[string](b, `document.querySelector("a.button").href`), "/document"))
	d := open(t, look{width: 1280, height: 800, dark: true})
	d.visit(link)
	d.see("Your sealed document")
	d.shot("download-1280")
	d.visit(svc.base + "/download/nonsense")
	d.see("This link does not work")
	d.accessible()
	d.calm()
	b.calm()
}

// host serves a page that embeds a session by the loader and keeps what it was told.
func host(t *testing.T, content func() string) *httptest.Server {
	t.Helper()
	h := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = fmt.Fprint(w, content())
	}))
	l, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // a test's own server
	require.NoError(t, err)
	h.Listener = l
	h.Start()
	t.Cleanup(h.Close)
	return h
}

func TestEmbed(t *testing.T) {
	t.Parallel()
	e := svc.create(t, "Embedded lease", []object{{"name": "Ada Lovelace", "email": "embed@example.com", "authMethod": "none"}}, leaseFields()[:2], lease())
	var embedURL string
	h := host(t, func() string {
		return `<!doctype html><title>Shop</title><script src="` + svc.base + `/embed.js"></script><h1>Shop</h1><div id="box" style="height:760px"></div><script>
			window.told = [];
			const on = (m) => told.push(m);
			Countersign.open({ container: "#box", url: "` + embedURL + `", onReady: on, onViewed: on, onConsentAccepted: on, onSignatureApplied: on, onCompleted: on, onDeclined: on, onError: on, onResize: on });
		</script>`
	})
	_, port, err := net.SplitHostPort(h.Listener.Addr().String())
	require.NoError(t, err)
	allowed := "http://localhost:" + port
	session := func(e envelope) string {
		var s struct{ EmbedURL string }
		svc.json(t, http.MethodPost, "/v1/embedded/signing-sessions", object{
			"tenantId": "harbour", "envelopeId": e.ID, "signerId": e.Signers[0].ID, "allowedOrigin": allowed,
			"returnUrl": "https://shop.example/done", "theme": object{"primaryColor": "#b3261e", "borderRadius": "2px"},
		}, &s)
		return s.EmbedURL
	}
	embedURL = session(e)

	b := open(t, desktop)
	b.visit(allowed)
	told := func(event string) {
		b.t.Helper()
		b.until(fmt.Sprintf(`told.some((m) => m.event === "service.signer.%s" && m.envelopeId === %q && m.signerId === %q)`, event, e.ID, e.Signers[0].ID))
	}
	told("ready")
	told("resize")
	b.framed("Signing electronically")
	b.shot("embed-consent-1280")
	b.frameButton("I agree")
	told("consentAccepted")
	told("viewed")
	b.framed("1 page to read") // the first page is drawn and seen before anything is clicked
	b.frameButton("Start")
	b.frameButton("Initials")
	b.frameButton("Use these initials")
	told("signatureApplied")
	b.frameButton("Next field")
	b.frameButton("Sign here")
	b.shot("embed-1280")
	b.frameButton("Use this signature")
	b.framed("All fields filled")
	b.framed("Everything read")
	b.frameButton("Review and sign")
	b.frameButton("Sign")
	told("completed")
	require.Equal(t, "https://shop.example/done", eval[string](b, `told.find((m) => m.event === "service.signer.completed").returnUrl`))
	require.True(t, eval[bool](b, `told.filter((m) => m.event === "service.signer.resize").every((m) => m.height > 0)`))

	declined := svc.create(t, "Embedded again", []object{{"name": "Ada Lovelace", "email": "embed2@example.com", "authMethod": "none"}}, leaseFields()[:1], lease())
	e = declined
	embedURL = session(e)
	b.visit(allowed)
	told("ready")
	b.frameButton("Decline to sign")
	b.frameButton("Decline")
	told("declined")

	// Another origin gets a blank frame and no word.
	third := svc.create(t, "Embedded elsewhere", []object{{"name": "Ada Lovelace", "email": "embed3@example.com", "authMethod": "none"}}, leaseFields()[:1], lease())
	embedURL = session(third)
	f := open(t, desktop)
	f.visit("http://127.0.0.1:" + port)
	f.until(`document.querySelector("iframe") !== null`)
	time.Sleep(1500 * time.Millisecond) // nothing is to come: there is nothing to wait for
	require.Zero(t, eval[int](f, "told.length"))
	f.shot("embed-foreign-1280")

	b.visit(svc.base + "/embed/nonsense")
	b.see("Invalid link")
}

func TestConsole(t *testing.T) {
	t.Parallel()
	svc.json(t, http.MethodPost, "/v1/console/users", object{"email": "staff@example.com", "name": "Sam Staff", "password": "a long password", "role": "admin"}, nil)
	var mended atomic.Bool
	broken := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if !mended.Load() {
			http.Error(w, "the shop is closed", http.StatusServiceUnavailable)
		}
	}))
	defer broken.Close()
	svc.json(t, http.MethodPost, "/v1/webhooks", object{"url": broken.URL + "/hook", "events": []string{"envelope.sent"}, "secret": "0123456789abcdef"}, nil)
	svc.json(t, http.MethodPost, "/v1/console/contacts", object{"name": "Katherine Johnson", "email": "kj@example.com"}, nil)
	e := svc.create(t, "Console lease", []object{{"name": "Ada Lovelace", "email": "console@example.com", "authMethod": "none"}}, leaseFields(), lease())

	b := open(t, desktop)
	b.visit(svc.base + "/console")
	b.see("Countersign console")
	b.accessible()
	b.click(`document.querySelector("#email")`)
	b.keys("staff@example.com\tnot the password\r")
	b.until(`document.querySelector(".notice.bad") !== null`)
	b.click(`document.querySelector("#password")`)
	eval[bool](b, `(document.querySelector("#password").select(), true)`)
	b.keys("a long password\r")
	b.see("Console lease")
	b.accessible()
	b.shot("console-1280")
	b.click(`document.querySelector("#search")`)
	b.keys("console lease")
	b.until(`document.querySelectorAll("tbody tr").length === 1`)
	b.click(`document.querySelector("tbody a")`)
	b.see("What happened")
	b.see("Mail: invitation sent")
	b.until(`document.body.innerText.includes("Waiting for")`)
	b.accessible()
	b.shot("console-envelope-1280")
	b.button("Send a new link")
	b.see("A new link is on its way")
	b.visit(svc.base + "/console#/webhooks")
	b.see("Deliveries")
	b.see(broken.URL)
	b.accessible()
	b.until(`document.querySelector("tbody a")?.textContent === "envelope.sent"`)
	b.accessible()
	b.shot("console-webhooks-1280")
	b.click(`document.querySelector("tbody a")`)
	b.see("Attempt 5")
	b.see("the shop is closed")
	b.accessible()
	b.shot("console-delivery-1280")
	mended.Store(true)
	b.button("Resend")
	b.until(`document.querySelector(".head .badge")?.textContent === "delivered"`)
	b.see("Resent")
	b.visit(svc.base + "/console#/contacts")
	b.see("Katherine Johnson")
	b.accessible()
	b.visit(svc.base + "/console#/usage")
	b.see("without limit")
	b.accessible()
	b.shot("console-usage-1280")
	b.visit(svc.base + "/console#/settings")
	b.see("Days until an envelope expires")
	b.accessible()
	b.visit(svc.base + "/console#/envelopes/" + e.ID)
	b.button("Void this envelope")
	b.see("Void this envelope?")
	b.accessible()
	b.button("Void")
	b.until(`document.querySelector(".head .badge")?.textContent === "voided"`)

	call(b, emulationMetrics, emulationMetricsParams(390, 844))
	b.visit(svc.base + "/console#/envelopes")
	b.see("Console lease")
	b.accessible()
	b.shot("console-390")
	b.visit(svc.base + "/console#/envelopes/" + e.ID)
	b.see("What happened")
	b.accessible()
	b.shot("console-envelope-390")
}
