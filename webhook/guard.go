package webhook

import (
	"net/netip"

	"code.dny.dev/ssrf"
)

// newGuard admits public addresses only, on any port. As a net.Dialer's Control it checks the dialed address, after
// name resolution, so that a name cannot change its address between check and use. IPv6 is admitted from 2000::/3 only,
// which excludes v4-mapped, v4-compatible, NAT64, unique local and link-local addresses.
func newGuard() *ssrf.Guardian {
	// Responds on every Azure machine, although it is outside the special-purpose registries.
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
