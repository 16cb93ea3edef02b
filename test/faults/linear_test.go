package faults_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/stretchr/testify/require"
)

// call is what a client asks of an envelope, and seen what it is told.
type call struct {
	what   string // get, sign, decline or void
	signer int
}

type seen struct {
	code   int
	status string // of a get
}

// state is the model of an envelope with four signers whose links are open.
type state struct {
	status   string
	signed   [signers]bool
	declined [signers]bool
}

const signers = 4

func (s state) all() bool        { return s.signed == [signers]bool{true, true, true, true} }
func (s state) done(i int) bool  { return s.signed[i] || s.declined[i] }
func (s state) open() bool       { return s.status == "in_progress" && !s.all() }
func (s state) to(st string) any { s.status = st; return s }

// step is the whole life of the envelope in one place: whether a call may have
// been answered so in state s, and the state that it leaves. Completion is not
// asked for by anyone; it is noticed by the first get that tells of it.
func step(in, asked, out any) (bool, any) {
	s, c, o := in.(state), asked.(call), out.(seen)
	if c.what == "get" {
		if s.all() && o.status == "completed" {
			return true, s.to("completed")
		}
		return o.code == http.StatusOK && o.status == s.status, s
	}
	if o.code == http.StatusOK {
		switch c.what {
		case "sign":
			ok := s.open() && !s.done(c.signer)
			s.signed[c.signer] = true
			return ok, s
		case "decline":
			ok := s.open() && !s.done(c.signer)
			s.declined[c.signer] = true
			return ok, s.to("declined")
		default:
			return s.open(), s.to("voided")
		}
	}
	switch {
	case c.what == "void":
		return o.code == http.StatusBadRequest && !s.open(), s
	case s.done(c.signer):
		return o.code == http.StatusConflict, s
	default:
		return o.code == http.StatusUnauthorized && !s.open(), s
	}
}

var model = porcupine.Model{
	Init: func() any { return state{status: "in_progress"} },
	Step: step,
}

// TestLinearizable records what concurrent clients ask of envelopes and are
// told, through two APIs of which one is killed, and checks that every history
// can be explained by one order of its calls.
func TestLinearizable(t *testing.T) {
	t.Parallel()
	row(t, func(t *testing.T, rnd *rand.Rand) {
		w := newWorld(t, setting{})
		apis := []*process{w.api(), w.api()}
		w.worker()
		w.login()
		const envelopes, clients, calls = 5, 4, 8
		histories := make([][]porcupine.Operation, envelopes)
		start := time.Now()
		var wg sync.WaitGroup
		var mu sync.Mutex
		for i := range envelopes {
			e, err := w.send(signers)
			require.NoError(t, err)
			for s := range signers {
				require.NoError(t, e.consent(s))
			}
			for c := range clients {
				mine := rand.New(rand.NewPCG(rnd.Uint64(), 0))
				wg.Go(func() {
					for range calls {
						in := call{"get", mine.IntN(signers)}
						switch n := mine.IntN(100); {
						case n < 50:
							in.what = "sign"
						case n < 54:
							in.what = "decline"
						case n < 57:
							in.what = "void"
						}
						op := porcupine.Operation{ClientId: c, Input: in, Call: int64(time.Since(start))}
						out, err := e.ask(in)
						op.Output, op.Return = out, int64(time.Since(start))
						if !noError(t, err) {
							return
						}
						mu.Lock()
						histories[i] = append(histories[i], op)
						mu.Unlock()
					}
				})
			}
		}
		pause(rnd, 100*time.Millisecond)
		apis[rnd.IntN(2)].kill()
		wg.Wait()
		for i, h := range histories {
			result := porcupine.CheckOperationsTimeout(model, h, time.Minute)
			require.Equal(t, porcupine.Ok, result, "envelope %s:\n%s", w.envelopes[i].id, inWords(h))
		}
		w.check()
	})
}

// ask makes a call of the model.
func (e *envelope) ask(in call) (seen, error) {
	var a answer
	var err error
	switch in.what {
	case "sign":
		a, err = e.sign(in.signer)
	case "decline":
		a, err = e.decline(in.signer)
	case "void":
		a, err = e.void()
	default:
		if a, err = e.w.client.do(http.MethodGet, "/v1/envelopes/"+e.id, "", nil); err != nil {
			return seen{}, err
		}
		var view struct{ Status string }
		err = json.Unmarshal(a.body, &view)
		return seen{a.status, view.Status}, err
	}
	return seen{code: a.status}, err
}

// inWords writes a history down for people.
func inWords(h []porcupine.Operation) string {
	slices.SortFunc(h, func(a, b porcupine.Operation) int { return int(a.Call - b.Call) })
	var b strings.Builder
	for _, op := range h {
		_, _ = fmt.Fprintf(&b, "%10d–%10d µs  client %d: %v → %v\n", op.Call/1000, op.Return/1000, op.ClientId, op.Input, op.Output)
	}
	return b.String()
}

// TestModelRefuses checks the check: histories that must not be.
func TestModelRefuses(t *testing.T) {
	t.Parallel()
	op := func(from, to int64, in call, out seen) porcupine.Operation {
		return porcupine.Operation{Input: in, Call: from, Output: out, Return: to}
	}
	ok := seen{code: http.StatusOK}
	get := func(from, to int64, status string) porcupine.Operation {
		return op(from, to, call{what: "get"}, seen{http.StatusOK, status})
	}
	for name, h := range map[string][]porcupine.Operation{
		"signed twice":              {op(1, 2, call{"sign", 0}, ok), op(3, 4, call{"sign", 0}, ok)},
		"signed after a void":       {op(1, 2, call{what: "void"}, ok), op(3, 4, call{"sign", 0}, ok)},
		"two winners":               {op(1, 9, call{what: "void"}, ok), op(1, 9, call{"decline", 1}, ok)},
		"a void that is not seen":   {op(1, 2, call{what: "void"}, ok), get(3, 4, "in_progress")},
		"completed too early":       {op(1, 2, call{"sign", 0}, ok), get(3, 4, "completed")},
		"refused without a reason":  {op(1, 2, call{"sign", 0}, seen{code: http.StatusUnauthorized})},
		"a decline that comes back": {get(1, 2, "declined"), op(3, 4, call{"decline", 0}, ok)},
	} {
		require.Equal(t, porcupine.Illegal, porcupine.CheckOperationsTimeout(model, h, time.Minute), name)
	}
	require.Equal(t, porcupine.Ok, porcupine.CheckOperationsTimeout(model, []porcupine.Operation{
		op(1, 9, call{"sign", 0}, ok), op(1, 9, call{what: "void"}, ok), op(1, 9, call{"sign", 1}, seen{code: http.StatusUnauthorized}), get(2, 3, "in_progress"),
	}, time.Minute))
}
