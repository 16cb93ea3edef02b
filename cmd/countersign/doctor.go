package main

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"time"

	"go.temporal.io/sdk/client"

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
	slog.SetDefault(slog.New(slog.DiscardHandler)) // the findings contain the same information
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

// database checks the database. It returns nil if the database cannot be used.
func (x *doctor) database(ctx context.Context, cfg config.Config) *store.Store {
	within, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	s, _, err := openStore(within, cfg)
	if err != nil {
		x.fail("database", err, "Check that the server of COUNTERSIGN_DATABASE_URL is running, is reachable from here, and accepts the user, password and database.")
		x.skip("not checked: no database", "migrations", "master_key", "clock")
		return nil
	}
	x.ok("database", "answers")
	if weak, err := s.WeakDurability(within); err != nil || len(weak) > 0 {
		x.add("durability", warned, "a crash may lose acknowledged data: "+cmp.Or(strings.Join(weak, ", "), "the server did not return its settings"), "Set these settings of PostgreSQL to on, also for this user and this database.")
	}
	x.planner(within, s)
	x.clock(within, s)
	if err := s.Migrated(within); err != nil {
		x.fail("migrations", err, "Run `countersign migrate`, then restart the service.")
		x.skip("not checked: migrations are missing", "master_key")
		_ = s.Close() // nothing was written
		return nil
	}
	x.ok("migrations", "up to date")
	x.masterKey(within, s)
	x.partitions(within, s)
	x.outbox(within, s)
	x.unsealed(within, s)
	x.overdueWork(within, cfg, s)
	return s
}

// planner checks the planner settings of the database. They are lost when the database is restored, and `migrate` may
// have set them only for another database user.
func (x *doctor) planner(ctx context.Context, s *store.Store) {
	if !s.HasPartitions() { // SQLite has no such settings
		return
	}
	switch slow, err := s.SlowPlanner(ctx); {
	case err != nil:
		x.fail("planner", err, "Check the database.")
	case len(slow) > 0:
		x.add("planner", warned, "searching millions of envelopes takes ten times as long: "+strings.Join(slow, ", "),
			"Run `countersign migrate` as the user of COUNTERSIGN_DATABASE_URL and restart the service (and PgBouncer's connections), or set jit to off and max_parallel_workers_per_gather to 0 for this user in this database.")
	default:
		x.ok("planner", "as required by the service's queries")
	}
}

// monthEnd is the minimum time until the end of the last partition. The cleanup creates partitions months ahead, so
// doctor warns if less time remains.
const monthEnd = 31 * 24 * time.Hour

// partitions checks that the monthly partitioned tables have partitions for the coming weeks.
func (x *doctor) partitions(ctx context.Context, s *store.Store) {
	if !s.HasPartitions() {
		return
	}
	until, err := s.PartitionsUntil(ctx)
	switch {
	case err != nil:
		x.fail("partitions", err, "Check the database.")
	case until.Sub(now()) < monthEnd:
		x.add("partitions", warned, "created up to "+until.Format(time.DateOnly), "The workflow Cleanup creates them: check in Temporal that its schedule `cleanup` is running, and why the workflow fails. No data is lost: until then, rows are stored in the default partition.")
	default:
		x.ok("partitions", "created up to "+until.Format(time.DateOnly))
	}
}

func (x *doctor) masterKey(ctx context.Context, s *store.Store) {
	if err := checkMasterKey(ctx, s); err != nil {
		x.fail("master_key", err, "Add the key that the database was written with to COUNTERSIGN_MASTER_KEY, after a comma.")
		return
	}
	x.ok("master_key", "decrypts the service's keys")
}

// Limits for clock skew. Above skewNotice, doctor warns. Above skewLimit, the check fails. Links, codes and the order
// of the audit trail depend on the clocks.
const (
	skewNotice = time.Second
	skewLimit  = 30 * time.Second
)

func (x *doctor) clock(ctx context.Context, s *store.Store) {
	const advice = "Synchronize the clocks of this machine and the database server with NTP."
	ahead, within, err := s.ClockSkew(ctx)
	if err != nil {
		x.fail("clock", err, "Check the database.")
		return
	}
	detail := fmt.Sprintf("the database clock is %s ahead of this machine (± %s)", ahead.Round(time.Millisecond), within.Round(time.Millisecond))
	switch off := ahead.Abs() - within; {
	case off > skewLimit:
		x.add("clock", failed, detail, advice)
	case off > skewNotice:
		x.add("clock", warned, detail, advice)
	default:
		x.ok("clock", detail)
	}
}

// replica checks the standby database from which lists are read.
func (x *doctor) replica(ctx context.Context, s *store.Store) {
	if s == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	there, err := s.CheckReplica(ctx)
	switch {
	case err != nil:
		x.add("replica", warned, oneLine(err), "Until then, lists are read from the primary. DATABASE_READ_URL must name a standby of the database that keeps up with it.")
	case there:
		x.ok("replica", "as current as the primary")
	}
}

