package clients_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strings"
)

// normalizer replaces values that differ between runs.
type normalizer struct {
	base, sink  string
	ids, hashes map[string]string
}

var (
	anID      = regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`)
	aHash     = regexp.MustCompile(`\b[0-9a-f]{64}\b`)
	anyTime   = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z`)
	aTime     = regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$`)
	aDate     = regexp.MustCompile(`^\d{4}-\d\d-\d\d$`)
	aToken    = regexp.MustCompile(`[A-Za-z0-9_.-]{43,}`)
	someBytes = regexp.MustCompile(`\b\d{4,} bytes`)
	localHost = regexp.MustCompile(`http://(127\.0\.0\.1|localhost):\d+`)
	aCode     = regexp.MustCompile(`\b[A-Z2-7]{4}(-[A-Z2-7]{4}){5}\b`)
	aSecret   = regexp.MustCompile(`\b(cs_)?[A-Z2-7]{26,}\b`)
	// aConsent matches the version of a consent text. The version that was displayed must match the version that was sent.
	aConsent = regexp.MustCompile(`^\d{4}-\d\d-[a-z]{2}`)
	aPicture = regexp.MustCompile(`^[A-Za-z0-9+/=]{100,}$`)
)

// fixed contains replacements for members whose value differs between runs or builds.
var fixed = map[string]any{
	"kid": "k1", "qr": "<svg/>", "x": "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU", "y": "x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0", "version": "1.0.0",
	"expires_in": json.Number("3600"), "latencyMs": json.Number("12"), "size": json.Number("48213"), "nextCursor": nil, "service": "Countersign", "sealedBy": "Countersign",
}

// normalize returns v, the value of the named member, after replacing its IDs, times, hashes and tokens with fixed
// values. It truncates long lists of objects to two objects.
func (n *normalizer) normalize(name string, v any) any {
	if f, ok := fixed[name]; ok && v != nil {
		_, wantText := f.(string)
		if s, text := v.(string); (text || !wantText) && !aConsent.MatchString(s) {
			return f
		}
	}
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for _, k := range slices.Sorted(maps.Keys(v)) {
			out[k] = n.normalize(k, v[k])
		}
		if counts, ok := out["counts"].(map[string]any); ok && out["status"] == "cancelled" && counts["sent"] == 1.0 {
			// A row was sent before it could be canceled.
			counts["cancelled"], counts["sent"] = counts["cancelled"].(float64)+1, 0.0
		}
		if details, ok := out["details"].(map[string]any); ok && out["error"] == "rate_limited" {
			details["retryAfterSeconds"] = 30 // the remainder of the current minute
		}
		return out
	case []map[string]any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = n.normalize(name, v[i])
		}
		return out
	case []any:
		if _, objects := first(v).(map[string]any); objects && len(v) > 2 {
			v = v[:2]
		}
		out := make([]any, len(v))
		for i := range v {
			out[i] = n.normalize(name, v[i])
		}
		return out
	case string:
		return n.text(name, v)
	case float64:
		if name == "retryAfterSeconds" && v > 60 { // whole minutes, reduced by the time that the test has taken
			return math.Ceil(v/60) * 60
		}
	}
	return v
}

func (n *normalizer) text(name, s string) string {
	switch {
	case aTime.MatchString(s):
		return "2026-11-20T09:00:00Z"
	case aDate.MatchString(s):
		return "2026-11-30"
	case aPicture.MatchString(s):
		return "iVBORw0KGgoAAAANSUhEUgAA"
	case name == "code" && len(s) == 6:
		return "123456"
	case name == "bytes":
		return "48213"
	}
	s = aCode.ReplaceAllString(s, "PF5U-ITRY-I6MN-O44K-ZVKA-IORH")
	s = aSecret.ReplaceAllString(s, "${1}JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP")
	s = anyTime.ReplaceAllString(s, "2026-11-20T09:00:00Z")
	if name != "message" { // may contain a limit
		s = someBytes.ReplaceAllString(s, "48213 bytes")
	}
	s = strings.ReplaceAll(s, n.base, "https://sign.example.com")
	s = strings.ReplaceAll(s, n.sink, "https://app.example.com")
	s = strings.ReplaceAll(s, "http://127.0.0.1:9/", "https://app.example.com/")
	s = localHost.ReplaceAllString(s, "https://temporal.example.com")
	s = anID.ReplaceAllStringFunc(s, func(id string) string {
		if n.ids[id] == "" {
			n.ids[id] = fmt.Sprintf("0197a1c2-0000-7000-8000-%012d", len(n.ids)+1)
		}
		return n.ids[id]
	})
	s = aHash.ReplaceAllStringFunc(s, func(h string) string {
		if n.hashes[h] == "" {
			n.hashes[h] = fmt.Sprintf("%064x", 0xa000+len(n.hashes)+1)
		}
		return n.hashes[h]
	})
	return aToken.ReplaceAllStringFunc(s, func(t string) string {
		if aHash.MatchString(t) || anID.MatchString(t) {
			return t
		}
		return "eyJhbGciOiJFUzI1NiJ9"
	})
}

func first(list []any) any {
	if len(list) == 0 {
		return nil
	}
	return list[0]
}
