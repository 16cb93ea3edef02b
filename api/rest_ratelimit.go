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
	maxKeys    = 100_000 // if exceeded, new keys share one counter
	// reservations is the divisor that determines the share of the remaining quota that a process reserves at a time.
	// Reservations are large while much of the quota remains, and shrink to single requests near the limit. Several
	// processes together therefore stay within the limit.
	reservations = 16
)

// quotas counts requests across all processes.
type quotas interface {
	// ReserveQuota reserves up to n of the remaining requests in the current window of key. It returns the number of
	// reserved requests and the number that remain.
	ReserveQuota(ctx context.Context, key string, start time.Time, length time.Duration, n, limit int) (taken, left int, err error)
}

// limiter counts requests per key in windows of one minute. Each process reserves a portion of the remaining quota for
// itself, so that most requests do not require a query.
type limiter struct {
	limit  int
	now    func() time.Time
	shared quotas // nil if this is the only process

	mu           sync.Mutex
	start        time.Time // start of the window
	reservations map[string]*reservation
}

// reservation is the portion of a key's remaining quota that this process has reserved.
type reservation struct {
	mu   sync.Mutex
	own  int // reserved but unused requests
	left int // unreserved requests at the time of the last query
}

func newLimiter(limit int, now func() time.Time, shared quotas) *limiter {
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

// consume counts one request for the given key. It returns the remaining quota, which is negative if the request
// exceeds it, and the end of the window. If the database does not respond, the process counts independently, because
// requests that need the database then fail anyway.
func (l *limiter) consume(ctx context.Context, key string) (left int, reset time.Time) {
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

// limitAddress counts requests by client address. On a route that requires a bearer token, the decision is deferred
// until the token is verified. A request with a valid token counts toward the limit of its app. Any other request
// counts toward the limit of the address.
func (s *shared) limitAddress(c *gin.Context) {
	if c.FullPath() == "/healthz" || c.FullPath() == "/readyz" || s.bearerRoutes[c.Request.Method+" "+c.FullPath()] && hasBearer(c) {
		s.rateHeaders(c, s.limits.limit, windowEnd(s.now()))
		return
	}
	if err := s.limit(c, addressKey(c)); err != nil {
		s.fail(c, err)
	}
}

// countRejected counts a request whose bearer token was rejected toward the rate limit of its address. It returns the
// rate limit error if the limit is exceeded, and err otherwise.
func (s *shared) countRejected(c *gin.Context, err error) error {
	if rejected, ok := errors.AsType[*models.Error](err); ok && rejected.Kind == models.KindUnauthorized && hasBearer(c) {
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

// addressKey returns the rate limit key of an unauthenticated caller.
func addressKey(c *gin.Context) string { return "address:" + callerNetwork(c) }

// callerNetwork returns the caller's IPv4 address or IPv6 /64 network. A /64 network belongs to a single subscriber.
func callerNetwork(c *gin.Context) string {
	addr, err := netip.ParseAddr(c.ClientIP())
	if err != nil || addr.Unmap().Is4() {
		return c.ClientIP()
	}
	return netip.PrefixFrom(addr.WithZone(""), 64).Masked().String()
}

func (s *shared) limit(c *gin.Context, key string) error {
	left, reset := s.limits.consume(c.Request.Context(), key)
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
