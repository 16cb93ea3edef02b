package api

import (
	"errors"
	"net/http"
	"time"

	"github.com/gin-gonic/gin"
)

// stallLimit is the maximum time for which a client that downloads a file may stop reading. It does not limit the total
// duration of the download. A phone at 3 KB/s takes hours to receive 25 MB, but never stops reading.
const stallLimit = 2 * time.Minute

// fileWriter sends a file to a client with a time limit for each write. Without the limit, a client that stops reading
// could force the service to keep the file and its decrypted copy open indefinitely.
type fileWriter struct {
	http.ResponseWriter

	conn  *http.ResponseController
	now   func() time.Time
	stall time.Duration

	rejected int // an error status from net/http, whose body is not sent; 0 if there is none
}

// newFileWriter returns a writer that sends a file. The caller must call end.
func (s *shared) newFileWriter(c *gin.Context) *fileWriter {
	return &fileWriter{ResponseWriter: c.Writer, conn: http.NewResponseController(c.Writer), now: s.now, stall: s.stallLimit}
}

// WriteHeader implements http.ResponseWriter.
func (w *fileWriter) WriteHeader(status int) {
	if status == http.StatusRequestedRangeNotSatisfiable || status == http.StatusPreconditionFailed {
		w.rejected = status
		return
	}
	w.ResponseWriter.WriteHeader(status)
}

// Write implements io.Writer.
func (w *fileWriter) Write(b []byte) (int, error) {
	if w.rejected != 0 {
		return len(b), nil
	}
	if err := w.extend(); err != nil {
		return 0, err
	}
	return w.ResponseWriter.Write(b)
}

// extend resets the time limit for the next write.
func (w *fileWriter) extend() error { return w.setDeadline(w.now().Add(w.stall)) }

func (w *fileWriter) setDeadline(at time.Time) error {
	if err := w.conn.SetWriteDeadline(at); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return err
	}
	return nil
}

// end flushes the buffer and removes the deadline, because later requests on the connection must not have one.
func (w *fileWriter) end() {
	if w.extend() == nil && w.conn.Flush() == nil {
		_ = w.setDeadline(time.Time{}) // an error means that the client has disconnected
	}
}
