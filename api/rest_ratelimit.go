package api

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/gin-gonic/gin"

	"countersign/models"
)

const (
	rateWindow = time.Minute
	maxKeys    = 100_000 // beyond it, new keys share one counter
	// reservations is the number of reservations into which a process divides the remaining quota. Reservations are
	// large while much quota remains and single near the limit, so that several processes together stay within it.
	reservations = 16
)

// Quotas counts requests over all processes.
type Quotas interface {
	// ReserveQuota reserves up to n of the remaining requests in key's window. It returns the numbers of reserved and
	// of remaining requests.
	ReserveQuota(ctx context.Context, key string, start time.Time, length time.Duration, n, limit int) (taken, left int, err error)
}

// limiter counts requests per key in windows of a minute. Each process reserves
// a portion of the remaining quota for itself, so that most requests cost no query.
type limiter struct {
	limit  int
	now    func() time.Time
	shared Quotas // nil: this process is the only one

	mu           sync.Mutex
	start        time.Time // of the window
	reservations map[string]*reservation
}

// reservation is a process's share of the remaining quota of one key.
type reservation struct {
	mu   sync.Mutex
	own  int // reserved and unused
	left int // unreserved, at the last query
}

func newLimiter(limit int, now func() time.Time, shared Quotas) *limiter {
	return &limiter{limit: limit, now: now, shared: shared, reservations: make(map[string]*reservation)}
}

func (l *limiter) reservation(key string) (*reservation, time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if start := l.now().UTC().Truncate(rateWindow); !start.Equal(l.start) {
		l.start = start
		clear(l.reservations)
	}
	if l.reservations[key] == nil && len(l.reservations) >= maxKeys {
		key = "others"
	}
	a := l.reservations[key]
	if a == nil {
		a = &reservation{left: l.limit}
		l.reservations[key] = a
	}
	return a, l.start
}

// take counts one request of key. It returns the remaining quota, negative if the request exceeds it, and the end of
// the window. If the database does not respond, this process counts on its own: the request then fails anyway, or
// needs no database.
func (l *limiter) take(ctx context.Context, key string) (left int, reset time.Time) {
	a, start := l.reservation(key)
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.own == 0 && a.left > 0 {
		n := max(1, a.left/reservations)
		taken, rest, err := n, a.left-n, error(nil)
		if l.shared != nil {
			taken, rest, err = l.shared.ReserveQuota(ctx, key, start, rateWindow, n, l.limit)
		}
		if err != nil {
			taken, rest = n, a.left-n
		}
		a.own, a.left = taken, rest
	}
	if a.own == 0 {
		return -1, start.Add(rateWindow)
	}
	a.own--
	return a.left + a.own, start.Add(rateWindow)
}

// limitAddress counts requests by client address. On a route that requires a bearer token, the decision waits until
// the token is verified: a valid one counts for its app, any other for the address.
func (s *shared) limitAddress(c *gin.Context) {
	if c.FullPath() == "/healthz" || c.FullPath() == "/readyz" || s.bearerRoutes[c.Request.Method+" "+c.FullPath()] && hasBearer(c) {
		s.rateHeaders(c, s.limits.limit, windowEnd(s.now()))
		return
	}
	if err := s.limit(c, addressKey(c)); err != nil {
		s.fail(c, err)
	}
}

// countRejected counts a request with a rejected bearer token for its address. It returns the rate limit error if the
// limit is reached, and else err.
func (s *shared) countRejected(c *gin.Context, err error) error {
	if refused, ok := errors.AsType[*models.Error](err); ok && refused.Kind == models.KindUnauthorized && hasBearer(c) {
		return cmp.Or(s.limit(c, addressKey(c)), err)
	}
	return err
}

// windowEnd returns the end of the window that contains a time.
func windowEnd(t time.Time) time.Time { return t.Truncate(rateWindow).Add(rateWindow) }

func hasBearer(c *gin.Context) bool {
	scheme, _, _ := strings.Cut(c.GetHeader("Authorization"), " ")
	return strings.EqualFold(scheme, "Bearer")
}

// addressKey returns the rate limit key of a caller without an account.
func addressKey(c *gin.Context) string { return "address:" + callerNetwork(c) }

// callerNetwork returns the caller's address; for IPv6 its /64 network, which belongs to one subscriber.
func callerNetwork(c *gin.Context) string {
	addr, err := netip.ParseAddr(c.ClientIP())
	if err != nil || addr.Unmap().Is4() {
		return c.ClientIP()
	}
	return netip.PrefixFrom(addr.WithZone(""), 64).Masked().String()
}

func (s *shared) limit(c *gin.Context, key string) error {
	left, reset := s.limits.take(c.Request.Context(), key)
	s.rateHeaders(c, left, reset)
	if left < 0 {
		return s.tooMany(reset, fmt.Sprintf("Too many requests; the limit is %d per minute.", s.limits.limit))
	}
	return nil
}

func (s *shared) rateHeaders(c *gin.Context, left int, reset time.Time) {
	c.Header("X-RateLimit-Limit", strconv.Itoa(s.limits.limit))
	c.Header("X-RateLimit-Remaining", strconv.Itoa(max(left, 0)))
	c.Header("X-RateLimit-Reset", strconv.FormatInt(reset.Unix(), 10))
}
