package api

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"countersign/models"
)

// TestActionContexts checks that the user agent is truncated to 512 bytes of valid text, and that the session is read
// from the request.
func TestActionContexts(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 2, 3, 4, 5, 6789, time.FixedZone("", 3600))
	s := &signingHandler{subject: subject[signingStore]{shared: &shared{now: func() time.Time { return now }}}}
	l := signerLink{}
	l.ID = uuid.New()
	of := func(agent, header, cookie string) models.ActionContext {
		c, _ := request(http.MethodGet, "/", "", "")
		c.Request.Header.Set("User-Agent", agent)
		if header != "" {
			c.Request.Header.Set(sessionHeader, header)
		}
		if cookie != "" {
			c.Request.AddCookie(&http.Cookie{Name: s.sessionCookieName(l.ID), Value: cookie})
		}
		return s.signerContext(c, l)
	}
	act := of(strings.Repeat("x", 513), "", "")
	require.Equal(t, strings.Repeat("x", 512), act.UserAgent)
	require.Equal(t, time.Date(2026, 1, 2, 2, 4, 5, 6000, time.UTC), act.At)
	require.Nil(t, act.Session)
	require.Equal(t, strings.Repeat("x", 512), of(strings.Repeat("x", 512), "", "").UserAgent)
	require.Equal(t, "ab", of("a\tb"[:1]+"\u202eb", "", "").UserAgent)
	require.Equal(t, tokenHash("h"), of("", "h", "c").Session, "the header takes precedence")
	require.Equal(t, tokenHash("c"), of("", "", "c").Session)
	require.Equal(t, tokenHash(strings.Repeat("t", 100)), of("", strings.Repeat("t", 100), "").Session)
	require.Nil(t, of("", strings.Repeat("t", 101), "").Session)
	for _, embedded := range []bool{false, true} {
		c, w := request(http.MethodGet, "/", "", "")
		if embedded {
			l.Session = uuid.New()
		}
		s.setSessionCookie(c, l, "token", now.Add(90*time.Second))
		cookies := w.Result().Cookies()
		require.Len(t, cookies, 1)
		require.Equal(t, "token", cookies[0].Value)
		require.Equal(t, 90, cookies[0].MaxAge)
		require.Equal(t, "/v1/signing/", cookies[0].Path)
		require.True(t, cookies[0].HttpOnly)
		require.Equal(t, embedded, cookies[0].Secure)
		require.Equal(t, embedded, cookies[0].Partitioned)
		require.Equal(t, map[bool]http.SameSite{false: http.SameSiteLaxMode, true: http.SameSiteNoneMode}[embedded], cookies[0].SameSite)
		c, w = request(http.MethodGet, "/", "", "")
		s.setSessionCookie(c, l, "token", now.Add(-time.Second))
		require.Equal(t, 1, w.Result().Cookies()[0].MaxAge)
	}
}
