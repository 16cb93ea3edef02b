package webhook

import (
	"net/netip"

	"code.dny.dev/ssrf"
)

// newGuard returns a guard that permits only public addresses, on any port. As the Control function of a net.Dialer, it
// checks the dialed address after name resolution, so that a name cannot resolve to another address between check and
// use. It permits IPv6 addresses only in 2000::/3, which excludes v4-mapped, v4-compatible, NAT64, unique local and
// link-local addresses.
func newGuard() *ssrf.Guardian {
	// This address is reachable from every Azure machine, but not listed in the special-purpose registries.
	azureWireServer := netip.MustParsePrefix("168.63.129.16/32")
	return ssrf.New(ssrf.WithAnyPort(), ssrf.WithDeniedV4Prefixes(azureWireServer))
}

func isPublic(addr netip.Addr) bool {
	network := "tcp4"
	if addr.Is6() {
		network = "tcp6"
	}
	return newGuard().Safe(network, netip.AddrPortFrom(addr, 443).String(), nil) == nil
}
