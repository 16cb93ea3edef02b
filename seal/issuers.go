package seal

import (
	"context"
	"crypto/sha256"
	"errors"
	"sync/atomic"

	"countersign/seal/cms"
	"countersign/seal/verify"
)

// authority is a time-stamp authority, with the hash of the certificates that it sent
// last besides its own. No signature covers them in a time-stamp; so that
// they must not be changed, the time-stamp covers their hash, which has to be known before.
type authority struct {
	cms.Authority

	last atomic.Pointer[[sha256.Size]byte] // nil: not known
}

// errIssuersChanged says that an authority sent other certificates than the time before.
var errIssuersChanged = errors.New("the time-stamp authority has changed its certificates")

// issuers returns the hash. The first time, the authority is asked for a time-stamp
// that is thrown away.
func (a *authority) issuers(ctx context.Context) ([sha256.Size]byte, error) {
	if last := a.last.Load(); last != nil {
		return *last, nil
	}
	digest := sha256.Sum256([]byte("trial"))
	_, _, issuers, err := a.stamp(ctx, digest[:])
	return issuers, err
}

// stamp has a digest stamped, and returns the token and the hash of the certificates in it.
func (a *authority) stamp(ctx context.Context, digest []byte) (der []byte, token *cms.Token, issuers [sha256.Size]byte, err error) {
	if der, err = a.Stamp(ctx, digest); err == nil {
		token, err = cms.ParseTokenStrict(der)
	}
	if err != nil {
		return nil, nil, issuers, err
	}
	issuers = verify.IssuersOf(token)
	a.last.Store(&issuers)
	return der, token, issuers, nil
}
