// Command countersign contains the complete service: the API, the worker, and the tools for operators.
package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/alecthomas/kong"

	"countersign/cli"
	"countersign/cli/terminal"
	"countersign/config"
)

// version is set by the linker.
var version = "dev"

type commands struct {
	Dev         devCommand         `cmd:"" help:"Run the whole service on this machine, with nothing else installed."`
	Setup       setupCommand       `cmd:"" help:"Write the settings of a new installation: keys, a trial certificate, a first app and user."`
	API         apiCommand         `cmd:"" name:"api" help:"Serve the API and the pages."`
	Worker      workerCommand      `cmd:"" help:"Run the workflows: invitations, sealing, deliveries."`
	Migrate     migrateCommand     `cmd:"" help:"Migrate the database to this version."`
	App         appCommand         `cmd:"" help:"Manage the apps that may call the API."`
	User        userCommand        `cmd:"" help:"Manage the people who sign in to the console."`
	Key         keyCommand         `cmd:"" help:"Replace the keys that sign tokens or records."`
	Tenant      tenantCommand      `cmd:"" help:"Manage a tenant's settings: deadline, reminders, retention."`
	Doctor      doctorCommand      `cmd:"" help:"Check settings, database, Temporal, files, email, the sealing key and the clock, and suggest fixes."`
	Envelope    envelopeCommand    `cmd:"" help:"Manage envelopes: expiring ones, ones that cannot be sealed, and archives."`
	Reconcile   reconcileCommand   `cmd:"" help:"Start workflows that are missing in Temporal according to the database."`
	Audit       auditCommand       `cmd:"" help:"Verify the audit trail."`
	Files       filesCommand       `cmd:"" help:"Manage the file store."`
	Healthcheck healthcheckCommand `cmd:"" help:"Check whether the process of this container is ready. For use by Docker, because the image contains no other program."`
	Verify      verifyCommand      `cmd:"" help:"Check a sealed PDF, offline."`
	Renew       renewCommand       `cmd:"" help:"Add document time-stamps to stored files that have none or whose last time-stamp expires soon."`
	Version     versionCommand     `cmd:"" help:"Print the version."`

	cli.Commands `embed:"" group:"Use a service"`

	ValidatePDF validatorCommand `cmd:"" name:"validate-pdf" hidden:"" help:"Examine the PDF on standard input, in a process that may fail."`
	RenderPages rendererCommand  `cmd:"" name:"render-pages" hidden:"" help:"Render the pages of the PDFs on standard input, in a process that may fail."`
}

func main() {
	limitMemory()
	cli.Version = version
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	k := kong.Parse(&commands{},
		kong.Name("countersign"), kong.UsageOnError(), kong.BindTo(ctx, (*context.Context)(nil)),
		kong.Description("Durable electronic signatures. Settings are read from COUNTERSIGN_… in the environment; see docs/run/settings.md."))
	if err := k.Run(); err != nil {
		_, _ = fmt.Fprintln(os.Stderr, "countersign:", strings.TrimPrefix(err.Error(), "countersign: ")) // errors from the Go client already have the prefix
		var coded interface{ ExitCode() int }
		if errors.As(err, &coded) {
			os.Exit(coded.ExitCode())
		}
		os.Exit(1)
	}
}

type versionCommand struct{}

// Run prints the version.
func (versionCommand) Run() error {
	return terminal.Printf("%s", version)
}

// logger returns a logger that writes to standard error, as text in development and otherwise as JSON.
func logger(cfg config.Config, dev bool) *slog.Logger {
	opts := &slog.HandlerOptions{Level: cfg.LogLevel}
	var h slog.Handler = slog.NewJSONHandler(os.Stderr, opts)
	if dev {
		h = slog.NewTextHandler(os.Stderr, opts)
	}
	l := slog.New(h)
	slog.SetDefault(l)
	return l
}
