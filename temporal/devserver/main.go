// Command countersign-temporal is a Temporal server with its Web UI in one process, on one SQLite file, for development
// and tests. It accepts the "server start-dev" flags of the Temporal CLI, so that testsuite.StartDevServer of the Go
// SDK can run it. It is not intended for production: it has one shard and no authentication, and listens on loopback by
// default.
//
// When the server is healthy, it prints one line of key=value pairs to standard output:
//
//	ready address=127.0.0.1:7233 ui=http://127.0.0.1:8233 namespaces=default
//
// Logs go to standard error. If the start fails, the program prints one line to standard error and exits with status 1.
// Incorrect usage results in status 2.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"
)

const usage = `A Temporal server with its Web UI on one SQLite file, for development and tests.

Usage:
  countersign-temporal server start-dev [flags]
  countersign-temporal version

Flags of start-dev:
`

func main() {
	os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// run executes one command and returns the exit status: 0 for success, 1 for failure, 2 for incorrect usage.
func run(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	switch {
	case len(args) == 1 && args[0] == "version":
		_, _ = fmt.Fprintln(stdout, version())
		return 0
	case len(args) >= 2 && args[0] == "server" && args[1] == "start-dev":
		args = args[2:]
	default:
		_, _ = fmt.Fprint(stderr, usage)
		flagSet(&options{}, stderr).PrintDefaults()
		return 2
	}

	opts, err := parseOptions(args, stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		_, _ = fmt.Fprintf(stderr, "countersign-temporal: %v\n", err)
		return 2
	}
	if err := serve(opts, stdin, stdout); err != nil {
		_, _ = fmt.Fprintf(stderr, "countersign-temporal: %v\n", err)
		return 1
	}
	return 0
}

// serve runs the server until it receives SIGINT or SIGTERM or, with opts.watchStdin, until stdin ends. A second signal
// terminates the process immediately.
func serve(opts options, stdin io.Reader, stdout io.Writer) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if opts.watchStdin {
		// The kernel closes the pipe when the parent exits, even after a crash.
		go func() {
			_, _ = io.Copy(io.Discard, stdin)
			stop()
		}()
	}

	srv, err := startServer(ctx, opts)
	if errors.Is(err, context.Canceled) {
		return nil
	}
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintln(stdout, srv.readyLine()); err != nil {
		return errors.Join(fmt.Errorf("print readiness: %w", err), srv.stop())
	}
	<-ctx.Done()
	stop()
	return srv.stop()
}

// version returns the version of the embedded Temporal server, as recorded by the Go linker.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "countersign-temporal"
	}
	server, ui := "unknown", "unknown"
	for _, m := range info.Deps {
		switch m.Path {
		case "go.temporal.io/server":
			server = m.Version
		case "github.com/temporalio/ui-server/v2":
			ui = m.Version
		}
	}
	return fmt.Sprintf("countersign-temporal (Temporal server %s, Web UI %s)", server, ui)
}
