package faults_test

import (
	"context"
	"math/rand/v2"
	"net/http"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"countersign/internal/bundled"
	"countersign/models"
	"countersign/test/kit"
)

// load runs n clients, each of which completes one envelope after another, until the returned function is called.
func (w *scenario) load(n int) (stop func()) {
	done := make(chan struct{})
	var wg sync.WaitGroup
	for range n {
		wg.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
					if !noError(w.t, w.sendAndComplete(2)) {
						return
					}
				}
			}
		})
	}
	return func() { close(done); wg.Wait() }
}

// pause waits for a random duration between d and 2d.
func pause(rnd *rand.Rand, d time.Duration) { time.Sleep(d + time.Duration(rnd.Int64N(int64(d)))) }

// startPostgres starts a PostgreSQL server for this test only, so that the test can crash it.
func startPostgres(t *testing.T) *kit.PostgresServer {
	t.Helper()
	server, err := kit.StartPostgres(t.Context(), kit.PostgresOptions{})
	require.NoError(t, err)
	stopAfter(t, "PostgreSQL", server)
	return server
}

// stopAfter stops a server when the test ends. If the test failed, it logs the server's output.
func stopAfter(t *testing.T, name string, server interface {
	Log() string
	Stop(ctx context.Context) error
},
) {
	t.Helper()
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("last output of %s:\n%s", name, lastLines(server.Log(), 40))
		}
		_ = server.Stop(context.WithoutCancel(t.Context())) // the test may already have stopped the server
	})
}

// TestPostgresStops crashes PostgreSQL under load and restarts it. It checks that no acknowledged change is lost, and
// that no other process needs a restart.
func TestPostgresStops(t *testing.T) {
	t.Parallel()
	row(t, func(t *testing.T, rnd *rand.Rand) {
		server := startPostgres(t)
		w := newScenario(t, setting{postgres: server.URL})
		w.start(1, 1)
		stop := w.load(3)
		eventually(t, func() bool { return w.acknowledgedSignatures() > 0 }, "no signature was acknowledged before PostgreSQL was stopped")
		for range map[bool]int{true: 3, false: 1}[long()] {
			pause(rnd, 700*time.Millisecond)
			require.NoError(t, server.Crash(t.Context()))
			w.cutOff += 8 // emails that may have been sent without being recorded
			pause(rnd, 500*time.Millisecond)
			require.NoError(t, server.Restart(t.Context()))
		}
		pause(rnd, 500*time.Millisecond)
		stop()
		t.Logf("%d envelopes, %d requests sent again", len(w.envelopes), w.client.retried)
		w.check("/all")
	})
}

// temporalServer is a private Temporal server that can be killed and restarted at the same address.
type temporalServer struct {
	t       *testing.T
	flags   []string
	running *bundled.Server
}

func startTemporal(t *testing.T) *temporalServer {
	t.Helper()
	s := &temporalServer{t: t, flags: []string{"--headless", "--db-filename", filepath.Join(t.TempDir(), "temporal.db"), "--port"}}
	port, err := kit.FreePort(t.Context())
	require.NoError(t, err)
	s.flags = append(s.flags, strconv.Itoa(port))
	s.start()
	t.Cleanup(func() { _ = s.running.Kill() })
	return s
}

func (s *temporalServer) start() {
	s.t.Helper()
	path, err := filepath.Abs("../../bin/" + bundled.Binary)
	require.NoError(s.t, err)
	ctx, cancel := context.WithTimeout(s.t.Context(), waitTimeout)
	defer cancel()
	for { // while the server was down, another process may briefly have used its port
		running, err := bundled.Start(ctx, path, s.flags...)
		if err == nil {
			s.running = running
			return
		}
		if !strings.Contains(err.Error(), "already in use") || ctx.Err() != nil {
			require.NoError(s.t, err)
		}
	}
}

