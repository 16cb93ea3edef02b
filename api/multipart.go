package api

import (
	"errors"
	"io"
	"mime/multipart"
	"net/http"

	"github.com/gin-gonic/gin"

	"countersign/models"
)

const (
	maxParts = 20
	fileSlop = 1 << 20 // what a multipart body may hold beside the file
)

// parts is a multipart body: the admitted file and the other parts as text.
type parts struct {
	file *upload
	text map[string][]string // more than one only of signers and fields
}

// readParts reads a multipart body as it arrives. The caller discards the file.
func (s *Server) readParts(c *gin.Context) (*parts, error) {
	c.Request.Body = http.MaxBytesReader(c.Writer, c.Request.Body, s.UploadLimit+fileSlop)
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
			err = unreadable(err)
		} else {
			err = s.readPart(c, out, part)
		}
		if err != nil {
			out.file.discard()
			return nil, err
		}
	}
}

func (s *Server) readPart(c *gin.Context, out *parts, part *multipart.Part) error {
	name := part.FormName()
	if name == "file" {
		if out.file != nil {
			p := models.Problems{}
			p.Add("file", "must be given once")
			return p.Err()
		}
		u, err := s.receive(c, part, part.FileName())
		out.file = u
		return err
	}
	repeatable := name == "signers" || name == "fields"
	if given := out.text[name]; len(given) > 0 && !repeatable {
		p := models.Problems{}
		p.Add(clean(name), "must be given once")
		return p.Err()
	}
	b, err := io.ReadAll(io.LimitReader(part, maxJSON+1))
	if err != nil {
		return unreadable(err)
	}
	if len(b) > maxJSON {
		return models.Refuse(models.KindTooLarge, "request_too_large", "The part %s is larger than %d bytes.", clean(name), maxJSON)
	}
	out.text[name] = append(out.text[name], string(b))
	return nil
}

func unreadable(err error) error {
	var tooLarge *http.MaxBytesError
	if errors.As(err, &tooLarge) {
		return models.Refuse(models.KindTooLarge, "request_too_large", "The request is larger than %d bytes.", tooLarge.Limit)
	}
	return models.Refuse(models.KindInvalid, "body_unreadable", "The multipart body could not be read to its end.")
}
