package kit

import (
	"context"
	"errors"
	"math/rand/v2"
	"net"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

// FreePort returns a free TCP port on the loopback address. The port is below the range from which the system assigns
// ports, so no connection and no listener on port 0 can take it before the intended process does.
func FreePort(ctx context.Context) (int, error) {
	for range 50 {
		port := 10_000 + rand.IntN(20_000) //nolint:gosec // not a secret
		l, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:"+strconv.Itoa(port))
		if err == nil {
			return port, l.Close()
		}
	}
	return 0, errors.New("no free port found")
}

// FreeAddress returns a loopback address with a free port.
func FreeAddress(tb testing.TB) string {
	tb.Helper()
	port, err := FreePort(tb.Context())
	require.NoError(tb, err)
	return "127.0.0.1:" + strconv.Itoa(port)
}
