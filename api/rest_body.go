package api

import (
	"bytes"
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"net/url"
	"slices"

	"github.com/gin-gonic/gin"

	"countersign/internal/plaintext"
	"countersign/models"
)

// The limits of request bodies.
const (
	maxJSON           = 1 << 20 // bytes of a JSON body or text part
	maxParts          = 20
	maxPairs          = 50      // name=value pairs in a form or a query string
	maxHeaders        = 8 << 10 // bytes in the headers of one part, or in the preamble
	multipartOverhead = 1 << 20 // bytes in a multipart body in addition to the file
	// maxSealOverhead is the number of bytes by which a sealed document may exceed its original. It allows 32 MB for
	// the seal, and 75 MB for the signers' attachments, which are at most 60 MB before they are encoded. The rest is
	// for time-stamps added over the years.
	maxSealOverhead = 115 << 20
)

// limitBody limits the number of bytes that can be read from the request body.
func limitBody(c *gin.Context, limit int64) {
	c.Request.Body = http.MaxBytesReader(c.Writer, c.Request.Body, limit)
}

// bodyError returns the error for a body that could not be read.
func bodyError(err error) error {
	if tooLarge, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return requestTooLarge(tooLarge.Limit)
	}
	return models.Reject(models.KindInvalid, "body_unreadable", "The request body could not be read completely.")
}

// requestTooLarge returns the error for a body that exceeds the limit.
func requestTooLarge(limit int64) error {
	return models.Reject(models.KindTooLarge, "request_too_large", "The request is larger than %d bytes.", limit)
}

// fileTooLarge returns the error for a file that exceeds the limit.
func fileTooLarge(limit int64) error {
	return models.Reject(models.KindTooLarge, "file_too_large", "The file is larger than %d bytes.", limit)
}

// readForm reads a form, which consists of name=value pairs.
func readForm(c *gin.Context) (url.Values, error) {
	text, err := io.ReadAll(c.Request.Body)
	if err != nil {
		return nil, bodyError(err)
	}
	if bytes.Count(text, []byte("&")) >= maxPairs {
		return nil, models.Reject(models.KindInvalid, "invalid_request", "The body has more than %d name=value pairs.", maxPairs)
	}
	c.Request.Body = spooledBody{bytes.NewReader(text)}
	if err := c.Request.ParseForm(); err != nil {
		return nil, models.Reject(models.KindInvalid, "invalid_request", "The body must be application/x-www-form-urlencoded.")
	}
	return c.Request.PostForm, nil
}

// allowance is a reader that returns a limited number of bytes until the limit is renewed. It bounds the memory of a
// parser whose buffer would otherwise grow with the input.
type allowance struct {
	r    io.Reader
	left int64 // remaining bytes; a negative number means no limit
}

// errAllowance reports a read beyond the allowance.
var errAllowance = errors.New("request body limit exceeded")

// Read implements io.Reader.
func (a *allowance) Read(b []byte) (int, error) {
	if a.left < 0 {
		return a.r.Read(b)
	}
	if a.left == 0 {
		return 0, errAllowance
	}
	n, err := a.r.Read(b[:min(int64(len(b)), a.left)])
	a.left -= int64(n)
	return n, err
}

// multipartReader reads the parts of a multipart body and limits the size of their headers.
type multipartReader struct {
	*multipart.Reader

	source *allowance
}

func newMultipartReader(body io.Reader, boundary string) *multipartReader {
	source := &allowance{r: body}
	return &multipartReader{multipart.NewReader(source, boundary), source}
}

// next returns the next part. The previous part must have been read to its end.
func (m *multipartReader) next() (*multipart.Part, error) { return m.bounded(m.NextPart) }

// nextRaw is like next, but does not decode the content of the part.
func (m *multipartReader) nextRaw() (*multipart.Part, error) { return m.bounded(m.NextRawPart) }

