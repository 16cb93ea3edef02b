package kit

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/xml"
	"hash/crc32"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// S3 is an S3 server with one bucket. It supports the operations that a file store uses: put, get, delete and list.
type S3 struct {
	// URL is the URL of the bucket, for blob.Open.
	URL string

	server *httptest.Server
	page   int // objects per page of a listing

	mu      sync.Mutex
	objects map[string]s3Object
}

type s3Object struct {
	content  []byte
	modified time.Time
}

// NewS3 starts a server that lists two objects per page and is closed when the test ends.
func NewS3(t testing.TB) *S3 {
	t.Helper()
	s := StartS3(2)
	t.Cleanup(s.Close)
	return s
}

// StartS3 starts a server that lists the given number of objects per page. It runs until Close is called.
func StartS3(page int) *S3 {
	s := &S3{page: page, objects: make(map[string]s3Object)}
	s.server = httptest.NewServer(s)
	q := url.Values{"endpoint": {s.server.URL}, "region": {"here"}, "use_path_style": {"true"}, "anonymous": {"true"}}
	s.URL = "s3://bucket?" + q.Encode()
	return s
}

// Close stops the server.
func (s *S3) Close() { s.server.Close() }

// Age moves the modification time of an object into the past.
func (s *S3) Age(key string, by time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	o := s.objects[key]
	o.modified = o.modified.Add(-by)
	s.objects[key] = o
}

// ServeHTTP implements http.Handler.
func (s *S3) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := strings.TrimPrefix(strings.TrimPrefix(r.URL.Path, "/bucket"), "/")
	o, known := s.objects[key]
	switch {
	case r.Method == http.MethodGet && key == "":
		s.list(w, r.URL.Query())
	case r.Method == http.MethodPut && !strings.Contains(r.Header.Get("Content-Encoding"), "aws-chunked"):
		b, err := io.ReadAll(r.Body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		s.objects[key] = s3Object{b, time.Now()} //nolint:forbidigo // the server's own clock
		w.Header().Set("ETag", `"1"`)
	case r.Method == http.MethodDelete:
		delete(s.objects, key)
		w.WriteHeader(http.StatusNoContent)
	case (r.Method == http.MethodGet || r.Method == http.MethodHead) && known:
		w.Header().Set("ETag", `"1"`)
		if r.Header.Get("Range") == "" {
			sum := binary.BigEndian.AppendUint32(nil, crc32.ChecksumIEEE(o.content))
			w.Header().Set("X-Amz-Checksum-Crc32", base64.StdEncoding.EncodeToString(sum))
		}
		http.ServeContent(w, r, "", o.modified, strings.NewReader(string(o.content)))
	case !known:
		w.WriteHeader(http.StatusNotFound)
		if r.Method == http.MethodGet {
			_, _ = io.WriteString(w, `<Error><Code>NoSuchKey</Code></Error>`) // the client may have disconnected
		}
	default:
		w.WriteHeader(http.StatusNotImplemented)
	}
}

// list responds to ListObjectsV2. The continuation token is the first key of the next page.
func (s *S3) list(w http.ResponseWriter, q url.Values) {
	type content struct {
		Key          string
		Size         int
		LastModified string
	}
	var out struct {
		XMLName               xml.Name `xml:"ListBucketResult"`
		IsTruncated           bool
		NextContinuationToken string `xml:",omitempty"`
		Contents              []content
	}
	var keys []string
	for k := range s.objects {
		if strings.HasPrefix(k, q.Get("prefix")) && k >= q.Get("continuation-token") {
			keys = append(keys, k)
		}
	}
	slices.Sort(keys)
	if len(keys) > s.page {
		out.IsTruncated, out.NextContinuationToken = true, keys[s.page]
		keys = keys[:s.page]
	}
	for _, k := range keys {
		o := s.objects[k]
		out.Contents = append(out.Contents, content{k, len(o.content), o.modified.UTC().Format(time.RFC3339Nano)})
	}
	w.Header().Set("Content-Type", "application/xml")
	_ = xml.NewEncoder(w).Encode(out) // the client may have disconnected
}
