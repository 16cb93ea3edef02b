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

// call is a client's request concerning an envelope.
type call struct {
	what   string // get, look, sign, agree, decline or void
	signer int
	shown  [signers]bool // for agree: the signers whose values the client declares to have been displayed
}

type response struct {
	code    int
	status  string        // for get
	shown   [signers]bool // for look: the signers whose values were displayed
	changed bool          // for agree: rejected because another signer signed in the meantime
}

// state is the model of an envelope with four signers whose links are valid.
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

// step is the model of the envelope. It reports whether a call could have produced this response in the given state,
// and returns the resulting state. In the model, no call completes the envelope. Instead, the first get that returns
// "completed" reveals the completion.
func step(in, asked, out any) (bool, any) {
	s, c, o := in.(state), asked.(call), out.(response)
	if c.what == "get" {
		if s.all() && o.status == "completed" {
			return true, s.to("completed")
		}
		return o.code == http.StatusOK && o.status == s.status, s
	}
	if o.code == http.StatusOK {
		switch c.what {
		case "look":
			return s.open() && !s.done(c.signer) && o.shown == s.signed, s
		case "sign", "agree":
			ok := s.open() && !s.done(c.signer) && (c.what == "sign" || c.shown == s.signed)
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
	case o.changed:
		return o.code == http.StatusConflict && s.open() && !s.done(c.signer) && c.shown != s.signed, s
	case c.what == "look" && s.done(c.signer):
		return o.code == http.StatusGone, s
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

// TestLinearizable records the calls and responses of concurrent clients through two API processes, one of which is
// killed. It checks that every history can be explained by a sequential order of the calls.
func TestLinearizable(t *testing.T) {
	t.Parallel()
	row(t, func(t *testing.T, rnd *rand.Rand) {
		w := newScenario(t, setting{})
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
					var known [signers][signers]bool // the values most recently displayed to each signer by this client
					for range calls {
						in := call{what: "get", signer: mine.IntN(signers)}
						switch n := mine.IntN(100); {
						case n < 15:
							in.what = "sign"
						case n < 35:
							in.what, in.shown = "agree", known[in.signer]
						case n < 50:
							in.what = "look"
						case n < 54:
							in.what = "decline"
						case n < 57:
							in.what = "void"
						}
						op := porcupine.Operation{ClientId: c, Input: in, Call: int64(time.Since(start))}
						out, err := e.call(in)
						op.Output, op.Return = out, int64(time.Since(start))
						if !noError(t, err) {
							return
						}
						if in.what == "look" && out.code == http.StatusOK {
							known[in.signer] = out.shown
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
			require.Equal(t, porcupine.Ok, result, "envelope %s:\n%s", w.envelopes[i].id, describeCall(h))
		}
		w.check()
	})
}

func (e *envelope) call(in call) (response, error) {
	var a answer
	var err error
	switch in.what {
	case "sign":
		a, err = e.sign(in.signer)
	case "agree":
		a, err = e.agree(in.signer, in.shown)
		return response{code: a.status, changed: a.code() == "values_changed"}, err
	case "look":
		return e.look(in.signer)
	case "decline":
		a, err = e.decline(in.signer)
	case "void":
		a, err = e.void()
	default:
		if a, err = e.w.client.do(http.MethodGet, "/v1/envelopes/"+e.id, "", nil); err != nil {
			return response{}, err
		}
		var view struct{ Status string }
		err = json.Unmarshal(a.body, &view)
		return response{code: a.status, status: view.Status}, err
	}
	return response{code: a.status}, err
}

func describeCall(h []porcupine.Operation) string {
	slices.SortFunc(h, func(a, b porcupine.Operation) int { return int(a.Call - b.Call) })
	var b strings.Builder
	for _, op := range h {
		_, _ = fmt.Fprintf(&b, "%10d–%10d µs  client %d: %v → %v\n", op.Call/1000, op.Return/1000, op.ClientId, op.Input, op.Output)
	}
	return b.String()
}

// TestModelRejects checks that the model rejects impossible histories.
func TestModelRejects(t *testing.T) {
	t.Parallel()
	op := func(from, to int64, in call, out response) porcupine.Operation {
		return porcupine.Operation{Input: in, Call: from, Output: out, Return: to}
	}
	ok, changed := response{code: http.StatusOK}, response{code: http.StatusConflict, changed: true}
	of := func(who ...int) (out [signers]bool) {
		for _, i := range who {
			out[i] = true
		}
		return out
	}
	sign := func(i int) call { return call{what: "sign", signer: i} }
	agree := func(i int, shown ...int) call { return call{what: "agree", signer: i, shown: of(shown...)} }
	get := func(from, to int64, status string) porcupine.Operation {
		return op(from, to, call{what: "get"}, response{code: http.StatusOK, status: status})
	}
	for name, h := range map[string][]porcupine.Operation{
		"signed twice":                                  {op(1, 2, sign(0), ok), op(3, 4, sign(0), ok)},
		"signed after a void":                           {op(1, 2, call{what: "void"}, ok), op(3, 4, sign(0), ok)},
		"two winners":                                   {op(1, 9, call{what: "void"}, ok), op(1, 9, call{what: "decline", signer: 1}, ok)},
		"a void without effect":                         {op(1, 2, call{what: "void"}, ok), get(3, 4, "in_progress")},
		"completed too early":                           {op(1, 2, sign(0), ok), get(3, 4, "completed")},
		"rejected without a reason":                     {op(1, 2, sign(0), response{code: http.StatusUnauthorized})},
		"a decline that is visible too early":           {get(1, 2, "declined"), op(3, 4, call{what: "decline"}, ok)},
		"signed without displaying a value":             {op(1, 2, sign(0), ok), op(3, 4, agree(1), ok)},
		"displayed a value that does not exist":         {op(1, 2, agree(1, 0), ok)},
		"rejected although all values were displayed":   {op(1, 2, sign(0), ok), op(3, 4, agree(1, 0), changed)},
		"omitted a value":                               {op(1, 2, sign(0), ok), op(3, 4, call{what: "look", signer: 1}, ok)},
		"read with the link of a signer who has signed": {op(1, 2, sign(0), ok), op(3, 4, call{what: "look"}, response{code: http.StatusOK, shown: of(0)})},
	} {
		require.Equal(t, porcupine.Illegal, porcupine.CheckOperationsTimeout(model, h, time.Minute), name)
	}
	require.Equal(t, porcupine.Ok, porcupine.CheckOperationsTimeout(model, []porcupine.Operation{
		op(1, 9, sign(0), ok), op(1, 9, call{what: "void"}, ok), op(1, 9, sign(1), response{code: http.StatusUnauthorized}), get(2, 3, "in_progress"),
	}, time.Minute))
	require.Equal(t, porcupine.Ok, porcupine.CheckOperationsTimeout(model, []porcupine.Operation{
		op(1, 2, call{what: "look", signer: 1}, ok), op(3, 9, sign(0), ok), op(3, 9, agree(1), ok), op(10, 11, agree(2, 0), changed),
		op(12, 13, call{what: "look", signer: 2}, response{code: http.StatusOK, shown: of(0, 1)}), op(14, 15, agree(2, 0, 1), ok),
	}, time.Minute))
}
