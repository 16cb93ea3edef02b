package kit_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"countersign/test/kit"
)

// holderVariable makes the test binary start both private servers, print their addresses, and wait to be killed.
const holderVariable = "TESTKIT_TEST_HOLDER"

func TestMain(m *testing.M) {
	if os.Getenv(holderVariable) != "" {
		os.Exit(hold())
	}
	os.Exit(m.Run())
}

func hold() int {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	postgres, err := kit.StartPostgres(ctx, kit.PostgresOptions{})
	if err != nil {
		fmt.Println("error", err)
		return 1
	}
	temporal, err := kit.StartTemporal(ctx)
	if err != nil {
		fmt.Println("error", err)
		return 1
	}
	fmt.Println("holding", postgres.URL, temporal.Address)
	<-ctx.Done()
	return 0
}

// TestServersEndWithTheProcess checks that private servers stop when the test binary is killed.
func TestServersEndWithTheProcess(t *testing.T) {
	t.Parallel()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), holderVariable+"=1", "TMPDIR="+sharedTempDir(t))
	stdout, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	lines := bufio.NewScanner(stdout)
	require.True(t, lines.Scan())
	fields := strings.Fields(lines.Text())
	require.Equal(t, "holding", fields[0], lines.Text())
	require.True(t, postgresAnswers(t, fields[1]))
	require.True(t, listens(t, fields[2]))

	require.NoError(t, cmd.Process.Kill())
	require.Eventually(t, func() bool {
		return !postgresAnswers(t, fields[1]) && !listens(t, fields[2])
	}, 20*time.Second, 100*time.Millisecond)
	require.Eventually(t, func() bool {
		left, err := os.ReadDir(cmd.Env[len(cmd.Env)-1][len("TMPDIR="):])
		return err == nil && len(left) == 0
	}, 10*time.Second, 100*time.Millisecond, "the data directory is removed")
}
