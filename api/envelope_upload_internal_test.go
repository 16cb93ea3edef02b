package api

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestScan_CanceledRequestIsNoScannerFailure checks that no scanner failure is logged if the client disconnects during
// the scan.
func TestScan_CanceledRequestIsNoScannerFailure(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	ctx, leave := context.WithCancel(t.Context())
	s := &uploads{subject[uploadStore]{shared: &shared{log: slog.New(slog.NewTextHandler(&log, nil))}}, disconnectingScanner{leave}}
	err := s.scan(ctx, strings.NewReader("x"), 1)
	require.ErrorIs(t, err, context.Canceled)
	require.Empty(t, log.String())
}

// disconnectingScanner cancels the request during the scan.
type disconnectingScanner struct{ leave context.CancelFunc }

func (g disconnectingScanner) Scan(ctx context.Context, _ io.Reader) (string, error) {
	g.leave()
	return "", ctx.Err()
}
