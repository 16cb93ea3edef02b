package credential_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"errors"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"countersign/internal/credential"
	"countersign/store"
	"countersign/test/kit"
)

func key(t *testing.T, id string, retired bool) store.Key {
	t.Helper()
	k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	return store.Key{ID: id, Private: k, Retired: retired}
}

// TestTokens_UseNewKeys checks that new keys are used after half a minute, or as soon as a token that is signed with a
// new key is verified, and that unknown keys cause at most one reload per second.
func TestTokens_UseNewKeys(t *testing.T) {
	t.Parallel()
	clock, app := kit.NewClock(), uuid.New()
	one, two := key(t, "one", false), key(t, "two", false)
	now := []store.Key{one}
	asked, fail := 0, error(nil)
	follower := func() *credential.Tokens {
		tokens, err := credential.NewTokens([]store.Key{one}, clock.Now)
		require.NoError(t, err)
		tokens.ReloadFrom(func() ([]store.Key, error) { asked++; return now, fail })
		return tokens
	}
	issuer, checker := follower(), follower()
	issue := func() string {
		token, err := issuer.IssueAccess(app)
		require.NoError(t, err)
		return token
	}
	old := issue()
	one.Retired = true
	now = []store.Key{two, one}
	_, err := checker.VerifyAccess(issue())
	require.NoError(t, err)
	require.Zero(t, asked, "fresh keys are not reloaded")

	fail = errors.New("the database does not respond")
	clock.Add(30 * time.Second)
	_, err = checker.VerifyAccess(issue())
	require.NoError(t, err, "the keys do not change")
	require.Equal(t, 1, asked)
	fail = nil
	clock.Add(30 * time.Second)
	fresh := issue() // signed with the new key
	require.Equal(t, 2, asked)
	_, err = checker.VerifyAccess(fresh)
	require.NoError(t, err)
	require.Equal(t, 3, asked, "the keys were reloaded immediately")
	_, err = checker.VerifyAccess(old)
	require.NoError(t, err)

	stranger, err := credential.NewTokens([]store.Key{key(t, "made up", false)}, clock.Now)
	require.NoError(t, err)
	forged, err := stranger.IssueAccess(app)
	require.NoError(t, err)
	for range 10 {
		_, err = checker.VerifyAccess(forged)
		require.Error(t, err)
	}
	require.Equal(t, 3, asked, "the keys were reloaded just before")
	clock.Add(999 * time.Millisecond)
	_, err = checker.VerifyAccess(forged)
	require.Error(t, err)
	require.Equal(t, 3, asked, "the last reload was less than a second ago")
	clock.Add(time.Millisecond)
	_, err = checker.VerifyAccess(forged)
	require.Error(t, err)
	require.Equal(t, 4, asked)

	now = []store.Key{one} // all keys are retired
	clock.Add(time.Minute)
	_, err = checker.VerifyAccess(issue())
	require.NoError(t, err)
	_, err = credential.NewTokens(now, clock.Now)
	require.ErrorContains(t, err, "no signing key")
}
