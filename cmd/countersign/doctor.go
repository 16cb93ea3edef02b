package main

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"time"

	"countersign/cli/terminal"
	"countersign/config"
	"countersign/internal/clamd"
	"countersign/internal/password"
	"countersign/models"
	"countersign/store"
	"countersign/store/blob"
	"countersign/temporal"
	"countersign/worker"
)

type doctorCommand struct {
	Mail   string `help:"Send one email to this address, and show the response of the mail server." placeholder:"ADDRESS"`
	Replay int    `help:"Replay the histories of up to this many running workflows of each type with this build, before it is rolled out." placeholder:"N"`
	JSON   bool   `help:"Print JSON." name:"json"`
}

// The results of a check. A warning does not change the exit code.
const (
	healthy = "ok"
	warned  = "warning"
	failed  = "failed"
	skipped = "skipped" // another check that this one depends on has failed
)

// finding is one line in the report of doctor.
type finding struct {
	Check  string `json:"check"`
	Status string `json:"status"`
	Detail string `json:"detail"`
	// Advice describes how to fix the problem. It is empty if there is no advice.
	Advice string `json:"advice,omitempty"`
}

var errUnhealthy = errors.New("some checks failed: see above")

// checkTimeout is the time limit for each check of another service.
const checkTimeout = 15 * time.Second

// Run checks everything that the settings specify. It continues after a check has failed.
func (d doctorCommand) Run(ctx context.Context) error {
	slog.SetDefault(slog.New(slog.DiscardHandler)) // the findings already contain what would be logged
	if d.Replay < 0 || d.Replay > worker.MaxReplays {
		return fmt.Errorf("--replay must be between 0 and %d; got %d", worker.MaxReplays, d.Replay)
	}
	x := &doctor{mailTo: d.Mail, replays: d.Replay}
	cfg, err := config.Load(os.Environ(), config.Default())
	if err == nil {
		err = cfg.Require("DATABASE_URL", "BLOB_URL", "SMTP_URL", "MASTER_KEY")
	}
	if err != nil {
		x.fail("settings", err, "Correct the settings listed above; docs/run/settings.md describes each.")
	} else {
		x.ok("settings", "complete, for "+cfg.BaseURL)
		x.run(ctx, cfg)
	}
	return x.report(d.JSON)
}

// doctor collects the findings in order.
type doctor struct {
	findings []finding
	mailTo   string // recipient of a test email; if empty, none is sent
	replays  int    // maximum number of workflows of each type to replay
}

func (x *doctor) add(check, status, detail, advice string) {
	x.findings = append(x.findings, finding{check, status, detail, advice})
}

func (x *doctor) ok(check, detail string) { x.add(check, healthy, detail, "") }

func (x *doctor) fail(check string, err error, advice string) {
	x.add(check, failed, oneLine(err), advice)
}

func (x *doctor) skip(why string, checks ...string) {
	for _, check := range checks {
		x.add(check, skipped, why, "")
	}
}

func oneLine(err error) string { return strings.Join(strings.Fields(err.Error()), " ") }

func (x *doctor) run(ctx context.Context, cfg config.Config) {
	s := x.database(ctx, cfg)
	if s != nil {
		defer func() { _ = s.Close() }() // nothing was written
	}
	x.replica(ctx, s)
	x.temporal(ctx, cfg)
	x.files(ctx, cfg)
	x.mail(ctx, cfg)
	x.seal(ctx, cfg, s)
	x.timestamps(ctx, cfg, s)
	x.trust(ctx, cfg, s)
	x.guards(ctx, cfg)
}

func (x *doctor) files(ctx context.Context, cfg config.Config) {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	b, err := blob.Open(ctx, cfg.BlobURL)
	if err == nil {
		err = b.Check(ctx)
	}
	if err != nil {
		x.fail("files", err, "Check that COUNTERSIGN_BLOB_URL is correct, that there is free space, and that this user can write, read, list and delete files there.")
		return
	}
	x.ok("files", "a file was written, read and deleted")
}

func (x *doctor) seal(ctx context.Context, cfg config.Config, s *store.Store) {
	const renew = "Install a new key and certificate (COUNTERSIGN_SEAL_KEY, COUNTERSIGN_SEAL_CERT) and restart the workers."
	switch {
	case cfg.SealKey == "":
		x.add("seal_key", warned, "COUNTERSIGN_SEAL_KEY is not set here", "The API does not need it; run doctor with the worker's settings.")
		return
	case s == nil:
		x.skip("not checked: the database is not up to date", "seal_key")
		return
	}
	sealer, err := newReloadingSealer(ctx, cfg, s)
	if err != nil {
		x.fail("seal_key", err, renew)
		return
	}
	end := sealer.NotAfter()
	detail := "a test signature verifies; the certificate expires on " + end.UTC().Format(time.DateOnly)
	if end.Sub(now()) < certificateNotice {
		x.add("seal_key", warned, detail, renew)
		return
	}
	x.ok("seal_key", detail)
}

