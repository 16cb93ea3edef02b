package main

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"countersign/config"
)

// TestHealthcheck_Address checks that the loopback address is used for a process that listens on all addresses.
func TestHealthcheck_Address(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		listen, metrics string
		worker          bool
		want            string
	}{
		{"0.0.0.0:8080", "", false, "http://127.0.0.1:8080/readyz?for=requests"},
		{":8080", "", false, "http://127.0.0.1:8080/readyz?for=requests"},
		{"[::]:8080", "", false, "http://[::1]:8080/readyz?for=requests"},
		{"10.0.0.7:80", "", false, "http://10.0.0.7:80/readyz?for=requests"},
		{"0.0.0.0:8080", "0.0.0.0:9090", true, "http://127.0.0.1:9090/readyz"},
	} {
		got, err := healthcheckCommand{Worker: c.worker}.address(config.Config{Listen: c.listen, MetricsListen: c.metrics})
		require.NoError(t, err)
		require.Equal(t, c.want, got)
	}
	_, err := healthcheckCommand{Worker: true}.address(config.Default())
	require.ErrorContains(t, err, "COUNTERSIGN_METRICS_LISTEN must be set")
}

// TestHealthcheck_NamesFailedParts checks that the error for a process that is not ready contains its response.
func TestHealthcheck_NamesFailedParts(t *testing.T) {
	t.Parallel()
	status := http.StatusOK
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		_, _ = w.Write([]byte(`{"database":"down"}`))
	}))
	t.Cleanup(web.Close)
	require.NoError(t, healthcheckCommand{URL: web.URL}.Run(t.Context()))
	status = http.StatusServiceUnavailable
	require.ErrorContains(t, healthcheckCommand{URL: web.URL}.Run(t.Context()), `not ready (503): {"database":"down"}`)
	web.Close()
	require.ErrorContains(t, healthcheckCommand{URL: web.URL}.Run(t.Context()), strings.TrimPrefix(web.URL, "http://"))
}
