package api

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"countersign/models"
)

// TestFileNames checks that a file name is the last element of the path, is printable, and has a length that file
// systems support.
func TestFileNames(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("ä", 200)
	for name, want := range map[string]string{
		"a.pdf": "a.pdf", "/x/a.pdf": "a.pdf", `C:\x\a.pdf`: "a.pdf", "": "", ".": "", "/": "", "a/": "a", "..": "..", long: long, long + "b": long, "a\x00b\u202e.pdf": "ab.pdf",
	} {
		require.Equal(t, want, fileName(name), "%q", name)
	}
	require.Equal(t, `attachment; filename=a.pdf`, contentDisposition("attachment", "a.pdf"))
	require.Equal(t, `inline; filename=_.pdf; filename*=utf-8''%C3%A4.pdf`, contentDisposition("inline", "ä.pdf"))
	require.Equal(t, "a\tb\nc", printable([]byte("a\tb\nc\x00\x1b\xff\u202e")))
}

// TestReceivedFiles_AreDiscarded checks that rejected files are deleted, and that a failure is correctly attributed to
// the client or the service.
func TestReceivedFiles_AreDiscarded(t *testing.T) {
	t.Parallel()
	s, dir := serverWithFiles(t)
	left := func() (n int) {
		require.NoError(t, walkFiles(dir, func() { n++ }))
		return n
	}
	for name, tt := range map[string]struct {
		r    io.Reader
		code string
	}{
		"too large":  {strings.NewReader("123456"), "file_too_large"},
		"cut off":    {io.MultiReader(strings.NewReader("1"), failing{io.ErrUnexpectedEOF}), "body_unreadable"},
		"whole body": {failing{&http.MaxBytesError{Limit: 7}}, "file_too_large"},
	} {
		_, err := s.receiveUpload(tt.r, "a", 5)
		require.Equal(t, tt.code, codeOf(t, err), name)
	}
	require.Zero(t, left())
	_, err := s.receiveUpload(failing{&os.PathError{Op: "write", Err: os.ErrClosed}}, "a", 5)
	require.ErrorContains(t, err, "receive upload")
	require.False(t, models.IsRejection(err))
	u, err := s.receiveUpload(strings.NewReader("12345"), "a", 5)
	require.NoError(t, err)
	u.discard()
	require.Zero(t, left())
	require.Equal(t, "request_too_large", codeOf(t, bodyError(&http.MaxBytesError{Limit: 7})))
	require.ErrorContains(t, bodyError(&http.MaxBytesError{Limit: 7}), "7 bytes")
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

func walkFiles(dir string, visit func()) error {
	return filepath.WalkDir(dir, func(_ string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			visit()
		}
		return err
	})
}
