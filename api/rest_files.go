package api

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"mime"
	"net/http"
	"strings"
	"time"
	"unicode"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"

	"countersign/models"
	"countersign/store"
	"countersign/store/blob"
)

// sendFile streams a stored PDF and supports range requests.
func (s *shared) sendFile(c *gin.Context, e *models.Envelope, d *models.Document, disposition string) error {
	f, err := s.openFile(c.Request.Context(), e, d)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // opened only for reading
	return s.serveFile(c, e, d, f, disposition)
}

// openFile opens a document's file. While a file is being purged, it is either completely readable or not readable at
// all.
func (s *shared) openFile(ctx context.Context, e *models.Envelope, d *models.Document) (*blob.Content, error) {
	if d.PurgeStatus == models.PurgePurged {
		return nil, models.ErrPurged
	}
	f, err := s.files.Open(ctx, store.FileRecord(d))
	if errors.Is(err, fs.ErrNotExist) && e.ID != uuid.Nil { // the files of a template are never replaced
		fresh, err1 := s.requests.Envelope(ctx, e.AppID, e.ID) // the file may have been purged or replaced since e was loaded
		if err1 != nil {
			return nil, err1
		}
		now := fresh.Document(d.ID)
		if now == nil || now.PurgeStatus == models.PurgePurged {
			return nil, models.ErrPurged
		}
		if d.IsPrepared() && d.SHA256 == d.PreparedSHA256 { // the prepared file was requested
			now = now.Presented()
		}
		if now.BlobKey != d.BlobKey {
			*d = *now
			return s.openFile(ctx, fresh, d)
		}
	}
	if err != nil {
		return nil, s.rejectFile(ctx, err, "a document", e.ID, d.ID, d.BlobKey)
	}
	return f, nil
}

// fileMissingError is the error for a file that is unexpectedly missing.
var fileMissingError = models.Reject(models.KindUnavailable, "file_missing", "The document's file cannot be read at the moment. The operator has been notified.")

// isUnavailable reports whether err means that a document's file is unavailable: it is missing, differs from its
// record, or cannot be reached.
func isUnavailable(err error) bool {
	e, ok := errors.AsType[*models.Error](err)
	return ok && e.Kind == models.KindUnavailable
}

// rejectFile returns the error for a file that cannot be opened, and logs the cause for the operator. The parameter
// what is either "a document" or "an attachment".
func (s *shared) rejectFile(ctx context.Context, err error, what string, envelope, id uuid.UUID, key string) error {
	_, kind, _ := strings.Cut(what, " ")
	switch {
	case errors.Is(err, fs.ErrNotExist):
		s.log.ErrorContext(ctx, what+"'s file is missing from the file store", "envelope", envelope, kind, id, "key", key)
		s.countMissing()
		return fileMissingError
	case errors.Is(err, blob.ErrModified) || errors.Is(err, blob.ErrDamaged):
		s.log.ErrorContext(ctx, what+"'s file does not match its record", "envelope", envelope, kind, id, "error", err)
		s.countMissing()
		return models.Reject(models.KindUnavailable, "document_unavailable", "The %s's file is unavailable: it does not match its record.", kind)
	}
	return s.fileStoreError(ctx, envelope, fmt.Errorf("%s %s: %w", kind, id, err))
}

// countMissing counts a file that is missing or differs from its record.
func (s *shared) countMissing() {
	if s.fileMissing != nil {
		s.fileMissing()
	}
}

var (
	// filesUnavailableError is returned while the file store does not respond.
	filesUnavailableError = models.Reject(models.KindUnavailable, "files_unavailable", "Files cannot be read at the moment. Please try again later.")
	// archiveBrokenError is returned for an envelope whose archive is missing or differs from its record.
	archiveBrokenError = models.Reject(models.KindUnavailable, "file_missing", "A part of this envelope cannot be read at the moment. The operator has been notified.")
)

// fileStoreError logs a failure of the file store. It logs nothing if the read failed because the client disconnected.
func (s *shared) fileStoreError(ctx context.Context, envelope uuid.UUID, err error) error {
	if ctx.Err() != nil {
		return err
	}
	s.log.ErrorContext(ctx, "file cannot be read from the file store", "envelope", envelope, "error", err)
	return filesUnavailableError
}

// archiveError logs an archive error and returns the corresponding client error. It returns any other error unchanged.
func (s *shared) archiveError(c *gin.Context, err error) error {
	ctx := c.Request.Context()
	broken, ok := errors.AsType[*store.ArchiveError](err)
	switch {
	case ok:
		s.log.ErrorContext(ctx, "an envelope's archive cannot be read", "request", requestID(c), "envelope", broken.EnvelopeID, "key", broken.Key, "problem", broken.Problem)
		s.countMissing()
		return archiveBrokenError
	case errors.Is(err, store.ErrArchiveUnreachable):
		s.log.ErrorContext(ctx, "archive cannot be read from the file store", "request", requestID(c), "envelope", c.GetString(envelopeKey), "error", err)
		return filesUnavailableError
	}
	return err
}

func (s *shared) serveFile(c *gin.Context, e *models.Envelope, d *models.Document, f io.ReadSeeker, disposition string) error {
	return s.serveContent(c, d.MimeType, contentDisposition(disposition, e.FileName(d)), d.SHA256, d.CreatedAt, f)
}

// serveContent streams content and supports range requests. An empty disposition omits the Content-Disposition header,
// and a zero time omits Last-Modified.
func (s *shared) serveContent(c *gin.Context, mimeType, disposition, tag string, modified time.Time, content io.ReadSeeker) error {
	h := c.Writer.Header()
	h.Set("Content-Type", mimeType)
	if disposition != "" {
		h.Set("Content-Disposition", disposition)
	}
	h.Set("ETag", `"`+tag+`"`)
	w := s.newFileWriter(c)
	defer w.end()
	http.ServeContent(w, c.Request, "", modified, content)
	if w.rejected != 0 {
		for _, name := range []string{"Content-Type", "Content-Disposition", "ETag", "Last-Modified", "Accept-Ranges"} { // headers that describe the content
			h.Del(name)
		}
		h.Set("Cache-Control", "no-store") // net/http removed it
		rejected := models.Reject(models.KindInvalid, "range_not_satisfiable", "The requested range is outside the file.")
		if w.rejected == http.StatusPreconditionFailed {
			rejected = models.Reject(models.KindPrecondition, "precondition_failed", "The file does not match If-Match or If-Unmodified-Since.")
		}
		s.write(c, w.rejected, rejected)
	}
	return nil
}

// contentDisposition returns a Content-Disposition header whose file name is readable by any client (RFC 6266). It
// contains the name in ASCII, and also in UTF-8 if that differs.
func contentDisposition(disposition, name string) string {
	plain := strings.Map(func(r rune) rune {
		if r > unicode.MaxASCII {
			return '_'
		}
		return r
	}, name)
	header := mime.FormatMediaType(disposition, map[string]string{"filename": plain})
	if plain != name {
		_, full, _ := strings.Cut(mime.FormatMediaType(disposition, map[string]string{"filename": name}), ";")
		header += ";" + full // filename*=utf-8''…
	}
	return header
}
