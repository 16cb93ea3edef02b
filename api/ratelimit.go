package api

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/gin-gonic/gin"

	"countersign/models"
)

const (
	window  = time.Minute
	maxKeys = 100_000 // beyond it, new keys share one count
	// portions is how many reservations a process makes of what is left: large
	// ones while there is much, single ones near the limit, so that several
	// processes together keep to it.
	portions = 16
)

// Windows counts for all processes together.
type Windows interface {
	// TakeFrom takes up to n of what is left of limit in key's window. It
	// returns how many were taken and how many are left after that.
	TakeFrom(ctx context.Context, key string, start time.Time, length time.Duration, n, limit int) (taken, left int, err error)
}

// limiter counts requests per key in windows of a minute. Each process reserves
// a portion of what is left for itself, so that most requests cost no query.
type limiter struct {
	limit  int
	now    func() time.Time
	shared Windows // nil: this process is the only one

	mu    sync.Mutex
	start time.Time // of the window
	keys  map[string]*allowance
}

// allowance is what a process may still let through for one key.
type allowance struct {
	mu   sync.Mutex
	own  int // reserved and not used
	left int // not reserved by anybody, as last seen
}

func newLimiter(limit int, now func() time.Time, shared Windows) *limiter {
	return &limiter{limit: limit, now: now, shared: shared, keys: make(map[string]*allowance)}
}

func (l *limiter) allowance(key string) (*allowance, time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if start := l.now().UTC().Truncate(window); !start.Equal(l.start) {
		l.start = start
		clear(l.keys)
	}
	a, ok := l.keys[key]
	if !ok && len(l.keys) >= maxKeys {
		key = "others"
		a, ok = l.keys[key]
	}
	if !ok {
		a = &allowance{left: l.limit}
		l.keys[key] = a
	}
	return a, l.start
}

// take counts one request of key. It returns what is left, negative if the
// request is one too many, and when the window ends. Should the database not
// answer, this process counts alone: the request will fail for that reason, or
// need no database.
func (l *limiter) take(ctx context.Context, key string) (left int, reset time.Time) {
	a, start := l.allowance(key)
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.own == 0 && a.left > 0 {
		n := max(1, a.left/portions)
		taken, rest, err := n, a.left-n, error(nil)
		if l.shared != nil {
			taken, rest, err = l.shared.TakeFrom(ctx, key, start, window, n, l.limit)
		}
		if err != nil {
			taken, rest = n, a.left-n
		}
		a.own, a.left = taken, rest
	}
	if a.own == 0 {
		return -1, start.Add(window)
	}
	a.own--
	return a.left + a.own, start.Add(window)
}

// limitAddress counts requests without a bearer per address; those with one are
// counted per app once it is known.
func (s *Server) limitAddress(c *gin.Context) {
	scheme, _, _ := strings.Cut(c.GetHeader("Authorization"), " ")
	if strings.EqualFold(scheme, "Bearer") || c.FullPath() == "/healthz" || c.FullPath() == "/readyz" {
		s.rateHeaders(c, s.limits.limit, s.Now().Truncate(window).Add(window))
		return
	}
	if err := s.limit(c, "address:"+c.ClientIP()); err != nil {
		s.fail(c, err)
	}
}

func (s *Server) limit(c *gin.Context, key string) error {
	left, reset := s.limits.take(c.Request.Context(), key)
	s.rateHeaders(c, left, reset)
	if left < 0 {
		e := models.Refuse(models.KindRateLimited, "rate_limited", "Too many requests; the limit is %d per minute.", s.limits.limit)
		e.RetryAfter = max(reset.Sub(s.Now()), time.Second)
		return e
	}
	return nil
}

func (s *Server) rateHeaders(c *gin.Context, left int, reset time.Time) {
	c.Header("X-RateLimit-Limit", strconv.Itoa(s.limits.limit))
	c.Header("X-RateLimit-Remaining", strconv.Itoa(max(left, 0)))
	c.Header("X-RateLimit-Reset", strconv.FormatInt(reset.Unix(), 10))
}

// throttle counts in the database, exactly and for all processes, what must not
// be tried too often: at most limit in a minute.
func (s *Server) throttle(c *gin.Context, key string, limit int) error {
	start := s.Now().UTC().Truncate(window)
	taken, _, err := s.Store.TakeFrom(c.Request.Context(), key, start, window, 1, limit)
	if err != nil {
		return err
	}
	if taken == 0 {
		e := models.Refuse(models.KindRateLimited, "rate_limited", "Too many tries; please wait.")
		e.RetryAfter = max(start.Add(window).Sub(s.Now()), time.Second)
		return e
	}
	return nil
}

// How many wrong tries a minute an account may see, and an address may make.
const (
	wrongPerAccount = 20
	wrongPerAddress = 60
)

// guarded lets try check a credential, and counts wrong ones for the account and
// for the caller's address: a try is taken beforehand, so that many at the same
// time cannot exceed the limit, and given back if it was right.
func guarded[T any](c *gin.Context, s *Server, what, account string, try func() (T, error)) (T, error) {
	var none T
	start := s.Now().UTC().Truncate(window)
	// Strangers write what they like: it is kept as a hash.
	sum := sha256.Sum256([]byte(account))
	account = hex.EncodeToString(sum[:16])
	keys := []struct {
		key   string
		limit int
	}{{what + "-account:" + account, wrongPerAccount}, {what + "-address:" + c.ClientIP(), wrongPerAddress}}
	for _, k := range keys {
		if err := s.throttle(c, k.key, k.limit); err != nil {
			return none, err
		}
	}
	v, err := try()
	if err != nil {
		return none, err
	}
	for _, k := range keys {
		if _, _, err := s.Store.TakeFrom(c.Request.Context(), k.key, start, window, -1, k.limit); err != nil {
			return none, err
		}
	}
	return v, nil
}
