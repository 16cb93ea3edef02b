package clamd_test

import (
	"context"
	"io"
	"net"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"countersign/internal/clamd"
	"countersign/test/kit"
)

func TestScan(t *testing.T) {
	t.Parallel()
	s, err := clamd.Parse(kit.Clamd(t, 1<<20, kit.Eicar))
	require.NoError(t, err)
	require.NoError(t, s.Ping(t.Context()))
	for _, n := range []int{0, 1, 64<<10 - 1, 64 << 10, 64<<10 + 1, 300_000} {
		found, err := s.Scan(t.Context(), strings.NewReader(strings.Repeat("x", n)))
		require.NoError(t, err)
		require.Empty(t, found)
		found, err = s.Scan(t.Context(), strings.NewReader(strings.Repeat("x", n)+kit.Eicar))
		require.NoError(t, err)
		require.Equal(t, "Win.Test.EICAR_HDB-1", found, "behind %d bytes", n)
	}
	_, err = s.Scan(t.Context(), io.MultiReader(strings.NewReader("x"), broken{}))
	require.Error(t, err, "a file that was not read completely must not be reported as clean")
}

type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, io.ErrClosedPipe }

func TestScanFails(t *testing.T) {
	t.Parallel()
	small, err := clamd.Parse(kit.Clamd(t, 10))
	require.NoError(t, err)
	_, err = small.Scan(t.Context(), strings.NewReader("more than ten bytes"))
	require.ErrorContains(t, err, "virus scanner")

	silent, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { require.NoError(t, silent.Close()) }()
	s, err := clamd.Parse("tcp://" + silent.Addr().String())
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = s.Scan(ctx, strings.NewReader("x"))
	require.ErrorIs(t, err, context.Canceled)

	nobody, err := clamd.Parse("unix:///nowhere/clamd.ctl")
	require.NoError(t, err)
	require.ErrorContains(t, nobody.Ping(t.Context()), "virus scanner")
	for _, bad := range []string{"", "localhost:3310", "tcp://localhost", "http://x:1", "unix://host/x", "tcp://x:1/y", "tcp://\x00"} {
		_, err := clamd.Parse(bad)
		require.Error(t, err, bad)
	}
}
