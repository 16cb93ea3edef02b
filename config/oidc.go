package config

import (
	"cmp"
	"net/url"
	"strings"
	"unicode/utf8"

	"github.com/google/uuid"

	"countersign/internal/openid"
)

const maxOIDCName = 60 // in characters

// checkOIDC records problems with the settings of the OpenID provider.
func (c *Config) checkOIDC(bad reporter) {
	needed := []struct{ name, v string }{
		{"OIDC_ISSUER", c.OIDCIssuer}, {"OIDC_CLIENT_ID", c.OIDCClientID}, {"OIDC_CLIENT_SECRET", string(c.OIDCClientSecret)}, {"OIDC_ROLE_CLAIM", c.OIDCRoleClaim},
	}
	all := c.OIDCName + c.OIDCApp
	for _, s := range needed {
		all += s.v
	}
	if all == "" {
		return
	}
	for _, s := range needed {
		if s.v == "" {
			bad(s.name, "must be set, because other settings for signing in through a provider are set")
		}
	}
	if c.OIDCIssuer != "" {
		if err := openid.CheckIssuer(c.OIDCIssuer); err != nil {
			bad("OIDC_ISSUER", "%s", err)
		}
	}
	// The provider redirects to BASE_URL with a code in the URL.
	if u, err := url.Parse(c.BaseURL); err == nil && !openid.Secure(u) {
		bad("OIDC_ISSUER", "requires a %sBASE_URL that begins with https://", Prefix)
	}
	if _, err := uuid.Parse(c.OIDCApp); c.OIDCApp != "" && err != nil {
		bad("OIDC_APP", "must be the client id of an application")
	}
	if n := utf8.RuneCountInString(c.OIDCName); n > maxOIDCName {
		bad("OIDC_NAME", "must have at most %d characters", maxOIDCName)
	}
}

// ProviderName returns the display name of the provider in the console.
func (c Config) ProviderName() string {
	u, err := url.Parse(c.OIDCIssuer)
	if err != nil {
		return c.OIDCName
	}
	return cmp.Or(strings.TrimSpace(c.OIDCName), u.Hostname())
}