// anchorNotice is the age of the latest audit trail anchor above which doctor warns.
const anchorNotice = 48 * time.Hour

func (x *doctor) timestamps(ctx context.Context, cfg config.Config, s *store.Store) {
	if cfg.TSAURL == "" {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	sum := sha256.Sum256([]byte("countersign"))
	if _, err := newTimestampAuthority(cfg).Stamp(ctx, sum[:]); err != nil {
		x.fail("timestamps", err, "Check that COUNTERSIGN_TSA_URL is correct and reachable from here. Until it responds, the audit trail cannot be anchored, and documents cannot be sealed unless COUNTERSIGN_TSA_OPTIONAL is set.")
	} else {
		x.ok("timestamps", "the authority returned a time-stamp")
	}
	if !cfg.TSAAnchor || s == nil {
		return
	}
	const advice = "Check the workflows of the schedule " + temporal.ScheduleAnchor + " in the Temporal UI, and that a worker is running with COUNTERSIGN_TSA_ANCHOR."
	last, err := s.LastAnchor(ctx)
	switch {
	case err != nil:
		x.fail("anchors", err, "Check the database.")
	case last == nil:
		x.add("anchors", warned, "the audit trail has never been anchored", advice)
	case now().Sub(last.At) > anchorNotice:
		x.add("anchors", warned, "the audit trail was last anchored on "+last.At.UTC().Format(time.DateOnly), advice)
	default:
		x.ok("anchors", fmt.Sprintf("the audit trail was last anchored at %s, number %d", last.At.UTC().Format(time.RFC3339), last.Number))
	}
}

// report prints the findings. If a check has failed, it returns an error, which sets the exit code to 1.
func (x *doctor) report(asJSON bool) error {
	unwell := slices.ContainsFunc(x.findings, func(f finding) bool { return f.Status == failed })
	var err error
	if asJSON {
		err = terminal.PrintJSON(map[string]any{"ok": !unwell, "findings": x.findings})
	} else {
		_, err = os.Stdout.WriteString(x.text())
	}
	if err == nil && unwell {
		err = errUnhealthy
	}
	return err
}

func (x *doctor) text() string {
	var text strings.Builder
	marks := map[string]string{healthy: "✓", warned: "!", failed: "✗", skipped: "–"}
	for _, f := range x.findings {
		fmt.Fprintf(&text, "%s %-18s %s\n", marks[f.Status], f.Check, f.Detail)
		if f.Advice != "" {
			fmt.Fprintf(&text, "  %-18s → %s\n", "", f.Advice)
		}
	}
	return text.String()
}

// guards checks the optional protections that are configured.
func (x *doctor) guards(ctx context.Context, cfg config.Config) {
	if cfg.ClamdURL != "" {
		ctx, cancel := context.WithTimeout(ctx, checkTimeout)
		defer cancel()
		s, err := clamd.Parse(cfg.ClamdURL)
		if err == nil {
			err = s.Ping(ctx)
		}
		if err != nil {
			x.fail("scanner", err, "Check that clamd is running at COUNTERSIGN_CLAMD_URL; uploads are rejected until it responds.")
		} else {
			x.ok("scanner", "responds")
		}
	}
	if cfg.LeakedPasswords != "" {
		if _, err := password.Leaked(cfg.LeakedPasswords, ""); err != nil {
			x.fail("leaked_passwords", err, "Check that COUNTERSIGN_LEAKED_PASSWORDS is readable here and sorted by hash; until then, no password can be set.")
		} else {
			x.ok("leaked_passwords", "the list can be searched")
		}
	}
	if strings.HasPrefix(cfg.BaseURL, "https://") && !cfg.DeclineNeedsCode {
		x.add("decline", warned, "anyone with a signing link can decline for everyone, without the signer's code", "Set COUNTERSIGN_DECLINE_NEEDS_CODE=true, unless your clients decline without a code.")
	}
	if strings.HasPrefix(cfg.BaseURL, "https://") && cfg.ConsoleTOTP != models.SecondFactorRequired {
		x.add("second_factor", warned, "console users sign in with only a password", "Set COUNTERSIGN_CONSOLE_TOTP=required.")
	}
}
