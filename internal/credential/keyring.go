package credential

import (
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"countersign/store"
)

// The keys are reloaded once they are older than keyCacheTTL. A token with an unknown key ID also triggers a reload,
// but at most once per minReloadInterval, because a client can make up key IDs.
const (
	keyCacheTTL       = 30 * time.Second
	minReloadInterval = time.Second
)

// keyRing holds the keys, newest first. The first key signs.
type keyRing struct {
	load func() ([]store.Key, error) // nil if the keys never change

	loading sync.Mutex // held while loading; calls of signer do not wait for it
	current atomic.Pointer[keySet]
}

// keySet contains the loaded keys and the time at which they were loaded.
type keySet struct {
	keys []store.Key
	at   time.Time
}

func newKeyRing(keys []store.Key, at time.Time) (*keyRing, error) {
	if !canSign(keys) {
		return nil, errors.New("tokens: no signing key")
	}
	r := &keyRing{}
	r.current.Store(&keySet{keys, at})
	return r, nil
}

func canSign(keys []store.Key) bool { return len(keys) > 0 && !keys[0].Retired }

func (r *keyRing) signer(now time.Time) store.Key {
	if now.Sub(r.current.Load().at) >= keyCacheTTL && r.loading.TryLock() {
		r.reload(now, keyCacheTTL)
		r.loading.Unlock()
	}
	return r.current.Load().keys[0]
}

func (r *keyRing) byID(id string, now time.Time) (store.Key, bool) {
	if k, ok := r.current.Load().find(id); ok {
		return k, true
	}
	r.loading.Lock()
	r.reload(now, minReloadInterval)
	r.loading.Unlock()
	return r.current.Load().find(id)
}

func (l *keySet) find(id string) (store.Key, bool) {
	for _, k := range l.keys {
		if k.ID == id {
			return k, true
		}
	}
	return store.Key{}, false
}

// reload reloads the keys if they have at least the given age. The caller must hold r.loading.
func (r *keyRing) reload(now time.Time, age time.Duration) {
	was := r.current.Load()
	if r.load == nil || now.Sub(was.at) < age {
		return
	}
	keys, err := r.load()
	if err != nil || !canSign(keys) {
		keys = was.keys
	}
	r.current.Store(&keySet{keys, now})
}
