package e2e_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"io"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	countersign "countersign/clients/go"
	"countersign/clients/go/api"
	"countersign/test/kit"
)

// TestGracefulShutdown checks that a process that is being stopped accepts no new work and finishes its current work.
func TestGracefulShutdown(t *testing.T) {
	t.Parallel()
	s := production(t)
	c := s.app(t)

	// Stop a worker during a delivery.
	var attempts atomic.Int32
	posted, release := make(chan struct{}, 10), make(chan struct{})
	endpoint := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		attempts.Add(1)
		posted <- struct{}{}
		<-release
	}))
	t.Cleanup(endpoint.Close)
	c.subscribe(t, endpoint.URL, "", api.WebhookEventNameEnvelopeCreated)
	// Create an envelope without a document. On a busy machine, an upload may take longer than the timeout of the
	// endpoint, and the attempt would fail.
	_, err := c.Create(t.Context(), agreement("Ada Lovelace", "ada@example.com"))
	require.NoError(t, err)
	within(t, "a delivery", posted)
	require.NoError(t, s.worker.cmd.Process.Signal(os.Interrupt))
	close(release)
	s.worker.stop(t)
	assert.True(t, s.worker.cmd.ProcessState.Success(), "%s", s.worker.out)
	s.worker = start(t, s.env, "worker")
	eventually(t, "the delivery is recorded", func() bool {
		list, err := c.API.ListDeliveriesWithResponse(t.Context(), &api.ListDeliveriesParams{Status: countersign.Ptr(api.DeliveryStatusDelivered)})
		require.NoError(t, err)
		return len(list.JSON200.Data) == 1
	})
	assert.EqualValues(t, 1, attempts.Load(), "the activity must not be started again")

	// Stop an API process during a request. The first upload of a process waits until the renderer is compiled. On a
	// busy machine, this can exceed the time limit of a shutdown, so upload a document beforehand.
	c.draft(t, agreement("Ada Lovelace", "ada@example.com"), kit.OnePage())
	body, contentType := envelopeForm(t)
	pipe, rest := io.Pipe()
	begun := make(chan struct{})
	req, err := http.NewRequestWithContext(httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{Got100Continue: func() { close(begun) }}),
		http.MethodPost, s.BaseURL+"/v1/envelopes", pipe)
	require.NoError(t, err)
	req.ContentLength = int64(len(body))
	req.Header.Set("Content-Type", contentType)
	req.Header.Set("Authorization", "Bearer "+s.tokens[0])
	req.Header.Set("Expect", "100-continue")
	answer := make(chan *http.Response, 1)
	go func() {
		res, err := (&http.Client{Transport: &http.Transport{ExpectContinueTimeout: waitTimeout}}).Do(req)
		assert.NoError(t, err)
		answer <- res
	}()
	within(t, "the request for the body", begun)
	_, err = rest.Write(body[:len(body)/2])
	require.NoError(t, err)
	require.NoError(t, s.api.cmd.Process.Signal(os.Interrupt))
	eventually(t, "no new connection is accepted", func() bool {
		_, err := get(t, s.BaseURL+"/healthz")
		return err != nil
	})
	_, err = rest.Write(body[len(body)/2:])
	require.NoError(t, err)
	require.NoError(t, rest.Close())
	res := within(t, "the response", answer)
	require.NotNil(t, res)
	defer func() { require.NoError(t, res.Body.Close()) }()
	assert.Equal(t, http.StatusCreated, res.StatusCode)
	s.api.stop(t)
	assert.True(t, s.api.cmd.ProcessState.Success(), "%s", s.api.out)
}

// TestStopDuringStartup checks that a process that is stopped while it waits for the database exits successfully.
func TestStopDuringStartup(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	env := []string{
		"COUNTERSIGN_DATABASE_URL=postgres://nobody@" + kit.FreeAddress(t) + "/none", "COUNTERSIGN_BLOB_URL=file://" + dir,
		"COUNTERSIGN_SMTP_URL=smtp://127.0.0.1:1?tls=none", "COUNTERSIGN_MAIL_FROM=sign@example.com",
		"COUNTERSIGN_MASTER_KEY=" + base64.StdEncoding.EncodeToString(make([]byte, 32)), "COUNTERSIGN_SEAL_KEY=" + filepath.Join(dir, "seal.key.pem"),
	}
	for _, command := range []string{"api", "worker"} {
		p := start(t, env, command)
		eventually(t, "it waits for the database", func() bool { return strings.Contains(p.out.String(), "waiting for the database") })
		p.stop(t)
		assert.True(t, p.cmd.ProcessState.Success(), "%s: %s", command, p.out)
	}
}

// within waits for a value from a channel, up to a time limit.
func within[T any](t *testing.T, what string, from <-chan T) (got T) {
	t.Helper()
	select {
	case got = <-from:
	case <-time.After(waitTimeout):
		t.Fatalf("%s has not arrived", what)
	}
	return got
}

// envelopeForm returns the body of a request that creates an envelope, and its content type.
func envelopeForm(t *testing.T) (body []byte, contentType string) {
	t.Helper()
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	data, err := json.Marshal(contract())
	require.NoError(t, err)
	require.NoError(t, w.WriteField("data", string(data)))
	part, err := w.CreateFormFile("file", "contract.pdf")
	require.NoError(t, err)
	_, err = part.Write(kit.OnePage())
	require.NoError(t, err)
	require.NoError(t, w.Close())
	return b.Bytes(), w.FormDataContentType()
}
