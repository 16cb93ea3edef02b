package admission_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"countersign/internal/budget"
	"countersign/prepare"
	"countersign/seal/admission"
	"countersign/seal/refusal"
)

// waiting is a file of which the first part comes late, as on a machine whose processors others have.
type waiting struct {
	io.ReaderAt

	wait time.Duration
	done bool
}

func (w *waiting) ReadAt(b []byte, off int64) (int, error) {
	if !w.done {
		w.done = true
		<-time.After(w.wait)
	}
	return w.ReaderAt.ReadAt(b, off)
}

// TestAdmit_OnABusyMachine_DoesNotBlameTheFile: waiting does not count as examining, and a file that could not be
// examined in time is not called bad.
func TestAdmit_OnABusyMachine_DoesNotBlameTheFile(t *testing.T) {
	t.Parallel()
	b := file("", "", "<<>>")
	admit := func(timeout, wait time.Duration) error {
		lim := admission.DefaultLimits()
		lim.Timeout = timeout
		r := &waiting{ReaderAt: bytes.NewReader(b), wait: wait}
		_, _, err := admission.AdmitUpload(t.Context(), admission.Upload{File: r, Size: int64(len(b)), SHA256: sha256.Sum256(b)}, lim, prepare.Options{Tags: prepare.TagsDetect})
		return err
	}
	require.NoError(t, admit(500*time.Millisecond, 700*time.Millisecond), "longer than the file may take, by the clock")

	err := admit(20*time.Millisecond, 500*time.Millisecond)
	require.ErrorIs(t, err, context.DeadlineExceeded, "no time was left")
	_, refused := errors.AsType[*refusal.Error](err)
	require.False(t, refused, "%v", err)

	r, refused := errors.AsType[*refusal.Error](admission.RefusalOf(fmt.Errorf("page 1: %w", budget.ErrSpent)))
	require.True(t, refused, "that of a file which takes too much time is one")
	require.Equal(t, refusal.PDFTooComplex, r.Code)
}
