package webhook_test

import (
	"context"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"countersign/webhook"
)

func request(url string) webhook.Request {
	return webhook.Request{
		URL: url, EventID: "evt_1", Body: []byte(`{"event":"envelope.sent"}`), Secrets: [][]byte{[]byte("secret")},
		At: time.Unix(1_800_000_000, 0),
	}
}

func endpoint(t *testing.T, h http.HandlerFunc) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s
}

func client(t *testing.T, cfg webhook.ClientConfig) *webhook.Client {
	t.Helper()
	c := webhook.NewClient(cfg)
	t.Cleanup(c.Close)
	return c
}

func TestDeliver(t *testing.T) {
	t.Parallel()
	var got *http.Request
	var body []byte
	s := endpoint(t, func(w http.ResponseWriter, r *http.Request) {
		got = r
		body, _ = io.ReadAll(r.Body)
		w.WriteHeader(http.StatusAccepted)
		_, _ = io.WriteString(w, "thanks")
	})
	req := request(s.URL + "/hook?x=1")
	req.Secrets = append(req.Secrets, []byte("older"))
	res := client(t, webhook.ClientConfig{AllowPrivate: true}).Deliver(t.Context(), req)
	require.NoError(t, res.Err)
	assert.True(t, res.OK())
	assert.Equal(t, http.StatusAccepted, res.Status)
	assert.Equal(t, "thanks", string(res.Body))
	assert.Positive(t, res.Latency)

	assert.Equal(t, http.MethodPost, got.Method)
	assert.Equal(t, "/hook?x=1", got.URL.String())
	assert.Equal(t, req.Body, body)
	assert.Equal(t, "application/json", got.Header.Get("Content-Type"))
	assert.Equal(t, "Countersign-Webhooks/1", got.Header.Get("User-Agent"))
	assert.Equal(t, webhook.Sign([]byte("older"), req.Body), got.Header.Get(webhook.SignatureHeader), "receivers need not change before the rotation ends")
	assert.Equal(t, webhook.Sign([]byte("secret"), req.Body), got.Header.Get("X-Service-Signature-Next"))
	assert.Equal(t, "evt_1", got.Header.Get("webhook-id"))
	assert.Equal(t, "1800000000", got.Header.Get("webhook-timestamp"))
	assert.Equal(t, webhook.StandardHeaders("evt_1", req.At, req.Body, []byte("secret"), []byte("older")).Get("webhook-signature"),
		got.Header.Get("webhook-signature"))
	assert.Len(t, strings.Fields(got.Header.Get("webhook-signature")), 2)
	assert.Empty(t, got.Header.Get("Accept-Encoding"))
}

func TestAnswers(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 21, 7, 15, 0, 0, time.UTC)
	cases := []struct {
		name       string
		status     int
		retryAfter string
		ok, gone   bool
		after      time.Duration
		err        error
	}{
		{name: "no content", status: 204, ok: true},
		{name: "success needs no delay", status: 200, retryAfter: "60", ok: true},
		{name: "not modified", status: 304, err: webhook.ErrRedirect},
		{name: "bad request", status: 400},
		{name: "gone", status: 410, gone: true},
		{name: "too many", status: 429, retryAfter: "120", after: 2 * time.Minute},
		{name: "unavailable until", status: 503, retryAfter: at.Add(90 * time.Second).Format(http.TimeFormat), after: 90 * time.Second},
		{name: "a date gone by", status: 503, retryAfter: at.Add(-time.Hour).Format(http.TimeFormat)},
		{name: "beyond bounds", status: 503, retryAfter: "999999999", after: 24 * time.Hour},
		{name: "overflow", status: 503, retryAfter: "99999999999999999999"},
		{name: "negative", status: 503, retryAfter: "-5"},
		{name: "nonsense", status: 503, retryAfter: "soon"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := endpoint(t, func(w http.ResponseWriter, _ *http.Request) {
				if c.retryAfter != "" {
					w.Header().Set("Retry-After", c.retryAfter)
				}
				w.WriteHeader(c.status)
			})
			res := client(t, webhook.ClientConfig{AllowPrivate: true, Now: func() time.Time { return at }}).Deliver(t.Context(), request(s.URL))
			assert.Equal(t, c.status, res.Status)
			assert.Equal(t, c.ok, res.OK())
			assert.Equal(t, c.gone, res.Gone)
			assert.Equal(t, c.after, res.RetryAfter)
			require.ErrorIs(t, res.Err, c.err)
		})
	}
}

