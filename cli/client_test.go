package cli

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestExitCodes_OfClientErrors checks that a network timeout, the timeout given by the user, and Ctrl-C have different
// exit codes.
func TestExitCodes_OfClientErrors(t *testing.T) {
	t.Parallel()
	network := fmt.Errorf("Get %q: %w", "http://192.0.2.1/", &net.OpError{Op: "dial", Net: "tcp", Err: os.ErrDeadlineExceeded})
	code := func(err error) int {
		var coded codedError
		require.ErrorAs(t, err, &coded)
		return coded.ExitCode()
	}
	require.Equal(t, exitUnavailable, code(coded(network)))
	require.Equal(t, exitUnavailable, code(coded(fmt.Errorf("dial: %w", context.DeadlineExceeded))), "a timeout reported by net/http")
	require.Contains(t, coded(network).Error(), "check that the service is running")
	require.Equal(t, exitInterrupted, code(coded(fmt.Errorf("get: %w", context.Canceled))))
	require.NotContains(t, coded(context.Canceled).Error(), "check that the service is running")

	over, cancel := context.WithDeadline(t.Context(), time.Unix(0, 0))
	defer cancel()
	stopped, stop := context.WithCancel(t.Context())
	stop()
	for name, c := range map[string]struct {
		waiting context.Context
		err     error
		code    int
	}{
		"--timeout":            {over, over.Err(), exitTimeout},
		"--timeout, in a call": {over, errors.New("lost"), exitTimeout},
		"Ctrl-C":               {stopped, stopped.Err(), exitInterrupted},
		"the network":          {t.Context(), network, exitUnavailable},
	} {
		err := waitError(c.waiting, c.err, "the envelope 7")
		require.Equal(t, c.code, code(err), name)
		require.Contains(t, err.Error(), "the envelope 7", name)
	}
}

func TestParsePerson_NameDefaultsToTheLocalPart(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"you@example.com": "You", "ada.lovelace@example.com": "Ada Lovelace", "jean-luc_picard@example.com": "Jean Luc Picard",
		"élodie@example.com": "Élodie", "<bob@example.com>": "Bob", "Client=carol+x@example.com": "Carol+x", "Ada L <a@example.com>": "Ada L", "-@example.com": "-",
	} {
		_, a, err := parsePerson("--to", text)
		require.NoError(t, err, text)
		require.Equal(t, want, a.Name, text)
	}
	_, _, err := parsePerson("--to", "Ada Lovelace")
	require.ErrorContains(t, err, "write it as ada@example.com")
}
