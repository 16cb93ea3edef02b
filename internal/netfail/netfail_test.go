package netfail_test

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"countersign/internal/netfail"
)

// TestCauseOf_RealFailures checks the causes of real connection failures in the standard library.
func TestCauseOf_RealFailures(t *testing.T) {
	t.Parallel()
	get := func(url string, config *tls.Config) error {
		c := http.Client{Transport: &http.Transport{TLSClientConfig: config}}
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
		require.NoError(t, err)
		res, err := c.Do(req)
		if err == nil {
			defer func() { require.NoError(t, res.Body.Close()) }()
			_, err = io.ReadAll(res.Body)
		}
		return err
	}
	server := func(start func(http.Handler) *httptest.Server, h http.HandlerFunc) *httptest.Server {
		s := start(h)
		t.Cleanup(s.Close)
		return s
	}
	plain := server(httptest.NewServer, func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
	secure := server(httptest.NewTLSServer, func(http.ResponseWriter, *http.Request) {})
	trusting := &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: secure.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs}
	elsewhere, old := trusting.Clone(), trusting.Clone()
	elsewhere.ServerName = "other.test"
	old.MaxVersion, secure.TLS.MinVersion = tls.VersionTLS12, tls.VersionTLS13

	require.Equal(t, netfail.Closed, netfail.CauseOf(get(plain.URL, nil)))
	require.Equal(t, netfail.NoTLS, netfail.CauseOf(get("https://"+plain.Listener.Addr().String(), nil)))
	require.Equal(t, netfail.Untrusted, netfail.CauseOf(get(secure.URL, nil)))
	require.Equal(t, netfail.WrongName, netfail.CauseOf(get(secure.URL, elsewhere)))
	require.Equal(t, netfail.Handshake, netfail.CauseOf(get(secure.URL, old)))
	require.NoError(t, get(secure.URL, trusting))
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, l.Close())
	require.Equal(t, netfail.Refused, netfail.CauseOf(get("http://"+l.Addr().String(), nil)))
}

// TestCauses checks that the cause does not depend on how an error is wrapped, and that no message contains a host
// name.
func TestCauses(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		err  error
		want netfail.Cause
	}{
		{context.DeadlineExceeded, netfail.Timeout},
		{os.ErrDeadlineExceeded, netfail.Timeout},
		{&net.DNSError{Name: "secret.test", IsNotFound: true}, netfail.NameNotFound},
		{&net.DNSError{Name: "secret.test", IsTimeout: true}, netfail.Timeout},
		{io.ErrUnexpectedEOF, netfail.Closed},
		{net.ErrClosed, netfail.Closed},
		{&net.OpError{Op: "dial", Err: errors.New("no route to secret.test")}, netfail.Failed},
		{&net.OpError{Op: "remote error", Err: errors.New("tls: bad certificate")}, netfail.Handshake},
		{errors.New("secret.test returned an unknown error"), netfail.Unknown},
	} {
		cause := netfail.CauseOf(fmt.Errorf("call secret.test: %w", c.err))
		require.Equal(t, c.want, cause, "%v", c.err)
		require.NotContains(t, string(cause), "secret")
	}
	require.True(t, netfail.Expired.IsTLS())
	require.False(t, netfail.Timeout.IsTLS())
	require.False(t, netfail.Unknown.IsTLS())
}
