package api

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"log/slog"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"countersign/models"
	"countersign/seal/refusal"
	"countersign/store/blob"
)

// TestProblems: the one error body, with its headers.
func TestProblems(t *testing.T) {
	t.Parallel()
	s := &shared{baseURL: "https://sign.example.com", log: slog.New(slog.DiscardHandler)}
	answer := func(err error, headers ...string) (*httptest.ResponseRecorder, map[string]any) {
		c, w := request(http.MethodGet, "/", "", "")
		for i := 0; i < len(headers); i += 2 {
			c.Request.Header.Set(headers[i], headers[i+1])
		}
		c.Set(requestIDKey, "r1")
		s.fail(c, err)
		require.True(t, c.IsAborted())
		o := objectOf(t, w.Body.String())
		return w, o.m
	}
	for kind, status := range map[models.Kind]int{
		models.KindInvalid: 400, models.KindUnauthorized: 401, models.KindPayment: 402, models.KindForbidden: 403, models.KindNotFound: 404, models.KindConflict: 409, models.KindGone: 410,
		models.KindTooLarge: 413, models.KindUnprocessable: 422, models.KindRateLimited: 429, models.KindUnavailable: 503,
	} {
		w, body := answer(models.Refuse(kind, "some_code", "Why."))
		require.Equal(t, status, w.Code)
		require.Equal(t, "some_code", body["error"])
		require.Equal(t, "Why.", body["message"])
		require.Equal(t, "https://sign.example.com/docs/errors#some_code", body["type"])
		require.Equal(t, http.StatusText(status), body["title"])
		require.Equal(t, map[string]any{}, body["errors"])
		require.Nil(t, body["details"])
		require.Empty(t, w.Header().Get("Retry-After"))
		require.Equal(t, map[bool]string{true: "Bearer"}[status == 401], w.Header().Get("WWW-Authenticate"))
		require.Equal(t, "application/json; charset=utf-8", w.Header().Get("Content-Type"))
	}
	w, _ := answer(errInvalidToken, "Authorization", "Bearer x", "Accept", "text/html, application/problem+json")
	require.Equal(t, `Bearer error="invalid_token"`, w.Header().Get("WWW-Authenticate"))
	require.Equal(t, "application/problem+json", w.Header().Get("Content-Type"))
	w, _ = answer(models.ErrNotFound, "Authorization", "Bearer x")
	require.Empty(t, w.Header().Get("WWW-Authenticate"))
	for wait, secs := range map[time.Duration]string{time.Second: "1", time.Second + 1: "2", 1: "1", time.Minute: "60", -1: ""} {
		late := models.Refuse(models.KindRateLimited, "rate_limited", "Wait.")
		late.RetryAfter, late.Details = wait, map[string]any{"more": "x"}
		w, body := answer(late)
		require.Equal(t, secs, w.Header().Get("Retry-After"), "%s", wait)
		details, _ := body["details"].(map[string]any)
		require.Equal(t, secs != "", details["retryAfterSeconds"] != nil)
		require.Equal(t, "x", details["more"])
		require.Len(t, late.Details, 1, "the refusal itself stays")
	}
	w, body := answer(models.InvalidField("name", "is bad"))
	require.Equal(t, 400, w.Code)
	require.Equal(t, map[string]any{"name": []any{"is bad"}}, body["errors"])
	w, body = answer(refusal.New("pdf_bad", "The PDF."))
	require.Equal(t, []any{400, "pdf_bad", "The PDF."}, []any{w.Code, body["error"], body["message"]})
	w, body = answer(errors.New("secret"))
	require.Equal(t, []any{500, "internal_error"}, []any{w.Code, body["error"]})
	require.Contains(t, body["message"], "r1")
	require.NotContains(t, w.Body.String(), "secret")

	c, gone := request(http.MethodGet, "/", "", "")
	ctx, cancel := context.WithCancel(c.Request.Context())
	cancel()
	c.Request = c.Request.WithContext(ctx)
	s.fail(c, errors.New("canceled"))
	require.True(t, c.IsAborted())
	require.Zero(t, gone.Body.Len(), "nobody reads it")
	require.Nil(t, utcPtr(nil))
}

// TestFileNames: the last part, printable, and of a length that file systems take.
func TestFileNames(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("ä", 200)
	for name, want := range map[string]string{
		"a.pdf": "a.pdf", "/x/a.pdf": "a.pdf", `C:\x\a.pdf`: "a.pdf", "": "", ".": "", "/": "", "a/": "a", "..": "..", long: long, long + "b": long, "a\x00b\u202e.pdf": "ab.pdf",
	} {
		require.Equal(t, want, fileName(name), "%q", name)
	}
	require.Equal(t, `attachment; filename=a.pdf`, contentDisposition("attachment", "a.pdf"))
	require.Equal(t, `inline; filename=_.pdf; filename*=utf-8''%C3%A4.pdf`, contentDisposition("inline", "ä.pdf"))
	require.Equal(t, "a\tb\nc", printable([]byte("a\tb\nc\x00\x1b\xff\u202e")))
}

