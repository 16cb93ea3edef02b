package api

import (
	"errors"
	"net/netip"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/idna"
)

// origin reads the origin of a page and returns it in the form in which browsers serialize it.
func (s *embeddedHandler) origin(o *object, name string) string {
	text := o.optStr(name)
	if text == nil {
		return required(o, name, text)
	}
	origin, err := serializeOrigin(*text)
	if err == nil {
		u, parseErr := url.Parse(origin)
		if parseErr != nil || !s.secureURL(u) {
			err = errNoOrigin
		}
	}
	if err != nil {
		o.bad(name, "must be an exact https origin such as https://app.example.com")
	}
	return origin
}

var (
	errNoOrigin = errors.New("no origin")
	hostName    = regexp.MustCompile(`^[a-z0-9_]([a-z0-9_.-]*[a-z0-9_.])?$`)
	numericEnd  = regexp.MustCompile(`(^|\.)([0-9]+|0x[0-9a-f]*)\.?$`)
)

// serializeOrigin returns an http or https origin in the form in which browsers serialize it (HTML, "ASCII
// serialization of an origin"). The host is in lower case and in ASCII, and a default port is omitted. It returns an
// error if text contains more than a scheme, a host and a port.
func serializeOrigin(text string) (string, error) {
	u, err := url.Parse(text)
	if err != nil || len(text) > maxURL || u.User != nil || len(text) != len(u.Scheme)+len("://")+len(u.Host) {
		return "", errNoOrigin
	}
	defaultPort := map[string]uint64{"https": 443, "http": 80}[u.Scheme]
	host, port, err := serializeHost(u)
	if err != nil || defaultPort == 0 {
		return "", errNoOrigin
	}
	if port == 0 || port == defaultPort {
		return u.Scheme + "://" + host, nil
	}
	return u.Scheme + "://" + host + ":" + strconv.FormatUint(port, 10), nil
}

// serializeHost returns the host and port of a URL. The port is 0 if the URL does not contain one.
func serializeHost(u *url.URL) (host string, port uint64, err error) {
	if p := u.Port(); p != "" {
		if port, err = strconv.ParseUint(p, 10, 16); err != nil || port == 0 {
			return "", 0, errNoOrigin
		}
	}
	host = u.Hostname()
	if strings.HasPrefix(u.Host, "[") {
		addr, err := netip.ParseAddr(host)
		if err != nil || !addr.Is6() || addr.Zone() != "" {
			return "", 0, errNoOrigin
		}
		return "[" + addr.String() + "]", port, nil
	}
	if strings.ContainsFunc(host, func(r rune) bool { return r >= utf8.RuneSelf }) {
		if host, err = idna.Lookup.ToASCII(host); err != nil {
			return "", 0, errNoOrigin
		}
	}
	host = strings.ToLower(host)
	if numericEnd.MatchString(host) { // browsers interpret such a host as an IPv4 address
		if addr, err := netip.ParseAddr(host); err != nil || !addr.Is4() {
			return "", 0, errNoOrigin
		}
	}
	if len(host) > 253 || !hostName.MatchString(host) || strings.Contains(host, "..") {
		return "", 0, errNoOrigin
	}
	return host, port, nil
}
