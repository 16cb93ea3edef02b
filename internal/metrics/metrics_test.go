package metrics_test

import (
	"context"
	"database/sql"
	"errors"
	"flag"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	dto "github.com/prometheus/client_model/go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"countersign/internal/metrics"
	"countersign/notify"
	"countersign/seal"
	"countersign/webhook"
)

func page(t *testing.T, m *metrics.Metrics) string {
	t.Helper()
	w := httptest.NewRecorder()
	m.Handler().ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", nil))
	require.Equal(t, http.StatusOK, w.Code)
	b, err := io.ReadAll(w.Body)
	require.NoError(t, err)
	return string(b)
}

type fake struct {
	err error
	res webhook.Result
}

func (f fake) Send(context.Context, notify.Mail) error                 { return f.err }
func (fake) MessageID(...string) string                                { return "id" }
func (f fake) Deliver(context.Context, webhook.Request) webhook.Result { return f.res }
func (f fake) Renew(context.Context, io.ReaderAt, int64, *os.File) (seal.Result, error) {
	return seal.Result{}, f.err
}

func (f fake) Seal(context.Context, *os.File, seal.Job) (seal.Result, error) {
	return seal.Result{}, f.err
}

type text struct{}

func (text) Send(context.Context, string, string) error { return nil }

func TestMetrics_CountEveryOutcome(t *testing.T) {
	t.Parallel()
	m := metrics.New("v1")
	ctx := t.Context()
	m.Requests()("GET", "/v1/envelopes/:id", 200, 20*time.Millisecond)
	m.Requests()("BREW", "", 404, time.Millisecond)
	rejected := &notify.PermanentError{Err: errors.New("no such mailbox")}
	_ = m.Mailer(fake{err: &notify.TooLargeError{Err: rejected}}).Send(ctx, notify.Mail{Kind: "completed"})
	for _, err := range []error{nil, rejected, errors.New("down")} {
		_ = m.Mailer(fake{err: err}).Send(ctx, notify.Mail{Kind: "invitation"})
		_, _ = m.Sealer(fake{err: err}, time.Now).Seal(ctx, nil, seal.Job{})
	}
	later := fake{err: &notify.RejectedError{Err: errors.New("451 later")}}
	_ = m.Mailer(later).Send(ctx, notify.Mail{Kind: "closed"})
	_ = m.Mailer(later).Send(ctx, notify.Mail{Kind: "closed", LastAttempt: true})
	assert.Equal(t, "id", m.Mailer(fake{}).MessageID("a"))
	require.NoError(t, m.SMS(text{}).Send(ctx, "", ""))
	assert.Nil(t, m.SMS(nil))
	for _, res := range []webhook.Result{{Status: 204}, {Status: 500}, {Status: 410, Gone: true}, {Err: errors.New("timeout")}} {
		m.Deliverer(fake{res: res}).Deliver(ctx, webhook.Request{})
	}
	m.Certificate(func() time.Time { return time.Unix(1_900_000_000, 0) })
	m.Outbox(func(context.Context) (int64, time.Duration, error) { return 3, 90 * time.Second, nil })
	m.Anchor(func(context.Context) (time.Time, error) { return time.Unix(1_800_000_000, 0), nil })

	m.Lag(func(context.Context) (metrics.Lag, error) {
		return metrics.Lag{Overdue: 1, Sealing: 2, Deliveries: 3, Purges: 4, Lost: 5, Reconciled: time.Unix(1.7e9, 0)}, nil
	})
	m.Unsealed(func(context.Context) (int64, error) { return 2, nil })

	got := page(t, m)
	for _, want := range []string{
		`countersign_http_requests_total{code="200",method="GET",route="/v1/envelopes/:id"} 1`,
		`countersign_http_requests_total{code="404",method="other",route="other"} 1`,
		`countersign_http_request_duration_seconds_count{method="GET",route="/v1/envelopes/:id"} 1`,
		`countersign_mails_total{kind="invitation",result="sent"} 1`,
		`countersign_mails_total{kind="invitation",result="refused"} 1`,
		`countersign_mails_total{kind="invitation",result="failed"} 1`,
		`countersign_mails_total{kind="closed",result="failed"} 1`,
		`countersign_mails_total{kind="closed",result="refused"} 1`,
		`countersign_mails_total{kind="reminder",result="failed"} 0`,
		`countersign_mails_total{kind="completed",result="too_large"} 1`,
		`countersign_mails_total{kind="sms",result="sent"} 1`,
		`countersign_seal_duration_seconds_count{result="sealed"} 1`,
		`countersign_seal_duration_seconds_count{result="failed"} 2`,
		`countersign_delivery_attempts_total{result="delivered"} 1`,
		`countersign_delivery_attempts_total{result="refused"} 1`,
		`countersign_delivery_attempts_total{result="gone"} 1`,
		`countersign_delivery_attempts_total{result="unreachable"} 1`,
		`countersign_seal_certificate_not_after_seconds 1.9e+09`,
		`countersign_outbox_rows 3`,
		`countersign_unsealed_envelopes 2`,
		`countersign_audit_anchor_seconds 1.8e+09`,
		`countersign_overdue_envelopes 1`, `countersign_sealing_late_envelopes 2`, `countersign_late_deliveries 3`,
		`countersign_late_purges 4`, `countersign_lost_workflows 5`, `countersign_reconcile_run_seconds 1.7e+09`,
		`countersign_outbox_oldest_age_seconds 90`,
		`countersign_build_info{version="v1"} 1`,
		`go_goroutines`,
	} {
		assert.Contains(t, got, want)
	}
	problems, err := testutil.GatherAndLint(m.Gatherer())
	require.NoError(t, err)
	assert.Empty(t, problems, "%v", problems)
}

