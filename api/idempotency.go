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
	"mime"
	"mime/multipart"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"

	"countersign/internal/credential"
	"countersign/internal/failpoint"
	"countersign/models"
	"countersign/store"
	"countersign/store/blob"
)

const (
	idempotencyHeader = "Idempotency-Key"
	replayedHeader    = "Idempotency-Replayed"
	maxKey            = 255
	maxKept           = 8 << 20 // bytes of an answer; envelopes with every field are smaller
	// keepAnswers is how long a request can be repeated. An access token is kept
	// for half its life, so that what is repeated is still of use.
	keepAnswers = 24 * time.Hour
	keepTokens  = credential.AccessLifetime / 2
	keepLimit   = 10 * time.Second
)

// kept are the headers that are part of an answer. All others are the request's own.
var kept = []string{"Content-Type", "Location"}

// once runs fn, or answers as the first request with the same Idempotency-Key
// was answered. scope says whose key it is.
//
// redeem renders an answer that was promised by where it is found, and nil where
// no handler promises such.
func (s *Server) once(c *gin.Context, scope, path string, keep time.Duration, fn func() error, redeem func(*store.Answer) error) error {
	key := c.GetHeader(idempotencyHeader)
	if key == "" || c.Request.Method != http.MethodPost {
		return fn()
	}
	if len(key) > maxKey || strings.ContainsFunc(key, func(r rune) bool { return r < 0x20 || r > 0x7e }) {
		p := models.Problems{}
		p.Add(idempotencyHeader, "must have at most %d printable ASCII characters", maxKey)
		return p.Err()
	}
	sum, discard, err := s.fingerprint(c)
	if err != nil {
		return err
	}
	defer discard()
	ctx := c.Request.Context()
	id, answer, err := s.Store.TakeRequest(ctx, store.Request{Scope: scope, Method: c.Request.Method, Path: path, Key: key, Fingerprint: sum}, keep)
	if err != nil {
		return err
	}
	if answer != nil && len(answer.Body) == 0 && answer.Header[envelopeAt] != "" {
		c.Header(replayedHeader, "true")
		return s.first(c, id, func() error { return redeem(answer) })
	}
	if answer != nil {
		for name, v := range answer.Header {
			c.Header(name, v)
		}
		c.Header(replayedHeader, "true")
		c.Status(answer.Status)
		if len(answer.Body) > 0 {
			_, err = c.Writer.Write(answer.Body)
		}
		return err
	}
	return s.first(c, id, fn)
}

// first runs fn for the first request with a key and keeps its answer. What
// failed on our side, or was refused for a while, can be sent again.
func (s *Server) first(c *gin.Context, id uuid.UUID, fn func() error) error {
	rec := &recorder{ResponseWriter: c.Writer}
	c.Writer = rec
	request := c.Request
	var promise *store.Answer
	c.Request = request.WithContext(store.WithRequest(request.Context(), id, func(made any) (_ *store.Answer, err error) {
		promise, err = promised(c, made)
		return promise, err
	}))
	answered := false
	// The answer is kept although the client may have gone.
	keep, cancel := context.WithTimeout(context.WithoutCancel(request.Context()), keepLimit)
	defer cancel()
	defer func() {
		if !answered { // fn did not return
			_ = s.Store.GiveBack(keep, id, false)
		}
	}()
	if err := fn(); err != nil {
		s.fail(c, err)
	}
	answered = true
	failpoint.Hit("api.done")
	c.Writer, c.Request = rec.ResponseWriter, request
	status := rec.Status()
	var err error
	if c.GetBool(noAnswerKey) {
		err = s.Store.GiveBack(keep, id, true)
	} else if status >= http.StatusInternalServerError || status == http.StatusTooManyRequests || rec.lost || !rec.Written() && status == http.StatusOK {
		err = s.Store.GiveBack(keep, id, status == http.StatusServiceUnavailable)
	} else {
		a := store.Answer{Status: status, Header: map[string]string{}, Body: rec.body.Bytes()}
		for _, name := range kept {
			if v := rec.Header().Get(name); v != "" {
				a.Header[name] = v
			}
		}
		if promise == nil || promise.Status != a.Status || !bytes.Equal(promise.Body, a.Body) {
			err = s.Store.KeepAnswer(keep, id, a)
		}
	}
	if err != nil { // the client has its answer; a repeat will be refused
		s.log.ErrorContext(keep, "answer not kept for a repeat", "request", requestID(c), "error", err)
	}
	return nil
}

