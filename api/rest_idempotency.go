package api

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"maps"
	"mime"
	"net/http"
	"strings"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"

	"countersign/internal/credential"
	"countersign/internal/failpoint"
	"countersign/models"
	"countersign/seal/rejection"
	"countersign/store"
	"countersign/store/blob"
)

const (
	idempotencyHeader = "Idempotency-Key"
	replayedHeader    = "Idempotency-Replayed"
	maxKey            = 255
	// responseLifetime is the period for which a response is stored, so that the request can be retried.
	responseLifetime = 24 * time.Hour
	// tokenResponseLifetime is the period for which a response with an access token is stored. It is shorter than the
	// lifetime of the token, so that a replayed token remains usable.
	tokenResponseLifetime = credential.AccessLifetime / 2
	storeTimeout          = 10 * time.Second
	// minResponseLifetime is the period for which a key remains claimed if the process that claimed it dies.
	minResponseLifetime = time.Minute
)

// perRequestHeaders contains the headers that are not part of a stored response. They are set individually for each
// replay.
var perRequestHeaders = map[string]bool{
	"X-Request-Id": true, "X-Ratelimit-Limit": true, "X-Ratelimit-Remaining": true, "X-Ratelimit-Reset": true, "Date": true, replayedHeader: true,
	"Cache-Control": true, "Referrer-Policy": true, "X-Content-Type-Options": true, "Content-Security-Policy": true, "X-Frame-Options": true,
	"Strict-Transport-Security": true,
}

// storableHeaders returns the headers to include in the stored response.
func storableHeaders(h http.Header) http.Header {
	out := h.Clone()
	maps.DeleteFunc(out, func(name string, _ []string) bool { return perRequestHeaders[name] })
	return out
}

// idempotent runs fn, or replays the response to the first request with the same Idempotency-Key. The parameter scope
// identifies the owner of the key. The route determines how long the response is stored. If that period is zero, the
// key only prevents concurrent requests.
func (s *shared) idempotent(c *gin.Context, r route, scope, path string, fn func() error) error {
	key := c.GetHeader(idempotencyHeader)
	if key == "" || c.Request.Method != http.MethodPost {
		return fn()
	}
	if len(key) > maxKey || strings.ContainsFunc(key, func(r rune) bool { return r < 0x20 || r > 0x7e }) {
		return models.InvalidField(idempotencyHeader, "must have at most %d printable ASCII characters", maxKey)
	}
	sum, discard, err := s.fingerprint(c, r.body.file)
	if err != nil {
		return err
	}
	defer discard()
	ctx, keep := c.Request.Context(), r.replay.lifetime()
	id, answer, err := s.requests.ClaimKey(ctx, store.IdempotentRequest{Scope: scope, Method: c.Request.Method, Path: path, Key: key, Fingerprint: sum}, max(keep, minResponseLifetime))
	if err != nil {
		return err
	}
	if answer != nil {
		c.Header(replayedHeader, "true")
		return render(c, answer)
	}
	return s.executeFirst(c, id, keep, fn)
}

// executeFirst runs fn for the first request with a key. It stores the response if the request took effect (2xx).
// Otherwise it releases the key, which can then be used with another body.
func (s *shared) executeFirst(c *gin.Context, id uuid.UUID, keepFor time.Duration, fn func() error) error {
	rec := &responseRecorder{ResponseWriter: c.Writer}
	c.Writer = rec
	claimed := &claimedKey{id: id}
	c.Set(claimedKeyName, claimed)
	answered := false
	// Store the response even if the client has disconnected.
	keep, cancel := context.WithTimeout(context.WithoutCancel(c.Request.Context()), storeTimeout)
	defer cancel()
	defer func() {
		if !answered { // fn panicked
			_ = s.requests.ReleaseKey(keep, id, false)
		}
	}()
	unknown := false // set if it is unknown whether the request took effect
	if err := fn(); err != nil {
		_, rejected := errors.AsType[*models.Error](err)
		_, unusable := errors.AsType[*rejection.Error](err)
		unknown = !rejected && !unusable
		s.fail(c, err)
	}
	answered = true
	failpoint.Inject("api.done")
	c.Writer = rec.ResponseWriter
	status := rec.Status()
	var err error
	a := store.StoredResponse{Status: status, Header: storableHeaders(rec.Header()), Body: rec.body.Bytes()}
	switch {
	case unknown || status == http.StatusInternalServerError || rec.lost || !rec.Written() && status == http.StatusOK:
		err = s.requests.ReleaseKey(keep, id, false) // a committed request does not run again
	case keepFor == 0 || c.GetBool(noStoreKey) || status < 200 || status > 299:
		err = s.requests.ReleaseKey(keep, id, true)
	case !claimed.stored:
		err = s.requests.StoreResponse(keep, id, a)
	}
	if err != nil { // the client received the response, but a retry will be rejected
		s.log.ErrorContext(keep, "could not store the response for retries", "request", requestID(c), "error", err)
	}
	return nil
}

// noStoreKey marks a request whose response must not be stored.
const noStoreKey = "countersign/no-answer"

// doNotStoreResponse excludes a response from replay because it contains a secret that is not stored anywhere else. A
// retry then runs the request again.
func doNotStoreResponse(c *gin.Context) { c.Set(noStoreKey, true) }

