package main

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/operatorservice/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	sdktemporal "go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	sdkworker "go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
)

// waiting is a workflow that ends when it receives the signal "go".
func waiting(ctx workflow.Context) (string, error) {
	var answer string
	workflow.GetSignalChannel(ctx, "go").Receive(ctx, &answer)
	return answer, nil
}

func dial(t *testing.T, address string) client.Client {
	t.Helper()
	c, err := client.DialContext(t.Context(), client.Options{HostPort: address})
	require.NoError(t, err)
	t.Cleanup(c.Close)
	return c
}

func runWorker(t *testing.T, c client.Client) {
	t.Helper()
	w := sdkworker.New(c, "queue", sdkworker.Options{})
	w.RegisterWorkflow(waiting)
	require.NoError(t, w.Start())
	t.Cleanup(w.Stop)
}

// TestSDKLauncher_RunsTheServer checks that the SDK's launcher can run the server instead of the Temporal CLI.
func TestSDKLauncher_RunsTheServer(t *testing.T) {
	t.Setenv(roleVariable, "server")
	extra := sdktemporal.NewSearchAttributeKeyInt64("Pages")
	srv, err := testsuite.StartDevServer(t.Context(), testsuite.DevServerOptions{
		ExistingPath:     os.Args[0],
		DBFilename:       filepath.Join(t.TempDir(), "sdk.db"),
		EnableUI:         true,
		UIPort:           "0",
		LogFormat:        "json",
		LogLevel:         "error",
		SearchAttributes: sdktemporal.NewSearchAttributes(extra.ValueSet(0)),
		ExtraArgs: []string{
			"--dynamic-config-value", "system.forceSearchAttributesCacheRefreshOnRead=true",
			"--dynamic-config-value", "limit.maxIDLength=200",
			"--sqlite-pragma", "synchronous=0",
		},
	})
	require.NoError(t, err)
	c := srv.Client()
	runWorker(t, c)

	run, err := c.ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{
		ID: "envelope/1", TaskQueue: "queue",
		TypedSearchAttributes: sdktemporal.NewSearchAttributes(
			sdktemporal.NewSearchAttributeKeyKeyword("AppId").ValueSet("app-1"),
			sdktemporal.NewSearchAttributeKeyKeyword("TenantId").ValueSet("tenant-1"),
			sdktemporal.NewSearchAttributeKeyKeyword("EnvelopeStatus").ValueSet("sent"),
			extra.ValueSet(3),
		),
	}, waiting)
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		list, err := c.ListWorkflow(t.Context(), &workflowservice.ListWorkflowExecutionsRequest{
			Query: `AppId = "app-1" AND TenantId = "tenant-1" AND EnvelopeStatus = "sent" AND Pages > 2`,
		})
		return err == nil && len(list.GetExecutions()) == 1
	}, time.Minute, 50*time.Millisecond)

	require.NoError(t, c.SignalWorkflow(t.Context(), run.GetID(), "", "go", "done"))
	var answer string
	require.NoError(t, run.Get(t.Context(), &answer))
	require.Equal(t, "done", answer)

	ns, err := c.WorkflowService().DescribeNamespace(t.Context(), &workflowservice.DescribeNamespaceRequest{Namespace: "default"})
	require.NoError(t, err)
	require.Equal(t, retention, ns.GetConfig().GetWorkflowExecutionRetentionTtl().AsDuration())
	require.NoError(t, srv.Stop())
}

// TestExistingFile_GetsAttributes checks that missing attributes are added to an existing file at the next start.
func TestExistingFile_GetsAttributes(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "with ?%#.db")
	require.NoError(t, createFile(t.Context(), file))
	other := map[string]enums.IndexedValueType{"Other": enums.INDEXED_VALUE_TYPE_KEYWORD}
	require.NoError(t, ensureNamespaces(t.Context(), fileConfig(file, nil), []string{"default"}, other))

	first := start(t, "server", "--port", "0", "--headless", "--db-filename", file)
	c := dial(t, first.ready(t)["address"])
	got, err := c.OperatorService().ListSearchAttributes(t.Context(),
		&operatorservice.ListSearchAttributesRequest{Namespace: "default"})
	require.NoError(t, err)
	want := countersignAttributes()
	want["Other"] = enums.INDEXED_VALUE_TYPE_KEYWORD
	require.Equal(t, want, got.GetCustomAttributes())

	run, err := c.ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{ID: "open", TaskQueue: "queue"}, waiting)
	require.NoError(t, err)
	require.NoError(t, first.Process.Kill())
	_ = first.Wait()

	second := start(t, "server", "--port", "0", "--headless", "--db-filename", file)
	c = dial(t, second.ready(t)["address"])
	runWorker(t, c)
	require.NoError(t, c.SignalWorkflow(t.Context(), "open", run.GetRunID(), "go", "still here"))
	var answer string
	require.NoError(t, c.GetWorkflow(t.Context(), "open", "").Get(t.Context(), &answer))
	require.Equal(t, "still here", answer)
}
