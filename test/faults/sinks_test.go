package faults_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// webhookSink is the application's webhook endpoint. It accepts all events, except on paths that have another
// handler.
type webhookSink struct {
	url string

	mu       sync.Mutex
	received map[string]map[string][]delivery // deliveries by path and event ID
	handlers map[string]http.HandlerFunc
}

type delivery struct {
	body string
	at   time.Time
}

func newWebhookSink(t *testing.T) *webhookSink {
	t.Helper()
	s := &webhookSink{received: map[string]map[string][]delivery{}, handlers: map[string]http.HandlerFunc{}}
	server := httptest.NewServer(http.HandlerFunc(s.receive))
	t.Cleanup(server.Close)
	t.Cleanup(server.CloseClientConnections) // closes hanging connections
	s.url = server.URL
	return s
}

func (s *webhookSink) receive(w http.ResponseWriter, r *http.Request) {
	b, err := io.ReadAll(r.Body)
	if err != nil {
		return // interrupted, so not accepted
	}
	s.mu.Lock()
	byID := s.received[r.URL.Path]
	if byID == nil {
		byID = map[string][]delivery{}
		s.received[r.URL.Path] = byID
	}
	id := r.Header.Get("webhook-id")
	byID[id] = append(byID[id], delivery{string(b), time.Now()})
	h := s.handlers[r.URL.Path]
	s.mu.Unlock()
	if h != nil {
		h(w, r)
	}
}

func (s *webhookSink) on(path string, h http.HandlerFunc) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.handlers[path] = h
}

// of returns the deliveries of an event to a path.
func (s *webhookSink) of(path, event string) []delivery {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]delivery(nil), s.received[path][event]...)
}

// smtpRelay forwards the service's SMTP connections to the inbox unless the relay is stopped.
type smtpRelay struct {
	address string
	to      string

	mu    sync.Mutex
	conns map[net.Conn]bool
	down  bool
	// drop is the number of upcoming emails that are accepted without a response, because the connection is closed
	// after DATA.
	drop    int
	dropped int
	hold    chan struct{} // closed when held data may continue, or nil if no data is held
}

func newSMTPRelay(t *testing.T, to string) *smtpRelay {
	t.Helper()
	l := listen(t)
	r := &smtpRelay{address: l.Addr().String(), to: to, conns: map[net.Conn]bool{}}
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return // the test has ended
			}
			go r.serve(c)
		}
	}()
	return r
}

func (r *smtpRelay) serve(c net.Conn) {
	defer func() { _ = c.Close() }()
	r.mu.Lock()
	down := r.down
	r.conns[c] = true
	r.mu.Unlock()
	if down {
		return
	}
	server, err := (&net.Dialer{}).DialContext(context.Background(), "tcp", r.to)
	if err != nil {
		return
	}
	defer func() { _ = server.Close() }()
	go func() {
		_, _ = io.Copy(server, &filter{r: r, from: c}) // ends when either side disconnects
		_ = server.Close()
	}()
	buf := make([]byte, 4096)
	for {
		n, err := server.Read(buf)
		if err != nil {
			return
		}
		if r.cuts(string(buf[:n])) {
			return
		}
		if _, err := c.Write(buf[:n]); err != nil {
			return
		}
	}
}

// cuts reports whether a response that accepts an email must be dropped.
func (r *smtpRelay) cuts(answer string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	// go-smtp sends this text only in response to the end of DATA.
	if r.drop == 0 || len(answer) < 14 || answer[:14] != "250 2.0.0 OK: " {
		return false
	}
	r.drop--
	r.dropped++
	return true
}

// filter forwards the data that the service sends, and waits while the relay holds data.
type filter struct {
	r    *smtpRelay
	from net.Conn
}

// Read implements io.Reader.
func (f *filter) Read(p []byte) (int, error) {
	n, err := f.from.Read(p)
	f.r.mu.Lock()
	hold := f.r.hold
	f.r.mu.Unlock()
	if hold != nil {
		<-hold
	}
	return n, err
}

// stop closes all connections, and accepts no new ones until start is called.
func (r *smtpRelay) stop() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.down = true
	for c := range r.conns {
		_ = c.Close()
	}
	r.conns = map[net.Conn]bool{}
}

func (r *smtpRelay) start() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.down = false
}

// dropNext drops the responses to the next n emails.
func (r *smtpRelay) dropNext(n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.drop = n
}

// hang holds all data until the returned function is called.
func (r *smtpRelay) hang(t *testing.T) (release func()) {
	t.Helper()
	hold := make(chan struct{})
	r.mu.Lock()
	r.hold = hold
	r.mu.Unlock()
	release = sync.OnceFunc(func() {
		r.mu.Lock()
		r.hold = nil
		r.mu.Unlock()
		close(hold)
	})
	t.Cleanup(release)
	require.NotNil(t, hold)
	return release
}
