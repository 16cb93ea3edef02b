package api

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"countersign/models"
)

// TestBearerTokens: one scheme, in whatever case, and a token.
func TestBearerTokens(t *testing.T) {
	t.Parallel()
	for header, want := range map[string]string{
		"Bearer x": "x", "bearer x": "x", "BEARER x y": "x y", "": "", "x": "", "Bearer": "", "Bearer ": "", "Basic x": "", "Bearers x": "", " Bearer x": "",
	} {
		c, _ := request(http.MethodGet, "/", "", "")
		c.Request.Header.Set("Authorization", header)
		got, err := bearerToken(c)
		require.Equal(t, want, got, "%q", header)
		if want == "" {
			require.Equal(t, "unauthorized", codeOf(t, err), "%q", header)
		} else {
			require.NoError(t, err)
		}
		scheme, _, _ := strings.Cut(header, " ")
		require.Equal(t, strings.EqualFold(scheme, "bearer"), hasBearer(c), "%q", header)
	}
}

// TestAppsAreRememberedForASecond and not longer, nor when the clock was set back.
func TestAppsAreRememberedForASecond(t *testing.T) {
	t.Parallel()
	var cache appCache
	loads := 0
	load := func(_ context.Context, id uuid.UUID) (*models.App, error) {
		loads++
		return &models.App{ID: id}, nil
	}
	id, start := uuid.New(), time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for _, tt := range []struct {
		after time.Duration
		loads int
	}{{0, 1}, {0, 1}, {time.Second - 1, 1}, {time.Second, 2}, {2*time.Second - 1, 2}, {500 * time.Millisecond, 3}, {500 * time.Millisecond, 3}} {
		app, err := cache.get(t.Context(), id, start.Add(tt.after), load)
		require.NoError(t, err)
		require.Equal(t, id, app.ID)
		require.Equal(t, tt.loads, loads, "%s", tt.after)
	}
	_, err := cache.get(t.Context(), uuid.New(), start, func(context.Context, uuid.UUID) (*models.App, error) { return nil, models.ErrNotFound })
	require.ErrorIs(t, err, models.ErrNotFound)
	require.Len(t, cache.byID, 1, "what is not there is not remembered")
	for len(cache.byID) < maxCachedApps {
		cache.byID[uuid.New()] = cachedApp{at: start}
	}
	_, err = cache.get(t.Context(), uuid.New(), start, load)
	require.NoError(t, err)
	require.Len(t, cache.byID, 1, "a full memory begins anew")
}

// fakeQuotas hands out what it has.
type fakeQuotas struct {
	left  int
	err   error
	asked []int
}

func (q *fakeQuotas) ReserveQuota(_ context.Context, _ string, _ time.Time, _ time.Duration, n, _ int) (taken, left int, err error) {
	q.asked = append(q.asked, n)
	taken = min(n, q.left)
	q.left -= taken
	return taken, q.left, q.err
}

// TestLimiter: exactly as many requests in a minute as are allowed, in portions that grow small near the limit.
func TestLimiter(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	clock := func() time.Time { return now }
	l := newLimiter(3, clock, nil)
	for _, want := range []int{2, 1, 0, -1, -1} {
		left, reset := l.take(t.Context(), "a")
		require.Equal(t, want, left)
		require.Equal(t, now.Truncate(time.Minute).Add(time.Minute), reset)
	}
	left, _ := l.take(t.Context(), "b")
	require.Equal(t, 2, left, "others have their own")
	now = now.Add(54 * time.Second)
	left, _ = l.take(t.Context(), "a")
	require.Equal(t, -1, left, "the minute is not over")
	now = now.Add(time.Second)
	left, _ = l.take(t.Context(), "a")
	require.Equal(t, 2, left)

	shared := &fakeQuotas{left: 64}
	l = newLimiter(64, clock, shared)
	taken := 0
	for {
		if left, _ := l.take(t.Context(), "a"); left < 0 {
			break
		}
		taken++
	}
	require.Equal(t, 64, taken)
	require.Equal(t, 4, shared.asked[0], "a sixteenth of what is left")
	require.Equal(t, 1, shared.asked[len(shared.asked)-1])
	broken := newLimiter(2, clock, &fakeQuotas{err: errors.New("down")})
	for _, want := range []int{1, 0, -1} {
		left, _ := broken.take(t.Context(), "a")
		require.Equal(t, want, left, "it counts alone")
	}
	full := newLimiter(1, clock, nil)
	full.start = now.Truncate(time.Minute)
	for len(full.reservations) < maxKeys {
		full.reservations[uuid.NewString()] = &reservation{left: 1}
	}
	left, _ = full.take(t.Context(), "new")
	require.Equal(t, 0, left)
	left, _ = full.take(t.Context(), "another")
	require.Equal(t, -1, left, "new keys share one count")
	require.Len(t, full.reservations, maxKeys+1)
}

