package e2e_test

import (
	"encoding/hex"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	collectorpb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

// collector receives traces in the same way as an OpenTelemetry collector.
type collector struct {
	mu     sync.Mutex
	spans  []*tracepb.Span
	text   strings.Builder // everything that was sent, as JSON
	server *httptest.Server
}

func listenTraces(t *testing.T) *collector {
	t.Helper()
	c := &collector{}
	c.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		assert.Equal(t, "/v1/traces", r.URL.Path)
		b, err := io.ReadAll(r.Body)
		assert.NoError(t, err)
		var req collectorpb.ExportTraceServiceRequest
		assert.NoError(t, proto.Unmarshal(b, &req))
		c.mu.Lock()
		defer c.mu.Unlock()
		c.text.WriteString(protojson.Format(&req))
		for _, rs := range req.GetResourceSpans() {
			for _, ss := range rs.GetScopeSpans() {
				c.spans = append(c.spans, ss.GetSpans()...)
			}
		}
		w.Header().Set("Content-Type", "application/x-protobuf")
	}))
	t.Cleanup(c.server.Close)
	return c
}

func (c *collector) settings() []string {
	return []string{"OTEL_EXPORTER_OTLP_ENDPOINT=" + c.server.URL, "OTEL_BSP_SCHEDULE_DELAY=100", "COUNTERSIGN_LOG_LEVEL=debug"}
}

// trace reports whether a single trace contains spans with all of the given names. Unless a span has the first of these
// names, it counts only if its parent is also in the trace.
func (c *collector) trace(names ...string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	traces := make(map[string]map[string]bool)
	ids := make(map[string]bool)
	for _, s := range c.spans {
		id := hex.EncodeToString(s.GetTraceId())
		if traces[id] == nil {
			traces[id] = make(map[string]bool)
		}
		ids[id+hex.EncodeToString(s.GetSpanId())] = true
	}
	for _, s := range c.spans {
		id := hex.EncodeToString(s.GetTraceId())
		if s.GetName() == names[0] || ids[id+hex.EncodeToString(s.GetParentSpanId())] {
			traces[id][s.GetName()] = true
		}
	}
next:
	for _, in := range traces {
		for _, n := range names {
			if !in[n] {
				continue next
			}
		}
		return true
	}
	return false
}

// checkTraces checks that each step of an envelope is one trace, from the request to its effects.
func checkTraces(t *testing.T, c *collector) {
	t.Helper()
	for _, names := range [][]string{
		{"POST /v1/envelopes/:id/send", "outbox start", "workflow Envelope", "activity Invite"},
		// This trace invites the second routing group.
		{"POST /v1/signing/:token/sign", "outbox signer-signed", "workflow Envelope", "activity Invite"},
		{"POST /v1/signing/:token/sign", "outbox signer-signed", "workflow Envelope", "activity Seal"},
		{"POST /v1/signing/:token/sign", "outbox deliver", "workflow Delivery", "activity Deliver", "POST webhook"},
		// This trace notifies the endpoint of the completion.
		{"POST /v1/signing/:token/sign", "activity Seal", "outbox deliver", "POST webhook"},
	} {
		eventually(t, strings.Join(names, " → "), func() bool { return c.trace(names...) })
	}
}

// checkRedaction searches for confidential data in the main test's logs and traces, which are recorded at the most
// verbose level.
func checkRedaction(t *testing.T, s *service, c *collector) {
	t.Helper()
	secret := []string{
		s.ClientSecret, hookSecret, "hunter2", "ada@example.com", "lukasz@example.com", "cleo@example.com", "4915123456789", "1512 3456789",
		"Ada Lovelace", "Nowak", "Vertrag", "Please sign", "Zoë",
	}
	secret = append(secret, s.tokens...)
	var codes []string
	for _, to := range []string{"ada@example.com", "lukasz@example.com", "cleo@example.com", "+4915123456789"} {
		for _, m := range s.messages(t, to) {
			for _, l := range m.Links {
				if i := strings.LastIndex(l, "/"); len(l)-i > 60 {
					secret = append(secret, l[i+1:])
				}
			}
			if len(m.Links) == 0 {
				codes = append(codes, sixDigits.FindAllString(m.Text, -1)...)
			}
		}
	}
	require.GreaterOrEqual(t, len(secret), 13+1+3, "three links and an access token")
	require.Len(t, codes, 2)
	c.mu.Lock()
	defer c.mu.Unlock()
	require.Contains(t, c.text.String(), "activity Seal")
	for where, text := range map[string]string{"log of the API": s.api.out.String(), "log of the worker": s.worker.out.String(), "traces": c.text.String()} {
		require.NotEmpty(t, text)
		for _, v := range secret {
			if strings.Contains(text, v) { // the text is too long to print
				t.Errorf("%s: %s", where, v)
			}
		}
		for _, code := range codes {
			assert.False(t, regexp.MustCompile(`\b`+code+`\b`).MatchString(text), "%s: code %s", where, code)
		}
	}
	assert.Regexp(t, `"msg":"request","request":"[0-9a-f-]{36}","method":"POST","route":"/v1/signing/:token/sign","envelope":"[0-9a-f-]{36}","status":200,.*"trace":"[0-9a-f]{32}"`,
		s.api.out.String(), "the log must contain a redacted form")
}
