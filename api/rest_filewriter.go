package api

import (
	"errors"
	"net/http"
	"time"

	"github.com/gin-gonic/gin"
)

// stallLimit is how long a client may read nothing of a file that it downloads. It does not limit the whole download:
// a phone with 3 KB/s takes hours for 25 MB, but reads some of it every minute.
const stallLimit = 2 * time.Minute

// fileWriter sends a file to a client, with a time limit for each part. Without the limit, a client that stops reading
// could hold the file, and its decrypted copy, indefinitely.
type fileWriter struct {
	http.ResponseWriter

	conn  *http.ResponseController
	now   func() time.Time
	stall time.Duration

	refused int // the status with which net/http rejects a range or a precondition, whose body is not sent; 0: not rejected
}

// newFileWriter returns a writer for sending a file. The caller ends it.
func (s *shared) newFileWriter(c *gin.Context) *fileWriter {
	return &fileWriter{ResponseWriter: c.Writer, conn: http.NewResponseController(c.Writer), now: s.now, stall: s.stallLimit}
}

// WriteHeader implements http.ResponseWriter.
func (w *fileWriter) WriteHeader(status int) {
	if status == http.StatusRequestedRangeNotSatisfiable || status == http.StatusPreconditionFailed {
		w.refused = status
		return
	}
	w.ResponseWriter.WriteHeader(status)
}

// Write implements io.Writer.
func (w *fileWriter) Write(b []byte) (int, error) {
	if w.refused != 0 {
		return len(b), nil
	}
	if err := w.extend(); err != nil {
		return 0, err
	}
	return w.ResponseWriter.Write(b)
}

// extend resets the time limit for the next part.
func (w *fileWriter) extend() error { return w.setDeadline(w.now().Add(w.stall)) }

func (w *fileWriter) setDeadline(at time.Time) error {
	if err := w.conn.SetWriteDeadline(at); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return err
	}
	return nil
}

// end flushes the buffer and removes the deadline, because later requests on the connection have none.
func (w *fileWriter) end() {
	if w.extend() == nil && w.conn.Flush() == nil {
		_ = w.setDeadline(time.Time{}) // an error means that the client has disconnected
	}
}
