package api

import (
	"crypto/sha256"
	"encoding/hex"
	"time"

	"github.com/gin-gonic/gin"

	"countersign/models"
)

// How many wrong tries a minute are allowed. An address from which an account
// was used lately has room of its own, so that strangers who guess at the
// account, or share the address, do not lock it out.
const (
	maxWrongPerAccount      = 20 // of all other addresses together
	maxWrongPerAddress      = 60 // for all accounts
	maxWrongPerKnownAddress = 20 // at an account, from an address that is known for it
	// knownAddressLifetime is how long an address is known for an account after a right try.
	knownAddressLifetime = 30 * 24 * time.Hour
)

// attemptCounter is a counter of wrong tries and its limit.
type attemptCounter struct {
	key   string
	limit int
}

// withAttemptLimit lets try check a credential of an account. A try is counted
// beforehand, so that many at the same time cannot exceed the limit, and taken
// back if it was right.
func withAttemptLimit[T any](c *gin.Context, s *Server, what, account string, try func() (T, error)) (T, error) {
	var none T
	ctx, start := c.Request.Context(), s.Now().UTC().Truncate(rateWindow)
	// Strangers write what they like: it is kept as a hash.
	sum := sha256.Sum256([]byte(account))
	account = hex.EncodeToString(sum[:16])
	known := what + "-known:" + account + ":" + callerNetwork(c)
	until, err := s.Store.CallerKnownUntil(ctx, known)
	if err != nil {
		return none, err
	}
	limits := []attemptCounter{{what + "-account:" + account, maxWrongPerAccount}, {what + "-address:" + callerNetwork(c), maxWrongPerAddress}}
	if s.Now().Before(until) {
		limits = []attemptCounter{{known, maxWrongPerKnownAddress}}
	}
	for _, k := range limits {
		if err := s.countAttempt(c, k.key, k.limit); err != nil {
			return none, err
		}
	}
	v, err := try()
	if err != nil {
		return none, err
	}
	for _, k := range limits {
		if _, _, err := s.Store.ReserveQuota(ctx, k.key, start, rateWindow, -1, k.limit); err != nil {
			return none, err
		}
	}
	if until.Sub(s.Now()) > knownAddressLifetime-24*time.Hour { // remembered today
		return v, nil
	}
	return v, s.Store.RememberCaller(ctx, known, s.Now().Add(knownAddressLifetime))
}

// countAttempt counts in the database, exactly and for all processes, what must not
// be tried too often: at most limit in a minute.
func (s *Server) countAttempt(c *gin.Context, key string, limit int) error {
	start := s.Now().UTC().Truncate(rateWindow)
	taken, _, err := s.Store.ReserveQuota(c.Request.Context(), key, start, rateWindow, 1, limit)
	if err != nil {
		return err
	}
	if taken == 0 {
		e := models.Refuse(models.KindRateLimited, "rate_limited", "Too many tries; please wait.")
		e.RetryAfter = max(start.Add(rateWindow).Sub(s.Now()), time.Second)
		return e
	}
	return nil
}