func TestDeliver_FollowsNoRedirects(t *testing.T) {
	t.Parallel()
	var hits atomic.Int32
	target := endpoint(t, func(http.ResponseWriter, *http.Request) { hits.Add(1) })
	for _, status := range []int{301, 302, 303, 307, 308} {
		s := endpoint(t, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, target.URL, status) })
		res := client(t, webhook.ClientConfig{AllowPrivate: true}).Deliver(t.Context(), request(s.URL))
		assert.Equal(t, status, res.Status)
		assert.False(t, res.OK())
		require.ErrorIs(t, res.Err, webhook.ErrRedirect)
	}
	assert.Zero(t, hits.Load())
}

// TestDeliver_HostileEndpoints checks that a malicious endpoint can consume only a limited amount of the sender's time
// and memory.
func TestDeliver_HostileEndpoints(t *testing.T) {
	t.Parallel()
	const timeout = 300 * time.Millisecond
	cases := []struct {
		name   string
		handle http.HandlerFunc
		status int
		err    error
	}{
		{"hangs", func(_ http.ResponseWriter, r *http.Request) { waitForClose(r) }, 0, webhook.ErrTimeout},
		{"drips its body", func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			tick := time.NewTicker(20 * time.Millisecond)
			defer tick.Stop()
			for {
				select {
				case <-r.Context().Done():
					return
				case <-tick.C:
					_, _ = io.WriteString(w, "x")
					_ = http.NewResponseController(w).Flush()
				}
			}
		}, 200, webhook.ErrTimeout},
		{"closes", hijack(""), 0, webhook.ErrConnection},
		{"closes in its body", hijack("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf"), 200, webhook.ErrConnection},
		{"talks nonsense", hijack("SSH-2.0-x\r\n\r\n"), 0, webhook.ErrBadResponse},
		{"huge header", hijack("HTTP/1.1 200 OK\r\nX: " + strings.Repeat("x", 1<<20) + "\r\n\r\n"), 0, webhook.ErrBadResponse},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := endpoint(t, c.handle)
			res := client(t, webhook.ClientConfig{AllowPrivate: true, Timeout: timeout}).Deliver(t.Context(), request(s.URL))
			assert.False(t, res.OK())
			assert.Equal(t, c.status, res.Status)
			require.ErrorIs(t, res.Err, c.err)
			assert.NotContains(t, res.Err.Error(), "127.0.0.1", "the text must contain no address")
			assert.Less(t, res.Latency, 10*timeout)
		})
	}
}

// waitForClose returns when the client has closed the connection. The server detects this only after it has read the
// body.
func waitForClose(r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	<-r.Context().Done()
}

func hijack(answer string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		conn, _, err := http.NewResponseController(w).Hijack()
		if err == nil {
			_, _ = io.WriteString(conn, answer)
			_ = conn.Close()
		}
	}
}

func TestDeliver_TruncatesHugeResponse(t *testing.T) {
	t.Parallel()
	s := endpoint(t, func(w http.ResponseWriter, _ *http.Request) {
		chunk := strings.Repeat("x", 1<<20)
		for range 1 << 10 {
			if _, err := io.WriteString(w, chunk); err != nil {
				return
			}
		}
	})
	c := client(t, webhook.ClientConfig{AllowPrivate: true})
	res := c.Deliver(t.Context(), request(s.URL))
	require.NoError(t, res.Err)
	assert.True(t, res.OK())
	assert.Len(t, res.Body, 4096)
}

