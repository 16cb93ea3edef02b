package api

import (
	"context"
	"crypto/sha256"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"countersign/models"
	"countersign/store"
)

// TestFingerprint_IgnoresBoundary checks that two requests have the same fingerprint if they differ only in the
// multipart boundary.
func TestFingerprint_IgnoresBoundary(t *testing.T) {
	t.Parallel()
	s, _ := serverWithFiles(t)
	of := func(target, contentType, body string) string {
		c, _ := request(http.MethodPost, target, contentType, body)
		sum, discard, err := s.fingerprint(c, 0)
		require.NoError(t, err)
		defer discard()
		again, err := io.ReadAll(c.Request.Body)
		require.NoError(t, err)
		require.Equal(t, body, string(again), "the body can be read again")
		return string(sum)
	}
	seen := map[string]string{}
	differs := func(name, target, contentType, body string) {
		sum := of(target, contentType, body)
		require.Equal(t, sum, of(target, contentType, body), name)
		require.Empty(t, seen[sum], name)
		seen[sum] = name
	}
	form := func(all ...string) (string, string) { return multipartOf(t, all...) }
	differs("json", "/", "application/json", "{}")
	differs("another body", "/", "application/json", "{ }")
	differs("another query", "/?a=1", "application/json", "{}")
	differs("another type", "/", "text/plain", "{}")
	differs("no type", "/", "", "{}")
	differs("a type in the query", "/?application/json", "", "{}")
	large := strings.Repeat("x", maxBodyInMemory)
	differs("in memory", "/", "", large)
	differs("in a file", "/", "", large+"y")
	differs("another file", "/", "", large+"z")
	for name, all := range map[string][]string{
		"a part": {"a", "", "1"}, "another name": {"b", "", "1"}, "another text": {"a", "", "2"}, "a file": {"a", "f", "1"}, "another file name": {"a", "g", "1"}, "two parts": {"a", "", "1", "a", "", "1"},
		"moved": {"a", "", "", "1", "", ""}, "no part": {},
	} {
		contentType, body := form(all...)
		differs(name, "/", contentType, body)
		otherType, otherBody := form(all...)
		require.NotEqual(t, contentType, otherType)
		require.Equal(t, of("/", contentType, body), of("/", otherType, otherBody), "%s: another boundary", name)
	}
	contentType, body := form("a", "", "1")
	differs("cut off", "/", contentType, body[:len(body)-6])
	differs("its bytes as another type", "/", "text/plain", body)
	var parts []string
	for range maxParts + 1 {
		parts = append(parts, "a", "", "1")
	}
	contentType, body = form(parts...)
	otherType, otherBody := form(parts...)
	require.NotEqual(t, of("/", contentType, body), of("/", otherType, otherBody), "a body with too many parts is hashed as raw bytes")
	contentType, body = form(parts[3:]...)
	otherType, otherBody = form(parts[3:]...)
	require.Equal(t, of("/", contentType, body), of("/", otherType, otherBody))

	for _, tt := range []struct {
		contentType string
		file        int64
		code        string
	}{{"", 0, "request_too_large"}, {"application/pdf", 5, "file_too_large"}, {"application/json", 5, "request_too_large"}} {
		c, _ := request(http.MethodPost, "/", tt.contentType, "12345678")
		limitBody(c, 7)
		_, _, err := s.fingerprint(c, tt.file)
		require.Equal(t, tt.code, codeOf(t, err))
	}
	h1, h2 := sha256.New(), sha256.New()
	writeHashPart(h1, "ab")
	writeHashPart(h1, "c")
	writeHashPart(h2, "a")
	writeHashPart(h2, "bc")
	require.NotEqual(t, h1.Sum(nil), h2.Sum(nil))
}

// TestStoredResponse_OmitsRequestHeaders checks that headers specific to a request are not stored, and that a response
// beyond the size limit is not stored.
func TestStoredResponse_OmitsRequestHeaders(t *testing.T) {
	t.Parallel()
	h := http.Header{"Content-Type": {"a"}, "Location": {"b"}, "X-Request-Id": {"c"}, "Date": {"d"}, "Idempotency-Replayed": {"true"}, "X-Ratelimit-Reset": {"1"}, "Cache-Control": {"no-store"}}
	kept := storableHeaders(h)
	require.Equal(t, http.Header{"Content-Type": {"a"}, "Location": {"b"}}, kept)
	kept["Location"][0] = "x"
	require.Equal(t, "b", h.Get("Location"))

	c, w := request(http.MethodGet, "/", "", "")
	rec := &responseRecorder{ResponseWriter: c.Writer}
	_, err := rec.Write(make([]byte, store.MaxStoredResponse-1))
	require.NoError(t, err)
	_, err = rec.WriteString("x")
	require.NoError(t, err)
	require.False(t, rec.lost)
	require.Equal(t, store.MaxStoredResponse, rec.body.Len())
	_, err = rec.WriteString("y")
	require.NoError(t, err)
	require.True(t, rec.lost)
	require.Equal(t, store.MaxStoredResponse, rec.body.Len())
	require.Equal(t, store.MaxStoredResponse+1, w.Body.Len(), "the client receives the whole response")

	scopes := map[string]bool{}
	for _, tt := range [][2]string{{"192.0.2.1:1", ""}, {"192.0.2.2:1", ""}, {"192.0.2.1:1", "Basic x"}, {"192.0.2.1:1", "Basic y"}} {
		c, _ := request(http.MethodPost, "/", "", "")
		c.Request.RemoteAddr = tt[0]
		c.Request.Header.Set("Authorization", tt[1])
		scopes[publicScope(c)] = true
		require.NotContains(t, publicScope(c), "Basic")
	}
	require.Len(t, scopes, 4)
	require.Equal(t, []time.Duration{24 * time.Hour, tokenResponseLifetime, 0}, []time.Duration{replayResponse.lifetime(), replayBriefly.lifetime(), replayNever.lifetime()})
}

// releases is a store that records each call of ReleaseKey with its argument for force.
type releases struct {
	requestStore

	force []bool
}

func (r *releases) ReleaseKey(_ context.Context, _ uuid.UUID, force bool) error {
	r.force = append(r.force, force)
	return nil
}

// TestExecuteFirst_UnknownOutcome_KeepsCommittedKeys checks that a retry does not repeat a request that may have taken
// effect.
func TestExecuteFirst_UnknownOutcome_KeepsCommittedKeys(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		err    error
		status int
		anyway bool
	}{
		"the database is lost":  {fmt.Errorf("commit: %w", driver.ErrBadConn), 503, false},
		"an unexpected failure": {errors.New("fault"), 500, false},
		"a refusal":             {models.ErrNotFound, 404, true},
		"a busy service":        {models.Reject(models.KindUnavailable, "busy", "Wait."), 503, true},
	} {
		requests := &releases{}
		s := &shared{requests: requests, log: slog.New(slog.DiscardHandler)}
		c, w := request(http.MethodPost, "/", "", "")
		require.NoError(t, s.executeFirst(c, uuid.New(), time.Hour, func() error { return tt.err }))
		require.Equal(t, tt.status, w.Code, name)
		require.Equal(t, []bool{tt.anyway}, requests.force, name)
	}
}
