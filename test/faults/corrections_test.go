package faults_test

import (
	"context"
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
	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"countersign/models"
)

// correction is a call that changes a sent envelope, or that may run concurrently with such a change.
type correction struct {
	what     string // get, link, replace, delegate, consent, sign, extend or void
	signer   int
	link     string // the link used to delegate, consent or sign
	deadline string // the new deadline for extend
}

type corrected struct {
	code     int
	status   string // for get
	deadline string // for get
	link     string // for a call that returns a link
}

const corrigible = 2 // number of signers

// correctedState is the model of an envelope whose signers can be replaced. A signer's position does not change when
// the person is replaced, but a link and a consent belong to one person.
type correctedState struct {
	status    string
	deadline  string
	link      [corrigible]string // empty if not returned yet
	ended     [corrigible]string // the previous link, if it was returned
	consent   [corrigible]bool
	signed    [corrigible]bool
	delegated [corrigible]bool
}

func (s *correctedState) open() bool {
	return s.status == "in_progress" && s.signed != [corrigible]bool{true, true}
}

// succeed replaces the signer at a position with another person.
func (s *correctedState) succeed(i int, delegated bool) {
	if s.link[i] != "" {
		s.ended[i] = s.link[i]
	}
	s.link[i], s.consent[i], s.delegated[i] = "", false, delegated
}

// authorize returns the status with which a link is rejected, or 0 if it is accepted.
func (s *correctedState) authorize(c correction) int {
	switch {
	case c.link != s.link[c.signer]:
		return http.StatusUnauthorized
	case s.signed[c.signer]:
		return http.StatusConflict
	case !s.open():
		return http.StatusUnauthorized
	}
	return 0
}

// stepCorrected reports whether a call could have produced this response, and returns the resulting state.
func stepCorrected(in, asked, out any) (bool, any) {
	s, c, o := in.(correctedState), asked.(correction), out.(corrected)
	i, want := c.signer, http.StatusOK
	switch c.what {
	case "get":
		if o.status == "completed" && s.signed == [corrigible]bool{true, true} {
			s.status = "completed"
		}
		return o.code == want && o.status == s.status && o.deadline == s.deadline, s
	case "void":
		if !s.open() {
			want = http.StatusBadRequest
		} else {
			s.status = "voided"
		}
	case "extend":
		if !s.open() {
			want = http.StatusConflict
		} else {
			s.deadline = c.deadline
		}
	case "replace":
		if !s.open() || s.signed[i] {
			want = http.StatusConflict
		} else {
			s.succeed(i, false)
		}
	case "link":
		if !s.open() || s.signed[i] {
			want = http.StatusConflict
		} else {
			if s.link[i] == "" && o.link != s.ended[i] {
				s.link[i] = o.link
			}
			return o.code == want && o.link == s.link[i], s
		}
	case "delegate":
		if want = s.authorize(c); want == 0 {
			want = http.StatusConflict // each person chosen by the sender may delegate once
			if !s.delegated[i] {
				want = http.StatusNoContent
				s.succeed(i, true)
			}
		}
	case "consent":
		if want = s.authorize(c); want == 0 {
			want = http.StatusConflict
			if !s.consent[i] {
				want, s.consent[i] = http.StatusOK, true
			}
		}
	case "sign":
		if want = s.authorize(c); want == 0 {
			want = http.StatusUnauthorized // consent is required first
			if s.consent[i] {
				want, s.signed[i] = http.StatusOK, true
			}
		}
	}
	return o.code == want, s
}

func correctedModel(first correctedState) porcupine.Model {
	return porcupine.Model{Init: func() any { return first }, Step: stepCorrected}
}

// identity returns the identifying part of a link, which is its token's claims without the signature.
func identity(token string) string { return strings.Split(token+"..", ".")[1] }

