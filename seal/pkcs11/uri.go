package pkcs11

import (
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"
)

// Scheme is the prefix of the URI of a key on a token.
const Scheme = "pkcs11:"

// ParseURI parses a URI (RFC 7512) that identifies a key, such as
//
//	pkcs11:token=seal;object=2026?module-path=/usr/lib/softhsm/libsofthsm2.so&pin-source=/run/secrets/pin
//
// It accepts token or serial; object, id or both; type, which must be private; module-path; and pin-source, a file.
// Other attributes are rejected rather than ignored, because they might restrict the selection. pin-value is also
// rejected, because the PIN is secret but the URI is not. Errors do not contain parts of the URI.
func ParseURI(s string) (Config, error) {
	var c Config
	rest, ok := strings.CutPrefix(s, Scheme)
	if !ok {
		return c, errors.New("pkcs11: the URI must have the scheme pkcs11")
	}
	path, query, _ := strings.Cut(rest, "?")
	seen := map[string]bool{}
	for _, part := range []struct {
		attributes, separator string
		set                   func(name, value string) error
	}{{path, ";", c.setPath}, {query, "&", c.setQuery}} {
		if part.attributes == "" {
			continue
		}
		for a := range strings.SplitSeq(part.attributes, part.separator) {
			name, raw, ok := strings.Cut(a, "=")
			value, err := url.PathUnescape(raw)
			switch {
			case !ok || err != nil:
				return Config{}, errors.New("pkcs11: malformed URI")
			case seen[name]:
				return Config{}, fmt.Errorf("pkcs11: the URI contains %q twice", name)
			}
			seen[name] = true
			if err := part.set(name, value); err != nil {
				return Config{}, err
			}
		}
	}
	switch {
	case c.Module == "":
		return Config{}, errors.New("pkcs11: the URI must contain module-path")
	case (c.Token == "") == (c.Serial == ""):
		return Config{}, errors.New("pkcs11: the URI must contain either token or serial")
	case c.Key == "" && len(c.ID) == 0:
		return Config{}, errors.New("pkcs11: the URI must contain the object or id of the key")
	}
	return c, nil
}

// setPath sets an attribute that identifies the key (RFC 7512, 2.3).
func (c *Config) setPath(name, value string) error {
	switch name {
	case "token":
		c.Token = value
	case "serial":
		c.Serial = value
	case "object":
		c.Key = value
	case "id":
		c.ID = []byte(value)
	case "type":
		if value != "private" {
			return errors.New("pkcs11: the type of a sealing key must be private")
		}
	default:
		return fmt.Errorf("pkcs11: the URI's attribute %q is not supported; a key is identified by token or serial, object, id and type", name)
	}
	return nil
}

// setQuery sets an attribute for access to the key (RFC 7512, 2.4).
func (c *Config) setQuery(name, value string) error {
	switch name {
	case "module-path":
		c.Module = value
	case "pin-source":
		c.PINSource = strings.TrimPrefix(strings.TrimPrefix(value, "file:"), "//")
		if !filepath.IsAbs(c.PINSource) {
			return errors.New("pkcs11: pin-source must be the absolute path of a file")
		}
	case "pin-value":
		return errors.New("pkcs11: the URI must not contain a PIN; set it separately, or in a file named by pin-source")
	default:
		return fmt.Errorf("pkcs11: the URI's attribute %q is not supported; use module-path and pin-source", name)
	}
	return nil
}
