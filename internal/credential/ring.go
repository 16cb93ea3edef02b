package credential

import (
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"countersign/store"
)

// The keys are loaded again when they are keysFresh old, and for a token whose
// key is not known no sooner than keysApart after the last time: tokens that
// name made-up keys cost no more than that.
const (
	keysFresh = 30 * time.Second
	keysApart = time.Second
)

// ring holds the keys, newest first; the first of them signs.
type ring struct {
	load func() ([]store.Key, error) // nil: they stay as they are

	loading sync.Mutex // held while they are loaded: nobody waits for that but who needs it
	loaded  atomic.Pointer[loaded]
}

// loaded is what was found when it was last asked for.
type loaded struct {
	keys []store.Key
	at   time.Time
}

func newRing(keys []store.Key, at time.Time) (*ring, error) {
	if !usable(keys) {
		return nil, errors.New("tokens: there is no key to sign with")
	}
	r := &ring{}
	r.loaded.Store(&loaded{keys, at})
	return r, nil
}

// usable reports whether the first of the keys can sign.
func usable(keys []store.Key) bool { return len(keys) > 0 && !keys[0].Retired }

// signer is the key that signs now.
func (r *ring) signer(now time.Time) store.Key {
	if now.Sub(r.loaded.Load().at) >= keysFresh && r.loading.TryLock() {
		r.renew(now, keysFresh)
		r.loading.Unlock()
	}
	return r.loaded.Load().keys[0]
}

// byID finds the key of a token.
func (r *ring) byID(id string, now time.Time) (store.Key, bool) {
	if k, ok := r.loaded.Load().find(id); ok {
		return k, true
	}
	r.loading.Lock()
	r.renew(now, keysApart)
	r.loading.Unlock()
	return r.loaded.Load().find(id)
}

func (l *loaded) find(id string) (store.Key, bool) {
	for _, k := range l.keys {
		if k.ID == id {
			return k, true
		}
	}
	return store.Key{}, false
}

// renew loads the keys again if they are older than that. The caller holds loading.
func (r *ring) renew(now time.Time, age time.Duration) {
	was := r.loaded.Load()
	if r.load == nil || now.Sub(was.at) < age {
		return
	}
	keys, err := r.load()
	if err != nil || !usable(keys) {
		keys = was.keys
	}
	r.loaded.Store(&loaded{keys, now})
}
