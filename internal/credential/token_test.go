package credential_test

import (
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"countersign/internal/credential"
	"countersign/models"
	"countersign/store"
	"countersign/test/kit"
)

func isExpired(t *testing.T, err error, msg string) {
	t.Helper()
	require.Error(t, err, msg)
	require.True(t, credential.IsExpired(err), "%s: %v", msg, err)
}

// TestTokens_RoundTrip checks that a token contains the values for which it was issued, and is not
// accepted as a token of another kind.
func TestTokens_RoundTrip(t *testing.T) {
	t.Parallel()
	clock, app := kit.NewClock(), uuid.New()
	tokens, err := credential.NewTokens([]store.Key{key(t, "k", false)}, clock.Now)
	require.NoError(t, err)
	now := clock.Now()
	link, until := uuid.New(), now.Add(time.Hour)
	signer := &models.Signer{ID: uuid.New(), EnvelopeID: uuid.New(), LinkID: &link, LinkIssuedAt: &now, LinkExpiresAt: &until}
	session := &models.ConsoleSession{ID: uuid.New(), CreatedAt: now, ExpiresAt: now.Add(credential.ConsoleLifetime)}
	embedded := &models.EmbeddedSession{PageSession: models.PageSession{ID: uuid.New(), AppID: app, ExpiresAt: now.Add(10 * time.Minute)}}
	longer := &models.EmbeddedSession{PageSession: models.PageSession{ID: uuid.New(), AppID: app, ExpiresAt: now.Add(2 * time.Hour)}}
	document, recipient := &models.Document{ID: uuid.New()}, uuid.New()
	user := &models.ConsoleUser{ID: uuid.New(), AppID: app}
	made := map[string]string{}
	for kind, make := range map[string]func() (string, error){
		"access": func() (string, error) { return tokens.IssueAccess(app) },
		"console": func() (string, error) {
			return tokens.IssueConsole(&models.ConsoleUser{ID: uuid.New(), AppID: app}, session)
		},
		"unsubscribe": func() (string, error) { return tokens.IssueUnsubscribe(user, now) },
		"signing":     func() (string, error) { return tokens.IssueSigning(app, signer) },
		"embedded":    func() (string, error) { return tokens.IssueEmbedded(embedded, signer) },
		"longer":      func() (string, error) { return tokens.IssueEmbedded(longer, signer) },
		"download": func() (string, error) {
			return tokens.IssueDownload(&models.Envelope{ID: signer.EnvelopeID, AppID: app}, document, recipient)
		},
		"receipt": func() (string, error) {
			return tokens.IssueReceipt(credential.SigningLink{App: app, Link: models.Link{EnvelopeID: signer.EnvelopeID, SignerID: signer.ID, ID: link}})
		},
	} {
		made[kind], err = make()
		require.NoError(t, err, kind)
	}
	signing := credential.SigningLink{App: app, Link: models.Link{EnvelopeID: signer.EnvelopeID, SignerID: signer.ID, ID: link}}
	in := func(l credential.SigningLink, session uuid.UUID) credential.SigningLink {
		l.Session = session
		return l
	}
	type read func(token string) (any, error)
	readers := map[string]read{
		"access":  func(s string) (any, error) { return tokens.VerifyAccess(s) },
		"console": func(s string) (any, error) { return tokens.VerifyConsole(s) },
		"signing": func(s string) (any, error) { return tokens.VerifySigning(s) },
		"download": func(s string) (any, error) {
			l, err := tokens.VerifyDownload(s)
			l.Until = l.Until.UTC()
			return l, err
		},
		"unsubscribe": func(s string) (any, error) {
			app, user, err := tokens.VerifyUnsubscribe(s)
			return []uuid.UUID{app, user}, err
		},
		"receipt": func(s string) (any, error) {
			app, envelope, signer, err := tokens.VerifyReceipt(s)
			return []uuid.UUID{app, envelope, signer}, err
		},
	}
	cases := []struct {
		kind, reader string
		want         any
		lasts        time.Duration
	}{
		{"access", "access", app, credential.AccessLifetime},
		{"console", "console", session.ID, credential.ConsoleLifetime},
		{"signing", "signing", signing, time.Hour},
		{"embedded", "signing", in(signing, embedded.ID), 10 * time.Minute},
		{"longer", "signing", in(signing, longer.ID), time.Hour},
		{"download", "download", credential.DownloadLink{
			App: app, Envelope: signer.EnvelopeID, Document: document.ID, Recipient: recipient, Until: now.Add(credential.DownloadLifetime).Truncate(time.Second).UTC(),
		}, credential.DownloadLifetime},
		{"receipt", "receipt", []uuid.UUID{app, signer.EnvelopeID, signer.ID}, credential.ReceiptLifetime},
		{"unsubscribe", "unsubscribe", []uuid.UUID{app, user.ID}, credential.UnsubscribeLifetime},
	}
	for _, c := range cases {
		for reader, read := range readers {
			got, err := read(made[c.kind])
			if reader != c.reader {
				require.Error(t, err, "%s read as %s", c.kind, reader)
				continue
			}
			require.NoError(t, err, c.kind)
			require.Equal(t, c.want, got, c.kind)
		}
	}
	for _, c := range cases {
		// The clocks of the service's processes may differ by a few seconds.
		clock.Add(now.Truncate(time.Second).Add(c.lasts + 4*time.Second).Sub(clock.Now()))
		_, err := readers[c.reader](made[c.kind])
		require.NoError(t, err, "%s is valid until its expiry time", c.kind)
		clock.Add(2 * time.Second)
		_, err = readers[c.reader](made[c.kind])
		isExpired(t, err, c.kind)
	}
	// An expired link shows its outcome for 30 days.
	ended := now.Truncate(time.Second).Add(time.Hour + 30*24*time.Hour)
	clock.Add(ended.Add(-time.Second).Sub(clock.Now()))
	got, err := tokens.VerifyExpiredSigning(made["signing"])
	require.NoError(t, err)
	require.Equal(t, signing, got)
	clock.Add(2 * time.Second)
	_, err = tokens.VerifyExpiredSigning(made["signing"])
	isExpired(t, err, "ended")
}

