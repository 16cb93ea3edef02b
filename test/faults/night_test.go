//go:build night

package faults_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"countersign/internal/vault"
	"countersign/store"
	"countersign/test/kit"
)

var (
	nightLength = flag.Duration("night", 20*time.Minute, "duration of the fault injection")
	nightRate   = flag.Float64("rate", 2, "envelopes per second")
	nightOnly   = flag.String("only", "", "comma-separated names of the faults to inject; if empty, all faults are injected")
)

// The durations of the phases. The clock of the alert rules runs faster, so that an alert that normally fires after
// half an hour fires during the fault.
const (
	nightFault   = 60 * time.Second // duration of a fault
	nightCalm    = 30 * time.Second // pause after each fault
	nightStretch = 24

	// nightPatience limits each wait for the service to catch up. It is longer than in the individual fault tests, because
	// the machine is busier.
	nightPatience = 10 * time.Minute

	nightDisk = 2048 // in MB; an envelope takes less than 0.1 MB
)

// nightly is a fault that make night injects. A call to begin starts the fault, and returns a function that ends it.
type nightly struct {
	name  string
	begin func(n *night) (end func())
	// The alerts in must are required to fire, and the alerts in may are permitted to fire.
	must, may []string
}

var nightlies = []nightly{
	{"temporal", (*night).emptyTemporal, []string{"CountersignOutboxWaits", "CountersignWorkflowsLost"}, []string{"CountersignWorkerIsBusy"}},
	{"build", (*night).breakBuild, []string{"CountersignWorkflowTasksFail"}, nil},
	{"mail", (*night).hangMail, []string{"CountersignMailFails"}, []string{"CountersignWorkerIsBusy"}},
	{"postgres", (*night).stopPostgres, []string{"CountersignDatabaseIsSilent"}, []string{"CountersignErrors", "CountersignOutboxWaits", "CountersignSlow", "CountersignDatabasePoolIsEmpty"}},
	{"disk", (*night).fillDisk, []string{"CountersignSealingFails"}, []string{"CountersignErrors", "CountersignEnvelopesUnsealed"}},
	{"key", (*night).rotateKey, nil, nil},
}

// night is a service with two API processes and two workers, together with its monitoring and its load.
type night struct {
	*scenario

	rnd      *rand.Rand
	postgres *kit.PostgresServer
	temporal *temporalServer
	disk     *smallDisk
	broken   string // path of a build whose workflows panic
	targets  string // path of the file that lists the scraped targets
	alerts   string // path of alertwatch's output
	apis     []*nightProcess
	workers  []*nightProcess
}

// nightProcess is an API or a worker whose metrics are scraped.
type nightProcess struct {
	*process

	metrics string
	retired chan struct{}
}

// TestNight sends two envelopes per second while one fault follows another in random order. Afterwards, it checks that
// no change was lost, that each required alert and no unexpected alert fired, and that no operator ran a repair
// command.
func TestNight(t *testing.T) { //nolint:paralleltest // the test uses the whole machine
	rnd := rand.New(rand.NewPCG(*seed, 1))
	n := newNight(t, rnd)
	stop := n.nightLoad()
	time.Sleep(nightCalm / 2)
	var chosen, done []nightly
	for _, i := range rnd.Perm(len(nightlies)) {
		if f := nightlies[i]; *nightOnly == "" || slices.Contains(strings.Split(*nightOnly, ","), f.name) {
			chosen = append(chosen, f)
		}
	}
	require.NotEmpty(t, chosen, "unknown fault %s", *nightOnly)
	began := time.Now()
	for i := 0; i == 0 || time.Since(began)+nightFault <= *nightLength; i++ {
		f := chosen[i%len(chosen)]
		open := n.waiting()
		n.say("%s begins", f.name)
		at := time.Now()
		end := f.begin(n)
		time.Sleep(time.Until(at.Add(nightFault)))
		end()
		n.say("%s is over", f.name)
		done = append(done, f)
		time.Sleep(nightCalm)
		for _, e := range open {
			require.NoError(t, e.complete(), "an envelope that waited for its signers in the meantime")
		}
	}
	sent, failed := stop()
	n.say("%d envelopes were sent; %d failed", sent, failed)
	assert.Zero(t, failed, "a client that retries receives a response to each request")
	n.checkNothingIsLost()
	n.checkAlerts(done)
}

