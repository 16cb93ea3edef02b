package admission_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"countersign/prepare"
	"countersign/seal/admission"
	"countersign/seal/rejection"
)

// waiting is a file whose first read is delayed, as on a busy machine.
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

// TestAdmit_OnABusyMachine_DoesNotBlameTheFile checks that time spent waiting does not count toward the time limit, and
// that a file that could not be examined in time is not rejected.
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
	require.NoError(t, admit(500*time.Millisecond, 700*time.Millisecond), "waiting for longer than the time limit must be permitted")

	err := admit(20*time.Millisecond, 500*time.Millisecond)
	require.ErrorIs(t, err, context.DeadlineExceeded, "the elapsed-time limit must also apply to waiting")
	_, rejected := errors.AsType[*rejection.Error](err)
	require.False(t, rejected, "%v", err)
}

// costly is a file for which each read uses much CPU time.
type costly struct{ io.ReaderAt }

func (c costly) ReadAt(b []byte, off int64) (int, error) {
	block := make([]byte, 64<<20)
	sum := sha256.Sum256(block)
	copy(block, sum[:])
	return c.ReaderAt.ReadAt(b, off)
}

// TestAdmit_OfAFileThatTakesTooMuchTime_IsRejected checks that a file is rejected if it requires too much CPU time.
func TestAdmit_OfAFileThatTakesTooMuchTime_IsRejected(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		return // only elapsed time is limited
	}
	b := file("", "", "<<>>")
	lim := admission.DefaultLimits()
	lim.Timeout = 10 * time.Millisecond
	_, err := admission.Admit(t.Context(), costly{bytes.NewReader(b)}, int64(len(b)), lim)
	requireRejected(t, err, rejection.PDFTooComplex, "took too long")
}