// TestIssueSigning_WithoutLink_IsRejected checks that no token is issued for a signer if any part of the link is
// missing.
func TestIssueSigning_WithoutLink_IsRejected(t *testing.T) {
	t.Parallel()
	clock := kit.NewClock()
	tokens, err := credential.NewTokens([]store.Key{key(t, "k", false)}, clock.Now)
	require.NoError(t, err)
	id, now := uuid.New(), clock.Now()
	for name, signer := range map[string]models.Signer{
		"id": {LinkIssuedAt: &now, LinkExpiresAt: &now}, "issue": {LinkID: &id, LinkExpiresAt: &now}, "end": {LinkID: &id, LinkIssuedAt: &now}, "all": {},
	} {
		_, err := tokens.IssueSigning(uuid.New(), &signer)
		require.ErrorContains(t, err, "has no link", name)
		_, err = tokens.IssueEmbedded(&models.EmbeddedSession{}, &signer)
		require.ErrorContains(t, err, "has no link", name)
	}
}

// TestTokens_WithForeignKeys_AreRejected checks that a token is rejected if it was signed with another key or
// algorithm, is for another audience, or lacks a required claim.
func TestTokens_WithForeignKeys_AreRejected(t *testing.T) {
	t.Parallel()
	clock, app := kit.NewClock(), uuid.New()
	ours := key(t, "k", false)
	tokens, err := credential.NewTokens([]store.Key{ours}, clock.Now)
	require.NoError(t, err)
	claims := func(change func(c jwt.MapClaims)) jwt.MapClaims {
		c := jwt.MapClaims{"sub": app.String(), "aud": []string{"countersign:api"}, "iat": clock.Now().Unix(), "exp": clock.Now().Add(time.Hour).Unix()}
		change(c)
		return c
	}
	sign := func(method jwt.SigningMethod, kid any, with any, c jwt.MapClaims) string {
		tok := jwt.NewWithClaims(method, c)
		tok.Header["kid"] = kid
		s, err := tok.SignedString(with)
		require.NoError(t, err)
		return s
	}
	same := func(jwt.MapClaims) {}
	got, err := tokens.VerifyAccess(sign(jwt.SigningMethodES256, "k", ours.Private, claims(same)))
	require.NoError(t, err)
	require.Equal(t, app, got)
	// Tokens of up to 4,096 characters are accepted.
	padded := func(n int) string {
		return sign(jwt.SigningMethodES256, "k", ours.Private, claims(func(c jwt.MapClaims) { c["more"] = strings.Repeat("x", n) }))
	}
	n := 2500
	for len(padded(n)) < 4096 {
		n++
	}
	require.Len(t, padded(n), 4096)
	_, err = tokens.VerifyAccess(padded(n))
	require.NoError(t, err)
	require.Greater(t, len(padded(n+1)), 4096)
	_, err = tokens.VerifyAccess(padded(n + 1))
	require.Error(t, err)
	public, err := ours.Private.PublicKey.Bytes()
	require.NoError(t, err)
	stranger := key(t, "k", false).Private
	for name, token := range map[string]string{
		"another's key":              sign(jwt.SigningMethodES256, "k", stranger, claims(same)),
		"a name that is none":        sign(jwt.SigningMethodES256, "other", ours.Private, claims(same)),
		"a name of another kind":     sign(jwt.SigningMethodES256, 7, ours.Private, claims(same)),
		"the public key as a secret": sign(jwt.SigningMethodHS256, "k", public, claims(same)),
		"no signature":               sign(jwt.SigningMethodNone, "k", jwt.UnsafeAllowNoneSignatureType, claims(same)),
		"no end":                     sign(jwt.SigningMethodES256, "k", ours.Private, claims(func(c jwt.MapClaims) { delete(c, "exp") })),
		"no audience":                sign(jwt.SigningMethodES256, "k", ours.Private, claims(func(c jwt.MapClaims) { delete(c, "aud") })),
		"issued in an hour":          sign(jwt.SigningMethodES256, "k", ours.Private, claims(func(c jwt.MapClaims) { c["iat"] = clock.Now().Add(time.Hour).Unix() })),
		"no id":                      sign(jwt.SigningMethodES256, "k", ours.Private, claims(func(c jwt.MapClaims) { c["sub"] = "nobody" })),
		"too long":                   sign(jwt.SigningMethodES256, "k", ours.Private, claims(func(c jwt.MapClaims) { c["more"] = strings.Repeat("x", 4096) })),
		"nothing":                    "",
	} {
		for range 2 { // twice, because valid tokens are cached
			_, err := tokens.VerifyAccess(token)
			require.Error(t, err, name)
			require.False(t, credential.IsExpired(err), name)
		}
	}
	for _, aud := range []string{"signing", "receipt", "download", "console"} {
		for name, change := range map[string]func(c jwt.MapClaims){
			"no subject": func(c jwt.MapClaims) { c["sub"], c["jti"] = "nobody", uuid.NewString() },
			"no id":      func(c jwt.MapClaims) { c["sub"], c["jti"] = uuid.NewString(), "nothing" },
		} {
			token := sign(jwt.SigningMethodES256, "k", ours.Private, claims(func(c jwt.MapClaims) {
				c["aud"] = []string{"countersign:" + aud}
				change(c)
			}))
			var err error
			switch aud {
			case "signing":
				_, err = tokens.VerifySigning(token)
				require.Error(t, err, "%s: %s", aud, name)
			case "receipt":
				_, _, _, err = tokens.VerifyReceipt(token)
				require.Equal(t, name == "no subject", err != nil, "%s: %s", aud, name)
			case "download":
				_, err = tokens.VerifyDownload(token)
				require.Equal(t, name == "no subject", err != nil, "%s: %s", aud, name)
			case "console":
				_, err = tokens.VerifyConsole(token)
				require.Equal(t, name == "no id", err != nil, "%s: %s", aud, name)
			}
		}
	}
}

// TestNewTokens_WithoutSigningKey_Fails checks that NewTokens requires a signing key, and that the current key stays in
// use if a reload returns no signing key.
func TestNewTokens_WithoutSigningKey_Fails(t *testing.T) {
	t.Parallel()
	clock := kit.NewClock()
	for name, keys := range map[string][]store.Key{"none": nil, "retired": {key(t, "old", true)}} {
		_, err := credential.NewTokens(keys, clock.Now)
		require.ErrorContains(t, err, "no signing key", name)
		one := key(t, "one", false)
		tokens, err := credential.NewTokens([]store.Key{one}, clock.Now)
		require.NoError(t, err)
		tokens.ReloadFrom(func() ([]store.Key, error) { return keys, nil })
		clock.Add(time.Minute)
		token, err := tokens.IssueAccess(uuid.New())
		require.NoError(t, err, name)
		_, err = tokens.VerifyAccess(token)
		require.NoError(t, err, name)
	}
}
