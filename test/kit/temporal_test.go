package kit_test

import (
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"
	sdktemporal "go.temporal.io/sdk/temporal"
	sdkworker "go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"countersign/test/kit"
)

func listens(t *testing.T, address string) bool {
	t.Helper()
	conn, err := (&net.Dialer{Timeout: time.Second}).DialContext(t.Context(), "tcp", address)
	if err != nil {
		return false
	}
	_ = conn.Close()
	return true
}

func echoWorkflow(_ workflow.Context, s string) (string, error) { return s, nil }

func TestTemporal_EachTestHasANamespace(t *testing.T) {
	t.Parallel()
	for range 4 {
		t.Run("", func(t *testing.T) {
			t.Parallel()
			c, err := client.DialContext(t.Context(), kit.Temporal(t))
			require.NoError(t, err)
			t.Cleanup(c.Close)
			w := sdkworker.New(c, "queue", sdkworker.Options{})
			w.RegisterWorkflow(echoWorkflow)
			require.NoError(t, w.Start())
			t.Cleanup(w.Stop)

			// The ID is the same in each namespace, and the attributes are available immediately.
			run, err := c.ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{
				ID: "same", TaskQueue: "queue",
				TypedSearchAttributes: sdktemporal.NewSearchAttributes(
					sdktemporal.NewSearchAttributeKeyKeyword("AppId").ValueSet("a"),
					sdktemporal.NewSearchAttributeKeyKeyword("TenantId").ValueSet("t"),
					sdktemporal.NewSearchAttributeKeyKeyword("EnvelopeStatus").ValueSet("sent")),
			}, echoWorkflow, t.Name())
			require.NoError(t, err)
			var answer string
			require.NoError(t, run.Get(t.Context(), &answer))
			require.Equal(t, t.Name(), answer)
		})
	}
}