func (n *night) say(format string, args ...any) {
	fmt.Printf("%s  %s\n", time.Now().Format(time.TimeOnly), fmt.Sprintf(format, args...))
}

func newNight(t *testing.T, rnd *rand.Rand) *night {
	t.Helper()
	n := &night{rnd: rnd, postgres: startPostgres(t), temporal: startTemporal(t), disk: newSmallDisk(t, nightDisk)}
	n.scenario = newScenario(t, setting{
		postgres: n.postgres.URL, temporal: n.temporal.running.Address, namespace: "default", files: filepath.Join(n.disk.dir, "files"),
	})
	n.disk.w = n.scenario
	n.broken = n.buildBroken()
	dir := t.TempDir()
	n.targets, n.alerts = filepath.Join(dir, "targets"), filepath.Join(dir, "alerts")
	n.apis = []*nightProcess{n.start("api", built), n.start("api", built)}
	n.workers = []*nightProcess{n.start("worker", built), n.start("worker", built)}
	n.showTargets()
	n.login()
	n.subscribe("/all")
	n.watchAlerts()
	return n
}

// buildBroken builds the program with envelope workflows that panic.
func (n *night) buildBroken() string {
	n.t.Helper()
	const source = "../../workflows/envelope.go"
	b, err := os.ReadFile(source)
	require.NoError(n.t, err)
	begin := regexp.MustCompile(`(?m)^func drive\(.*\{$`).FindString(string(b))
	require.NotEmpty(n.t, begin)
	dir := n.t.TempDir()
	changed := filepath.Join(dir, "envelope.go")
	require.NoError(n.t, os.WriteFile(changed, []byte(strings.Replace(string(b), begin, begin+"\n\tif in.EnvelopeID != (uuid.UUID{}) {\n\t\tpanic(\"a broken build\")\n\t}", 1)), 0o600))
	original, err := filepath.Abs(source)
	require.NoError(n.t, err)
	overlay := filepath.Join(dir, "overlay.json")
	require.NoError(n.t, os.WriteFile(overlay, marshal(n.t, object{"Replace": object{original: changed}}), 0o600))
	out := filepath.Join(dir, "countersign")
	tool(n.t, nil, "go", "build", "-trimpath", "-tags", "nomsgpack,failpoints", "-ldflags", "-s -w", "-overlay", overlay, "-o", out, "countersign/cmd/countersign")
	return out
}

// start starts a process and waits until its metrics can be scraped. If the process exits, it is restarted, as a
// service manager would do.
func (n *night) start(kind, program string) *nightProcess {
	n.t.Helper()
	p := &nightProcess{metrics: kit.FreeAddress(n.t)}
	p.process = &process{w: n.scenario, program: program, args: []string{kind}, env: []string{"COUNTERSIGN_LISTEN=" + kit.FreeAddress(n.t), "COUNTERSIGN_METRICS_LISTEN=" + p.metrics}}
	p.start()
	p.supervise()
	eventually(n.t, func() bool {
		status, _, err := n.client.once(n.t.Context(), "GET", "http://"+p.metrics+"/healthz", nil, nil)
		return err == nil && status == 200
	}, "the %s did not start", kind)
	if kind == "api" {
		p.waitHealthy()
		n.mu.Lock()
		n.scenario.apis = append(n.scenario.apis, "http://"+strings.TrimPrefix(p.env[0], "COUNTERSIGN_LISTEN="))
		n.mu.Unlock()
	}
	return p
}

// showTargets writes the list of targets that alertwatch scrapes.
func (n *night) showTargets() {
	n.t.Helper()
	var lines []string
	for _, p := range slices.Concat(n.apis, n.workers) {
		lines = append(lines, p.metrics)
	}
	require.NoError(n.t, os.WriteFile(n.targets+".new", []byte(strings.Join(lines, "\n")+"\n"), 0o600))
	require.NoError(n.t, os.Rename(n.targets+".new", n.targets))
}

// replace replaces processes one after another, as in a rolling upgrade. Each one is stopped once its successor is
// running.
func (n *night) replace(all []*nightProcess, program string) {
	n.t.Helper()
	for i, old := range all {
		all[i] = n.start(old.args[0], program)
		n.showTargets()
		if old.args[0] == "api" {
			n.mu.Lock()
			gone := "http://" + strings.TrimPrefix(old.env[0], "COUNTERSIGN_LISTEN=")
			n.scenario.apis = slices.DeleteFunc(n.scenario.apis, func(a string) bool { return a == gone })
			n.mu.Unlock()
		}
		old.retire()
	}
}