func (x *doctor) temporal(ctx context.Context, cfg config.Config) {
	c, err := temporal.Dial(cfg, slog.New(slog.DiscardHandler), temporal.Observer{})
	if err == nil {
		defer c.Close()
		within, cancel := context.WithTimeout(ctx, checkTimeout)
		defer cancel()
		err = temporal.Check(within, c)
	}
	if err != nil {
		x.fail("temporal", err, "Check that COUNTERSIGN_TEMPORAL_ADDRESS is correct and reachable from here, and for Temporal Cloud the API key or certificate. Signing continues without Temporal; everything else is delayed.")
		x.skip("not checked: no connection to Temporal", "namespace", "search_attributes", "workers")
		return
	}
	x.ok("temporal", cfg.TemporalAddress+" answers")
	x.namespace(ctx, c, cfg)
	x.replay(ctx, c, cfg.TemporalNamespace)
}

func (x *doctor) namespace(ctx context.Context, c client.Client, cfg config.Config) {
	name := cfg.TemporalNamespace
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	if err := temporal.CheckNamespace(ctx, c, name); err != nil {
		x.fail("namespace", err, "Create it: temporal operator namespace create --namespace "+name+" --retention 30d")
		x.skip("not checked: the namespace is missing", "search_attributes", "workers")
		return
	}
	x.ok("namespace", name+" exists")
	missing, err := temporal.MissingAttributes(ctx, c, name)
	add := "Add each: temporal operator search-attribute create --namespace " + name + " --type Keyword --name " + strings.Join(missing, "|")
	switch {
	case errors.Is(err, temporal.ErrAttributesNotReadable):
		x.add("search_attributes", warned, err.Error(), "Check in the console of Temporal Cloud that AppId, TenantId, EnvelopeId, EnvelopeStatus and Stuck exist with type Keyword.")
	case err != nil:
		x.fail("search_attributes", err, "Check the Temporal server's log.")
	case len(missing) > 0:
		x.add("search_attributes", failed, "missing: "+strings.Join(missing, ", "), add)
	default:
		x.ok("search_attributes", "AppId, TenantId, EnvelopeId, EnvelopeStatus and Stuck exist")
	}
	unserved, err := temporal.QueuesWithoutWorkers(ctx, c, name)
	switch {
	case err != nil:
		x.fail("workers", err, "Check the Temporal server's log.")
	case len(unserved) > 0:
		x.add("workers", warned, fmt.Sprintf("%d of %d task queues have no worker", len(unserved), len(temporal.Queues)), "Start `countersign worker`.")
	default:
		x.ok("workers", "every task queue has a worker")
	}
	x.versions(ctx, c, cfg)
	x.workflowTasks(ctx, c, name)
	x.schedules(ctx, c)
}

// workflowTasks reports workflows that are blocked because their code fails.
func (x *doctor) workflowTasks(ctx context.Context, c client.Client, name string) {
	n, example, err := temporal.FailingWorkflowTasks(ctx, c, name)
	switch {
	case err != nil:
		x.add("workflow_tasks", warned, oneLine(err), "Search for TemporalReportedProblems in the Temporal UI.")
	case n > 0:
		x.add("workflow_tasks", failed, fmt.Sprintf("%d workflow(s) are blocked because their code fails, including %s", n, example),
			"Run the build that started the workflows, or terminate them: the schedule reconcile restarts them within minutes. See docs/run/troubleshooting.md.")
	default:
		x.ok("workflow_tasks", "none are failing")
	}
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
		x.ok("timestamps", "the authority time-stamps a digest")
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
			x.ok("scanner", "answers")
		}
	}
	if cfg.LeakedPasswords != "" {
		if _, err := password.Leaked(cfg.LeakedPasswords, ""); err != nil {
			x.fail("leaked_passwords", err, "Check that COUNTERSIGN_LEAKED_PASSWORDS is readable here and sorted by hash; until then, no password can be set.")
		} else {
			x.ok("leaked_passwords", "can be searched")
		}
	}
	if strings.HasPrefix(cfg.BaseURL, "https://") && !cfg.DeclineNeedsCode {
		x.add("decline", warned, "anyone with a signing link can decline for everyone, without the signer's code", "Set COUNTERSIGN_DECLINE_NEEDS_CODE=true, unless your clients decline without a code.")
	}
	if strings.HasPrefix(cfg.BaseURL, "https://") && cfg.ConsoleTOTP != models.SecondFactorRequired {
		x.add("second_factor", warned, "console users sign in with only a password", "Set COUNTERSIGN_CONSOLE_TOTP=required.")
	}
}
