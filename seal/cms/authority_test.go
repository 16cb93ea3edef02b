package cms_test

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"countersign/seal/cms"
	"countersign/test/kit"
)

// between returns an authority. The argument change is a function that modifies a response of the authority before the
// service receives it.
func between(t *testing.T, change func(query, answer []byte) []byte) *cms.Authority {
	t.Helper()
	tsa := kit.NewTSA(t)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		query, err := io.ReadAll(r.Body)
		if err != nil {
			http.Error(w, "bad", http.StatusBadRequest)
			return
		}
		req, err := http.NewRequestWithContext(r.Context(), http.MethodPost, tsa.URL, bytes.NewReader(query))
		if err != nil {
			http.Error(w, "bad", http.StatusBadRequest)
			return
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			http.Error(w, "down", http.StatusBadGateway)
			return
		}
		defer func() { _ = res.Body.Close() }()
		answer, err := io.ReadAll(res.Body)
		if err != nil {
			http.Error(w, "down", http.StatusBadGateway)
			return
		}
		_, _ = w.Write(change(query, answer))
	}))
	t.Cleanup(srv.Close)
	return &cms.Authority{URL: srv.URL, Client: srv.Client(), Rand: rand.Reader}
}

// TestTimestamp_MatchesItsRequest checks that a time-stamp over the correct digest is rejected if it was issued for
// another request.
func TestTimestamp_MatchesItsRequest(t *testing.T) {
	t.Parallel()
	digest, other := sha256.Sum256([]byte("content")), sha256.Sum256([]byte("other"))
	var first []byte
	a := between(t, func(_, answer []byte) []byte {
		if first == nil {
			first = answer
		}
		return first
	})
	token, err := a.Stamp(t.Context(), digest[:])
	require.NoError(t, err)
	parsed, err := cms.ParseTokenStrict(token)
	require.NoError(t, err)
	require.NoError(t, parsed.Verify(digest[:]))
	require.Error(t, parsed.Verify(other[:]))
	_, err = a.Stamp(t.Context(), digest[:])
	require.ErrorContains(t, err, "another request")
	_, err = a.Stamp(t.Context(), other[:])
	require.Error(t, err)
}

// TestTimestamp_RejectedRequest_IsAnError checks that a response with a rejection status is not accepted, even if it
// contains a valid token.
func TestTimestamp_RejectedRequest_IsAnError(t *testing.T) {
	t.Parallel()
	for status, good := range map[byte]bool{0: true, 1: true, 2: false, 3: false, 5: false} {
		a := between(t, func(_, answer []byte) []byte {
			return bytes.Replace(answer, []byte{2, 1, 0}, []byte{2, 1, status}, 1) // PKIStatus is the first element
		})
		_, err := a.Stamp(t.Context(), contentDigest[:])
		if good {
			require.NoError(t, err, "status %d", status)
		} else {
			require.ErrorContains(t, err, "rejected the request with status", "status %d", status)
		}
	}
}

// TestTimestamp_InvalidResponses checks that invalid responses result in an error.
func TestTimestamp_InvalidResponses(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(query, answer []byte) []byte{
		"nothing": func(_, _ []byte) []byte { return nil }, "the request": func(query, _ []byte) []byte { return query },
		"cut off":   func(_, answer []byte) []byte { return answer[:len(answer)-9] },
		"too large": func(_, answer []byte) []byte { return append(make([]byte, 64<<10), answer...) },
		"a changed signature": func(_, answer []byte) []byte {
			answer[len(answer)-1] ^= 1
			return answer
		},
	} {
		_, err := between(t, change).Stamp(t.Context(), contentDigest[:])
		require.Error(t, err, name)
	}
}
