package faults_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"countersign/models"
	"countersign/store"
	"countersign/test/kit"
)

// partCaller makes one of the model's calls. It uses the client's current link, and replaces it if the call returns a
// new link.
type partCaller func(in partCall, link *string) (partSeen, error)

// racesOfParts runs clients that make random calls for one envelope, and returns their calls and responses.
func racesOfParts(t *testing.T, rnd *rand.Rand, ask partCaller, known [parts]string, clients, calls int, wg *sync.WaitGroup) *[]porcupine.Operation {
	t.Helper()
	var mu sync.Mutex
	h := &[]porcupine.Operation{}
	start := time.Now()
	for c := range clients {
		mine, known := rand.New(rand.NewPCG(rnd.Uint64(), 0)), known // the links that this client received most recently
		wg.Go(func() {
			for n := range calls {
				in := nextPartCall(mine, &known, c, n, start)
				op := porcupine.Operation{ClientId: c, Input: in, Call: int64(time.Since(start))}
				out, err := ask(in, &known[in.part])
				op.Output, op.Return = out, int64(time.Since(start))
				if !noError(t, err) {
					return
				}
				mu.Lock()
				*h = append(*h, op)
				mu.Unlock()
			}
		})
	}
	return h
}

func checkParts(t *testing.T, name string, first partState, h []porcupine.Operation) {
	t.Helper()
	result := porcupine.CheckOperationsTimeout(partModel(first), h, time.Minute)
	require.Equal(t, porcupine.Ok, result, "envelope %s:\n%s", name, describeCall(h))
}

// TestLinearizableKinds checks that the responses are linearizable for an envelope with an approver, a viewer, a signer
// with a witness, an in-person signer and a copy recipient. The recipients act, delegate and are replaced while the
// deadline changes and the envelope is voided or declined. The requests go through two API processes, one of which is
// killed.
func TestLinearizableKinds(t *testing.T) {
	t.Parallel()
	row(t, func(t *testing.T, rnd *rand.Rand) {
		w := newScenario(t, setting{})
		killed := w.api()
		w.api()
		w.worker()
		w.login()
		const envelopes = 4
		histories, firsts := make([]*[]porcupine.Operation, envelopes), make([]partState, envelopes)
		var wg sync.WaitGroup
		for i := range envelopes {
			e, document, err := w.sendParts()
			require.NoError(t, err)
			firsts[i] = partState{status: "in_progress"}
			known := [parts]string{}
			for p := range parts {
				if p == aWitness {
					continue // there is no signature to witness yet
				}
				require.NoError(t, e.consent(p))
				known[p] = e.signers[p].token
				firsts[i].link[p], firsts[i].consent[p] = identity(known[p]), true
			}
			ask := func(in partCall, link *string) (partSeen, error) { return e.callPart(in, link, document) }
			seen, err := ask(partCall{what: "get"}, nil)
			require.NoError(t, err)
			firsts[i].deadline, firsts[i].copyTo = seen.deadline, seen.copyTo
			histories[i] = racesOfParts(t, rnd, ask, known, 4, 12, &wg)
		}
		pause(rnd, 100*time.Millisecond)
		killed.kill()
		wg.Wait()
		for i, h := range histories {
			checkParts(t, w.envelopes[i].id, firsts[i], *h)
		}
		w.check()
	})
}

// sendParts sends an envelope to the recipients of the model, and permits them to delegate. It returns the envelope and
// the ID of its document.
func (w *scenario) sendParts() (*envelope, string, error) {
	recipients := make([]object, parts, parts+1)
	for i, more := range []object{
		anApprover: {"kind": "approver"}, aViewer: {"kind": "viewer"}, aPrincipal: {"role": "principal"}, aWitness: {"witnessFor": "principal"},
		anInPerson: {"kind": "in_person", "host": object{"name": "Host", "email": "host-" + uuid.NewString() + "@example.com"}},
	} {
		recipients[i] = object{"name": "Part", "email": fmt.Sprintf("p%d-%s@example.com", i, uuid.NewString()), "authMethod": "none", "allowDelegation": true}
		for k, v := range more {
			recipients[i][k] = v
		}
	}
	recipients = append(recipients, object{"name": "Copy", "email": "c-" + uuid.NewString() + "@example.com", "kind": "copy"})
	var made struct {
		ID      string
		Signers []struct{ ID string }
		Fields  []struct{ ID, SignerID string }
		Copies  []struct{ ID string }
	}
	field := func(of, y int) object {
		return object{"signerId": fmt.Sprint(of), "type": "text", "page": 1, "x": 300, "y": y, "w": 150, "h": 20}
	}
	err := w.client.post("/v1/envelopes", object{
		"tenantId": "acme", "subject": "Contract", "signers": recipients, "fields": []object{field(aPrincipal, 100), field(anInPerson, 160)},
	}, http.StatusCreated, &made)
	if err != nil {
		return nil, "", err
	}
	a, err := w.client.do(http.MethodPost, "/v1/envelopes/"+made.ID+"/document", "application/octet-stream", onePage)
	if err != nil || a.status >= 300 {
		return nil, "", fmt.Errorf("upload: %d %s %w", a.status, a.body, err)
	}
	e := &envelope{w: w, id: made.ID, copyID: made.Copies[0].ID}
	for _, s := range made.Signers {
		own := signer{id: s.ID, fields: []object{}}
		for _, f := range made.Fields {
			if f.SignerID == s.ID {
				own.fields = append(own.fields, object{"fieldId": f.ID, "textValue": value(s.ID)})
			}
		}
		e.signers = append(e.signers, own)
	}
	a, err = w.client.do(http.MethodGet, "/v1/envelopes/"+e.id, "", nil)
	var view struct{ Documents []struct{ ID string } }
	if err == nil {
		err = json.Unmarshal(a.body, &view)
	}
	if err != nil {
		return nil, "", err
	}
	return e, view.Documents[0].ID, w.sendDraft(e)
}

