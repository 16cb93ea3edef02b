// Package hostguard protects a server that is intended for use on one machine from web pages on other hosts. With DNS
// rebinding, the host name of a page can resolve to this server, and the browser then allows the page to read the
// responses.
package hostguard

import (
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// allowed reports whether a request for the host is accepted. The host must be an IP address, because DNS rebinding
// requires a name. It can also be localhost, a subdomain of localhost, or one of names.
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
