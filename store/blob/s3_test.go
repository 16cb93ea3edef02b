package blob_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"countersign/store/blob"
	"countersign/test/kit"
)

func TestS3_StoresObjectsAtEndpoint(t *testing.T) {
	t.Parallel()
	s3 := kit.NewS3(t)
	s, err := blob.Open(t.Context(), s3.URL)
	require.NoError(t, err)
	checkStore(t, s)
	s3.Age("envelopes/10/sealed/c.pdf", time.Hour)
	told := walk(t, s, "envelopes/10")
	require.Len(t, told, 1)
	assert.EqualValues(t, 1, told[0].Size)
	assert.WithinDuration(t, time.Now().Add(-time.Hour), told[0].Modified, 5*time.Minute)
}

type request struct {
	*http.Request

	body string
}

// newRecorder returns the address of a bucket that accepts every request, and a channel that receives the requests.
func newRecorder(t *testing.T) (address string, received chan request) {
	t.Helper()
	received = make(chan request, 10)
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		received <- request{r, string(b)}
	}))
	t.Cleanup(server.Close)
	return server.URL, received
}

// keepIn stores a file with the text "content" in a bucket in the region eu-central-1.
func keepIn(t *testing.T, endpoint string) error {
	t.Helper()
	s, err := blob.Open(t.Context(), "s3://contracts?region=eu-central-1&use_path_style=true&endpoint="+url.QueryEscape(endpoint))
	require.NoError(t, err)
	f, err := s.Temp()
	require.NoError(t, err)
	defer blob.Discard(f)
	_, err = f.WriteString("content")
	require.NoError(t, err)
	return s.Put(t.Context(), f, "envelopes/1/a.pdf")
}

// TestS3_SignsRequests checks that a file is stored with a single PUT request that contains a version 4 signature, the
// MD5 hash of the content, and the unmodified content.
func TestS3_SignsRequests(t *testing.T) {
	t.Setenv("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "secret")
	t.Setenv("AWS_PROFILE", "")
	address, received := newRecorder(t)
	require.NoError(t, keepIn(t, address))
	r := <-received
	require.Equal(t, "PUT /contracts/envelopes/1/a.pdf", r.Method+" "+r.URL.Path)
	require.Contains(t, r.Header.Get("Authorization"), "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/")
	require.Contains(t, r.Header.Get("Authorization"), "/eu-central-1/s3/aws4_request")
	require.Equal(t, "mgNkuembtIDdJeHwKEyFVQ==", r.Header.Get("Content-Md5"))
	require.Equal(t, "application/pdf", r.Header.Get("Content-Type"))
	require.Equal(t, "content", r.body)
}

// TestS3_UsesRoleCredentials checks that container credentials are used, and that no unsigned request is sent if no
// credentials are available.
func TestS3_UsesRoleCredentials(t *testing.T) {
	given := http.StatusOK
	role := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(given)
		_, _ = io.WriteString(w, `{"AccessKeyId": "ROLE", "SecretAccessKey": "s", "Token": "session", "Expiration": "2999-01-01T00:00:00Z"}`)
	}))
	defer role.Close()
	t.Setenv("AWS_ACCESS_KEY_ID", "")
	t.Setenv("AWS_PROFILE", "")
	t.Setenv("AWS_WEB_IDENTITY_TOKEN_FILE", "")
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", t.TempDir()+"/none")
	t.Setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", role.URL)
	address, received := newRecorder(t)
	require.NoError(t, keepIn(t, address))
	r := <-received
	require.Contains(t, r.Header.Get("Authorization"), "Credential=ROLE/")
	require.Equal(t, "session", r.Header.Get("X-Amz-Security-Token"))
	given = http.StatusForbidden
	require.Error(t, keepIn(t, address))
	require.Empty(t, received)
}

func TestS3_RejectsUnknownOptions(t *testing.T) {
	t.Parallel()
	for query, want := range map[string]string{
		"?regoin=x":                     `unknown option "regoin"; the S3 options are region, endpoint, use_path_style, anonymous and profile`,
		"?use_path_style=maybe":         "use_path_style must be true or false",
		"?anonymous=2":                  "anonymous must be true or false",
		"?endpoint=s3.example.com":      "endpoint must be an address without a path",
		"?endpoint=https://h.test/path": "endpoint must be an address without a path",
	} {
		_, err := blob.Open(t.Context(), "s3://bucket"+query)
		require.ErrorContains(t, err, want)
	}
	_, err := blob.Open(t.Context(), "s3://?region=here")
	require.ErrorContains(t, err, "name the bucket")
}

func walk(t *testing.T, s blob.Store, prefix string) (told []blob.Entry) {
	t.Helper()
	require.NoError(t, s.Walk(t.Context(), prefix, func(e blob.Entry) error { told = append(told, e); return nil }))
	return told
}

func TestWalkADirectory(t *testing.T) {
	t.Parallel()
	s, err := blob.OpenDir(t.TempDir())
	require.NoError(t, err)
	put(t, s, "a/b/c.pdf", "abc")
	put(t, s, "d.pdf", "d")
	f, err := s.Temp()
	require.NoError(t, err)
	defer blob.Discard(f)
	told := walk(t, s, "")
	require.Len(t, told, 2, "without temporary files")
	assert.Equal(t, "a/b/c.pdf", told[0].Key)
	assert.EqualValues(t, 3, told[0].Size)
	assert.WithinDuration(t, time.Now(), told[0].Modified, 5*time.Minute)
	assert.Empty(t, walk(t, s, "nowhere/"))
}
