package faults_test

import (
	"encoding/json"
	"math/rand/v2"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestKillAPI kills the API after a commit, either before the dispatcher runs or before the response is sent. It checks
// that the outbox is processed later, and that repeating the request always returns the lost response.
func TestKillAPI(t *testing.T) {
	t.Parallel()
	row(t, func(t *testing.T, rnd *rand.Rand) {
		w := newScenario(t, setting{})
		api := w.api()
		w.login()
		w.subscribe("/all")
		places := []string{"store.committed", "api.done"}
		for range map[bool]int{true: 2, false: 1}[long()] {
			// die kills the API in the middle of a request, and retries the request.
			die := func(path string, body []byte, want int) answer {
				t.Helper()
				key, place := uuid.NewString(), places[rnd.IntN(2)]
				w.set(place, "kill")
				h := http.Header{"Content-Type": {"application/json"}, "Idempotency-Key": {key}, "Authorization": {"Bearer " + w.client.token}}
				if body[0] != '{' {
					h.Set("Content-Type", "application/octet-stream")
				}
				_, _, err := w.client.once(t.Context(), http.MethodPost, w.client.base(false)+path, h, body)
				require.Error(t, err, "the process must exit before it responds")
				api.waitDead()
				api.start()
				api.waitHealthy()
				first, err := w.client.keyed(key, http.MethodPost, path, h.Get("Content-Type"), body)
				require.NoError(t, err)
				require.Equal(t, want, first.status, "%s %s: %s", place, path, first.body)
				second, err := w.client.keyed(key, http.MethodPost, path, h.Get("Content-Type"), body)
				require.NoError(t, err)
				assert.Equal(t, first.status, second.status)
				assert.Equal(t, string(first.body), string(second.body), "%s %s: the response must be the same each time", place, path)
				return first
			}
			n := w.count("SELECT count(*) FROM envelopes")
			die("/v1/envelopes", marshal(t, object{"tenantId": "acme", "signers": []object{{"name": "A", "email": "a@example.com"}}}), http.StatusCreated)
			assert.Equal(t, n+1, w.count("SELECT count(*) FROM envelopes"), "exactly one envelope must be created")

			e, err := w.draft(2)
			require.NoError(t, err)
			sent := die("/v1/envelopes/"+e.id+"/send", []byte("{}"), http.StatusOK)
			e.links(t, sent.body)
			w.envelopes = append(w.envelopes, e)
			die(e.path(0, "/consent"), []byte("{}"), http.StatusOK)
			signed := die(e.path(0, "/sign"), marshal(t, object{"fields": e.signers[0].fields}), http.StatusOK)
			assert.Contains(t, string(signed.body), `"status":"signed"`)
			e.acknowledged("sign 0")
			require.NoError(t, e.consent(1))
			die(e.path(1, "/sign"), marshal(t, object{"fields": e.signers[1].fields}), http.StatusOK)
			e.acknowledged("sign 1")

			v, err := w.send(1)
			require.NoError(t, err)
			die("/v1/envelopes/"+v.id+"/void", []byte("{}"), http.StatusOK)
			v.acknowledged("void")
			d, err := w.send(1)
			require.NoError(t, err)
			die(d.path(0, "/decline"), []byte("{}"), http.StatusOK)
			d.acknowledged("decline 0")
		}
		w.worker()
		w.check("/all")
	})
}

func marshal(t *testing.T, v any) []byte {
	t.Helper()
	b, err := json.Marshal(v)
	require.NoError(t, err)
	return b
}

// TestTwoReplicas_OneIsKilled runs two API processes and two workers under load, and kills one of each. It checks that
// no client receives an error.
func TestTwoReplicas_OneIsKilled(t *testing.T) {
	t.Parallel()
	row(t, func(t *testing.T, rnd *rand.Rand) {
		w := newScenario(t, setting{})
		apis, workers := []*process{w.api(), w.api()}, []*process{w.worker(), w.worker()}
		w.login()
		w.subscribe("/all")
		stop := make(chan struct{})
		var wg sync.WaitGroup
		for range 3 {
			wg.Go(func() {
				for {
					select {
					case <-stop:
						return
					default:
						if !noError(t, w.sendAndComplete(1)) {
							return
						}
					}
				}
			})
		}
		pause := func() { time.Sleep(500*time.Millisecond + time.Duration(rnd.Int64N(int64(500*time.Millisecond)))) }
		pause()
		apis[rnd.IntN(2)].kill()
		pause()
		workers[rnd.IntN(2)].kill()
		w.cutOff = 200 // the worker may have been sending all of these emails
		pause()
		close(stop)
		wg.Wait()
		t.Logf("%d envelopes, %d requests sent again", len(w.envelopes), w.client.retried)
		w.check("/all")
	})
}
