package api

import (
	"bytes"
	"io"
	"mime/multipart"
	"testing"

	"github.com/stretchr/testify/require"

	"countersign/store/blob"
)

// multipartOf returns a multipart body. Each part is given by three arguments: its name, its file name or "", and its
// content.
func multipartOf(t *testing.T, all ...string) (contentType, body string) {
	t.Helper()
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	for i := 0; i < len(all); i += 3 {
		var p io.Writer
		var err error
		if all[i+1] != "" {
			p, err = w.CreateFormFile(all[i], all[i+1])
		} else {
			p, err = w.CreateFormField(all[i])
		}
		require.NoError(t, err)
		_, err = io.WriteString(p, all[i+2])
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	return w.FormDataContentType(), b.String()
}

func serverWithFiles(t *testing.T) (*shared, string) {
	t.Helper()
	dir := t.TempDir()
	blobs, err := blob.Open(t.Context(), "file://"+dir)
	require.NoError(t, err)
	return &shared{bodyMemory: newBodyMemory(0), blobs: blobs, uploadLimit: 100}, dir
}