// TestCallerNetwork: an address of IPv4, and the network of one of IPv6.
func TestCallerNetwork(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"192.0.2.7:1": "192.0.2.7", "[2001:db8:1:2:3:4:5:6]:1": "2001:db8:1:2::/64", "[::ffff:192.0.2.7]:1": "192.0.2.7", "": "",
	} {
		c, _ := request(http.MethodGet, "/", "", "")
		c.Request.RemoteAddr = address
		require.Equal(t, want, callerNetwork(c), address)
	}
}

// TestOrigins: exact origins by https, and in development by http of this machine.
func TestOrigins(t *testing.T) {
	t.Parallel()
	longest := "https://" + strings.Repeat("a", 253)
	for text, want := range map[string]string{
		"https://app.example.com": "https://app.example.com", "HTTPS://App.Example.com": "https://app.example.com", "https://App.Example.com": "https://app.example.com", "https://a.b:8443": "https://a.b:8443",
		"https://a.b/": "", "https://a.b/x": "", "https://a.b?x": "", "https://a.b#x": "", "https://u@a.b": "", "http://a.b": "", "https://": "", "https:a.b": "", "ftp://a.b": "", "a.b": "",
		"https://*.b": "", "https://a'b": "", "https://a;b": "", "https://a,b": "", "null": "", "http://localhost": "", "http://127.0.0.1:1": "", "https://localhost": "https://localhost",
		longest: longest, longest + "a": "", "://": "",
	} {
		s := &embeddedHandler{}
		o := &object{m: map[string]any{"o": text}, p: models.Problems{}}
		got := s.origin(o, "o")
		require.Equal(t, want == "", len(o.p) > 0, text)
		if want != "" {
			require.Equal(t, want, got)
		}
	}
	o := &object{m: map[string]any{}, p: models.Problems{}}
	require.Empty(t, (&embeddedHandler{}).origin(o, "o"))
	require.Equal(t, models.Problems{"o": {"is required"}}, o.p)
	s := &embeddedHandler{}
	s.development = true
	for text, want := range map[string]bool{
		"http://localhost": true, "http://127.0.0.1:8080": true, "http://[::1]:1": true, "https://localhost": true, "http://a.b": false, "ftp://localhost": false, "http://u@localhost": false,
	} {
		u, err := url.Parse(text)
		require.NoError(t, err)
		require.Equal(t, want, s.secureURL(u), text)
	}
}

// TestThemes: two members mean something, and must be what styles can take.
func TestThemes(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][2]string{
		`{}`: {}, `{"theme":null}`: {}, `{"theme":{"other":1}}`: {}, `{"theme":{"primaryColor":"#1a56db"}}`: {"#1a56db"}, `{"theme":{"primaryColor":"#ABC"}}`: {"#ABC"},
		`{"theme":{"borderRadius":8}}`: {"", "8px"}, `{"theme":{"borderRadius":"8"}}`: {"", "8"}, `{"theme":{"borderRadius":"0.5rem"}}`: {"", "0.5rem"},
		`{"theme":{"borderRadius":"100%"}}`: {"", "100%"}, `{"theme":{"borderRadius":1.25}}`: {"", "1.25px"},
	} {
		o := objectOf(t, text)
		color, corners := readTheme(o)
		require.Empty(t, o.p, text)
		got := [2]string{}
		if color != nil {
			got[0] = *color
		}
		if corners != nil {
			got[1] = *corners
		}
		require.Equal(t, want, got, text)
	}
	for _, text := range []string{
		`"primaryColor":"red"`, `"primaryColor":"#12"`, `"primaryColor":"#1234567"`, `"primaryColor":"#1a56db;"`, `"primaryColor":7`, `"borderRadius":"8pt"`, `"borderRadius":"1000"`,
		`"borderRadius":-1`, `"borderRadius":1.234`, `"borderRadius":true`, `"borderRadius":""`,
	} {
		o := objectOf(t, `{"theme":{`+text+`}}`)
		readTheme(o)
		name, _, _ := strings.Cut(strings.TrimPrefix(text, `"`), `"`)
		require.Contains(t, o.p, "theme."+name, text)
	}
}