// multipartOf writes a multipart body: name, file name or "", content, and so on.
func multipartOf(t *testing.T, all ...string) (contentType, body string) {
	t.Helper()
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	for i := 0; i < len(all); i += 3 {
		var p io.Writer
		var err error
		if all[i+1] != "" {
			p, err = w.CreateFormFile(all[i], all[i+1])
		} else {
			p, err = w.CreateFormField(all[i])
		}
		require.NoError(t, err)
		_, err = io.WriteString(p, all[i+2])
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	return w.FormDataContentType(), b.String()
}

func serverWithFiles(t *testing.T) (*shared, string) {
	t.Helper()
	dir := t.TempDir()
	blobs, err := blob.Open(t.Context(), "file://"+dir)
	require.NoError(t, err)
	return &shared{bodyMemory: newBodyMemory(0), blobs: blobs, uploadLimit: 100}, dir
}

// TestParts: one file within its bound, texts once each, and not too many parts.
func TestParts(t *testing.T) {
	t.Parallel()
	s, _ := serverWithFiles(t)
	read := func(limit int64, all ...string) (*parts, error) {
		contentType, body := multipartOf(t, all...)
		c, _ := request(http.MethodPost, "/", contentType, body)
		held := &requestBody{shared: s, maxJSON: maxJSON}
		c.Set(requestBodyKey, held)
		t.Cleanup(held.release)
		out, err := s.readParts(c, limit)
		if err == nil {
			out.file.discard()
		}
		return out, err
	}
	out, err := read(5, "file", "x/a.pdf", "12345", "signers", "", "1", "signers", "", "2", "fields", "", "3", "fields", "", "4", "subject", "", "S")
	require.NoError(t, err)
	require.EqualValues(t, 5, out.file.Size)
	require.Equal(t, "a.pdf", out.file.Name)
	require.Len(t, out.file.SHA256, 64)
	require.Equal(t, map[string][]string{"signers": {"1", "2"}, "fields": {"3", "4"}, "subject": {"S"}}, out.text)
	_, err = read(4, "file", "a.pdf", "12345")
	require.Equal(t, "file_too_large", codeOf(t, err))
	_, err = read(9, "file", "a.pdf", "1", "file", "b.pdf", "2")
	require.ErrorContains(t, err, "given once")
	_, err = read(9, "subject", "", "1", "subject", "", "2")
	require.ErrorContains(t, err, "given once")
	many := func(n int) (all []string) {
		for range n {
			all = append(all, "signers", "", "1")
		}
		return all
	}
	_, err = read(9, many(maxParts)...)
	require.NoError(t, err)
	_, err = read(9, many(maxParts+1)...)
	require.Equal(t, "too_many_parts", codeOf(t, err))
	_, err = read(1<<20, "subject", "", strings.Repeat("x", maxJSON))
	require.NoError(t, err)
	_, err = read(1<<20, "subject", "", strings.Repeat("x", maxJSON+1))
	require.Equal(t, "request_too_large", codeOf(t, err))
	require.ErrorContains(t, err, "The parts beside the file")
	_, err = read(9, "signers", "", strings.Repeat("x", maxJSON-9), "fields", "", strings.Repeat("x", 9000))
	require.Equal(t, "request_too_large", codeOf(t, err), "the body is bounded as a whole")
	c, _ := request(http.MethodPost, "/", "multipart/form-data", "x")
	_, err = s.readParts(c, 9)
	require.Equal(t, "content_type", codeOf(t, err))
	contentType, body := multipartOf(t, "subject", "", "S")
	c, _ = request(http.MethodPost, "/", contentType, body[:len(body)-9])
	c.Set(requestBodyKey, &requestBody{shared: s, maxJSON: maxJSON})
	_, err = s.readParts(c, 9)
	require.Equal(t, "body_unreadable", codeOf(t, err))
}

// TestReceivedFilesAreDiscarded when they are refused, and whose fault a failure is.
func TestReceivedFilesAreDiscarded(t *testing.T) {
	t.Parallel()
	s, dir := serverWithFiles(t)
	left := func() (n int) {
		require.NoError(t, walkFiles(dir, func() { n++ }))
		return n
	}
	for name, tt := range map[string]struct {
		r    io.Reader
		code string
	}{
		"too large":  {strings.NewReader("123456"), "file_too_large"},
		"cut off":    {io.MultiReader(strings.NewReader("1"), failing{io.ErrUnexpectedEOF}), "body_unreadable"},
		"whole body": {failing{&http.MaxBytesError{Limit: 7}}, "file_too_large"},
	} {
		_, err := s.receiveUpload(tt.r, "a", 5)
		require.Equal(t, tt.code, codeOf(t, err), name)
	}
	require.Zero(t, left())
	_, err := s.receiveUpload(failing{&os.PathError{Op: "write", Err: os.ErrClosed}}, "a", 5)
	require.ErrorContains(t, err, "receive upload")
	require.False(t, models.IsRefusal(err))
	u, err := s.receiveUpload(strings.NewReader("12345"), "a", 5)
	require.NoError(t, err)
	u.discard()
	require.Zero(t, left())
	require.Equal(t, "request_too_large", codeOf(t, bodyError(&http.MaxBytesError{Limit: 7})))
	require.ErrorContains(t, bodyError(&http.MaxBytesError{Limit: 7}), "7 bytes")
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

// TestFingerprints: a request that says the same has the same, whatever boundary a client draws; any other differs.
func TestFingerprints(t *testing.T) {
	t.Parallel()
	s, _ := serverWithFiles(t)
	of := func(target, contentType, body string) string {
		c, _ := request(http.MethodPost, target, contentType, body)
		sum, discard, err := s.fingerprint(c, 0)
		require.NoError(t, err)
		defer discard()
		again, err := io.ReadAll(c.Request.Body)
		require.NoError(t, err)
		require.Equal(t, body, string(again), "the body is put back")
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
	require.NotEqual(t, of("/", contentType, body), of("/", otherType, otherBody), "too many parts are but bytes")
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

// TestWhatIsKeptOfAnAnswer: not what belongs to its request, and not more than there is room for.
func TestWhatIsKeptOfAnAnswer(t *testing.T) {
	t.Parallel()
	h := http.Header{"Content-Type": {"a"}, "Location": {"b"}, "X-Request-Id": {"c"}, "Date": {"d"}, "Idempotency-Replayed": {"true"}, "X-Ratelimit-Reset": {"1"}, "Cache-Control": {"no-store"}}
	kept := storableHeaders(h)
	require.Equal(t, http.Header{"Content-Type": {"a"}, "Location": {"b"}}, kept)
	kept["Location"][0] = "x"
	require.Equal(t, "b", h.Get("Location"))

	c, w := request(http.MethodGet, "/", "", "")
	rec := &responseRecorder{ResponseWriter: c.Writer}
	_, err := rec.Write(make([]byte, maxStoredResponse-1))
	require.NoError(t, err)
	_, err = rec.WriteString("x")
	require.NoError(t, err)
	require.False(t, rec.lost)
	require.Equal(t, maxStoredResponse, rec.body.Len())
	_, err = rec.WriteString("y")
	require.NoError(t, err)
	require.True(t, rec.lost)
	require.Equal(t, maxStoredResponse, rec.body.Len())
	require.Equal(t, maxStoredResponse+1, w.Body.Len(), "the client gets all of it")

	scopes := map[string]bool{}
	for _, tt := range [][2]string{{"192.0.2.1:1", ""}, {"192.0.2.2:1", ""}, {"192.0.2.1:1", "Basic x"}, {"192.0.2.1:1", "Basic y"}} {
		c, _ := request(http.MethodPost, "/", "", "")
		c.Request.RemoteAddr = tt[0]
		c.Request.Header.Set("Authorization", tt[1])
		scopes[publicScope(c)] = true
		require.NotContains(t, publicScope(c), "Basic")
	}
	require.Len(t, scopes, 4)
	require.Equal(t, []time.Duration{24 * time.Hour, tokenResponseLifetime, 0}, []time.Duration{replayResponse.lifetime(), replayBriefly.lifetime(), neverReplay.lifetime()})
}

// TestSecureHeaders of every answer; Strict-Transport-Security where addresses are https.
func TestSecureHeaders(t *testing.T) {
	t.Parallel()
	for base, sts := range map[string]string{"https://a.b": "max-age=31536000; includeSubDomains", "http://localhost": ""} {
		s := &signingHandler{subject: subject[signingStore]{shared: &shared{baseURL: base}}}
		c, w := request(http.MethodGet, "/", "", "")
		s.secureHeaders(c)
		for name, want := range map[string]string{
			"Cache-Control": "no-store", "Referrer-Policy": "no-referrer", "X-Content-Type-Options": "nosniff", "X-Frame-Options": "DENY",
			"Content-Security-Policy": "default-src 'none'; base-uri 'none'; frame-ancestors 'none'", "Strict-Transport-Security": sts,
		} {
			require.Equal(t, want, w.Header().Get(name), name)
		}
		name := s.sessionCookieName(uuid.Nil)
		require.Equal(t, sts != "", strings.HasPrefix(name, "__Secure-"))
		require.NotEqual(t, name, s.sessionCookieName(uuid.New()))
	}
}

// TestActionContexts: the caller's programme by at most 512 bytes, without what is no text, and the session it shows.
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
	require.Equal(t, tokenHash("h"), of("", "h", "c").Session, "the header comes first")
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

// walkFiles calls visit for every file below a directory.
func walkFiles(dir string, visit func()) error {
	return filepath.WalkDir(dir, func(_ string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			visit()
		}
		return err
	})
}
