//go:build azure

package blob_test

import (
	"encoding/base64"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"countersign/store/blob"
)

// container simulates an Azure Blob Storage container at /account/container/.
type container struct {
	mu      sync.Mutex
	objects map[string]string
}

// ServeHTTP implements http.Handler.
func (c *container) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	key := strings.TrimPrefix(r.URL.Path, "/account/container/")
	content, known := c.objects[key]
	switch {
	case !strings.HasPrefix(r.Header.Get("Authorization"), "SharedKey account:"):
		w.WriteHeader(http.StatusForbidden)
	case r.URL.Query().Get("comp") == "list":
		c.list(w, r.URL.Query().Get("prefix"))
	case r.Method == http.MethodPut:
		b, _ := io.ReadAll(r.Body)
		c.objects[key] = string(b)
		w.WriteHeader(http.StatusCreated)
	case !known:
		w.Header().Set("X-Ms-Error-Code", "BlobNotFound")
		w.WriteHeader(http.StatusNotFound)
	case r.Method == http.MethodDelete:
		delete(c.objects, key)
		w.WriteHeader(http.StatusAccepted)
	default:
		w.Header().Set("Last-Modified", "Thu, 26 Nov 2026 10:00:00 GMT")
		w.Header().Set("ETag", `"1"`)
		_, _ = io.WriteString(w, content)
	}
}

func (c *container) list(w http.ResponseWriter, prefix string) {
	var keys []string
	for k := range c.objects {
		if strings.HasPrefix(k, prefix) {
			keys = append(keys, k)
		}
	}
	slices.Sort(keys)
	w.Header().Set("Content-Type", "application/xml")
	_, _ = io.WriteString(w, "<EnumerationResults><Blobs>")
	for _, k := range keys {
		_, _ = fmt.Fprintf(w, "<Blob><Name>%s</Name><Properties><Last-Modified>Thu, 26 Nov 2026 10:00:00 GMT</Last-Modified><Content-Length>%d</Content-Length><BlobType>BlockBlob</BlobType></Properties></Blob>", k, len(c.objects[k]))
	}
	_, _ = io.WriteString(w, "</Blobs><NextMarker/></EnumerationResults>")
}

func TestAzure_StoresObjects(t *testing.T) {
	server := httptest.NewServer(&container{objects: map[string]string{}})
	defer server.Close()
	t.Setenv("AZURE_STORAGE_ACCOUNT", "account")
	t.Setenv("AZURE_STORAGE_KEY", base64.StdEncoding.EncodeToString([]byte("key")))
	s, err := blob.Open(t.Context(), "azblob://container?protocol=http&localemu=true&domain="+strings.TrimPrefix(server.URL, "http://"))
	require.NoError(t, err)
	require.NoError(t, s.Check(t.Context()))
	put(t, s, "envelopes/1/a.pdf", "a")
	put(t, s, "envelopes/10/b.pdf", "bb")
	require.Equal(t, "a", read(t, s, "envelopes/1/a.pdf"))
	keys, err := s.List(t.Context(), "envelopes/1/")
	require.NoError(t, err)
	require.Equal(t, []string{"envelopes/1/a.pdf"}, keys)
	require.EqualValues(t, 2, walk(t, s, "envelopes/10")[0].Size)
	require.NoError(t, s.Delete(t.Context(), "envelopes/1/a.pdf"))
	require.NoError(t, s.Delete(t.Context(), "envelopes/1/a.pdf"), "deleting a file twice is not an error")
	_, err = s.Open(t.Context(), "envelopes/1/a.pdf")
	require.ErrorIs(t, err, fs.ErrNotExist)
}