func TestDeliver_LimitsDecompressedResponse(t *testing.T) {
	t.Parallel()
	s := endpoint(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		_, _ = io.WriteString(w, "\x1f\x8b not inflated")
	})
	res := client(t, webhook.ClientConfig{AllowPrivate: true}).Deliver(t.Context(), request(s.URL))
	assert.True(t, res.OK())
	assert.Equal(t, "\x1f\x8b not inflated", string(res.Body))
}

func TestDeliver_ReusesConnections(t *testing.T) {
	t.Parallel()
	var opened atomic.Int32
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok") }))
	s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			opened.Add(1)
		}
	}
	s.Start()
	t.Cleanup(s.Close)
	c := client(t, webhook.ClientConfig{AllowPrivate: true})
	for range 10 {
		require.True(t, c.Deliver(t.Context(), request(s.URL)).OK())
	}
	assert.Equal(t, int32(1), opened.Load())
}

func TestTLS(t *testing.T) {
	t.Parallel()
	var proto atomic.Value
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { proto.Store(r.Proto) }))
	s.EnableHTTP2 = true
	s.StartTLS()
	t.Cleanup(s.Close)
	roots := x509.NewCertPool()
	roots.AddCert(s.Certificate())

	res := client(t, webhook.ClientConfig{AllowPrivate: true, RootCAs: roots}).Deliver(t.Context(), request(s.URL))
	require.NoError(t, res.Err)
	assert.Equal(t, "HTTP/2.0", proto.Load())

	res = client(t, webhook.ClientConfig{AllowPrivate: true}).Deliver(t.Context(), request(s.URL))
	require.ErrorIs(t, res.Err, webhook.ErrTLS)
	require.ErrorContains(t, res.Err, "not trusted")

	other := strings.Replace(s.URL, "127.0.0.1", "localhost", 1)
	res = client(t, webhook.ClientConfig{AllowPrivate: true, RootCAs: roots}).Deliver(t.Context(), request(other))
	require.ErrorContains(t, res.Err, "a different host name")

	plain := endpoint(t, func(http.ResponseWriter, *http.Request) {})
	res = client(t, webhook.ClientConfig{AllowPrivate: true}).Deliver(t.Context(), request(strings.Replace(plain.URL, "http:", "https:", 1)))
	require.ErrorIs(t, res.Err, webhook.ErrTLS)
	require.ErrorContains(t, res.Err, "does not use TLS")
}

func TestDeliver_RefusedConnection(t *testing.T) {
	t.Parallel()
	ln, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	url := "http://" + ln.Addr().String()
	require.NoError(t, ln.Close())
	res := client(t, webhook.ClientConfig{AllowPrivate: true}).Deliver(t.Context(), request(url))
	require.ErrorIs(t, res.Err, webhook.ErrRefused)
}

// TestDeliver_Interrupted checks that an attempt interrupted by stopping the worker does not count as a failure of the
// endpoint.
func TestDeliver_Interrupted(t *testing.T) {
	t.Parallel()
	started := make(chan struct{})
	s := endpoint(t, func(_ http.ResponseWriter, r *http.Request) {
		close(started)
		waitForClose(r)
	})
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-started
		cancel()
	}()
	res := client(t, webhook.ClientConfig{AllowPrivate: true}).Deliver(ctx, request(s.URL))
	require.ErrorIs(t, res.Err, context.Canceled)
	assert.NotErrorIs(t, res.Err, webhook.ErrTimeout)
}

func TestDeliver_UnusableURL(t *testing.T) {
	t.Parallel()
	c := client(t, webhook.ClientConfig{})
	for _, url := range []string{"", "http://hooks.example.com/", "https://user:pw@hooks.example.com/"} {
		res := c.Deliver(t.Context(), request(url))
		require.ErrorIs(t, res.Err, webhook.ErrURL, url)
		assert.False(t, res.OK())
	}
}

