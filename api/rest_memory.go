package api

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"time"

	"github.com/gin-gonic/gin"

	"countersign/internal/limit"
	"countersign/seal/sandbox"
)

// The limits of the memory for parsed bodies, in bytes. Bodies below smallBody have a separate limit, so that they do
// not wait for large ones.
const (
	smallBody         = 256 << 10
	smallBodiesMemory = 24 << 20
	largeBodiesMemory = 48 << 20
)

// memoryWait is how long a request waits for memory.
const memoryWait = 10 * time.Second

// bodyMemory limits the memory of parsed bodies, over all requests.
type bodyMemory struct {
	small, large *limit.Limit
	wait         time.Duration
}

func newBodyMemory(wait time.Duration) *bodyMemory {
	return &bodyMemory{limit.New(smallBodiesMemory), limit.New(largeBodiesMemory), cmp.Or(wait, memoryWait)}
}

// take waits for the memory of one body. A body that needs the whole limit runs exclusively.
func (m *bodyMemory) take(ctx context.Context, size int64) (release func(), err error) {
	pool := m.small
	if size > smallBody {
		pool = m.large
	}
	return acquire(ctx, pool, size, m.wait, "Too many large requests are being read")
}

// workMemory is the maximum memory for decoding pictures and decrypting PDFs in this process at a time, in bytes.
const workMemory = 64 << 20

// takeWork waits for working memory of a number of bytes. A request acquires it last, so that no holder waits for another limit.
func (s *shared) takeWork(ctx context.Context, size int64) (release func(), err error) {
	return acquire(ctx, s.work, size, s.bodyMemory.wait, "Too many files are being read")
}

// pictureBounds returns the limits of a process that decodes a picture.
func (s *shared) pictureBounds() sandbox.Bounds {
	return sandbox.Bounds{Memory: s.admission.MaxMemory, CPU: s.admission.Timeout}
}

// requestBody holds the memory and the temporary files of a request's body until the request ends.
//
// A body is received completely before memory is acquired for it, so that a slow client holds only a small buffer or a
// file, and nothing that other requests wait for.
type requestBody struct {
	shared   *shared
	maxJSON  int64 // bytes of a JSON body
	inMemory int   // bytes of the received parts that are not parsed
	cleanup  []func()
}

const requestBodyKey = "countersign/body"

// holdBody limits the body of a request to a route. The caller releases its memory and files.
func (s *shared) holdBody(c *gin.Context, r route) *requestBody {
	limitBody(c, r.maxBody())
	b := &requestBody{shared: s, maxJSON: r.maxBody()}
	if r.body.file > 0 {
		b.maxJSON = maxJSON
	}
	c.Set(requestBodyKey, b)
	return b
}

// bodyOf returns the requestBody of a request.
func bodyOf(c *gin.Context) *requestBody {
	b, _ := c.MustGet(requestBodyKey).(*requestBody)
	return b
}

func (b *requestBody) release() {
	for _, f := range b.cleanup {
		f()
	}
}

// receive reads r to its end, into memory or into a temporary file.
func (b *requestBody) receive(r io.Reader) (io.ReadSeeker, error) {
	body, n, discard, err := b.shared.spool(r, maxBodyInMemory-b.inMemory)
	if err != nil {
		return nil, err
	}
	b.inMemory += n
	b.cleanup = append(b.cleanup, discard)
	return body, nil
}

// take waits for the memory of the parsed texts. A request calls it once: two requests that hold a part and wait for
// the rest would deadlock.
func (b *requestBody) take(c *gin.Context, size int64) error {
	release, err := b.shared.bodyMemory.take(c.Request.Context(), size)
	if err == nil {
		b.cleanup = append(b.cleanup, release)
	}
	return err
}

// measure counts the values of a received body, and seeks back to its start.
func measure(body io.ReadSeeker) (jsonCount, error) {
	n, err := countJSON(body)
	if err == nil {
		_, err = body.Seek(0, io.SeekStart)
	}
	if err != nil {
		return n, fmt.Errorf("measure body: %w", err)
	}
	return n, nil
}

// load reads a received text of a known size into memory.
func load(body io.Reader, size int64) ([]byte, error) {
	text := make([]byte, size)
	if _, err := io.ReadFull(body, text); err != nil {
		return nil, fmt.Errorf("load body: %w", err)
	}
	return text, nil
}

// readJSON reads a JSON body after counting its values.
func readJSON(c *gin.Context) ([]byte, error) {
	b := bodyOf(c)
	received, ok := c.Request.Body.(spooledBody)
	var body io.ReadSeeker = received
	if !ok {
		limitBody(c, b.maxJSON)
		var err error
		if body, err = b.receive(c.Request.Body); err != nil {
			return nil, err
		}
	}
	n, err := measure(body)
	if err != nil {
		return nil, err
	}
	if n.bytes > b.maxJSON {
		return nil, requestTooLarge(b.maxJSON)
	}
	if err := n.check(""); err != nil {
		return nil, err
	}
	if err := b.take(c, n.memory()); err != nil {
		return nil, err
	}
	return load(body, n.bytes)
}
