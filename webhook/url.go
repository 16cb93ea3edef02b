package webhook

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/idna"
)

const maxURL = 2048 // in bytes

// CheckURL returns an error if the URL cannot be registered as an endpoint. It does not resolve names, because each
// delivery does. The URL must be absolute, use https, and contain a public name or address. If allowPrivate is set,
// which is intended for development, http and private hosts are also accepted. The errors do not quote the URL, because
// its path or query may contain a credential.
func CheckURL(raw string, allowPrivate bool) error {
	if len(raw) > maxURL {
		return fmt.Errorf("longer than %d characters", maxURL)
	}
	u, err := url.Parse(raw)
	switch {
	case err != nil:
		return errors.New("not a URL")
	case u.Scheme != "https" && u.Scheme != "http", u.Opaque != "":
		return errors.New("not an absolute https URL")
	case u.Scheme == "http" && !allowPrivate:
		return errors.New("https is required")
	case u.User != nil:
		return errors.New("the URL must not contain a user or password")
	case strings.Contains(raw, "#"):
		return errors.New("the URL must not contain a fragment")
	}
	if port := u.Port(); port != "" || strings.HasSuffix(u.Host, ":") {
		if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
			return errors.New("the port must be a number from 1 to 65535")
		}
	}
	return checkHost(u.Hostname(), strings.HasPrefix(u.Host, "["), allowPrivate)
}

func checkHost(host string, bracketed, allowPrivate bool) error {
	if bracketed {
		addr, err := netip.ParseAddr(host)
		if err != nil || addr.Zone() != "" {
			return errors.New("the host is not an IPv6 address")
		}
		return checkLiteral(addr, allowPrivate)
	}
	// Use the same mapping as deliveries. It converts full-width digits and dots to ASCII, so that they cannot disguise an
	// address.
	name := host
	if strings.ContainsFunc(host, func(r rune) bool { return r >= utf8.RuneSelf }) {
		var err error
		if name, err = idna.Lookup.ToASCII(host); err != nil {
			return errors.New("the host is not a valid name")
		}
	}
	name = strings.ToLower(strings.TrimSuffix(name, "."))
	if name == "" || len(name) > 253 {
		return errors.New("the host is empty or too long")
	}
	labels := strings.Split(name, ".")
	if slices.ContainsFunc(labels, func(l string) bool { return !validLabel.MatchString(l) }) {
		return errors.New("the host is not a valid name")
	}
	if endsInNumber(labels) {
		addr, err := netip.ParseAddr(name) // rejects octal, hexadecimal, shortened and single-number notations
		if err != nil {
			return errors.New("an IPv4 address must be written as four decimal numbers")
		}
		return checkLiteral(addr, allowPrivate)
	}
	if allowPrivate {
		return nil
	}
	if len(labels) == 1 || slices.Contains(privateSuffixes, labels[len(labels)-1]) || strings.HasSuffix(name, ".home.arpa") || name == "home.arpa" {
		return errors.New("the host is not a public name")
	}
	return nil
}

// privateSuffixes lists top-level names that resolve only on one machine or within one network. They are the names in
// RFC 6761, RFC 6762 and RFC 9476, ICANN's "internal", and names that ICANN excludes from the root because of their
// wide private use. The list covers the metadata services of cloud providers, such as metadata.google.internal.
var privateSuffixes = []string{
	"internal", "local", "localhost", "localdomain", "invalid", "onion", "alt", "home", "corp", "mail", "lan", "intranet", "private",
}

func checkLiteral(addr netip.Addr, allowPrivate bool) error {
	if !allowPrivate && !isPublic(addr) {
		return ErrAddressNotAllowed
	}
	return nil
}

// validLabel matches a label of a host name, which is the part between two dots.
var validLabel = regexp.MustCompile(`^[a-z0-9_-]{1,63}$`)

// endsInNumber reports whether resolvers would interpret the name as an IPv4 address, because its last label is a
// decimal, octal or hexadecimal number (WHATWG URL §3.5).
func endsInNumber(labels []string) bool {
	last := labels[len(labels)-1]
	if hex, ok := strings.CutPrefix(last, "0x"); ok {
		return strings.Trim(hex, "0123456789abcdef") == ""
	}
	return strings.Trim(last, "0123456789") == ""
}
