package api_test

import (
	"context"
	"io"
	"log/slog"
	"net"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/stretchr/testify/require"

	"countersign/api"
	"countersign/models"
	"countersign/test/kit"
)

// TestFailures_AreLogged checks that failures are logged as errors, but rejected requests are not.
func TestFailures_AreLogged(t *testing.T) {
	t.Parallel()
	var log kit.Buffer
	s := onSQLite(t, func(cfg *api.Config) { cfg.Log = slog.New(slog.NewTextHandler(&log, nil)) })
	c := s.client(t)
	c.post("/v1/embedded/builder-sessions", object{}).rejected(400, "validation_error")
	require.NotContains(t, log.String(), "level=ERROR")
	require.NoError(t, s.store.Close())
	c.get("/v1/webhooks").want(500)
	require.Contains(t, log.String(), "level=ERROR")
}

// TestDatabaseFailure_HasNoDetails checks that an internal failure results in a 500 problem without details.
func TestDatabaseFailure_HasNoDetails(t *testing.T) {
	t.Parallel()
	s, _, _ := withProvider(t, kit.MigratedURL(t, "sqlite"))
	each := requestEachOperation(t, s)
	require.NoError(t, s.store.Close())
	each(func(name string, a *response) {
		a.rejected(500, "internal_error")
		require.Empty(t, a.body["errors"], name)
		require.Nil(t, a.body["details"], name)
		require.NotContains(t, string(a.raw), "sql", name)
		require.Contains(t, a.str("message"), a.header.Get("X-Request-Id"), name)
	})
}

// TestUnresponsiveDatabase_Is503 checks that operations that need the database return 503 and Retry-After while the
// database does not respond.
func TestUnresponsiveDatabase_Is503(t *testing.T) {
	t.Parallel()
	address, cut := proxied(t, kit.MigratedURL(t, "postgres"))
	s, _, _ := withProvider(t, address)
	each := requestEachOperation(t, s)
	cut()
	each(func(name string, a *response) {
		a.rejected(503, "unavailable")
		require.NotEmpty(t, a.header.Get("Retry-After"), name)
	})
}

// requestEachOperation prepares a request for every operation. The returned function sends these requests, and calls
// check with the response of each operation that needs the database.
func requestEachOperation(t *testing.T, s *service) (each func(check func(name string, a *response))) {
	t.Helper()
	at := pathReplacer(t, s)
	known := operations()
	type request struct {
		c    *client
		path string
		body object
	}
	ready := map[string]request{}
	person := s.person(t, models.RoleViewer)
	eachOperation(t, s, func(c *client, method, path string, op *openapi3.Operation) {
		if isOwn(op) {
			c = person
		}
		r := request{c: c, path: at.Replace(path)}
		if op := known[method+" "+path]; op != nil {
			r.c, r.path, r.body = op(t, s)
		}
		ready[method+" "+path] = r
	})
	s.clock.advance(2 * time.Second) // expires the caches
	return func(check func(name string, a *response)) {
		for name, r := range ready {
			method, path, _ := strings.Cut(name, " ")
			switch {
			case path == "/healthz" || path == "/v1/console/sign-in": // these do not need the database
				r.c.get(path).want(200)
			case path == "/readyz":
				r.c.get(path).want(503)
			case path == "/oauth/token":
				check(name, r.c.send(method, path, "application/x-www-form-urlencoded", form("grant_type", "client_credentials", "client_id", "a", "client_secret", "b")))
			case r.body == nil:
				check(name, r.c.call(method, r.path, nil))
			default:
				check(name, r.c.call(method, r.path, r.body))
			}
		}
	}
}

// proxied returns the URL of a database behind a proxy, and a function that closes the proxy and all of its
// connections.
func proxied(t *testing.T, address string) (through string, cut func()) {
	t.Helper()
	u, err := url.Parse(address)
	require.NoError(t, err)
	server := u.Host
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	ctx, end := context.WithCancel(context.WithoutCancel(t.Context()))
	cut = func() { end(); _ = l.Close() } // called twice: by the test and in the cleanup
	t.Cleanup(cut)
	go func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			up, err := (&net.Dialer{}).DialContext(ctx, "tcp", server)
			if err != nil {
				_ = client.Close()
				continue
			}
			context.AfterFunc(ctx, func() { _, _ = client.Close(), up.Close() })
			go func() { _, _ = io.Copy(up, client); _ = up.Close() }()
			go func() { _, _ = io.Copy(client, up); _ = client.Close() }()
		}
	}()
	u.Host = l.Addr().String()
	return u.String(), cut
}
