package seal

import (
	"context"
	"crypto/sha256"
	"errors"
	"sync/atomic"
	"time"

	"countersign/seal/cms"
	"countersign/seal/verify"
)

// authority is a time-stamp authority, with the hash of the certificates that it sent
// last besides its own. No signature covers them in a time-stamp; so that
// they must not be changed, the time-stamp covers their hash, which has to be known before.
type authority struct {
	cms.Authority

	now  func() time.Time
	hung atomic.Pointer[time.Time]         // when it was last found to hang; nil: it has answered since
	last atomic.Pointer[[sha256.Size]byte] // nil: not known
}

// errIssuersChanged says that an authority sent other certificates than the time before.
var errIssuersChanged = errors.New("the time-stamp authority has changed its certificates")

// An authority that has kept somebody waiting for slowAnswer and gave no time-stamp then is
// taken to hang for hangRest, unless it answers somebody meanwhile.
const (
	slowAnswer = 5 * time.Second
	hangRest   = time.Minute
)

// hangs reports that a seal that can do without a time-stamp should not ask for one now: each
// would wait as long, and keep others from being made.
func (a *authority) hangs() bool {
	at := a.hung.Load()
	return at != nil && a.now().Sub(*at) < hangRest
}

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
	began := a.now()
	if der, err = a.Stamp(ctx, digest); err == nil {
		token, err = cms.ParseTokenStrict(der)
	}
	if err != nil {
		if now := a.now(); now.Sub(began) >= slowAnswer {
			a.hung.Store(&now)
		}
		return nil, nil, issuers, err
	}
	a.hung.Store(nil)
	issuers = verify.IssuersOf(token)
	a.last.Store(&issuers)
	return der, token, issuers, nil
}
