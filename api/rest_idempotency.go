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
	"countersign/seal/refusal"
	"countersign/store"
	"countersign/store/blob"
)

const (
	idempotencyHeader = "Idempotency-Key"
	replayedHeader    = "Idempotency-Replayed"
	maxKey            = 255
	// responseLifetime is how long a request can be repeated. An access token is kept
	// for half its life, so that what is repeated is still of use.
	responseLifetime      = 24 * time.Hour
	tokenResponseLifetime = credential.AccessLifetime / 2
	storeTimeout          = 10 * time.Second
	// minResponseLifetime is how long a key is remembered whose process died.
	minResponseLifetime = time.Minute
)

// perRequestHeaders are the headers that belong to a request and not to its answer:
// those that every request gets anew, whoever answers it.
var perRequestHeaders = map[string]bool{
	"X-Request-Id": true, "X-Ratelimit-Limit": true, "X-Ratelimit-Remaining": true, "X-Ratelimit-Reset": true, "Date": true, replayedHeader: true,
	"Cache-Control": true, "Referrer-Policy": true, "X-Content-Type-Options": true, "Content-Security-Policy": true, "X-Frame-Options": true,
	"Strict-Transport-Security": true,
}

// storableHeaders is what of a header is part of the answer.
func storableHeaders(h http.Header) http.Header {
	out := h.Clone()
	maps.DeleteFunc(out, func(name string, _ []string) bool { return perRequestHeaders[name] })
	return out
}

// idempotent runs fn, or answers as the first request with the same Idempotency-Key
// was answered. scope says whose key it is, the route how long answers are kept: 0,
// where they hold what is shown once, makes the key only keep two requests from
// being worked on at the same time.
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

// executeFirst runs fn for the first request with a key. It keeps the answer if the
// request took effect (2xx). Otherwise the key is free again, also for another
// body: a refusal is judged again.
func (s *shared) executeFirst(c *gin.Context, id uuid.UUID, keepFor time.Duration, fn func() error) error {
	rec := &responseRecorder{ResponseWriter: c.Writer}
	c.Writer = rec
	claimed := &claimedKey{id: id}
	c.Set(claimedKeyName, claimed)
	answered := false
	// The answer is kept although the client may have gone.
	keep, cancel := context.WithTimeout(context.WithoutCancel(c.Request.Context()), storeTimeout)
	defer cancel()
	defer func() {
		if !answered { // fn did not return
			_ = s.requests.ReleaseKey(keep, id, false)
		}
	}()
	unknown := false // whether it took effect
	if err := fn(); err != nil {
		_, refused := errors.AsType[*models.Error](err)
		_, rejected := errors.AsType[*refusal.Error](err)
		unknown = !refused && !rejected
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
		err = s.requests.ReleaseKey(keep, id, false) // what was committed is not done twice
	case keepFor == 0 || c.GetBool(noStoreKey) || status < 200 || status > 299:
		err = s.requests.ReleaseKey(keep, id, true)
	case !claimed.stored:
		err = s.requests.StoreResponse(keep, id, a)
	}
	if err != nil { // the client has its answer; a repeat will be refused
		s.log.ErrorContext(keep, "response not stored for retries", "request", requestID(c), "error", err)
	}
	return nil
}

// noStoreKey marks a request whose answer is not kept.
const noStoreKey = "countersign/no-answer"

// doNotStoreResponse keeps an answer, which holds a secret that is stored nowhere else,
// from being stored for a repeat: a repeat is a request of its own.
func doNotStoreResponse(c *gin.Context) { c.Set(noStoreKey, true) }

// responseRecorder keeps what is answered.
type responseRecorder struct {
	gin.ResponseWriter

	body bytes.Buffer
	lost bool // too large to keep
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

// maxBodyInMemory is the size up to which a body waits in memory.
const maxBodyInMemory = 16 << 10

// fingerprint digests the request's body, which is read to its end and put back; file bounds the file
// in it (0: there is none).
func (s *shared) fingerprint(c *gin.Context, file int64) (sum []byte, discard func(), err error) {
	body, _, discard, err := s.spool(c.Request.Body, maxBodyInMemory)
	if err != nil {
		if refused, ok := errors.AsType[*models.Error](err); ok && refused.Kind == models.KindTooLarge && file > 0 && c.ContentType() != "application/json" {
			err = fileTooLarge(file) // as without a key
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
		return nil, nil, fmt.Errorf("digest body: %w", err)
	}
	c.Request.Body = spooledBody{body}
	return h.Sum(nil), discard, nil
}

// spooledBody is a body that was read to its end and put back.
type spooledBody struct{ io.ReadSeeker }

// Close implements io.Closer.
func (spooledBody) Close() error { return nil }

// spool reads a body to its end: into memory if it has at most inMemory bytes, else into a temporary file, which discard
// removes. It returns the number of bytes that are in memory.
func (s *shared) spool(src io.Reader, inMemory int) (body io.ReadSeeker, used int, discard func(), err error) {
	if b, ok := src.(spooledBody); ok {
		return b, 0, func() {}, nil // by who discards it
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

// digest hashes a body. A multipart body is hashed part by part: a client that
// sends it again draws another boundary.
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
	// A multipart body that cannot be read is hashed by its bytes.
	if _, err := body.Seek(0, io.SeekStart); err != nil {
		return err
	}
	_, err = io.Copy(h, body)
	return err
}

// writeHashPart hashes a text so that where it ends is part of the hash.
func writeHashPart(h hash.Hash, text string) {
	var n [8]byte
	binary.BigEndian.PutUint64(n[:], uint64(len(text)))
	h.Write(n[:])
	h.Write([]byte(text))
}

// publicScope is the scope of an idempotency key of an unauthenticated call: the caller's
// network, and the credentials in the header. Those in the body are in the
// fingerprint.
func publicScope(c *gin.Context) string {
	sum := sha256.Sum256([]byte(c.GetHeader("Authorization")))
	return "public:" + hex.EncodeToString(sum[:8]) + ":" + callerNetwork(c)
}
