package api

import (
	"encoding/base64"
	"math/big"
	"net/http"

	"github.com/gin-gonic/gin"

	"countersign/internal/credential"
	"countersign/models"
)

// token implements the OAuth 2.0 client credentials grant (RFC 6749 §4.4). The client authenticates with form
// parameters or HTTP Basic (§2.3.1).
func (s *appHandler) token(c *gin.Context) error {
	form, err := readForm(c)
	if err != nil {
		return err
	}
	id, secret := form.Get("client_id"), form.Get("client_secret")
	if user, pass, ok := c.Request.BasicAuth(); ok {
		id, secret = user, pass
	}
	p := models.Problems{}
	switch form.Get("grant_type") {
	case "client_credentials":
	case "":
		p.Add("grant_type", "is required")
	default:
		p.Add("grant_type", "must be client_credentials")
	}
	if id == "" {
		p.Add("client_id", "is required")
	}
	if secret == "" {
		p.Add("client_secret", "is required")
	}
	if err := p.Err(); err != nil {
		return err
	}
	app, err := withAttemptLimit(c, s.shared, "token", id, func() (*models.App, error) {
		return s.store.Authenticate(c.Request.Context(), id, secret)
	})
	if err != nil {
		return notFoundAs(models.Reject(models.KindUnauthorized, "invalid_client", "The client id or secret is wrong."), err)
	}
	access, err := s.tokens.IssueAccess(app.ID)
	if err != nil {
		return err
	}
	s.logSecurityEvent(c, "access token issued", "app", app.ID)
	c.Header("Pragma", "no-cache")
	return respond(c, http.StatusOK, gin.H{
		"access_token": access, "token_type": "Bearer", "expires_in": int(credential.AccessLifetime.Seconds()),
	})
}

// jwks publishes the public keys of manifest signatures (RFC 7517), so that anyone can verify sealed documents.
func (s *appHandler) jwks(c *gin.Context) error {
	keys, err := s.store.Keys(c.Request.Context(), models.KeyManifests)
	if err != nil {
		return err
	}
	out := []gin.H{}
	for _, k := range keys {
		pub := k.Private.PublicKey
		jwk := gin.H{
			"kty": "EC", "crv": "P-256", "use": "sig", "alg": "ES256", "kid": k.ID,
			"x": jwkCoordinate(pub.X), "y": jwkCoordinate(pub.Y), //nolint:staticcheck // JWK requires the affine coordinates
		}
		if k.Revoked != nil { // as in the historical keys of OpenID Federation 1.0
			jwk["revoked"] = gin.H{"revoked_at": k.Revoked.At.Unix(), "reason": k.Revoked.Reason}
		}
		out = append(out, jwk)
	}
	c.Header("Cache-Control", "public, max-age=300")
	return respond(c, http.StatusOK, gin.H{"keys": out})
}

func jwkCoordinate(n *big.Int) string {
	return base64.RawURLEncoding.EncodeToString(n.FillBytes(make([]byte, 32)))
}
