package temporal_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"

	"countersign/temporal"
	"countersign/test/kit"
)

// TestQueuesWithoutWorkers_NamesAll checks that all queues are reported when no worker is running.
func TestQueuesWithoutWorkers_NamesAll(t *testing.T) {
	t.Parallel()
	opts := kit.Temporal(t)
	c, err := client.Dial(opts)
	require.NoError(t, err)
	t.Cleanup(c.Close)
	unserved, err := temporal.QueuesWithoutWorkers(t.Context(), c, opts.Namespace)
	require.NoError(t, err)
	assert.ElementsMatch(t, temporal.Queues, unserved)
}
