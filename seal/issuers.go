package seal

import (
	"context"
	"crypto/sha256"
	"errors"
	"sync"

	"countersign/seal/cms"
	"countersign/seal/verify"
)

// issuerHashes remembers the hash of the certificates that a time-stamp authority
// sends besides its own. No signature covers them in a time-stamp; so that
// they must not be changed, the time-stamp covers their hash, which has to be known before.
type issuerHashes struct {
	mu    sync.Mutex
	known bool
	last  [sha256.Size]byte
}

// errIssuersChanged says that an authority sent other certificates than the time before.
var errIssuersChanged = errors.New("the time-stamp authority has changed its certificates")

// of returns the hash. The first time, the authority is asked for a time-stamp
// that is thrown away.
func (i *issuerHashes) of(ctx context.Context, a *cms.Authority) ([sha256.Size]byte, error) {
	i.mu.Lock()
	known, last := i.known, i.last
	i.mu.Unlock()
	if known {
		return last, nil
	}
	digest := sha256.Sum256([]byte("trial"))
	der, err := a.Stamp(ctx, digest[:])
	if err != nil {
		return last, err
	}
	t, err := cms.ParseTokenStrict(der)
	if err != nil {
		return last, err
	}
	i.set(verify.IssuersOf(t))
	return verify.IssuersOf(t), nil
}

func (i *issuerHashes) set(h [sha256.Size]byte) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.known, i.last = true, h
}
