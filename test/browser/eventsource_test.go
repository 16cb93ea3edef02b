package browser_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// eventProxy is the server of an application. It forwards the event stream to its page, using the credential that the
// page must not have.
type eventProxy struct {
	mu     sync.Mutex
	cursor string         // cursor from which the page starts
	asked  []string       // Last-Event-ID of each connection
	breaks []func() error // functions that each break a connection
}

// ServeHTTP serves the page and forwards the stream.
func (p *eventProxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path != "/events" {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = fmt.Fprint(w, `<!doctype html><title>Orders</title><h1>Orders</h1><script>
			window.ids = []; window.opened = 0;
			const source = new EventSource("/events");
			source.onopen = () => opened++;
			for (const name of ["envelope.created", "envelope.voided"]) source.addEventListener(name, (e) => ids.push(e.lastEventId + " " + e.type + " " + JSON.parse(e.data).envelopeId));
		</script>`)
		return
	}
	last := r.Header.Get("Last-Event-ID")
	p.mu.Lock()
	p.asked = append(p.asked, last)
	if last == "" {
		last = p.cursor
	}
	p.mu.Unlock()
	req, err := http.NewRequestWithContext(r.Context(), http.MethodGet, svc.base+"/v1/events/stream", http.NoBody)
	if err != nil {
		panic(err)
	}
	req.Header.Set("Authorization", "Bearer "+svc.bearer)
	req.Header.Set("Last-Event-ID", last)
	res, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	defer func() { _ = res.Body.Close() }()
	p.mu.Lock()
	p.breaks = append(p.breaks, res.Body.Close)
	p.mu.Unlock()
	w.Header().Set("Content-Type", res.Header.Get("Content-Type"))
	w.WriteHeader(res.StatusCode)
	out := http.NewResponseController(w)
	_ = out.Flush()
	buffer := make([]byte, 512)
	for {
		n, err := res.Body.Read(buffer)
		if _, writeErr := w.Write(buffer[:n]); writeErr != nil || err != nil {
			panic(http.ErrAbortHandler) // simulate a lost connection, possibly in the middle of an event
		}
		_ = out.Flush()
	}
}

// connections returns the Last-Event-ID of each connection of the page.
func (p *eventProxy) connections() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]string(nil), p.asked...)
}

func (p *eventProxy) breakLast() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.breaks[len(p.breaks)-1]()
}

// TestEventSource checks that the browser's own EventSource reads the stream, reconnects after an interruption, and
// receives every event once and in order.
func TestEventSource(t *testing.T) {
	t.Parallel()
	newEnvelope := func() string {
		var e envelope
		svc.json(t, http.MethodPost, "/v1/envelopes", object{"tenantId": "events", "signers": []object{{"name": "Ada", "email": "ada@example.com"}}}, &e)
		return e.ID
	}
	first := newEnvelope()
	var page struct {
		Data       []struct{ ID, EnvelopeID, Event string }
		NextCursor string
		HasMore    bool
	}
	p := &eventProxy{}
	for p.cursor == "" {
		path := "/v1/events?limit=500&event=envelope.created"
		if page.NextCursor != "" {
			path += "&cursor=" + page.NextCursor
		}
		svc.json(t, http.MethodGet, path, nil, &page)
		for _, e := range page.Data {
			if e.EnvelopeID == first {
				p.cursor = e.ID
			}
		}
	}
	site := httptest.NewServer(p)
	t.Cleanup(site.Close)
	b := open(t, desktop)
	b.visit(site.URL)
	b.until("opened === 1")

	const rounds = 3
	var made []string
	for round := range rounds {
		for range 3 {
			made = append(made, newEnvelope())
		}
		last := made[len(made)-1]
		b.until(fmt.Sprintf(`ids.some((i) => i.endsWith(%q))`, last))
		require.NoError(t, p.breakLast())
		made = append(made, newEnvelope()) // created while no client is connected
		b.until(fmt.Sprintf("opened === %d", round+2))
	}
	b.until(fmt.Sprintf(`ids.some((i) => i.endsWith(%q))`, made[len(made)-1]))

	got := eval[[]string](b, "ids")
	var want []string
	for cursor, more := p.cursor, true; more && len(want) < len(got); cursor, more = page.NextCursor, page.HasMore {
		svc.json(t, http.MethodGet, "/v1/events?limit=500&cursor="+cursor, nil, &page)
		for _, e := range page.Data {
			if e.Event == "envelope.created" || e.Event == "envelope.voided" {
				want = append(want, e.ID+" "+e.Event+" "+e.EnvelopeID)
			}
		}
	}
	require.GreaterOrEqual(t, len(want), len(got))
	require.Equal(t, want[:len(got)], got, "each event exactly once, in the service's order")
	asked := p.connections()
	require.Len(t, asked, rounds+1)
	require.Empty(t, asked[0])
	for _, id := range asked[1:] {
		require.NotEmpty(t, id, "the browser must send the last event id")
	}
}