// callPart performs one of the model's calls through the API.
func (e *envelope) callPart(in partCall, link *string, document string) (partSeen, error) {
	own := "/v1/envelopes/" + e.id
	switch in.what {
	case "get":
		a, err := e.w.client.do(http.MethodGet, own, "", nil)
		if err != nil {
			return partSeen{}, err
		}
		var view struct {
			Status, ExpiresAt string
			Copies            []struct{ Email string }
		}
		if err := json.Unmarshal(a.body, &view); err != nil {
			return partSeen{}, err
		}
		return partSeen{code: a.status, status: view.Status, deadline: view.ExpiresAt, copyTo: view.Copies[0].Email}, nil
	case "extend":
		out, err := e.extendOnce(in.deadline)
		return partSeen{code: out.code}, err
	case "edit":
		a, err := e.w.client.do(http.MethodPatch, own, "application/json", []byte(`{"subject": "Another"}`))
		return partSeen{code: a.status}, err
	case "replaceCopy":
		a, err := e.act("", own+"/signers/"+e.copyID+"/replace", object{"name": "Copy", "email": in.copyTo})
		return partSeen{code: a.status}, err
	case "view":
		a, err := e.act("", "/v1/signing/"+*link+"/page-view", object{"documentId": document, "page": 1, "dwellMs": 900})
		return partSeen{code: a.status}, err
	}
	code, newLink, err := e.callSigner(in.what, in.part, link)
	return partSeen{code: code, link: newLink}, err
}

// TestLinearizableKindsInTheStore is like TestLinearizableKinds, but makes the API handlers' changes directly in the
// store, concurrently and on both databases.
func TestLinearizableKindsInTheStore(t *testing.T) {
	t.Parallel()
	kit.OnBoth(t, func(t *testing.T, s *store.Store, clock *kit.Clock) {
		row(t, func(t *testing.T, rnd *rand.Rand) {
			app, _, err := s.CreateApp(t.Context(), "Kinds", models.PlanEnterprise, nil)
			require.NoError(t, err)
			for range 4 {
				d := &storedParts{s: s, app: app.ID, clock: clock}
				require.NoError(t, d.send(t))
				e, err := s.Envelope(t.Context(), app.ID, d.id)
				require.NoError(t, err)
				first, known := partState{status: "in_progress"}, [parts]string{}
				for p, g := range e.Signers {
					if p == aWitness {
						continue
					}
					known[p] = "." + g.LinkID.String()
					first.link[p], first.consent[p] = identity(known[p]), true
					seen, err := d.call(t, partCall{what: "consent", part: p}, &known[p])
					require.NoError(t, err)
					require.Equal(t, http.StatusOK, seen.code)
				}
				seen, err := d.call(t, partCall{what: "get"}, nil)
				require.NoError(t, err)
				first.deadline, first.copyTo = seen.deadline, seen.copyTo
				var wg sync.WaitGroup
				ask := func(in partCall, link *string) (partSeen, error) { return d.call(t, in, link) }
				h := racesOfParts(t, rnd, ask, known, 4, 12, &wg)
				wg.Wait()
				checkParts(t, d.id.String(), first, *h)
				after, events, err := s.EnvelopeWithEvents(t.Context(), app.ID, d.id)
				require.NoError(t, err)
				require.NoError(t, models.VerifyChain(events, after.AuditSeq, after.AuditHead))
			}
		})
	})
}

// storedParts is an envelope of the model that is accessed without an API.
type storedParts struct {
	s     *store.Store
	app   uuid.UUID
	clock *kit.Clock
	id    uuid.UUID
	copy  uuid.UUID
}

func (d *storedParts) act() models.ActionContext {
	return models.ActionContext{At: d.clock.Now(), Actor: models.ActorSystem, NewID: uuid.New}
}

