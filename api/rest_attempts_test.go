package api_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"countersign/api"
	"countersign/models"
	"countersign/test/kit"
)

// startWithRateLimit starts a service with a rate limit of n requests per minute.
func startWithRateLimit(t *testing.T, n int) *service {
	t.Helper()
	s := onSQLite(t, func(cfg *api.Config) {
		cfg.RateLimit, cfg.TrustedProxies = n, []string{"127.0.0.1"} // lets tests choose their client addresses
	})
	s.clock.nextMinute()
	return s
}

// TestRateLimit_ForgedTokensCountByAddress checks that a forged bearer token does not allow additional requests on any
// route.
func TestRateLimit_ForgedTokensCountByAddress(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"/v1/receipts/x", "/v1/signing/x", "/v1/download/x", "/v1/envelopes?tenantId=acme", "/v1/console/usage", "/nowhere", "/v1/nowhere"} {
		t.Run(path, func(t *testing.T) {
			t.Parallel()
			s := startWithRateLimit(t, 20)
			forged := (&client{t: t, s: s, token: "x"}).with("X-Forwarded-For", "203.0.113.7")
			passed := 0
			for range 60 {
				if a := forged.get(path); a.status != http.StatusTooManyRequests {
					passed++
				}
			}
			require.Equal(t, 20, passed)
			elsewhere := (&client{t: t, s: s, token: "x"}).with("X-Forwarded-For", "203.0.113.8")
			require.NotEqual(t, http.StatusTooManyRequests, elsewhere.get(path).status)
			good := s.client(t).with("X-Forwarded-For", "203.0.113.7")
			for range 5 {
				good.get("/v1/console/usage").want(200) // a request with a valid token counts toward the limit of its app
			}
		})
	}
}

// TestRateLimit_IPv6NetworkIsOneCaller checks that the 2^64 addresses of an IPv6 subscriber share one limit.
func TestRateLimit_IPv6NetworkIsOneCaller(t *testing.T) {
	t.Parallel()
	s := startWithRateLimit(t, 3)
	passed := 0
	for _, ip := range []string{"2001:db8::1", "2001:db8::2", "2001:db8::ffff", "2001:db8:0:0:1::1", "2001:db8::5"} {
		if (&client{t: t, s: s}).with("X-Forwarded-For", ip).get("/v1/receipts/x").status != http.StatusTooManyRequests {
			passed++
		}
	}
	require.Equal(t, 3, passed)
	(&client{t: t, s: s}).with("X-Forwarded-For", "2001:db8:0:1::1").get("/v1/receipts/x").want(401)
}

// TestRateLimit_RejectedRolesCount checks that requests rejected because of the user's role count toward the limit of
// the app.
func TestRateLimit_RejectedRolesCount(t *testing.T) {
	t.Parallel()
	s := startWithRateLimit(t, 20)
	viewer := s.person(t, models.RoleViewer)
	limit := 0
	for range 40 {
		if viewer.get("/v1/console/users").status == http.StatusTooManyRequests {
			limit++
		}
	}
	require.Positive(t, limit)
}

// TestRateLimit_GuessesDoNotLockOut checks that guesses do not consume the limit of an address from which the account
// was used.
func TestRateLimit_GuessesDoNotLockOut(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, s *service) {
		cfg := s.cfg
		cfg.TrustedProxies = []string{"127.0.0.1"}
		h, err := api.New(cfg)
		require.NoError(t, err)
		s.Config.Handler = h
		// Use a password whose hash is fast to compute in tests. Client secrets are limited in the same way.
		_, err = s.store.CreateUser(t.Context(), s.app.ID, "ada@example.com", "Ada", password, models.RoleViewer)
		require.NoError(t, err)
		s.pass = password
		from := func(ip, secret string) *response {
			return (&client{t: t, s: s}).with("X-Forwarded-For", ip).post("/v1/console/login", object{"email": "ada@example.com", "password": secret})
		}
		s.clock.nextMinute()
		from("198.51.100.1", s.pass).want(200)
		for range 20 {
			from("203.0.113.66", "guess").rejected(401, "invalid_credentials")
		}
		from("203.0.113.66", "guess").rejected(429, "rate_limited")
		from("203.0.113.67", "guess").rejected(429, "rate_limited")
		from("203.0.113.68", s.pass).rejected(429, "rate_limited") // the limit for unknown addresses is reached
		for range 25 {
			from("198.51.100.1", s.pass).want(200)
		}
		// A known address has a separate limit.
		for range 20 {
			from("198.51.100.1", "guess").rejected(401, "invalid_credentials")
		}
		from("198.51.100.1", s.pass).rejected(429, "rate_limited")
		s.clock.advance(40 * time.Second)
		from("198.51.100.1", s.pass).rejected(429, "rate_limited")
		s.clock.advance(20 * time.Second)
		from("198.51.100.1", s.pass).want(200)

		// The address is forgotten after a month without a successful attempt.
		s.clock.advance(31 * 24 * time.Hour)
		s.clock.nextMinute()
		require.NoError(t, kit.RemoveExpired(t.Context(), s.store))
		for range 20 {
			from("203.0.113.66", "guess").rejected(401, "invalid_credentials")
		}
		from("198.51.100.1", s.pass).rejected(429, "rate_limited")
	})
}
