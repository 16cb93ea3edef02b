package api

import (
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"

	"countersign/models"
)

const keyRequestID = "request-id"

func requestID(c *gin.Context) string { return c.GetString(keyRequestID) }

// observe gives the request an id and writes one log line, with the route
// instead of the path, which may hold a token.
func (s *Server) observe(c *gin.Context) {
	id := uuid.NewString()
	c.Set(keyRequestID, id)
	c.Header("X-Request-Id", id)
	start := s.Now()
	c.Next()
	level := slog.LevelDebug
	if c.Writer.Status() >= http.StatusInternalServerError {
		level = slog.LevelError
	}
	s.log.Log(c.Request.Context(), level, "request", "request", id, "method", c.Request.Method, "route", c.FullPath(),
		"status", c.Writer.Status(), "ms", s.Now().Sub(start).Milliseconds())
}

func (s *Server) recoverPanic(c *gin.Context) {
	defer func() {
		if p := recover(); p != nil {
			s.fail(c, fmt.Errorf("panic: %v\n%s", p, debug.Stack()))
		}
	}()
	c.Next()
}

// secureHeaders: paths hold tokens, and answers what only their reader may see.
func (s *Server) secureHeaders(c *gin.Context) {
	h := c.Writer.Header()
	h.Set("Cache-Control", "no-store")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
	h.Set("X-Frame-Options", "DENY")
	if strings.HasPrefix(s.BaseURL, "https://") {
		h.Set("Strict-Transport-Security", "max-age=31536000")
	}
	c.Next()
}

// limiter counts requests per key in windows of a minute.
type limiter struct {
	limit int
	now   func() time.Time
	mu    sync.Mutex
	start time.Time // of the window
	count map[string]int
}

const (
	window  = time.Minute
	maxKeys = 100_000 // beyond it, new keys share one count
)

func newLimiter(limit int, now func() time.Time) *limiter {
	return &limiter{limit: limit, now: now, count: make(map[string]int)}
}

// take counts one request of key. It returns what is left, and when the window ends.
func (l *limiter) take(key string) (left int, reset time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if start := l.now().Truncate(window); !start.Equal(l.start) {
		l.start = start
		clear(l.count)
	}
	if _, ok := l.count[key]; !ok && len(l.count) >= maxKeys {
		key = "others"
	}
	l.count[key]++
	return l.limit - l.count[key], l.start.Add(window)
}

// limitAddress counts requests without a bearer per address; those with one are
// counted per app once it is known.
func (s *Server) limitAddress(c *gin.Context) {
	if strings.HasPrefix(c.GetHeader("Authorization"), "Bearer ") || c.FullPath() == "/healthz" || c.FullPath() == "/readyz" {
		s.rateHeaders(c, s.limits.limit, s.now().Truncate(window).Add(window))
		return
	}
	if err := s.limit(c, "address:"+c.ClientIP()); err != nil {
		s.fail(c, err)
	}
}

func (s *Server) now() time.Time { return s.Now() }

func (s *Server) limit(c *gin.Context, key string) error {
	left, reset := s.limits.take(key)
	s.rateHeaders(c, left, reset)
	if left < 0 {
		e := models.Refuse(models.KindRateLimited, "rate_limited", "Too many requests; the limit is %d per minute.", s.limits.limit)
		e.RetryAfter = max(reset.Sub(s.now()), time.Second)
		return e
	}
	return nil
}

func (s *Server) rateHeaders(c *gin.Context, left int, reset time.Time) {
	c.Header("X-RateLimit-Limit", strconv.Itoa(s.limits.limit))
	c.Header("X-RateLimit-Remaining", strconv.Itoa(max(left, 0)))
	c.Header("X-RateLimit-Reset", strconv.FormatInt(reset.Unix(), 10))
}

// clean drops what must not get into the audit trail or a log line.
func clean(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == unicode.ReplacementChar {
			return -1
		}
		return r
	}, strings.ToValidUTF8(s, ""))
}
