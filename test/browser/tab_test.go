package browser_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	cdplog "github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

// tab is one browser tab with an empty profile.
type tab struct {
	t      *testing.T
	ctx    context.Context
	device device

	mu             sync.Mutex
	onConsoleError []string // errors and warnings on the page
	foreign        []string // requests that were sent to another host
	frame          string   // script context of the newest frame that contains one of the service's pages
}

// waitTimeout is the time limit for each operation on a busy machine.
const waitTimeout = 60 * time.Second

type device struct {
	width, height int64
	dark, touch   bool
	language      string
}

var (
	desktop = device{width: 1280, height: 860}
	phone   = device{width: 390, height: 844, touch: true}
)

func open(t *testing.T, l device) *tab {
	t.Helper()
	ctx, cancel := chromedp.NewContext(browser, chromedp.WithNewBrowserContext())
	t.Cleanup(cancel)
	require.NoError(t, chromedp.Do(ctx), "opening a tab") // allows the tab to outlive the time limits of single actions
	b := &tab{t: t}
	require.NoError(t, chromedp.Listen(ctx, b.listen))
	b.ctx, cancel = context.WithTimeout(ctx, 9*time.Minute)
	t.Cleanup(cancel)
	b.device = l
	if l.language == "" {
		l.language = "en-GB"
	}
	call(b, network.Enable, network.EnableParams{})
	call(b, runtime.Enable, cdp.Empty{})
	call(b, cdplog.Enable, cdp.Empty{})
	b.size(l.width, l.height)
	b.scheme(l.dark)
	call(b, emulation.SetTouchEmulationEnabled, emulation.SetTouchEmulationEnabledParams{Enabled: l.touch})
	call(b, emulation.SetUserAgentOverride, emulation.SetUserAgentOverrideParams{
		UserAgent:      "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36",
		AcceptLanguage: l.language,
	})
	call(b, emulation.SetFocusEmulationEnabled, emulation.SetFocusEmulationEnabledParams{Enabled: true})
	return b
}

// call sends a command of the DevTools protocol.
func call[P, R any](b *tab, c cdp.Command[P, R], params P) R {
	b.t.Helper()
	r, err := chromedp.Run(b.ctx, func(ctx context.Context, t *chromedp.Target) (R, error) { return cdp.Call(ctx, t, c, params) })
	require.NoError(b.t, err, c.Method)
	return r
}

// listen records the errors on the page. While mu is locked, listen blocks, and no response from the browser is
// processed.
func (b *tab) listen(event any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch e := event.(type) {
	case *runtime.EventExceptionThrown:
		b.onConsoleError = append(b.onConsoleError, (&chromedp.ExceptionError{ExceptionDetails: e.ExceptionDetails}).Error())
	case *runtime.EventConsoleAPICalled:
		if e.Type.String() == "error" || e.Type.String() == "warning" {
			var words []string
			for _, a := range e.Args {
				words = append(words, string(a.Value)+a.Description)
			}
			b.onConsoleError = append(b.onConsoleError, strings.Join(words, " "))
		}
	case *runtime.EventExecutionContextCreated:
		if e.Context.Origin == svc.base {
			b.frame = e.Context.UniqueID
		}
	case *cdplog.EventEntryAdded:
		// Violations of the content security policy are reported here. Rejected requests are ignored, because some
		// tests expect them.
		if e.Entry.Source.String() != "network" {
			b.onConsoleError = append(b.onConsoleError, e.Entry.Text)
		}
	case *network.EventRequestWillBeSent:
		u := e.Request.URL
		if strings.HasPrefix(u, "http") && !strings.HasPrefix(u, svc.base) && !strings.HasPrefix(u, "http://localhost:") {
			b.foreign = append(b.foreign, u)
		}
	}
}

// waitUntilStill checks that the page logged no error and sent no request to another host.
func (b *tab) waitUntilStill() {
	b.t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	require.Empty(b.t, b.onConsoleError, "errors of the page")
	require.Empty(b.t, b.foreign, "requests to other hosts")
}

