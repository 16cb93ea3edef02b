// Package hostguard protects a server that is intended for one machine from web pages on other hosts. With DNS
// rebinding, a page's host name can resolve to this server, and the browser then allows the page to read the
// responses.
package hostguard

import (
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// allowed reports whether a request for the host is accepted. IP addresses are accepted, because DNS rebinding requires
// a name. Localhost, its subdomains, and the given names are also accepted.
func allowed(host string, names ...string) bool {
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	host = strings.ToLower(strings.TrimSuffix(strings.Trim(host, "[]"), "."))
	if _, err := netip.ParseAddr(host); err == nil {
		return true
	}
	return host == "localhost" || strings.HasSuffix(host, ".localhost") || slices.ContainsFunc(names, func(n string) bool { return strings.EqualFold(n, host) })
}

// Handler returns a handler that rejects requests for other hosts with 421 Misdirected Request (RFC 9110 §15.5.20).
func Handler(next http.Handler, names ...string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !allowed(r.Host, names...) {
			http.Error(w, "This server does not accept requests for that host name.", http.StatusMisdirectedRequest)
			return
		}
		next.ServeHTTP(w, r)
	})
}
