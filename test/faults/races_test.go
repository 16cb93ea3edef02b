package faults_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"countersign/models"
	"countersign/temporal"
)

// retain shortens the retention of files with a database trigger.
func (w *scenario) retain(retention time.Duration) {
	w.t.Helper()
	w.exec(fmt.Sprintf(`CREATE FUNCTION shorten_retention() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
		IF NEW.retention_until IS NOT NULL AND NEW.purge_status = 'active' THEN
			NEW.retention_until := clock_timestamp() + interval '%d milliseconds';
		END IF;
		RETURN NEW;
	END $$`, retention.Milliseconds()))
	w.exec(`CREATE TRIGGER shorten BEFORE INSERT OR UPDATE ON documents FOR EACH ROW EXECUTE FUNCTION shorten_retention()`)
	w.exec(fmt.Sprintf(`CREATE FUNCTION shorten_step() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
		IF OLD.retention_due_at IS NULL AND NEW.retention_due_at IS NOT NULL THEN
			NEW.retention_due_at := clock_timestamp() + interval '%d milliseconds';
		END IF;
		RETURN NEW;
	END $$`, retention.Milliseconds()))
	w.exec(`CREATE TRIGGER shorten BEFORE UPDATE ON envelopes FOR EACH ROW EXECUTE FUNCTION shorten_step()`)
}

// runTogether runs the functions concurrently, each after a small random delay.
func runTogether(rnd *rand.Rand, spread time.Duration, fns ...func()) {
	var wg sync.WaitGroup
	start := make(chan struct{})
	for _, fn := range fns {
		wait := time.Duration(rnd.Int64N(int64(spread)))
		wg.Go(func() {
			<-start
			time.Sleep(wait)
			fn()
		})
	}
	close(start)
	wg.Wait()
}

// outcomes lists the documented statuses of each call that may lose a race.
var outcomes = map[string][]int{
	"sign": {200, 401, 409}, "decline": {200, 401, 409}, "void": {200, 400},
}

// TestSignDeclineVoidExpire concurrently performs all actions that can close an envelope, and checks that exactly one
// takes effect.
func TestSignDeclineVoidExpire(t *testing.T) {
	t.Parallel()
	row(t, func(t *testing.T, rnd *rand.Rand) {
		w := newScenario(t, setting{})
		w.start(2, 0)

		deadlines := make([]time.Time, 8)
		for i := range deadlines {
			var (
				e   *envelope
				err error
			)
			if i%2 == 0 {
				e, err = w.send(2)
			} else {
				e, deadlines[i], err = w.sendDue(2, 20*time.Second)
			}
			require.NoError(t, err)
			for s := range e.signers {
				require.NoError(t, e.consent(s))
			}
		}
		w.worker()
		var wg sync.WaitGroup
		for i, e := range w.envelopes {
			mine := rand.New(rand.NewPCG(rnd.Uint64(), 0))
			wg.Go(func() {
				time.Sleep(time.Until(deadlines[i].Add(-50 * time.Millisecond))) // close to the deadline
				e.race(t, mine, i)
			})
		}
		wg.Wait()
		for _, e := range w.envelopes {
			eventually(t, func() bool { return w.status(e).Terminal() }, "%s was not closed", e.id)
		}
		w.check("/all")
	})
}

