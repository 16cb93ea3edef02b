package kit_test

import (
	"fmt"
	"net"
	"os"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"countersign/test/kit"
)

// TestFreePort_SystemDoesNotAssignIt checks that the port is outside the range that the system uses for listeners on
// port 0. Within that range, another process could use the port of a service before the service starts.
func TestFreePort_SystemDoesNotAssignIt(t *testing.T) {
	t.Parallel()
	first, last := 32_768, 60_999
	if b, err := os.ReadFile("/proc/sys/net/ipv4/ip_local_port_range"); err == nil {
		_, err := fmt.Sscan(string(b), &first, &last)
		require.NoError(t, err)
	}
	for range 20 {
		address := kit.FreeAddress(t)
		_, port, err := net.SplitHostPort(address)
		require.NoError(t, err)
		n, err := strconv.Atoi(port)
		require.NoError(t, err)
		require.True(t, n < first || n > last, "%d is between %d and %d", n, first, last)
		l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", address)
		require.NoError(t, err)
		require.NoError(t, l.Close())
	}
}
