package api

import (
	"archive/zip"
	"fmt"
	"io"
	"strings"

	"github.com/gin-gonic/gin"

	"countersign/models"
	"countersign/store/blob"
)

// sealedArchive sends all sealed files of an envelope in a ZIP archive. It opens all files before it sends anything, so
// that it can still report a missing file as an error.
func (s *documentHandler) sealedArchive(c *gin.Context, _ caller, e *models.Envelope) error {
	if e.Status != models.StatusCompleted {
		return models.Reject(models.KindConflict, "envelope_not_completed", "The envelope is %s; there is no sealed document yet.", e.Status.Public())
	}
	docs := e.Sealed()
	files := make([]*blob.Content, 0, len(docs))
	defer func() {
		for _, f := range files {
			_ = f.Close() // opened only for reading
		}
	}()
	for _, d := range docs {
		f, err := s.openFile(c.Request.Context(), e, d)
		if err != nil {
			return err
		}
		files = append(files, f)
	}
	h := c.Writer.Header()
	h.Set("Content-Type", "application/zip")
	h.Set("Content-Disposition", contentDisposition("attachment", archiveName(e)))
	w := s.newFileWriter(c)
	defer w.end()
	if err := writeArchive(w, e, docs, files); err != nil {
		// The response has already begun, so an error can no longer be sent. The client rejects the archive because the
		// archive's central directory is missing.
		s.log.ErrorContext(c.Request.Context(), "ZIP download interrupted", "request", requestID(c), "envelope", e.ID, "error", err)
	}
	return nil
}

func archiveName(e *models.Envelope) string {
	name := e.FileName(&models.Document{Order: 1})
	return strings.TrimSuffix(strings.TrimSuffix(name, ".pdf"), " (1)") + ".zip"
}

func writeArchive(w io.Writer, e *models.Envelope, docs []*models.Document, files []*blob.Content) error {
	z := zip.NewWriter(w)
	for i, d := range docs {
		// PDFs are already compressed.
		entry, err := z.CreateHeader(&zip.FileHeader{Name: e.FileName(d), Method: zip.Store, Modified: *e.CompletedAt})
		if err == nil {
			_, err = io.Copy(entry, files[i])
		}
		if err != nil {
			return fmt.Errorf("document %s: %w", d.ID, err)
		}
	}
	return z.Close()
}
