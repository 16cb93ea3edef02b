package api

import (
	"crypto/sha256"
	"encoding/hex"
	"time"

	"github.com/gin-gonic/gin"

	"countersign/models"
)

// Failed attempts that are allowed per minute. An address from which an account was recently used has a separate
// limit, so that strangers who guess, or share the address, do not lock the account out.
const (
	maxWrongPerAccount      = 20 // of all other addresses together
	maxWrongPerAddress      = 60 // for all accounts
	maxWrongPerKnownAddress = 20 // at an account, from an address that is known for it
	// knownAddressLifetime is how long an address is known for an account after a right try.
	knownAddressLifetime = 30 * 24 * time.Hour
)

// attempts is a counter of wrong tries in a window of time. It counts in the database,
// exactly and for all processes.
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

// count counts a try, and refuses one too many with message.
func (a attempts) count(c *gin.Context, message string) error {
	taken, _, err := a.shared.requests.ReserveQuota(c.Request.Context(), a.key, a.start, a.window, 1, a.limit)
	if err != nil || taken > 0 {
		return err
	}
	return a.shared.tooMany(a.start.Add(a.window), message)
}

// giveBack takes a try back that was right.
func (a attempts) giveBack(c *gin.Context) error {
	_, _, err := a.shared.requests.ReserveQuota(c.Request.Context(), a.key, a.start, a.window, -1, a.limit)
	return err
}

// tooMany returns the error for too many attempts, with the time of the next one.
func (s *shared) tooMany(again time.Time, message string) error {
	e := models.Refuse(models.KindRateLimited, "rate_limited", "%s", message)
	e.RetryAfter = max(again.Sub(s.now()), time.Second)
	return e
}

const tooManyTries = "Too many tries; please wait."

// withAttemptLimit lets try check a credential of an account. A try is counted
// beforehand, so that many at the same time cannot exceed the limit, and taken
// back if it was right.
func withAttemptLimit[T any](c *gin.Context, s *shared, what, account string, try func() (T, error)) (T, error) {
	var none T
	ctx := c.Request.Context()
	// The account is unverified input: only its hash is stored.
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
		if err := k.count(c, tooManyTries); err != nil {
			return none, err
		}
	}
	v, err := try()
	if err != nil {
		return none, err
	}
	for _, k := range limits {
		if err := k.giveBack(c); err != nil {
			return none, err
		}
	}
	if until.Sub(s.now()) > knownAddressLifetime-24*time.Hour { // remembered today
		return v, nil
	}
	return v, s.requests.RememberCaller(ctx, known, s.now().Add(knownAddressLifetime))
}