func (m *multipartReader) bounded(next func() (*multipart.Part, error)) (*multipart.Part, error) {
	m.source.left = maxHeaders
	p, err := next()
	m.source.left = -1
	if errors.Is(err, errAllowance) {
		err = models.Reject(models.KindInvalid, "part_headers_too_large", "The headers of a part are larger than %d bytes.", maxHeaders)
	}
	return p, err
}

// parts contains the parts of a multipart body: the file, and all other parts as text.
type parts struct {
	file *upload
	text map[string][]string // only signers, fields and roles can have several values
}

// receivedPart is a part that was received but not yet parsed.
type receivedPart struct {
	name string
	body io.ReadSeeker
}

// readParts reads a multipart body as a stream. The parameter limit is the maximum size of the file, in bytes. The
// caller must discard the file.
func (s *shared) readParts(c *gin.Context, limit int64) (*parts, error) {
	limitBody(c, limit+multipartOverhead)
	t, params, err := mime.ParseMediaType(c.GetHeader("Content-Type"))
	if err != nil || t != "multipart/form-data" || params["boundary"] == "" {
		return nil, models.Reject(models.KindInvalid, "content_type", "The body must be multipart/form-data with a boundary.")
	}
	out := &parts{text: make(map[string][]string)}
	err = s.receiveParts(c, out, newMultipartReader(c.Request.Body, params["boundary"]), limit)
	if err != nil {
		out.file.discard()
		return nil, err
	}
	return out, nil
}

func (s *shared) receiveParts(c *gin.Context, out *parts, mr *multipartReader, limit int64) error {
	var texts []receivedPart
	room := int64(multipartOverhead)
	for n := 0; ; n++ {
		part, err := mr.next()
		if errors.Is(err, io.EOF) {
			return out.load(c, texts)
		}
		if err != nil {
			if models.IsRejection(err) {
				return err
			}
			return bodyError(err)
		}
		if n >= maxParts {
			return models.Reject(models.KindInvalid, "too_many_parts", "The body has more than %d parts.", maxParts)
		}
		name := part.FormName()
		if name == "file" {
			if out.file != nil {
				return models.InvalidField("file", "must occur only once")
			}
			if out.file, err = s.receiveUpload(part, part.FileName(), limit); err != nil {
				return err
			}
			continue
		}
		repeatable := name == "signers" || name == "fields" || name == "roles"
		if !repeatable && slices.ContainsFunc(texts, func(p receivedPart) bool { return p.name == name }) {
			return models.InvalidField(plaintext.Strip(name), "must occur only once")
		}
		counted := &countedReader{r: io.LimitReader(part, room+1)}
		body, err := bodyOf(c).receive(counted)
		if err != nil {
			return err
		}
		if room -= counted.n; room < 0 {
			return models.Reject(models.KindTooLarge, "request_too_large", "The parts other than the file are larger than %d bytes.", multipartOverhead)
		}
		texts = append(texts, receivedPart{name, body})
	}
}

// countedReader counts the bytes read through it.
type countedReader struct {
	r io.Reader
	n int64 // bytes
}

// Read implements io.Reader.
func (c *countedReader) Read(b []byte) (int, error) {
	n, err := c.r.Read(b)
	c.n += int64(n)
	return n, err
}

// load reads the received text parts after acquiring the memory for all of them and for their parsed JSON.
func (p *parts) load(c *gin.Context, texts []receivedPart) error {
	sizes := make([]int64, len(texts))
	memory := int64(0)
	for i, part := range texts {
		n, err := measure(part.body)
		if err != nil {
			return err
		}
		sizes[i] = n.bytes
		memory += n.memory()
	}
	if err := bodyOf(c).acquireMemory(c, memory); err != nil {
		return err
	}
	for i, part := range texts {
		text, err := load(part.body, sizes[i])
		if err != nil {
			return err
		}
		p.text[part.name] = append(p.text[part.name], string(text))
	}
	return nil
}
