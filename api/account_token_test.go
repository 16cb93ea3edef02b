package api_test

import (
	"encoding/base64"
	"testing"

	"github.com/stretchr/testify/require"

	"countersign/models"
)

// TestToken_FormOrBasic_IsAccepted checks that clients can authenticate with form parameters or HTTP Basic (RFC 6749
// §2.3.1), and that other grants are rejected.
func TestToken_FormOrBasic_IsAccepted(t *testing.T) {
	t.Parallel()
	s := onSQLite(t, nil)
	nobody := &client{t: t, s: s}
	post := func(c *client, pairs ...string) *response {
		return c.send("POST", "/oauth/token", "application/x-www-form-urlencoded", form(pairs...))
	}
	basic := func(user, pass string) *client {
		return nobody.with("Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte(user+":"+pass)))
	}
	require.NotEmpty(t, post(basic(s.id, s.pass), "grant_type", "client_credentials").want(200).str("access_token"))
	post(basic(s.id, "wrong"), "grant_type", "client_credentials", "client_id", s.id, "client_secret", s.pass).rejected(401, "invalid_client")
	for _, c := range []struct {
		pairs  []string
		member string
	}{
		{[]string{"grant_type", "password", "client_id", s.id, "client_secret", s.pass}, "grant_type"},
		{[]string{"client_id", s.id, "client_secret", s.pass}, "grant_type"},
		{[]string{"grant_type", "client_credentials", "client_secret", s.pass}, "client_id"},
		{[]string{"grant_type", "client_credentials", "client_id", s.id}, "client_secret"},
	} {
		require.Contains(t, post(nobody, c.pairs...).rejected(400, "validation_error").body["errors"], c.member)
	}
}

func TestJWKS_RevokedKey_HasTimeAndReason(t *testing.T) {
	t.Parallel()
	s := onSQLite(t, nil)
	keys, err := s.store.Keys(t.Context(), models.KeyManifests)
	require.NoError(t, err)
	at := s.clock.now()
	require.NoError(t, s.store.RevokeKey(t.Context(), keys[0].ID, at, "lost"))
	revoked := map[string]any{}
	for _, k := range (&client{t: t, s: s}).get("/.well-known/jwks.json").want(200).body["keys"].([]any) {
		revoked[k.(object)["kid"].(string)] = k.(object)["revoked"]
	}
	require.Equal(t, object{"revoked_at": float64(at.Unix()), "reason": "lost"}, revoked[keys[0].ID])
	require.Greater(t, len(revoked), 1, "another key signs")
	delete(revoked, keys[0].ID)
	for id, v := range revoked {
		require.Nil(t, v, id)
	}
}