func TestOutbox_Unreadable_IsAbsent(t *testing.T) {
	t.Parallel()
	m := metrics.New("v1")
	m.Outbox(func(context.Context) (int64, time.Duration, error) { return 0, 0, errors.New("database is down") })
	m.Unsealed(func(context.Context) (int64, error) { return 0, errors.New("database is down") })
	m.Lag(func(context.Context) (metrics.Lag, error) { return metrics.Lag{}, errors.New("database is down") })
	got := page(t, m)
	assert.NotContains(t, got, "countersign_overdue_envelopes")
	assert.NotContains(t, got, "countersign_unsealed_envelopes")
	assert.NotContains(t, got, "countersign_outbox_rows")
	assert.Contains(t, got, "countersign_build_info", "other metrics are still exposed")
}

// TestTemporal checks that metrics with the same name and different tags, as used by the Temporal SDK, are exported.
func TestTemporal(t *testing.T) {
	t.Parallel()
	m := metrics.New("v1")
	h := m.Temporal().WithTags(map[string]string{"namespace": "default"})
	h.Counter("temporal_request").Inc(2)
	h.WithTags(map[string]string{"operation": "Poll"}).Counter("temporal_request").Inc(3)
	h.Gauge("temporal_worker_task_slots_available").Update(7)
	h.Timer("temporal_request_latency").Record(20 * time.Millisecond)
	got := page(t, m)
	for _, want := range []string{
		`temporal_request{namespace="default"} 2`,
		`temporal_request{namespace="default",operation="Poll"} 3`,
		`temporal_worker_task_slots_available{namespace="default"} 7`,
		`temporal_request_latency_seconds_bucket{namespace="default",le="0.025"} 1`,
	} {
		assert.Contains(t, got, want)
	}
}

func TestNilMetrics_CountNothing(t *testing.T) {
	t.Parallel()
	var m *metrics.Metrics
	assert.Nil(t, m.Requests())
	m.Database(nil)
	m.Certificate(nil)
	m.Outbox(nil)
	m.Anchor(nil)
	assert.Nil(t, m.Temporal())
	assert.Equal(t, fake{}, m.Mailer(fake{}))
	assert.Equal(t, fake{}, m.Deliverer(fake{}))
	assert.Equal(t, fake{}, m.Sealer(fake{}, nil))
}

var update = flag.Bool("update", false, "rewrite deploy/metrics.txt")

// TestMetrics_AreTheDocumentedOnes checks the list of metrics that alerts and dashboards can use (see deploy/).
func TestMetrics_AreTheDocumentedOnes(t *testing.T) {
	t.Parallel()
	m := metrics.New("v1")
	m.Requests()("GET", "/", 200, 0)
	_, _ = m.Sealer(fake{}, time.Now).Seal(t.Context(), nil, seal.Job{})
	m.Deliverer(fake{}).Deliver(t.Context(), webhook.Request{})
	_ = m.Mailer(fake{}).Send(t.Context(), notify.Mail{})
	m.Certificate(func() time.Time { return time.Unix(0, 0) })
	m.Outbox(func(context.Context) (int64, time.Duration, error) { return 0, 0, nil })
	m.Anchor(func(context.Context) (time.Time, error) { return time.Time{}, nil })
	m.Unsealed(func(context.Context) (int64, error) { return 0, nil })
	m.Lag(func(context.Context) (metrics.Lag, error) { return metrics.Lag{}, nil })
	m.Restarted("envelope", 1)
	m.Database(sql.OpenDB(nil))
	m.Temporal().Gauge("temporal_worker_task_slots_available").Update(1)
	m.Temporal().Counter("temporal_workflow_task_execution_failed").Inc(1)
	families, err := m.Gatherer().Gather()
	require.NoError(t, err)
	var list strings.Builder
	for _, f := range families {
		list.WriteString(f.GetName() + "\n")
		if f.GetType() == dto.MetricType_HISTOGRAM {
			for _, part := range []string{"_bucket", "_count", "_sum"} {
				list.WriteString(f.GetName() + part + "\n")
			}
		}
	}
	const file = "../../deploy/metrics.txt"
	if *update {
		require.NoError(t, os.WriteFile(file, []byte(list.String()), 0o600))
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err)
	assert.Equal(t, string(want), list.String(), "run the test with -update")
}