func (b *tab) do(actions ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	if err := chromedp.Do(b.ctx, actions...); err != nil {
		b.shot("failure")
		b.mu.Lock()
		defer b.mu.Unlock()
		require.NoError(b.t, err, "the page reported errors: %v", b.onConsoleError)
	}
}

func (b *tab) visit(address string) { b.t.Helper(); b.do(chromedp.Navigate(address)) }

// see waits until the page contains the given text.
func (b *tab) see(text string) {
	b.t.Helper()
	b.until(fmt.Sprintf("document.body.innerText.replaceAll(/[\\u2066-\\u2069]/g,'').includes(%q)", text))
}

// titled waits until the page has the given title, which is set after the page has been rendered.
func (b *tab) titled(want string) { b.t.Helper(); b.until(fmt.Sprintf("document.title === %q", want)) }

// until waits until a JavaScript expression is true.
func (b *tab) until(expression string) {
	b.t.Helper()
	for deadline := time.Now().Add(waitTimeout); ; time.Sleep(50 * time.Millisecond) {
		ok, err := chromedp.Run(b.ctx, chromedp.Evaluate[bool](expression))
		if err == nil && ok {
			return
		}
		if time.Now().After(deadline) || b.ctx.Err() != nil {
			b.shot("failure")
			focus, _ := chromedp.Run(b.ctx, chromedp.Evaluate[string]("document.activeElement?.outerHTML.slice(0, 200) ?? ''"))
			shown := b.text()
			b.mu.Lock()
			defer b.mu.Unlock()
			require.FailNow(b.t, "timed out waiting for "+expression, "%v; the page reported errors: %v; the focus is on %s; it shows: %s", err, b.onConsoleError, focus, shown)
		}
	}
}

func (b *tab) text() string {
	s, _ := chromedp.Run(b.ctx, chromedp.Evaluate[string]("document.body.innerText"))
	return s
}

// eval evaluates JavaScript. If the result is a promise, eval waits for its value.
func eval[T any](b *tab, expression string) T {
	b.t.Helper()
	v, err := chromedp.Run(b.ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	if err != nil {
		b.shot("failure")
		require.NoError(b.t, err, expression)
	}
	return v
}

// size sets the size of the window in CSS pixels.
func (b *tab) size(width, height int64) {
	b.t.Helper()
	density := 1.0
	if b.device.touch {
		density = 2
	}
	call(b, emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{Width: width, Height: height, DeviceScaleFactor: density, Mobile: b.device.touch})
}

func (b *tab) scheme(dark bool) {
	b.t.Helper()
	value := map[bool]string{false: "light", true: "dark"}[dark]
	call(b, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{
		{Name: "prefers-color-scheme", Value: value}, {Name: "prefers-reduced-motion", Value: "reduce"},
	}})
}

// inFrame evaluates JavaScript in the framed page.
func inFrame[T any](b *tab, expression string) (T, error) {
	b.mu.Lock()
	id := b.frame
	b.mu.Unlock()
	return chromedp.Run(b.ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise, func(p *runtime.EvaluateParams) { p.UniqueContextID = id }))
}

// framed waits until the framed page contains the given text.
func (b *tab) framed(text string) {
	b.t.Helper()
	b.eventually("the frame shows "+text, func() bool {
		ok, err := inFrame[bool](b, fmt.Sprintf("document.body.innerText.includes(%q)", text))
		return err == nil && ok
	})
}

func (b *tab) eventually(what string, ok func() bool) {
	b.t.Helper()
	b.within(waitTimeout, what, ok)
}

func (b *tab) within(limit time.Duration, what string, ok func() bool) {
	b.t.Helper()
	for deadline := time.Now().Add(limit); !ok(); time.Sleep(80 * time.Millisecond) {
		if time.Now().After(deadline) {
			b.shot("failure")
			shown := b.text()
			b.mu.Lock()
			defer b.mu.Unlock()
			require.FailNow(b.t, "timed out waiting until "+what, "the page reported errors: %v; it shows: %s", b.onConsoleError, shown)
		}
	}
}
