package main

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"
)

// TestUI_RejectsOtherHosts checks that a page whose host name resolves to this machine cannot read the Web UI.
func TestUI_RejectsOtherHosts(t *testing.T) {
	t.Parallel()
	asked := 0
	ui := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { asked++; w.WriteHeader(http.StatusOK) }))
	defer ui.Close()
	target, err := url.Parse(ui.URL)
	if err != nil {
		t.Fatal(err)
	}
	front := httptest.NewUnstartedServer(nil)
	guard := serveUI(front.Listener, target, []string{"temporal.test"})
	defer func() { _ = guard.Close() }()
	for host, want := range map[string]int{
		"": http.StatusOK, "localhost": http.StatusOK, "localhost:8233": http.StatusOK, "ui.localhost": http.StatusOK, "[::1]:8233": http.StatusOK,
		"temporal.test": http.StatusOK, "TEMPORAL.test.": http.StatusOK, "evil.example": http.StatusMisdirectedRequest,
		"127.0.0.1.evil.example": http.StatusMisdirectedRequest, "localhost.evil.example": http.StatusMisdirectedRequest, "temporal.test.evil.example": http.StatusMisdirectedRequest,
	} {
		before := asked
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+front.Listener.Addr().String()+"/", nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Host = host
		res, err := http.DefaultTransport.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
		if res.StatusCode != want || (asked > before) != (want == http.StatusOK) {
			t.Errorf("%q: %d, asked %d times", host, res.StatusCode, asked-before)
		}
	}
}
