package store_test

import (
	"crypto/rand"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"countersign/models"
	"countersign/seal/sealkey"
	"countersign/seal/trust"
	"countersign/store"
	"countersign/test/kit"
)

// TestOwnSealers_ArePinned checks that every certificate that this installation has used for sealing is trusted, and
// no other certificate from the same authority.
func TestOwnSealers_ArePinned(t *testing.T) {
	t.Parallel()
	kit.OnBoth(t, func(t *testing.T, s *store.Store, clock *kit.Clock) {
		ctx := t.Context()
		none, err := s.Trust(ctx)
		require.NoError(t, err)
		require.Empty(t, none.Sealers)
		require.Len(t, none.RecordKeys, 1)

		ca, cert, _, err := sealkey.SelfSigned("Test", clock.Now(), rand.Reader)
		require.NoError(t, err)
		chain, err := sealkey.LoadChain(append(cert, ca...))
		require.NoError(t, err)
		for range 2 { // as every worker does at every start
			require.NoError(t, s.RecordSealCertificate(ctx, chain[0]))
		}
		p, err := s.Trust(ctx)
		require.NoError(t, err)
		require.Len(t, p.Sealers, 1)
		j := p.Evaluate(trust.Seal{Certificates: chain}, clock.Now())
		assert.Equal(t, trust.CodePinned, j.Sealer.Code)
	})
}

// TestRevokeKey checks that a revocation is stored with its date and replaces an active key. It cannot be undone,
// neither through the store nor directly in the database.
func TestRevokeKey(t *testing.T) {
	t.Parallel()
	kit.OnBoth(t, func(t *testing.T, s *store.Store, clock *kit.Clock) {
		ctx, begin := t.Context(), clock.Now()
		keys, err := s.Keys(ctx, models.KeyManifests)
		require.NoError(t, err)
		tokens, err := s.Keys(ctx, models.KeyTokens)
		require.NoError(t, err)
		clock.Add(time.Hour)
		rejected := func(code string, err error) {
			t.Helper()
			var e *models.Error
			require.ErrorAs(t, err, &e)
			assert.Equal(t, code, e.Code)
		}
		rejected("not_found", s.RevokeKey(ctx, "no-such-key", begin, "lost"))
		rejected("key_not_revocable", s.RevokeKey(ctx, tokens[0].ID, begin, "lost"))
		rejected("validation_error", s.RevokeKey(ctx, keys[0].ID, clock.Now().Add(time.Second), "lost"))
		rejected("validation_error", s.RevokeKey(ctx, keys[0].ID, begin, ""))
		rejected("validation_error", s.RevokeKey(ctx, keys[0].ID, begin, "a\nb"))

		at := begin.Add(30 * time.Minute)
		require.NoError(t, s.RevokeKey(ctx, keys[0].ID, at, "the file was copied"))
		rejected("key_revoked", s.RevokeKey(ctx, keys[0].ID, at, "again"))
		rejected("key_revoked", s.RevokeKey(ctx, keys[0].ID, at.Add(time.Minute), "later"))
		now, err := s.Keys(ctx, models.KeyManifests)
		require.NoError(t, err)
		require.Len(t, now, 2)
		assert.NotEqual(t, keys[0].ID, now[0].ID, "another key signs")
		assert.Nil(t, now[0].Revoked)
		require.NotNil(t, now[1].Revoked)
		assert.True(t, now[1].Retired)
		assert.WithinDuration(t, at, now[1].Revoked.At, 0)

		require.NoError(t, s.RevokeKey(ctx, keys[0].ID, begin, "it was copied earlier"))
		p, err := s.Trust(ctx)
		require.NoError(t, err)
		require.NotNil(t, p.RecordKeys[keys[0].ID].Revoked)
		assert.WithinDuration(t, begin, p.RecordKeys[keys[0].ID].Revoked.At, 0)
		assert.Equal(t, "it was copied earlier", p.RecordKeys[keys[0].ID].Revoked.Reason)
		assert.Nil(t, p.RecordKeys[now[0].ID].Revoked)
	})
}

// TestRevokeKey_RevokesEachCertificate checks that a key is revoked under each of its certificates.
func TestRevokeKey_RevokesEachCertificate(t *testing.T) {
	t.Parallel()
	kit.OnBoth(t, func(t *testing.T, s *store.Store, clock *kit.Clock) {
		ctx := t.Context()
		_, certPEM, _, err := sealkey.SelfSigned("Test", clock.Now(), rand.Reader)
		require.NoError(t, err)
		chain, err := sealkey.LoadChain(certPEM)
		require.NoError(t, err)
		_, otherPEM, _, err := sealkey.SelfSigned("Other", clock.Now(), rand.Reader)
		require.NoError(t, err)
		other, err := sealkey.LoadChain(otherPEM)
		require.NoError(t, err)
		require.NoError(t, s.RecordSealCertificate(ctx, chain[0]))
		require.NoError(t, s.RecordSealCertificate(ctx, other[0]))
		id := store.SealCertificateID(chain[0])
		require.NoError(t, s.RevokeKey(ctx, id, clock.Now(), "stolen"))
		revoked, err := s.SealKeyRevoked(ctx, chain[0])
		require.NoError(t, err)
		assert.True(t, revoked)
		revoked, err = s.SealKeyRevoked(ctx, other[0])
		require.NoError(t, err)
		assert.False(t, revoked)
		p, err := s.Trust(ctx)
		require.NoError(t, err)
		for _, c := range []struct {
			seal trust.Seal
			want string
		}{{trust.Seal{Certificates: chain}, trust.CodeRevokedHere}, {trust.Seal{Certificates: other}, trust.CodePinned}} {
			j := p.Evaluate(c.seal, clock.Now())
			assert.Equal(t, c.want, j.Sealer.Code)
		}
	})
}