// noAnswerKey marks a request whose answer is not kept.
const noAnswerKey = "countersign/no-answer"

// keepNoAnswer keeps an answer, which holds a secret that is stored nowhere else,
// from being stored for a repeat: a repeat is a request of its own.
func keepNoAnswer(c *gin.Context) { c.Set(noAnswerKey, true) }

// recorder keeps what is answered.
type recorder struct {
	gin.ResponseWriter

	body bytes.Buffer
	lost bool // too large to keep
}

// Write implements io.Writer.
func (r *recorder) Write(b []byte) (int, error) {
	if r.body.Len()+len(b) > maxKept {
		r.lost = true
	} else {
		r.body.Write(b)
	}
	return r.ResponseWriter.Write(b)
}

// WriteString implements io.StringWriter.
func (r *recorder) WriteString(s string) (int, error) { return r.Write([]byte(s)) }

// memoryBody is the size up to which a body waits in memory.
const memoryBody = 256 << 10

// fingerprint digests the request's body, which is read to its end and put back.
func (s *Server) fingerprint(c *gin.Context) (sum []byte, discard func(), err error) {
	limit := s.UploadLimit + fileSlop
	src := http.MaxBytesReader(c.Writer, c.Request.Body, limit)
	head, err := io.ReadAll(io.LimitReader(src, memoryBody+1))
	if err != nil {
		return nil, nil, unreadable(err)
	}
	var body io.ReadSeeker = bytes.NewReader(head)
	discard = func() {}
	if len(head) > memoryBody {
		var f *os.File
		if f, err = s.Blobs.Temp(); err != nil {
			return nil, nil, err
		}
		discard = func() { blob.Discard(f) }
		if _, err = io.Copy(f, io.MultiReader(bytes.NewReader(head), src)); err != nil {
			discard()
			if isWriteError(err) {
				return nil, nil, fmt.Errorf("receive body: %w", err)
			}
			return nil, nil, unreadable(err)
		}
		body = f
	}
	h := sha256.New()
	part(h, c.Request.URL.RawQuery)
	if err := digest(h, c.GetHeader("Content-Type"), body); err != nil {
		discard()
		return nil, nil, fmt.Errorf("digest body: %w", err)
	}
	if _, err := body.Seek(0, io.SeekStart); err != nil {
		discard()
		return nil, nil, fmt.Errorf("digest body: %w", err)
	}
	c.Request.Body = io.NopCloser(body)
	return h.Sum(nil), discard, nil
}

// digest hashes a body. A multipart body is hashed part by part: a client that
// sends it again draws another boundary.
func digest(h hash.Hash, contentType string, body io.ReadSeeker) error {
	t, params, err := mime.ParseMediaType(contentType)
	if err != nil || t != "multipart/form-data" || params["boundary"] == "" {
		part(h, t)
		_, err := io.Copy(h, body)
		return err
	}
	parts := sha256.New()
	mr := multipart.NewReader(body, params["boundary"])
	for n := 0; n <= maxParts; n++ {
		p, err := mr.NextRawPart()
		if errors.Is(err, io.EOF) {
			part(h, t)
			h.Write(parts.Sum(nil))
			return nil
		}
		if err != nil {
			break
		}
		part(parts, p.FormName())
		part(parts, p.FileName())
		part(parts, p.Header.Get("Content-Type"))
		content := sha256.New()
		if _, err := io.Copy(content, p); err != nil {
			break
		}
		parts.Write(content.Sum(nil))
	}
	// No multipart body that could be read: its bytes are what it is.
	if _, err := body.Seek(0, io.SeekStart); err != nil {
		return err
	}
	_, err = io.Copy(h, body)
	return err
}

// part hashes a text so that where it ends is part of the hash.
func part(h hash.Hash, text string) {
	var n [8]byte
	binary.BigEndian.PutUint64(n[:], uint64(len(text)))
	h.Write(n[:])
	h.Write([]byte(text))
}

// tokenScope is whose key it is at the token endpoint, where nobody has been
// let in yet. The credentials themselves are in the fingerprint.
func tokenScope(c *gin.Context) string {
	sum := sha256.Sum256([]byte(c.GetHeader("Authorization")))
	return "token:" + hex.EncodeToString(sum[:8]) + ":" + c.ClientIP()
}
