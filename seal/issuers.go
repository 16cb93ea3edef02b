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

// authority is a time-stamp authority together with the hash of the certificates that it last sent in addition to its
// own. No signature in a time-stamp covers these certificates. To protect them from changes, the content to be
// time-stamped includes their hash, which must therefore be known in advance.
type authority struct {
	cms.Authority

	now  func() time.Time
	hung atomic.Pointer[time.Time]         // time of its last timeout; nil if it has responded since
	last atomic.Pointer[[sha256.Size]byte] // nil if unknown
}

// errIssuersChanged reports that the authority sent different certificates than last time.
var errIssuersChanged = errors.New("the time-stamp authority has changed its certificates")

// If a request fails after slowAnswer or longer, the authority is treated as hanging for hangRest, unless it responds
// to another request in the meantime.
const (
	slowAnswer = 5 * time.Second
	hangRest   = time.Minute
)

// hangs reports whether the authority recently timed out. In that case, a seal with an optional time-stamp skips the
// request.
func (a *authority) hangs() bool {
	at := a.hung.Load()
	return at != nil && a.now().Sub(*at) < hangRest
}

// issuers returns the hash of the additional certificates. If the hash is unknown, issuers requests a time-stamp to
// determine it, and discards the time-stamp.
func (a *authority) issuers(ctx context.Context) ([sha256.Size]byte, error) {
	if last := a.last.Load(); last != nil {
		return *last, nil
	}
	digest := sha256.Sum256([]byte("trial"))
	_, _, issuers, err := a.stamp(ctx, digest[:])
	return issuers, err
}

// stamp requests a time-stamp of a digest. It returns the token and the hash of the additional certificates in it.
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