// TestReferers: the page that led to an embedded one is of the session's origin, or our own.
func TestReferers(t *testing.T) {
	t.Parallel()
	s := &embeddedHandler{}
	s.embedURL = "https://Sign.example.com/embed"
	for referer, want := range map[string]bool{
		"https://app.example.com/x": true, "https://APP.example.com": true, "https://sign.example.com/embed/t": true, "https://sign.example.com:8443/": false, "http://app.example.com": false,
		"https://other.example.com": false, "": false, "://": false,
	} {
		require.Equal(t, want, s.isAllowedReferer(referer, "https://app.example.com"), referer)
	}
	s.embedURL = "://"
	require.False(t, s.isAllowedReferer("https://sign.example.com", "https://app.example.com"))
	require.True(t, s.isAllowedReferer("https://app.example.com", "https://app.example.com"))
}

// TestFrameAncestors: one directive replaces the page's own, before the first byte, and once.
func TestFrameAncestors(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		ancestor string
		status   int
		write    int // 0: a body without a status
		want     int
		options  string
	}{
		{"https://a.b", 0, 0, 200, ""}, {"https://a.b", 0, 200, 200, ""}, {"https://a.b", 0, 304, 304, ""}, {"'none'", 404, 200, 404, "DENY"}, {"'none'", 404, 0, 404, "DENY"}, {"'none'", 404, 304, 304, "DENY"},
	} {
		rec := httptest.NewRecorder()
		rec.Header().Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'self' ; ; script-src 'self'")
		rec.Header().Set("X-Frame-Options", "DENY")
		w := &frameAncestorsWriter{ResponseWriter: rec, ancestor: tt.ancestor, status: tt.status}
		if tt.write != 0 {
			w.WriteHeader(tt.write)
		}
		if tt.write != http.StatusNotModified {
			_, err := io.WriteString(w, "x")
			require.NoError(t, err)
			require.Equal(t, "x", rec.Body.String())
		}
		require.Equal(t, tt.want, rec.Code, "%+v", tt)
		require.Equal(t, "default-src 'none'; script-src 'self'; frame-ancestors "+tt.ancestor, rec.Header().Get("Content-Security-Policy"))
		require.Equal(t, tt.options, rec.Header().Get("X-Frame-Options"))
	}
}

// TestWithOrigin tells a refusal where the session belongs, and leaves the refusal itself alone.
func TestWithOrigin(t *testing.T) {
	t.Parallel()
	session := &models.EmbeddedSession{PageSession: models.PageSession{AllowedOrigin: "https://a.b"}, EnvelopeID: uuid.New(), SignerID: uuid.New()}
	base := models.Refuse(models.KindGone, "gone", "Gone.")
	base.Details = map[string]any{"more": 1}
	var told *models.Error
	require.ErrorAs(t, withOrigin(base, session), &told)
	require.Equal(t, map[string]any{"more": 1, "allowedOrigin": "https://a.b", "envelopeId": session.EnvelopeID, "signerId": session.SignerID}, told.Details)
	require.Equal(t, map[string]any{"more": 1}, base.Details)
	require.ErrorAs(t, withOrigin(models.Refuse(models.KindGone, "gone", "Gone."), session), &told)
	require.Len(t, told.Details, 3)
	other := errors.New("other")
	require.Equal(t, other, withOrigin(other, session))
}