// nightWaiting is the number of envelopes that await their signers throughout a fault.
const nightWaiting = 3

// waiting sends envelopes and waits until their signers have been invited.
func (n *night) waiting() []*envelope {
	n.t.Helper()
	all := make([]*envelope, nightWaiting)
	for i := range all {
		var err error
		all[i], err = n.send(2)
		require.NoError(n.t, err)
	}
	for _, e := range all {
		within(n.t, nightPatience, func() bool {
			return n.count("SELECT count(*) FROM mails WHERE envelope_id = $1 AND sent_at IS NOT NULL", e.id) == 2
		}, "the signers of %s were not invited", e.id)
	}
	return all
}

func (n *night) emptyTemporal() func() {
	require.NoError(n.t, n.temporal.running.Kill())
	return func() {
		files, err := filepath.Glob(n.temporal.flags[2] + "*") // the database's files
		require.NoError(n.t, err)
		require.NotEmpty(n.t, files)
		for _, f := range files {
			require.NoError(n.t, os.Remove(f))
		}
		n.temporal.start()
		n.say("Temporal is available again, and empty")
		// The workers detect the empty Temporal automatically.
		within(n.t, nightPatience, func() bool { return n.count("SELECT count(*) FROM reconcile_runs WHERE missing > 0") > 0 }, "no worker detected that Temporal is empty")
	}
}

func (n *night) breakBuild() func() {
	n.replace(n.workers, n.broken)
	n.say("the broken build is running")
	return func() { n.replace(n.workers, built) }
}

func (n *night) hangMail() func() { return n.smtp.hang(n.t) }

func (n *night) stopPostgres() func() {
	require.NoError(n.t, n.postgres.Crash(n.t.Context()))
	return func() { require.NoError(n.t, n.postgres.Restart(n.t.Context())) }
}

func (n *night) fillDisk() func() {
	signed := n.waiting() // uploads are rejected during the fault, so the load adds no documents to seal
	n.disk.shrink(n.t)
	for _, e := range signed {
		require.NoError(n.t, e.complete(), "signing requires no space in the file store")
	}
	return func() { n.disk.grow(n.t) }
}

// rotateKey adds a new master key in front of the others, replaces the processes, and re-encrypts the data that was
// encrypted with the old key.
func (n *night) rotateKey() func() {
	const setting = "COUNTERSIGN_MASTER_KEY="
	key := make([]byte, 32)
	for i := range key {
		key[i] = byte(n.rnd.IntN(256))
	}
	at := slices.IndexFunc(n.env, func(s string) bool { return strings.HasPrefix(s, setting) })
	keys := base64.StdEncoding.EncodeToString(key) + "," + strings.TrimPrefix(n.env[at], setting)
	n.env = slices.Clone(n.env)
	n.env[at] = setting + keys
	n.replace(n.apis, built)
	n.replace(n.workers, built)
	n.run("key", "rewrap")
	v, err := vault.New(keys)
	require.NoError(n.t, err)
	s, err := store.Open(n.t.Context(), store.Config{URL: n.postgres.URL, Vault: v, MaxConns: 4, Now: clock, NewID: uuid.New})
	require.NoError(n.t, err)
	n.t.Cleanup(func() { _ = s.Close() })
	n.store = s
	return func() {}
}

// nightLoad sends envelopes at a constant rate until the returned function is called. Two signers sign each envelope.
func (n *night) nightLoad() (stop func() (sent, failed int)) {
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	var mu sync.Mutex
	sent, failed := 0, 0
	wg.Go(func() {
		tick := time.NewTicker(time.Duration(float64(time.Second) / *nightRate))
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			wg.Go(func() {
				err := n.sendAndComplete(2)
				mu.Lock()
				defer mu.Unlock()
				if sent++; err != nil {
					failed++
					n.say("a client gave up: %v", err)
				}
			})
		}
	})
	return func() (int, int) { cancel(); wg.Wait(); return sent, failed }
}

// nightSample is the number of envelopes that are checked completely, in addition to the database checks of all
// envelopes.
const nightSample = 40

