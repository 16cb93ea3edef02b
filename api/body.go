package api

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"os"
	"path"
	"strings"

	"github.com/gin-gonic/gin"

	"countersign/internal/plaintext"
	"countersign/models"
	"countersign/store/blob"
)

// The bounds of what a request's body holds.
const (
	maxJSON    = 1 << 20 // bytes of a JSON body or text part
	maxForm    = 64 << 10
	maxParts   = 20
	besideFile = 1 << 20 // bytes of a multipart body beside the file
	// besideOriginal is how many bytes a sealed document has beside its original:
	// at most 32 MB that the seal adds, the 60 MB that signers may attach and a quarter of
	// that for their coding, and what time-stamps add over the years.
	besideOriginal = 115 << 20
)

// limitBody bounds how much of the request's body can be read.
func limitBody(c *gin.Context, limit int64) {
	c.Request.Body = http.MaxBytesReader(c.Writer, c.Request.Body, limit)
}

// readBody reads a body that fits in memory.
func readBody(c *gin.Context, limit int64) ([]byte, error) {
	limitBody(c, limit)
	b, err := io.ReadAll(c.Request.Body)
	if err != nil {
		return nil, bodyError(err)
	}
	return b, nil
}

// bodyError is the refusal of a body that could not be read.
func bodyError(err error) error {
	if tooLarge, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return models.Refuse(models.KindTooLarge, "request_too_large", "The request is larger than %d bytes.", tooLarge.Limit)
	}
	return models.Refuse(models.KindInvalid, "body_unreadable", "The request's body could not be read to its end.")
}

// fileTooLarge is the refusal of a file.
func fileTooLarge(limit int64) error {
	return models.Refuse(models.KindTooLarge, "file_too_large", "The file is larger than %d bytes.", limit)
}

// receiveUpload copies a file of at most so many bytes from r into a temporary one,
// hashing it on the way. The caller discards it.
func (s *Server) receiveUpload(r io.Reader, name string, limit int64) (_ *upload, err error) {
	f, err := s.Blobs.Temp()
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			blob.Discard(f)
		}
	}()
	h := sha256.New()
	n, err := io.Copy(io.MultiWriter(f, h), io.LimitReader(r, limit+1))
	_, tooLarge := errors.AsType[*http.MaxBytesError](err)
	switch {
	case n > limit || tooLarge:
		return nil, fileTooLarge(limit)
	case isWriteError(err):
		return nil, fmt.Errorf("receive upload: %w", err)
	case err != nil:
		return nil, bodyError(err)
	}
	return &upload{file: f, DocumentInput: models.DocumentInput{Document: models.Document{Name: fileName(name), SHA256: hex.EncodeToString(h.Sum(nil)), Size: n}}}, nil
}

// isWriteError reports whether err came from our own file, not from the client.
func isWriteError(err error) bool {
	_, ok := errors.AsType[*os.PathError](err)
	return ok
}

const maxFileName = 200 // characters

// fileName keeps the last part of an uploaded file's name, without what may
// not be in one.
func fileName(name string) string {
	name = path.Base(strings.ReplaceAll(plaintext.Strip(name), `\`, "/"))
	if name == "." || name == "/" {
		return ""
	}
	return firstCharacters(name, maxFileName)
}

// parts is a multipart body: the file and the other parts as text.
type parts struct {
	file *upload
	text map[string][]string // more than one only of signers, fields and roles
}

// readParts reads a multipart body as it arrives, with a file of at most so many
// bytes. The caller discards the file.
func (s *Server) readParts(c *gin.Context, limit int64) (*parts, error) {
	limitBody(c, limit+besideFile)
	mr, err := c.Request.MultipartReader()
	if err != nil {
		return nil, models.Refuse(models.KindInvalid, "content_type", "The body must be multipart/form-data with a boundary.")
	}
	out := &parts{text: make(map[string][]string)}
	for n := 0; ; n++ {
		part, err := mr.NextPart()
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err == nil && n >= maxParts {
			err = models.Refuse(models.KindInvalid, "too_many_parts", "The body has more than %d parts.", maxParts)
		} else if err != nil {
			err = bodyError(err)
		} else {
			err = s.readPart(out, part, limit)
		}
		if err != nil {
			out.file.discard()
			return nil, err
		}
	}
}

func (s *Server) readPart(out *parts, part *multipart.Part, limit int64) error {
	name := part.FormName()
	if name == "file" {
		if out.file != nil {
			return models.InvalidField("file", "must be given once")
		}
		u, err := s.receiveUpload(part, part.FileName(), limit)
		out.file = u
		return err
	}
	repeatable := name == "signers" || name == "fields" || name == "roles"
	if given := out.text[name]; len(given) > 0 && !repeatable {
		return models.InvalidField(plaintext.Strip(name), "must be given once")
	}
	b, err := io.ReadAll(io.LimitReader(part, maxJSON+1))
	if err != nil {
		return bodyError(err)
	}
	if len(b) > maxJSON {
		return models.Refuse(models.KindTooLarge, "request_too_large", "The part %s is larger than %d bytes.", plaintext.Strip(name), maxJSON)
	}
	out.text[name] = append(out.text[name], string(b))
	return nil
}
