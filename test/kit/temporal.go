package kit

import (
	"context"
	"crypto/rand"
	"log/slog"
	"os"
	"sync"
	"testing"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/operatorservice/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/log"
	"google.golang.org/protobuf/types/known/durationpb"

	"countersign/internal/bundled"
)

// TemporalVariable is the environment variable with the host:port of a Temporal server on which tests may register
// namespaces.
const TemporalVariable = "COUNTERSIGN_TEST_TEMPORAL"

// namespaceRetention is the shortest retention that Temporal allows.
const namespaceRetention = 24 * time.Hour

// sharedTemporal returns the private server of this test binary. It stops when the process exits.
var sharedTemporal = sync.OnceValues(func() (*bundled.Server, error) {
	ctx, cancel := context.WithTimeout(context.Background(), serverStartTimeout)
	defer cancel()
	return StartTemporal(ctx)
})

// Temporal creates a namespace for this test only, with Countersign's search attributes, on a real Temporal server. It
// returns client options in which HostPort and Namespace are set, and Logger writes warnings and errors to the test's
// log. Creating a namespace takes about 10 ms.
func Temporal(tb testing.TB) client.Options {
	tb.Helper()
	Needs(tb, TemporalVariable)
	address := os.Getenv(TemporalVariable)
	if address == "" {
		private, err := sharedTemporal()
		if err != nil {
			tb.Fatalf("start Temporal for tests: %v; to use an existing server, set %s", err, TemporalVariable)
		}
		address = private.Address
	}
	return Namespace(tb, address)
}

// TemporalWith starts a server with the given flags for this test only, and returns its address.
func TemporalWith(tb testing.TB, flags ...string) string {
	tb.Helper()
	Needs(tb, TemporalVariable)
	ctx, cancel := context.WithTimeout(tb.Context(), serverStartTimeout)
	defer cancel()
	server, err := StartTemporal(ctx, flags...)
	if err != nil {
		tb.Fatalf("start Temporal for a test: %v", err)
	}
	tb.Cleanup(func() {
		if err := server.Stop(); err != nil {
			tb.Errorf("stop a test's Temporal server: %v", err)
		}
	})
	return server.Address
}

// Namespace registers a namespace with Countersign's search attributes for this test only, on the server at the given
// address.
func Namespace(tb testing.TB, address string) client.Options {
	tb.Helper()
	opts := client.Options{
		HostPort:  address,
		Namespace: "test-" + rand.Text(),
		Logger: log.NewStructuredLogger(slog.New(
			slog.NewTextHandler(tb.Output(), &slog.HandlerOptions{Level: slog.LevelWarn}))),
	}
	registerNamespace(tb, opts)
	return opts
}

func registerNamespace(tb testing.TB, opts client.Options) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(tb.Context(), databaseTimeout)
	defer cancel()
	c, err := client.DialContext(ctx, opts)
	if err != nil {
		tb.Fatalf("connect to Temporal for tests: %v", err)
	}
	defer c.Close()
	_, err = c.WorkflowService().RegisterNamespace(ctx, &workflowservice.RegisterNamespaceRequest{
		Namespace:                        opts.Namespace,
		WorkflowExecutionRetentionPeriod: durationpb.New(namespaceRetention),
	})
	if err != nil {
		tb.Fatalf("register a namespace for tests: %v", err)
	}
	_, err = c.OperatorService().AddSearchAttributes(ctx, &operatorservice.AddSearchAttributesRequest{
		Namespace: opts.Namespace,
		SearchAttributes: map[string]enums.IndexedValueType{
			"AppId":          enums.INDEXED_VALUE_TYPE_KEYWORD,
			"TenantId":       enums.INDEXED_VALUE_TYPE_KEYWORD,
			"EnvelopeId":     enums.INDEXED_VALUE_TYPE_KEYWORD,
			"EnvelopeStatus": enums.INDEXED_VALUE_TYPE_KEYWORD,
			"Stuck":          enums.INDEXED_VALUE_TYPE_KEYWORD,
		},
	})
	if err != nil {
		tb.Fatalf("add search attributes for tests: %v", err)
	}
}