// TestDeliver_IgnoresProxyEnvironment checks that proxy settings in the environment cannot be used to bypass the
// address check.
func TestDeliver_IgnoresProxyEnvironment(t *testing.T) {
	var hits atomic.Int32
	proxy := endpoint(t, func(http.ResponseWriter, *http.Request) { hits.Add(1) })
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"} {
		t.Setenv(name, proxy.URL)
	}
	t.Setenv("NO_PROXY", "")
	dns := resolver(t, func() net.IP { return net.IPv4(127, 0, 0, 1) })
	res := webhook.NewClient(webhook.ClientConfig{Resolver: dns}).Deliver(t.Context(), request("https://hooks.example.com:8443/"))
	require.ErrorIs(t, res.Err, webhook.ErrAddressNotAllowed)
	assert.Zero(t, hits.Load())
}

func TestGuard(t *testing.T) {
	t.Parallel()
	var hits atomic.Int32
	s := endpoint(t, func(http.ResponseWriter, *http.Request) { hits.Add(1) })
	_, port, err := net.SplitHostPort(s.Listener.Addr().String())
	require.NoError(t, err)
	for _, addr := range []string{
		"127.0.0.1", "127.8.8.8", "0.0.0.0", "10.0.0.1", "172.31.255.255", "192.168.0.1", "169.254.169.254", "100.64.0.1",
		"100.100.100.200", "168.63.129.16", "192.0.0.192", "198.18.0.1", "224.0.0.1", "255.255.255.255",
		"::1", "::", "::127.0.0.1", "fe80::1", "fc00::1", "fd00:ec2::254", "64:ff9b::a9fe:a9fe", "64:ff9b:1::a00:1",
		"2002:7f00:1::1", "2001::1", "ff02::1", "fec0::1", "100::1",
	} {
		t.Run(addr, func(t *testing.T) {
			t.Parallel()
			dns := resolver(t, func() net.IP { return net.ParseIP(addr) })
			res := client(t, webhook.ClientConfig{Resolver: dns}).Deliver(t.Context(), request(fmt.Sprintf("https://hooks.example.com:%s/", port)))
			require.ErrorIs(t, res.Err, webhook.ErrAddressNotAllowed)
			assert.NotContains(t, res.Err.Error(), addr)
		})
	}
	t.Cleanup(func() { assert.Zero(t, hits.Load()) })
}

// TestGuard_Rebinding checks that a delivery is blocked if the name resolves to a public address when it is checked,
// but to a loopback address when it is dialed.
func TestGuard_Rebinding(t *testing.T) {
	t.Parallel()
	var hits, lookups atomic.Int32
	s := endpoint(t, func(http.ResponseWriter, *http.Request) { hits.Add(1) })
	_, port, err := net.SplitHostPort(s.Listener.Addr().String())
	require.NoError(t, err)
	dns := resolver(t, func() net.IP {
		if lookups.Add(1) == 1 {
			return net.IPv4(8, 8, 8, 8)
		}
		return net.IPv4(127, 0, 0, 1)
	})
	url := fmt.Sprintf("https://rebind.example.com:%s/", port)
	require.NoError(t, webhook.CheckURL(url, false))
	seen, err := dns.LookupIP(t.Context(), "ip4", "rebind.example.com")
	require.NoError(t, err)
	require.Equal(t, "8.8.8.8", seen[0].String())

	res := client(t, webhook.ClientConfig{Resolver: dns}).Deliver(t.Context(), request(url))
	require.ErrorIs(t, res.Err, webhook.ErrAddressNotAllowed)
	assert.Zero(t, hits.Load())
}

func TestDeliver_UsesTheResolver(t *testing.T) {
	t.Parallel()
	s := endpoint(t, func(http.ResponseWriter, *http.Request) {})
	_, port, err := net.SplitHostPort(s.Listener.Addr().String())
	require.NoError(t, err)
	dns := resolver(t, func() net.IP { return net.IPv4(127, 0, 0, 1) })
	c := client(t, webhook.ClientConfig{AllowPrivate: true, Resolver: dns})
	assert.True(t, c.Deliver(t.Context(), request("http://hooks.example.com:"+port)).OK())

	none := resolver(t, func() net.IP { return nil })
	res := client(t, webhook.ClientConfig{Resolver: none}).Deliver(t.Context(), request("https://hooks.example.com/"))
	require.ErrorIs(t, res.Err, webhook.ErrNameNotFound)
}