func (d *storedParts) send(t *testing.T) error {
	t.Helper()
	act, days := d.act(), 10
	e, err := models.NewEnvelope(act, models.Envelope{AppID: d.app, TenantID: "t", CreatedBy: "me", ExpiresInDays: &days})
	require.NoError(t, err)
	_, err = e.AddDocument(act, models.DocumentInput{Document: models.Document{
		Name: "a.pdf", SHA256: strings.Repeat("0", 64), Size: 9, PageCount: 1, Pages: []models.PageRun{{From: 1, Width: 595, Height: 842}}, BlobKey: "k",
	}}, 1)
	require.NoError(t, err)
	for i, in := range []models.SignerInput{
		anApprover: {Kind: models.RecipientApprover}, aViewer: {Kind: models.RecipientViewer}, aPrincipal: {Role: "principal"}, aWitness: {WitnessFor: "principal"},
		anInPerson: {Kind: models.RecipientInPerson, Host: &models.Host{Name: "Host", Email: "host@example.com"}}, parts: {Kind: models.RecipientCopy},
	} {
		in.Name, in.Email, in.RoutingOrder, in.AuthMethod, in.AllowDelegation = "Part", fmt.Sprintf("p%d@example.com", i), 1, models.AuthNone, in.Kind != models.RecipientCopy
		g, err := e.AddSigner(act, in)
		require.NoError(t, err)
		if i == aPrincipal || i == anInPerson {
			_, err = e.AddFields(act, []models.FieldInput{{
				SignerRef: g.ID.String(), Type: models.FieldText, Page: 1, X: 1, Y: 1, W: 10, H: 10, Origin: models.OriginTopLeft,
			}}, models.NoPrefix)
			require.NoError(t, err)
		}
	}
	require.NoError(t, e.Send(act, nil))
	d.id, d.copy = e.ID, e.Copies[0].ID
	return d.s.Create(t.Context(), e)
}

// call makes one of the model's calls. The response contains the status that the API would return.
func (d *storedParts) call(t *testing.T, in partCall, link *string) (partSeen, error) {
	t.Helper()
	if in.what == "get" {
		e, err := d.s.Envelope(t.Context(), d.app, d.id)
		if err != nil {
			return partSeen{}, err
		}
		return partSeen{code: http.StatusOK, status: string(e.Status.Public()), deadline: e.ExpiresAt.UTC().Format(time.RFC3339), copyTo: e.Copies[0].Email}, nil
	}
	out, act := partSeen{code: http.StatusOK}, d.act()
	fresh := ""
	_, err := d.s.Change(t.Context(), d.app, d.id, func(e *models.Envelope) error {
		id, l := e.Signers[in.part].ID, models.Link{EnvelopeID: e.ID, SignerID: e.Signers[in.part].ID}
		if link != nil && *link != "" {
			l.ID = uuid.MustParse(identity(*link))
		}
		person := models.Replacement{Name: "Somebody else", Email: fmt.Sprintf("p-%s@example.com", uuid.NewString())}
		out.code = http.StatusOK
		var err error
		switch in.what {
		case "edit":
			subject := "Another"
			err = e.Patch(act, models.EnvelopeEdit{Subject: models.Change[*string]{Present: true, Value: &subject}})
		case "void":
			err = e.Void(act, nil)
		case "extend":
			at, parseErr := time.Parse(time.RFC3339, in.deadline)
			if parseErr != nil {
				return parseErr
			}
			err = e.Patch(act, models.EnvelopeEdit{ExpiresAt: models.Change[*time.Time]{Present: true, Value: &at}})
		case "replace":
			_, err = e.Replace(act, id, person)
		case "replaceCopy":
			_, err = e.Replace(act, d.copy, models.Replacement{Name: "Copy", Email: in.copyTo})
		case "link":
			var g *models.Signer
			if g, err = e.IssueLink(act, id, false); err == nil {
				fresh = "." + g.LinkID.String()
			}
		case "delegate":
			out.code = http.StatusNoContent
			_, err = e.Delegate(act, l, person)
		case "consent":
			_, err = e.Consent(act, l, new(models.Signer).Disclosure("en"))
		case "view":
			out.code = http.StatusNoContent
			err = e.ViewPage(act, l, e.Originals()[0].ID, 1, 900, nil)
		case "decline":
			_, err = e.Decline(act, l, nil, false)
		case "sign":
			var sub models.Submission
			for _, f := range e.Fields {
				if text := "yes"; f.SignerID == id {
					sub.Fields = append(sub.Fields, models.FieldSubmission{FieldID: f.ID, Text: &text})
				}
			}
			_, err = e.Sign(act, l, sub)
		}
		return err
	})
	var rejected *models.Error
	if errors.As(err, &rejected) {
		code, known := map[models.Kind]int{
			models.KindInvalid: http.StatusBadRequest, models.KindUnauthorized: http.StatusUnauthorized, models.KindConflict: http.StatusConflict,
			models.KindForbidden: http.StatusForbidden, models.KindNotFound: http.StatusNotFound,
		}[rejected.Kind]
		if !known {
			return out, err
		}
		return partSeen{code: code}, nil
	}
	if err == nil && in.what == "link" {
		*link, out.link = fresh, identity(fresh)
	}
	return out, err
}
