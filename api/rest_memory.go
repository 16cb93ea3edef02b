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

// The limits on the memory for parsed bodies, in bytes. Bodies that need at most smallBody bytes have a separate limit,
// so that they do not wait for large ones.
const (
	smallBody         = 256 << 10
	smallBodiesMemory = 24 << 20
	largeBodiesMemory = 48 << 20
)

// memoryWait is the maximum time for which a request waits for memory.
const memoryWait = 10 * time.Second

// bodyMemory limits the total memory of parsed bodies across all requests.
type bodyMemory struct {
	small, large *limit.Limit
	wait         time.Duration
}

func newBodyMemory(wait time.Duration) *bodyMemory {
	return &bodyMemory{limit.New(smallBodiesMemory), limit.New(largeBodiesMemory), cmp.Or(wait, memoryWait)}
}

// acquire acquires the memory for one body. A body that needs all of the memory waits until no other body is being
// processed.
func (m *bodyMemory) acquire(ctx context.Context, size int64) (release func(), err error) {
	pool := m.small
	if size > smallBody {
		pool = m.large
	}
	return acquire(ctx, pool, size, m.wait, "Too many large requests are being read")
}

// workMemory is the maximum memory that this process uses at a time to decode images and decrypt PDFs, in bytes.
const workMemory = 64 << 20

// acquireWorkMemory acquires size bytes of working memory. It must be the last limit that a request acquires, so that
// no request waits for another limit while holding working memory.
func (s *shared) acquireWorkMemory(ctx context.Context, size int64) (release func(), err error) {
	return acquire(ctx, s.work, size, s.bodyMemory.wait, "Too many files are being read")
}

// pictureBounds returns the resource limits of a process that decodes an image.
func (s *shared) pictureBounds() sandbox.Bounds {
	return sandbox.Bounds{Memory: s.admission.MaxMemory, CPU: s.admission.Timeout}
}

// requestBody owns the memory and temporary files of a request body until the request ends.
//
// A body is received completely before memory is acquired for it. A slow client therefore occupies only a small buffer
// or a file, and no resource that other requests wait for.
type requestBody struct {
	shared   *shared
	maxJSON  int64 // maximum bytes of a JSON body
	inMemory int   // bytes of received parts that are in memory but not yet parsed
	cleanup  []func()
}

const requestBodyKey = "countersign/body"

// newRequestBody limits the size of a request body according to its route. The caller must call release.
func (s *shared) newRequestBody(c *gin.Context, r route) *requestBody {
	limitBody(c, r.maxBody())
	b := &requestBody{shared: s, maxJSON: r.maxBody()}
	if r.body.file > 0 {
		b.maxJSON = maxJSON
	}
	c.Set(requestBodyKey, b)
	return b
}

func bodyOf(c *gin.Context) *requestBody {
	b, _ := c.MustGet(requestBodyKey).(*requestBody)
	return b
}

func (b *requestBody) release() {
	for _, f := range b.cleanup {
		f()
	}
}

// receive reads r to its end and stores the content in memory or in a temporary file.
func (b *requestBody) receive(r io.Reader) (io.ReadSeeker, error) {
	body, n, discard, err := b.shared.spool(r, maxBodyInMemory-b.inMemory)
	if err != nil {
		return nil, err
	}
	b.inMemory += n
	b.cleanup = append(b.cleanup, discard)
	return body, nil
}

// acquireMemory acquires the memory for the parsed body. A request must call it only once. Otherwise, two requests that
// each hold some memory and wait for more would deadlock.
func (b *requestBody) acquireMemory(c *gin.Context, size int64) error {
	release, err := b.shared.bodyMemory.acquire(c.Request.Context(), size)
	if err == nil {
		b.cleanup = append(b.cleanup, release)
	}
	return err
}

// measure counts the values in a received body and seeks back to its start.
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

// readJSON reads a JSON body after checking its size and number of values.
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
	if err := b.acquireMemory(c, n.memory()); err != nil {
		return nil, err
	}
	return load(body, n.bytes)
}
