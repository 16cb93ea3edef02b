package api

import (
	"errors"
	"net/http"
	"time"

	"github.com/gin-gonic/gin"
)

// stallLimit is how long a client may take nothing of a file that it is sent. It bounds no download: a phone with 3 KB/s takes
// hours for 25 MB, and some of it every minute.
const stallLimit = 2 * time.Minute

// fileWriter sends a file to a client, each part of it within a time: a client that stops reading would else hold the file,
// and the copy that was decrypted for it, for as long as it likes.
type fileWriter struct {
	http.ResponseWriter

	conn  *http.ResponseController
	now   func() time.Time
	stall time.Duration

	refused int // the status with which net/http refuses a range or a precondition: its answer is not sent; 0: none
}

// newFileWriter begins to send a file. The caller ends it.
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

// extend gives the client the whole time for what comes next.
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
		_ = w.setDeadline(time.Time{}) // the client has gone
	}
}
