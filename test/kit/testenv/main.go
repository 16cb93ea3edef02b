// Command testenv runs a command with the servers that tests need. If the environment specifies no PostgreSQL or no
// Temporal server, testenv starts a private one, adds its address to the command's environment, and stops it when the
// command ends.
//
//	go run ./test/kit/testenv go test ./...
//	go run ./test/kit/testenv -durable go test -bench . ./store
//	go run ./test/kit/testenv -pgbouncer go test ./store
//
// It exits with the status of the command, or with 1 if a server cannot be started.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"time"

	"countersign/test/kit"
)

const (
	startTimeout = 60 * time.Second
	stopTimeout  = 20 * time.Second
	killDelay    = 30 * time.Second // time after which a command that ignores an interrupt is killed
)

func main() {
	durable := flag.Bool("durable", false, "keep PostgreSQL's fsync on")
	pooled := flag.Bool("pgbouncer", false, "connect to PostgreSQL through a PgBouncer in transaction mode")
	flag.Usage = func() {
		_, _ = fmt.Fprintln(flag.CommandLine.Output(), "usage: testenv [-durable] [-pgbouncer] command [argument ...]")
		flag.PrintDefaults()
	}
	flag.Parse()
	if flag.NArg() == 0 {
		flag.Usage()
		os.Exit(2)
	}

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, flag.Args(), kit.PostgresOptions{Durable: *durable}, *pooled)
	stop()
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit) && exit.ExitCode() > 0:
		os.Exit(exit.ExitCode())
	case err != nil:
		_, _ = fmt.Fprintf(os.Stderr, "testenv: %v\n", err)
		os.Exit(1)
	}
}

// run starts the missing servers, runs the command, and then stops the servers.
func run(ctx context.Context, args []string, opts kit.PostgresOptions, pooled bool) error {
	environment := os.Environ()
	starting, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()

	address := os.Getenv(kit.PostgresVariable)
	if address == "" {
		postgres, err := kit.StartPostgres(starting, opts)
		if err != nil {
			return err
		}
		defer stopServer(ctx, postgres.Stop)
		address = postgres.URL
	}
	if pooled {
		pool, err := kit.StartPgBouncer(starting, address)
		if err != nil {
			return err
		}
		defer stopServer(ctx, pool.Stop)
		environment = append(environment, kit.DirectVariable+"="+address)
		address = pool.URL
	}
	environment = append(environment, kit.PostgresVariable+"="+address)
	if os.Getenv(kit.TemporalVariable) == "" {
		temporal, err := kit.StartTemporal(starting)
		if err != nil {
			return err
		}
		defer stopServer(ctx, func(context.Context) error { return temporal.Stop() })
		environment = append(environment, kit.TemporalVariable+"="+temporal.Address)
	}

	cmd := exec.CommandContext(ctx, args[0], args[1:]...) //nolint:gosec // running it is the purpose
	cmd.Env = environment
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = killDelay
	return cmd.Run()
}

func stopServer(ctx context.Context, stop func(context.Context) error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTimeout)
	defer cancel()
	if err := stop(ctx); err != nil {
		_, _ = fmt.Fprintf(os.Stderr, "testenv: %v\n", err)
	}
}