func (n *night) checkNothingIsLost() {
	n.t.Helper()
	t := n.t
	limit := max(nightPatience, *nightLength/2)
	within(t, limit, func() bool {
		return n.count("SELECT count(*) FROM envelopes WHERE status IN ('sent', 'in_progress', 'sealing')") == 0
	}, "fully signed envelopes were not completed")
	within(t, limit, func() bool { return n.count("SELECT count(*) FROM outbox") == 0 }, "the outbox is not empty")
	within(t, limit, func() bool { return n.count("SELECT count(*) FROM webhook_deliveries WHERE status = 'pending'") == 0 }, "deliveries are still pending")
	assert.Zero(t, n.count("SELECT count(*) FROM webhook_deliveries WHERE status <> 'delivered'"), "deliveries failed")
	within(t, limit, func() bool {
		return n.count(`SELECT count(*) FROM envelopes AS e WHERE (SELECT count(*) FROM mails AS m WHERE m.envelope_id = e.id AND m.kind = 'completed' AND m.sent_at IS NOT NULL) <> 2`) == 0
	}, "not every recipient received a copy")
	assert.Equal(t, len(n.envelopes), n.count("SELECT count(*) FROM envelopes WHERE status = 'completed'"))
	all := slices.Clone(n.envelopes)
	n.rnd.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	for _, e := range all[:min(nightSample, len(all))] {
		n.checkEnvelope(e, []string{"/all"})
	}
	n.say("%d envelopes were completed, and %d of them were checked", len(all), min(nightSample, len(all)))
}

// watchAlerts starts alertwatch, which evaluates the published alert rules.
func (n *night) watchAlerts() {
	n.t.Helper()
	program, err := filepath.Abs("../../bin/tools/alertwatch")
	require.NoError(n.t, err)
	out, err := os.Create(n.alerts)
	require.NoError(n.t, err)
	p := &process{w: n.scenario, program: program, args: []string{"-rules", "../../deploy/prometheus/alerts.yaml", "-targets", n.targets, "-stretch", fmt.Sprint(nightStretch)}, stdout: out}
	p.start()
}

func (n *night) checkAlerts(done []nightly) {
	n.t.Helper()
	b, err := os.ReadFile(n.alerts)
	require.NoError(n.t, err)
	fired := map[string]bool{}
	for line := range bytes.Lines(b) {
		name := string(line)
		name = name[strings.Index(name, `"alert":"`)+len(`"alert":"`):]
		name = name[:strings.IndexByte(name, '"')]
		if !fired[name] {
			n.say("%s fired", name)
		}
		fired[name] = true
	}
	var allowed []string
	for _, f := range done {
		allowed = append(allowed, slices.Concat(f.must, f.may)...)
		for _, name := range f.must {
			assert.True(n.t, fired[name], "the alert %s did not fire for %s", name, f.name)
		}
	}
	for name := range fired {
		assert.Contains(n.t, allowed, name, "the alert fired without its fault: %s", b)
	}
}

// supervise restarts the process whenever it exits, until it is retired.
func (p *nightProcess) supervise() {
	p.retired = make(chan struct{})
	go func() {
		for {
			select {
			case <-p.retired:
				return
			case <-p.ended:
			}
			select {
			case <-p.retired:
				return
			case <-time.After(time.Second):
				p.start()
			}
		}
	}()
}

// retire stops the process permanently, with a clean shutdown.
func (p *nightProcess) retire() {
	close(p.retired)
	p.stop()
}

// shrink reduces the size of the disk to the space in use. A call to grow restores the size.
func (d *smallDisk) shrink(t *testing.T) {
	t.Helper()
	if !d.real {
		d.w.set("blob.keep", "full")
		return
	}
	var st syscall.Statfs_t
	require.NoError(t, syscall.Statfs(d.dir, &st))
	used := (st.Blocks - st.Bfree) * uint64(st.Bsize)
	require.NoError(t, syscall.Mount("tmpfs", d.dir, "tmpfs", syscall.MS_REMOUNT, fmt.Sprintf("size=%d", max(used, 4096))))
}

func (d *smallDisk) grow(t *testing.T) {
	t.Helper()
	if !d.real {
		d.w.set("blob.keep", "")
		return
	}
	require.NoError(t, syscall.Mount("tmpfs", d.dir, "tmpfs", syscall.MS_REMOUNT, fmt.Sprintf("size=%dm", d.size)))
}
