package api

import (
	"crypto/sha256"
	"encoding/hex"
	"time"

	"github.com/gin-gonic/gin"

	"countersign/models"
)

// The limits on failed attempts per minute. An address from which an account was recently used has a separate limit. An
// attacker who guesses passwords therefore cannot lock out the owner of the account.
const (
	maxWrongPerAccount      = 20 // per account, from all other addresses together
	maxWrongPerAddress      = 60 // per address, across all accounts
	maxWrongPerKnownAddress = 20 // per account, from an address known for that account
	// knownAddressLifetime is the period for which an address remains known for an account after a successful attempt.
	knownAddressLifetime = 30 * 24 * time.Hour
)

// attempts counts failed attempts in a time window. The counter is in the database, so that it is exact across all
// processes.
type attempts struct {
	shared *shared
	key    string
	start  time.Time
	window time.Duration
	limit  int
}

func (s *shared) newAttempts(key string, window time.Duration, limit int) attempts {
	return attempts{s, key, s.now().UTC().Truncate(window), window, limit}
}

// count counts an attempt, and returns an error with the given message if the limit is exceeded.
func (a attempts) count(c *gin.Context, message string) error {
	taken, _, err := a.shared.requests.ReserveQuota(c.Request.Context(), a.key, a.start, a.window, 1, a.limit)
	if err != nil || taken > 0 {
		return err
	}
	return a.shared.tooMany(a.start.Add(a.window), message)
}

// release subtracts a successful attempt from the count.
func (a attempts) release(c *gin.Context) error {
	_, _, err := a.shared.requests.ReserveQuota(c.Request.Context(), a.key, a.start, a.window, -1, a.limit)
	return err
}

// tooMany returns the error for too many attempts. The parameter again is the time of the next permitted attempt.
func (s *shared) tooMany(again time.Time, message string) error {
	e := models.Reject(models.KindRateLimited, "rate_limited", "%s", message)
	e.RetryAfter = max(again.Sub(s.now()), time.Second)
	return e
}

const tooManyAttempts = "Too many attempts; please wait."

// withAttemptLimit calls try to check a credential of an account. If there were too many failed attempts, it returns an
// error instead. It counts the attempt before the call, so that concurrent attempts cannot exceed the limit. It
// subtracts successful attempts from the count.
func withAttemptLimit[T any](c *gin.Context, s *shared, what, account string, try func() (T, error)) (T, error) {
	var none T
	ctx := c.Request.Context()
	// The account is unverified input, so only its hash is stored.
	sum := sha256.Sum256([]byte(account))
	account = hex.EncodeToString(sum[:16])
	known := what + "-known:" + account + ":" + callerNetwork(c)
	until, err := s.requests.CallerKnownUntil(ctx, known)
	if err != nil {
		return none, err
	}
	limits := []attempts{
		s.newAttempts(what+"-account:"+account, rateWindow, maxWrongPerAccount), s.newAttempts(what+"-address:"+callerNetwork(c), rateWindow, maxWrongPerAddress),
	}
	if s.now().Before(until) {
		limits = []attempts{s.newAttempts(known, rateWindow, maxWrongPerKnownAddress)}
	}
	for _, k := range limits {
		if err := k.count(c, tooManyAttempts); err != nil {
			return none, err
		}
	}
	v, err := try()
	if err != nil {
		return none, err
	}
	for _, k := range limits {
		if err := k.release(c); err != nil {
			return none, err
		}
	}
	if until.Sub(s.now()) > knownAddressLifetime-24*time.Hour { // already extended today
		return v, nil
	}
	return v, s.requests.RememberCaller(ctx, known, s.now().Add(knownAddressLifetime))
}
