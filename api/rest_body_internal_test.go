package api

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestParts checks that a form must have one file within the size limit, and no other part more than once.
func TestParts(t *testing.T) {
	t.Parallel()
	s, _ := serverWithFiles(t)
	read := func(limit int64, all ...string) (*parts, error) {
		contentType, body := multipartOf(t, all...)
		c, _ := request(http.MethodPost, "/", contentType, body)
		held := &requestBody{shared: s, maxJSON: maxJSON}
		c.Set(requestBodyKey, held)
		t.Cleanup(held.release)
		out, err := s.readParts(c, limit)
		if err == nil {
			out.file.discard()
		}
		return out, err
	}
	out, err := read(5, "file", "x/a.pdf", "12345", "signers", "", "1", "signers", "", "2", "fields", "", "3", "fields", "", "4", "subject", "", "S")
	require.NoError(t, err)
	require.EqualValues(t, 5, out.file.Size)
	require.Equal(t, "a.pdf", out.file.Name)
	require.Len(t, out.file.SHA256, 64)
	require.Equal(t, map[string][]string{"signers": {"1", "2"}, "fields": {"3", "4"}, "subject": {"S"}}, out.text)
	_, err = read(4, "file", "a.pdf", "12345")
	require.Equal(t, "file_too_large", codeOf(t, err))
	_, err = read(9, "file", "a.pdf", "1", "file", "b.pdf", "2")
	require.ErrorContains(t, err, "occur only once")
	_, err = read(9, "subject", "", "1", "subject", "", "2")
	require.ErrorContains(t, err, "occur only once")
	many := func(n int) (all []string) {
		for range n {
			all = append(all, "signers", "", "1")
		}
		return all
	}
	_, err = read(9, many(maxParts)...)
	require.NoError(t, err)
	_, err = read(9, many(maxParts+1)...)
	require.Equal(t, "too_many_parts", codeOf(t, err))
	_, err = read(1<<20, "subject", "", strings.Repeat("x", maxJSON))
	require.NoError(t, err)
	_, err = read(1<<20, "subject", "", strings.Repeat("x", maxJSON+1))
	require.Equal(t, "request_too_large", codeOf(t, err))
	require.ErrorContains(t, err, "The parts other than the file")
	_, err = read(9, "signers", "", strings.Repeat("x", maxJSON-9), "fields", "", strings.Repeat("x", 9000))
	require.Equal(t, "request_too_large", codeOf(t, err), "the size of the whole body is limited")
	c, _ := request(http.MethodPost, "/", "multipart/form-data", "x")
	_, err = s.readParts(c, 9)
	require.Equal(t, "content_type", codeOf(t, err))
	contentType, body := multipartOf(t, "subject", "", "S")
	c, _ = request(http.MethodPost, "/", contentType, body[:len(body)-9])
	c.Set(requestBodyKey, &requestBody{shared: s, maxJSON: maxJSON})
	_, err = s.readParts(c, 9)
	require.Equal(t, "body_unreadable", codeOf(t, err))
}