// responseRecorder records a response so that it can be replayed.
type responseRecorder struct {
	gin.ResponseWriter

	body bytes.Buffer
	lost bool // the body is too large to store
}

// Write implements io.Writer.
func (r *responseRecorder) Write(b []byte) (int, error) {
	if r.body.Len()+len(b) > store.MaxStoredResponse {
		r.lost = true
	} else {
		r.body.Write(b)
	}
	return r.ResponseWriter.Write(b)
}

// WriteString implements io.StringWriter.
func (r *responseRecorder) WriteString(s string) (int, error) { return r.Write([]byte(s)) }

// maxBodyInMemory is the maximum size of a body that is buffered in memory, in bytes.
const maxBodyInMemory = 16 << 10

// fingerprint returns a hash of the request body. It reads the body to its end and replaces it with a re-readable copy.
// The parameter file is the maximum size of a file in the body, or 0 if the route accepts no file.
func (s *shared) fingerprint(c *gin.Context, file int64) (sum []byte, discard func(), err error) {
	body, _, discard, err := s.spool(c.Request.Body, maxBodyInMemory)
	if err != nil {
		if rejected, ok := errors.AsType[*models.Error](err); ok && rejected.Kind == models.KindTooLarge && file > 0 && c.ContentType() != "application/json" {
			err = fileTooLarge(file) // the same error as for a request without a key
		}
		return nil, nil, err
	}
	h := sha256.New()
	writeHashPart(h, c.Request.URL.RawQuery)
	if err = digest(h, c.GetHeader("Content-Type"), body); err == nil {
		_, err = body.Seek(0, io.SeekStart)
	}
	if err != nil {
		discard()
		return nil, nil, fmt.Errorf("compute digest of body: %w", err)
	}
	c.Request.Body = spooledBody{body}
	return h.Sum(nil), discard, nil
}

// spooledBody is a request body that was read completely and can be read again.
type spooledBody struct{ io.ReadSeeker }

// Close implements io.Closer.
func (spooledBody) Close() error { return nil }

// spool reads a body to its end. It stores at most inMemory bytes in memory, and a larger body in a temporary file,
// which discard() removes. It returns the number of bytes in memory.
func (s *shared) spool(src io.Reader, inMemory int) (body io.ReadSeeker, used int, discard func(), err error) {
	if b, ok := src.(spooledBody); ok {
		return b, 0, func() {}, nil // the caller that spooled the body discards it
	}
	head, err := io.ReadAll(io.LimitReader(src, int64(inMemory)+1))
	if err != nil {
		return nil, 0, nil, bodyError(err)
	}
	if len(head) <= inMemory {
		return bytes.NewReader(head), len(head), func() {}, nil
	}
	f, err := s.blobs.Temp()
	if err != nil {
		return nil, 0, nil, err
	}
	if _, err = io.Copy(f, io.MultiReader(bytes.NewReader(head), src)); err == nil {
		_, err = f.Seek(0, io.SeekStart)
	}
	if err == nil {
		return f, 0, func() { blob.Discard(f) }, nil
	}
	blob.Discard(f)
	if isWriteError(err) {
		return nil, 0, nil, fmt.Errorf("receive body: %w", err)
	}
	return nil, 0, nil, bodyError(err)
}

// digest hashes a body. It hashes a multipart body part by part, because a client generates a new boundary for each
// retry.
func digest(h hash.Hash, contentType string, body io.ReadSeeker) error {
	t, params, err := mime.ParseMediaType(contentType)
	if err != nil || t != "multipart/form-data" || params["boundary"] == "" {
		writeHashPart(h, t)
		_, err := io.Copy(h, body)
		return err
	}
	parts := sha256.New()
	mr := newMultipartReader(body, params["boundary"])
	for n := 0; n <= maxParts; n++ {
		p, err := mr.nextRaw()
		if errors.Is(err, io.EOF) {
			writeHashPart(h, t)
			h.Write(parts.Sum(nil))
			return nil
		}
		if err != nil {
			break
		}
		writeHashPart(parts, p.FormName())
		writeHashPart(parts, p.FileName())
		writeHashPart(parts, p.Header.Get("Content-Type"))
		content := sha256.New()
		if _, err := io.Copy(content, p); err != nil {
			break
		}
		parts.Write(content.Sum(nil))
	}
	// Hash the raw bytes of an invalid multipart body.
	if _, err := body.Seek(0, io.SeekStart); err != nil {
		return err
	}
	_, err = io.Copy(h, body)
	return err
}

// writeHashPart hashes a string together with its length, which makes its end unambiguous.
func writeHashPart(h hash.Hash, text string) {
	var n [8]byte
	binary.BigEndian.PutUint64(n[:], uint64(len(text)))
	h.Write(n[:])
	h.Write([]byte(text))
}

// publicScope returns the scope of an idempotency key in an unauthenticated call. It consists of the caller's network
// and a hash of the Authorization header. Credentials in the body are part of the fingerprint.
func publicScope(c *gin.Context) string {
	sum := sha256.Sum256([]byte(c.GetHeader("Authorization")))
	return "public:" + hex.EncodeToString(sum[:8]) + ":" + callerNetwork(c)
}
