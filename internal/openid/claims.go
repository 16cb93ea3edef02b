package openid

import (
	"encoding/json"
	"maps"
	"math"
	"strings"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
)

// Person is a person authenticated by the provider.
type Person struct {
	Subject       string // the provider's permanent identifier for the person
	Email         string
	EmailVerified bool
	Name          string
	Roles         []string
	ProvedAt      *time.Time // when the provider last authenticated the person, or nil if unknown
}

// claims contains the provider's statements about a person.
type claims map[string]any

type claimant interface{ Claims(v any) error }

func readClaims(from claimant) (claims, error) {
	out := claims{}
	if err := from.Claims(&out); err != nil {
		return nil, rejected("the claims cannot be parsed")
	}
	return out, nil
}

// and merges the claims of a token with the claims of the userinfo endpoint. The token's claims take precedence.
func (c claims) and(info *oidc.UserInfo) (claims, error) {
	out, err := readClaims(info)
	if err != nil {
		return nil, err
	}
	if c["email"] != nil { // an address and its verification belong together
		delete(out, "email")
		delete(out, "email_verified")
	}
	maps.Copy(out, c)
	return out, nil
}

func (c claims) text(name string) string {
	s, _ := c[name].(string)
	return strings.TrimSpace(s)
}

// time returns a claim of type NumericDate (RFC 7519 §2).
func (c claims) time(name string) *time.Time {
	var n float64
	switch v := c[name].(type) {
	case float64:
		n = v
	case json.Number:
		n, _ = v.Float64()
	}
	if n <= 0 || n > math.MaxInt32*2 {
		return nil
	}
	t := time.Unix(int64(n), 0).UTC()
	return &t
}

func (c *Client) person(id *oidc.IDToken, cl claims) Person {
	p := Person{Subject: id.Subject, Email: cl.text("email"), Name: cl.text("name"), ProvedAt: cl.time("auth_time")}
	p.EmailVerified, _ = cl["email_verified"].(bool) // only the boolean true counts
	if p.Name == "" {
		p.Name = cl.text("preferred_username")
	}
	if now := c.cfg.Now(); p.ProvedAt != nil && p.ProvedAt.After(now) {
		p.ProvedAt = &now
	}
	switch v := lookUp(cl, c.cfg.RoleClaim).(type) {
	case string:
		p.Roles = []string{v}
	case []any:
		for _, r := range v {
			if s, ok := r.(string); ok {
				p.Roles = append(p.Roles, s)
			}
		}
	}
	return p
}

// lookUp returns a claim by its name, or by its path. A name may contain dots, as in a URL.
func lookUp(c claims, name string) any {
	if v, ok := c[name]; ok {
		return v
	}
	var at any = map[string]any(c)
	for part := range strings.SplitSeq(name, ".") {
		m, ok := at.(map[string]any)
		if !ok {
			return nil
		}
		at = m[part]
	}
	return at
}