// race concurrently performs all actions on an envelope, and checks that exactly one succeeds and that the others
// receive the documented errors.
func (e *envelope) race(t *testing.T, rnd *rand.Rand, kind int) {
	t.Helper()
	var mu sync.Mutex
	got := map[string]int{}
	try := func(what string, do func() (answer, error)) func() {
		return func() {
			a, err := do()
			noError(t, err)
			assert.Contains(t, outcomes[what], a.status, "%s: %s", what, a.body)
			mu.Lock()
			defer mu.Unlock()
			if a.status == http.StatusOK {
				got[what]++
			}
		}
	}
	fns := []func(){
		try("sign", func() (answer, error) { return e.sign(0) }),
		try("sign", func() (answer, error) { return e.sign(1) }),
	}
	if kind%4 != 0 {
		fns = append(fns, try("void", e.void))
	}
	if kind%3 != 0 {
		who := rnd.IntN(2)
		fns = append(fns, try("decline", func() (answer, error) { return e.decline(who) }))
	}
	rnd.Shuffle(len(fns), func(i, j int) { fns[i], fns[j] = fns[j], fns[i] })
	runTogether(rnd, 40*time.Millisecond, fns...)
	assert.LessOrEqual(t, got["void"]+got["decline"], 1, "one winner: %v", got)
	if got["sign"] == 2 {
		assert.Zero(t, got["void"]+got["decline"], "all signers have signed: %v", got)
	}
}

// TestLastTwoSigners submits the last two signatures of an envelope concurrently, and checks that the documents are
// sealed only once.
func TestLastTwoSigners(t *testing.T) {
	t.Parallel()
	row(t, func(t *testing.T, rnd *rand.Rand) {
		w := newScenario(t, setting{})
		w.start(2, 2)
		for range 6 {
			e, err := w.send(3)
			require.NoError(t, err)
			for s := range e.signers {
				require.NoError(t, e.consent(s))
			}
			sign := func(i int) func() {
				return func() {
					a, err := e.sign(i)
					noError(t, err)
					assert.Equal(t, http.StatusOK, a.status, "%s", a.body)
				}
			}
			sign(0)()
			runTogether(rnd, 5*time.Millisecond, sign(1), sign(2))
		}
		w.check("/all")
	})
}

// TestPurgeDownload downloads a document while it is being purged. It checks that every download that starts is complete, and
// that none starts after the first 410 response.
func TestPurgeDownload(t *testing.T) {
	t.Parallel()
	row(t, func(t *testing.T, _ *rand.Rand) {
		w := newScenario(t, setting{env: []string{"COUNTERSIGN_EMAIL_ATTACHMENT_LIMIT=0"}})
		w.retain(4 * time.Second)
		w.api()
		w.worker()
		w.login()
		w.run("tenant", "set", "--app", w.appID.String(), "--tenant", "acme", "--retention", "1")
		require.NoError(t, w.sendAndComplete(1))
		e := w.envelopes[0]
		link := ""
		eventually(t, func() bool { link = w.downloadLink(); return link != "" }, "no email with a link arrived")

		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				gone := false
				for deadline := time.Now().Add(waitTimeout); time.Now().Before(deadline); {
					a, err := w.client.do(http.MethodGet, "/v1/download/"+link+"/document", "", nil)
					if !noError(t, err) {
						return
					}
					switch a.status {
					case http.StatusOK:
						assert.False(t, gone, "the file was returned after the purge")
						assert.Equal(t, w.sealedHash(e), digest(a.body))
					case http.StatusGone:
						if gone {
							return
						}
						gone = true
					default:
						assert.Fail(t, "download", "%d %s", a.status, a.body)
						return
					}
				}
				assert.Fail(t, "never purged")
			})
		}
		c := w.temporalClient()
		sweeping, stop := context.WithCancel(t.Context())
		wg.Go(func() {
			for sweeping.Err() == nil {
				w.trigger(c, temporal.ScheduleCleanup)
				time.Sleep(200 * time.Millisecond)
			}
		})
		eventually(t, func() bool { return len(w.sealedFiles(e)) == 0 }, "the file was not removed")
		stop()
		wg.Wait()
		env, events, err := w.store.EnvelopeWithEvents(t.Context(), w.appID, idOf(e))
		require.NoError(t, err)
		require.NoError(t, models.VerifyChain(events, env.AuditSeq, env.AuditHead))
		purged := slices.IndexFunc(events, func(ev models.Event) bool { return ev.Name == models.EventDocumentPurged })
		require.Positive(t, purged)
		for _, ev := range events[purged:] {
			assert.NotEqual(t, models.EventDocumentDownloaded, ev.Name, "a download was recorded after the purge")
		}
	})
}