// TestTemporalStops kills Temporal and keeps it unavailable while signers sign. It checks that each signer receives a
// response, that an envelope whose deadline passes accepts no more signatures, and that the service catches up.
func TestTemporalStops(t *testing.T) {
	t.Parallel()
	row(t, func(t *testing.T, rnd *rand.Rand) {
		server := startTemporal(t)
		w := newScenario(t, setting{temporal: server.running.Address, namespace: "default"})
		w.start(1, 0)
		before, err := w.send(2)
		require.NoError(t, err)
		late, expired, err := w.sendDue(1, 20*time.Second)
		require.NoError(t, err)
		require.NoError(t, late.consent(0))
		w.worker()
		eventually(t, func() bool {
			return w.count("SELECT count(*) FROM mails WHERE envelope_id = $1 AND sent_at IS NOT NULL", before.id) == 2
		}, "the invitations were not sent")
		require.NoError(t, server.running.Kill())

		slowest := time.Duration(0)
		for range 5 {
			start := time.Now()
			require.NoError(t, w.sendAndComplete(2))
			slowest = max(slowest, time.Since(start))
		}
		require.NoError(t, before.complete())
		t.Logf("while Temporal was down, processing an envelope took at most %v", slowest)
		require.Less(t, slowest, time.Minute, "signing must work while Temporal is down")
		for path, want := range map[string]int{"/readyz": http.StatusServiceUnavailable, "/readyz?for=requests": http.StatusOK} {
			res, err := http.Get(w.apis[0] + path) //nolint:noctx // the test's own probe
			require.NoError(t, err)
			require.NoError(t, res.Body.Close())
			assert.Equal(t, want, res.StatusCode, "a load balancer must keep the API: %s", path)
		}
		time.Sleep(time.Until(expired.Add(time.Second)))
		a, err := late.sign(0)
		require.NoError(t, err)
		assert.Equal(t, http.StatusUnauthorized, a.status, "the deadline has passed: %s", a.body)
		if long() {
			pause(rnd, time.Minute)
		}
		server.start()
		eventually(t, func() bool { return w.status(late) == models.StatusExpired }, "the envelope did not expire")
		w.check("/all")
	})
}

// TestMailServerStops stops the mail server, and checks that each email is sent later and only once. If the response
// after DATA is lost, only that email arrives twice, with the same Message-ID.
func TestMailServerStops(t *testing.T) {
	t.Parallel()
	row(t, func(t *testing.T, rnd *rand.Rand) {
		w := newScenario(t, setting{})
		w.start(1, 1)
		w.smtp.stop()
		_, err := w.send(2)
		require.NoError(t, err)
		require.NoError(t, w.sendAndComplete(2), "signers must be able to sign while the mail server is down")
		pause(rnd, time.Second)
		assert.Empty(t, w.mails())
		w.smtp.start()
		eventually(t, func() bool {
			return w.invitations() >= 2
		}, "the invitations were not sent")
		w.check("/all")
		for id, all := range w.mails() {
			assert.Len(t, all, 1, "mail %s", id)
		}

		w.smtp.dropNext(2)
		require.NoError(t, w.sendAndComplete(1))
		_, err = w.send(2)
		require.NoError(t, err)
		eventually(t, func() bool {
			return w.invitations() >= 4
		}, "the invitations were not sent")
		w.check("/all")
	})
}

// TestCodes_MailServerUnavailable_AreNotSentLater requests one-time codes while the mail server is unavailable and
// while it hangs. It checks that no code is emailed later.
func TestCodes_MailServerUnavailable_AreNotSentLater(t *testing.T) {
	t.Parallel()
	row(t, func(t *testing.T, rnd *rand.Rand) {
		w := newScenario(t, setting{})
		w.api()
		w.login()
		var made struct{ ID string }
		require.NoError(t, w.client.post("/v1/envelopes", object{
			"tenantId": "acme", "signers": []object{{"name": "Ada", "email": "ada@example.com"}},
			"fields": []object{{"signerId": "0", "type": "signature", "page": 1, "x": 72, "y": 100, "w": 150, "h": 50}},
		}, http.StatusCreated, &made))
		a, err := w.client.do(http.MethodPost, "/v1/envelopes/"+made.ID+"/document", "application/octet-stream", onePage)
		require.NoError(t, err)
		require.Less(t, a.status, 300)
		sent, err := w.client.do(http.MethodPost, "/v1/envelopes/"+made.ID+"/send", "application/json", []byte("{}"))
		require.NoError(t, err)
		e := &envelope{w: w, id: made.ID, signers: make([]signer, 1)}
		e.links(t, sent.body)
		request := func(limit time.Duration) (int, error) {
			ctx, cancel := context.WithTimeout(t.Context(), limit)
			defer cancel()
			status, _, err := w.client.once(ctx, http.MethodPost, w.apis[0]+e.path(0, "/otp/request"), nil, nil)
			return status, err
		}

		w.smtp.stop()
		status, err := request(waitTimeout)
		require.NoError(t, err)
		assert.Equal(t, http.StatusServiceUnavailable, status)
		w.smtp.start()

		release := w.smtp.hang(t)
		_, err = request(time.Second + time.Duration(rnd.IntN(1000))*time.Millisecond)
		require.ErrorIs(t, err, context.DeadlineExceeded, "the signer disconnected while the mail server hung")
		eventually(t, func() bool { return w.times("one-time code not sent") == 2 }, "the API did not detect that the signer disconnected")
		release()

		status, err = request(waitTimeout)
		require.NoError(t, err)
		assert.Equal(t, http.StatusOK, status)
		assert.Len(t, w.mails(), 1, "only the code that was requested last is sent")
	})
}
