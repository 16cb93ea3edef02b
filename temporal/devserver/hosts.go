package main

import (
	"crypto/rand"
	"net"
	"net/http"
	"net/http/httputil"
	"net/netip"
	"net/url"
	"runtime"
	"slices"
	"strings"
	"time"
)

// allowedHost reports whether the Web UI accepts a request for the host. It accepts localhost, its subdomains, the
// given names, and IP addresses, which are not subject to DNS rebinding.
func allowedHost(host string, names []string) bool {
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	host = strings.ToLower(strings.TrimSuffix(strings.Trim(host, "[]"), "."))
	if _, err := netip.ParseAddr(host); err == nil {
		return true
	}
	return host == "localhost" || strings.HasSuffix(host, ".localhost") || slices.ContainsFunc(names, func(n string) bool { return strings.EqualFold(n, host) })
}

// serveUI serves the Web UI at target on l. It responds to requests for other hosts with 421 Misdirected Request, so
// that a page that uses DNS rebinding can neither read nor terminate workflows.
func serveUI(l net.Listener, target *url.URL, names []string) *http.Server {
	proxy := httputil.NewSingleHostReverseProxy(target)
	srv := &http.Server{ReadHeaderTimeout: 10 * time.Second, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !allowedHost(r.Host, names) {
			http.Error(w, "This server does not accept requests for that host name.", http.StatusMisdirectedRequest)
			return
		}
		proxy.ServeHTTP(w, r)
	})}
	go func() { _ = srv.Serve(l) }() // returns when the server is closed
	return srv
}

// randomLoopbackIP returns an address for the Web UI server itself that no page can guess. On Linux, it is a random
// address in 127.0.0.0/8, because all addresses in that range belong to the local machine. On other systems, it is
// 127.0.0.1.
func randomLoopbackIP() netip.Addr {
	plain := netip.AddrFrom4([4]byte{127, 0, 0, 1})
	if runtime.GOOS != "linux" {
		return plain
	}
	ip := [4]byte{127}
	if _, err := rand.Read(ip[1:]); err != nil || ip[3] == 0 || ip[3] == 255 {
		return plain
	}
	return netip.AddrFrom4(ip)
}