// TestLinearizableCorrections replaces signers, changes deadlines and delegates while signers sign and the envelope is
// voided. The requests go through two API processes, one of which is killed. The test checks that the responses are
// linearizable.
func TestLinearizableCorrections(t *testing.T) {
	t.Parallel()
	row(t, func(t *testing.T, rnd *rand.Rand) {
		w := newScenario(t, setting{})
		killed := w.api()
		w.api()
		w.worker()
		w.login()
		const envelopes, clients, calls = 5, 4, 10
		histories, firsts := make([][]porcupine.Operation, envelopes), make([]correctedState, envelopes)
		start := time.Now()
		var wg sync.WaitGroup
		var mu sync.Mutex
		for i := range envelopes {
			e, err := w.sendDelegable(corrigible)
			require.NoError(t, err)
			firsts[i] = correctedState{status: "in_progress"}
			known := [corrigible]string{}
			for s := range corrigible {
				require.NoError(t, e.consent(s))
				known[s] = e.signers[s].token
				firsts[i].link[s], firsts[i].consent[s] = identity(known[s]), true
			}
			seen, err := e.correct(correction{what: "get"}, nil)
			require.NoError(t, err)
			firsts[i].deadline = seen.deadline
			for c := range clients {
				mine, known := rand.New(rand.NewPCG(rnd.Uint64(), 0)), known // the links that this client received most recently
				wg.Go(func() {
					for n := range calls {
						in := correction{what: "get", signer: mine.IntN(corrigible)}
						switch p := mine.IntN(100); {
						case p < 15:
							in.what = "replace"
						case p < 40:
							in.what = "link"
						case p < 55:
							in.what, in.link = "consent", identity(known[in.signer])
						case p < 70:
							in.what, in.link = "sign", identity(known[in.signer])
						case p < 80:
							in.what, in.link = "delegate", identity(known[in.signer])
						case p < 90:
							in.what, in.deadline = "extend", start.AddDate(0, 0, 20+c).Add(time.Duration(n)*time.Second).UTC().Format(time.RFC3339)
						case p < 92:
							in.what = "void"
						}
						op := porcupine.Operation{ClientId: c, Input: in, Call: int64(time.Since(start))}
						out, err := e.correct(in, &known[in.signer])
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
		killed.kill()
		wg.Wait()
		for i, h := range histories {
			result := porcupine.CheckOperationsTimeout(correctedModel(firsts[i]), h, time.Minute)
			require.Equal(t, porcupine.Ok, result, "envelope %s:\n%s", w.envelopes[i].id, describeCall(h))
		}
		w.check()
	})
}

// sendDelegable is like send, but the signers may delegate.
func (w *scenario) sendDelegable(n int) (*envelope, error) {
	e, err := w.draft(n)
	if err != nil {
		return nil, err
	}
	for _, s := range e.signers {
		a, err := w.client.do(http.MethodPatch, "/v1/envelopes/"+e.id+"/signers/"+s.id, "application/json", []byte(`{"allowDelegation": true}`))
		if err != nil || a.status != http.StatusOK {
			return nil, fmt.Errorf("allow delegation: %d %s %w", a.status, a.body, err)
		}
	}
	return e, w.sendDraft(e)
}

// correct makes one of the model's calls. It uses the client's current link, and replaces it if the call returns a new
// link.
func (e *envelope) correct(in correction, link *string) (corrected, error) {
	switch in.what {
	case "get":
		a, err := e.w.client.do(http.MethodGet, "/v1/envelopes/"+e.id, "", nil)
		if err != nil {
			return corrected{}, err
		}
		var view struct {
			Status    string
			ExpiresAt string
		}
		err = json.Unmarshal(a.body, &view)
		return corrected{code: a.status, status: view.Status, deadline: view.ExpiresAt}, err
	case "extend":
		return e.extendOnce(in.deadline)
	}
	code, newLink, err := e.callSigner(in.what, in.signer, link)
	return corrected{code: code, link: newLink}, err
}

// callSigner requests a new link for a signer, replaces the signer, makes a call with the signer's current link, or
// voids the envelope. It updates the client's link, and returns the status of the response and the identity of a new
// link.
func (e *envelope) callSigner(what string, i int, link *string) (code int, newLink string, err error) {
	own := "/v1/envelopes/" + e.id
	signer, signing := own+"/signers/"+e.signers[i].id, ""
	if link != nil {
		signing = "/v1/signing/" + *link
	}
	person := object{"name": "Somebody else", "email": fmt.Sprintf("p-%s@example.com", uuid.NewString())}
	var path, acknowledged string
	var body any = object{}
	switch what {
	case "link":
		path = signer + "/signing-link"
	case "replace":
		path, body = signer+"/replace", person
	case "delegate":
		path, body = signing+"/delegate", person
	case "consent":
		path = signing + "/consent"
	case "sign":
		path, body, acknowledged = signing+"/sign", object{"fields": e.signers[i].fields}, fmt.Sprintf("sign %d", i)
	case "decline":
		path, body, acknowledged = signing+"/decline", object{"reason": "no"}, fmt.Sprintf("decline %d", i)
	case "void":
		path, body, acknowledged = own+"/void", object{"reason": "over"}, "void"
	}
	a, err := e.act(acknowledged, path, body)
	if err == nil && what == "link" && a.status == http.StatusOK {
		*link, err = tokenOf(a)
		newLink = identity(*link)
	}
	return a.status, newLink, err
}

// extendOnce changes the deadline with a single request to the running API. A PATCH request has no idempotency key,
// so another change could occur between the request and its retry.
func (e *envelope) extendOnce(deadline string) (corrected, error) {
	e.w.mu.Lock()
	base := e.w.apis[len(e.w.apis)-1]
	e.w.mu.Unlock()
	ctx, cancel := context.WithTimeout(e.w.t.Context(), waitTimeout)
	defer cancel()
	h := http.Header{"Content-Type": {"application/json"}, "Authorization": {"Bearer " + e.w.client.token}}
	status, _, err := e.w.client.once(ctx, http.MethodPatch, base+"/v1/envelopes/"+e.id, h, []byte(fmt.Sprintf(`{"expiresAt": %q}`, deadline)))
	return corrected{code: status}, err
}

// TestCorrectedModelRejects checks that the model rejects impossible histories.
func TestCorrectedModelRejects(t *testing.T) {
	t.Parallel()
	first := correctedState{status: "in_progress", deadline: "May", link: [corrigible]string{"a", "b"}, consent: [corrigible]bool{true, true}}
	at := int64(0)
	then := func(c correction, o corrected) porcupine.Operation {
		at += 2
		return porcupine.Operation{Input: c, Call: at, Output: o, Return: at + 1}
	}
	did := func(what, link string, code int) porcupine.Operation {
		return then(correction{what: what, link: link}, corrected{code: code})
	}
	told := func(link string) porcupine.Operation {
		return then(correction{what: "link"}, corrected{code: 200, link: link})
	}
	get := func(status, deadline string) porcupine.Operation {
		return then(correction{what: "get"}, corrected{code: 200, status: status, deadline: deadline})
	}
	june := then(correction{what: "extend", deadline: "June"}, corrected{code: 200})
	for name, h := range map[string][]porcupine.Operation{
		"signed with the previous signer's link":    {did("replace", "", 200), did("sign", "a", 200)},
		"signed with the previous signer's consent": {did("replace", "", 200), told("c"), did("sign", "c", 200)},
		"returned the previous signer's link":       {did("replace", "", 200), told("a")},
		"replaced after signing":                    {did("sign", "a", 200), did("replace", "", 200)},
		"delegated twice":                           {did("delegate", "a", 204), told("c"), did("delegate", "c", 204)},
		"delegated after a void":                    {did("void", "", 200), did("delegate", "a", 204)},
		"returned a link of a voided envelope":      {did("void", "", 200), told("a")},
		"a deadline change without effect":          {june, get("in_progress", "May")},
		"changed the deadline after a void":         {did("void", "", 200), then(correction{what: "extend", deadline: "June"}, corrected{code: 200})},
		"rejected without a reason":                 {did("sign", "a", 401)},
	} {
		require.Equal(t, porcupine.Illegal, porcupine.CheckOperationsTimeout(correctedModel(first), h, time.Minute), name)
	}
	require.Equal(t, porcupine.Ok, porcupine.CheckOperationsTimeout(correctedModel(first), []porcupine.Operation{
		did("replace", "", 200), did("sign", "a", 401), told("c"), did("sign", "c", 401), did("consent", "c", 200), did("delegate", "c", 204),
		told("d"), did("delegate", "d", 409), did("consent", "d", 200), did("sign", "d", 200), did("replace", "", 409), get("in_progress", "May"),
		then(correction{what: "extend", deadline: "June"}, corrected{code: 200}), get("in_progress", "June"),
	}, time.Minute))
}

// TestExtendExpire changes deadlines at the moment they pass. It checks that either the envelope expires and the change
// is rejected, or the envelope stays open and can be signed.
func TestExtendExpire(t *testing.T) {
	t.Parallel()
	row(t, func(t *testing.T, rnd *rand.Rand) {
		w := newScenario(t, setting{})
		w.start(2, 1)
		const envelopes = 8
		var wg sync.WaitGroup
		for range envelopes {
			e, err := w.send(1)
			require.NoError(t, err)
			require.NoError(t, e.consent(0))
			// The deadline is moved back and forth first, to check that a replaced timer does not fire.
			due := time.Now().Add(4 * time.Second).UTC().Truncate(time.Millisecond)
			for _, d := range []time.Time{due.Add(-time.Second), due.Add(time.Hour), due} {
				out, err := e.extendOnce(d.Format(time.RFC3339Nano))
				require.NoError(t, err)
				require.Equal(t, http.StatusOK, out.code)
			}
			wait := time.Duration(rnd.Int64N(int64(400*time.Millisecond))) - 100*time.Millisecond
			wg.Go(func() {
				time.Sleep(time.Until(due.Add(wait)))
				out, err := e.extendOnce(due.Add(time.Hour).Format(time.RFC3339Nano))
				if !noError(t, err) {
					return
				}
				if out.code == http.StatusOK {
					a, err := e.sign(0)
					noError(t, err)
					assert.Equal(t, http.StatusOK, a.status, "a link stays valid until the new deadline: %s", a.body)
					return
				}
				assert.Equal(t, http.StatusConflict, out.code)
				assert.Equal(t, models.StatusExpired, w.status(e), "the request was rejected, so the envelope has expired")
			})
		}
		wg.Wait()
		for _, e := range w.envelopes {
			want := models.StatusExpired
			if e.signed() == 1 {
				want = models.StatusCompleted
			}
			eventually(t, func() bool { return w.status(e) == want }, "%s did not become %s", e.id, want)
		}
		w.check("/all")
	})
}

// TestEditSend edits drafts while they are sent. It checks that the sent envelope contains every acknowledged edit and
// no later edit.
func TestEditSend(t *testing.T) {
	t.Parallel()
	row(t, func(t *testing.T, rnd *rand.Rand) {
		w := newScenario(t, setting{})
		w.api()
		w.api()
		w.worker()
		w.login()
		for n := range 8 {
			e, err := w.draft(1)
			require.NoError(t, err)
			var mu sync.Mutex
			var h []porcupine.Operation
			start := time.Now()
			ask := func(method, path, what string, body object) func() {
				return func() {
					b, err := json.Marshal(body)
					noError(t, err)
					op := porcupine.Operation{ClientId: len(what), Input: what, Call: int64(time.Since(start))}
					a, err := w.client.do(method, path, "application/json", b)
					op.Return = int64(time.Since(start))
					if !noError(t, err) {
						return
					}
					var view struct{ Subject, Status string }
					if a.status == http.StatusOK {
						noError(t, json.Unmarshal(a.body, &view))
					}
					op.Output = edited{a.status, view.Subject, view.Status}
					if what == "send" && a.status == http.StatusOK {
						e.links(t, a.body)
					}
					mu.Lock()
					defer mu.Unlock()
					h = append(h, op)
				}
			}
			own := "/v1/envelopes/" + e.id
			runTogether(rnd, 30*time.Millisecond,
				ask(http.MethodPost, own+"/send", "send", object{}),
				ask(http.MethodPatch, own, "first", object{"subject": "first"}), ask(http.MethodPatch, own, "second one", object{"subject": "second one"}),
				ask(http.MethodGet, own, "get", nil))
			ask(http.MethodPatch, own, "too late", object{"subject": "too late"})()
			ask(http.MethodGet, own, "get", nil)()
			w.mu.Lock()
			w.envelopes = append(w.envelopes, e)
			w.mu.Unlock()
			require.Equal(t, porcupine.Ok, porcupine.CheckOperationsTimeout(editModel, h, time.Minute), "envelope %s:\n%s", e.id, describeCall(h))
			edits := len(h) - len(slices.DeleteFunc(slices.Clone(h), func(op porcupine.Operation) bool {
				return op.Input != "send" && op.Input != "get" && op.Output.(edited).code == http.StatusOK
			}))
			_, events, err := w.store.EnvelopeWithEvents(t.Context(), w.appID, idOf(e))
			require.NoError(t, err)
			prepared := slices.IndexFunc(events, func(ev models.Event) bool { return ev.Name == models.EventDraftPrepared })
			require.Equal(t, edits > 0, prepared >= 0, "draft %d: sending must record the edits, of which %d were acknowledged", n, edits)
			require.NoError(t, e.complete())
		}
		w.check()
	})
}

// edited is the response to an edit, send or get request.
type edited struct {
	code            int
	subject, status string
}

// editModel is the model of a draft whose subject is edited until the draft is sent.
var editModel = porcupine.Model{
	Init: func() any { return edited{subject: "Contract", status: "draft"} },
	Step: func(in, asked, out any) (bool, any) {
		s, o := in.(edited), out.(edited)
		switch what := asked.(string); what {
		case "get":
			return o.code == http.StatusOK && o.subject == s.subject && o.status == s.status, s
		case "send":
			ok := s.status == "draft" && o.code == http.StatusOK && o.subject == s.subject
			s.status = "sent"
			return ok, s
		default:
			if s.status != "draft" {
				return o.code == http.StatusConflict, s
			}
			s.subject = what
			return o.code == http.StatusOK && o.subject == what, s
		}
	},
}
