package faults_test

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/stretchr/testify/require"
)

// The recipients of the model, by their position among the envelope's signers. All of them belong to one routing group.
// In addition, there is a copy recipient.
const (
	anApprover = iota
	aViewer
	aPrincipal
	aWitness // witness of aPrincipal's signature
	anInPerson
	parts
)

type partCall struct {
	what     string // get, link, replace, replaceCopy, delegate, consent, view, sign, decline, extend, edit or void
	part     int
	link     string // for calls that use a link
	deadline string // the new deadline for extend
	copyTo   string // the new address for replaceCopy
}

type partSeen struct {
	code     int
	status   string // this field and the next two are for get
	deadline string
	copyTo   string
	link     string // for a call that returns a link
}

// partState is the model of an envelope with recipients of every kind. A recipient's position does not change when the
// person is replaced, but a link, a consent and the viewed documents belong to one person.
type partState struct {
	status, deadline, copyTo                     string
	link                                         [parts]string // empty if not returned yet
	ended                                        [parts]string // the previous link, if it was returned
	consent, opened, signed, declined, delegated [parts]bool
}

func (s *partState) open() bool {
	return s.status == "in_progress" && s.signed != [parts]bool{true, true, true, true, true}
}

// awaited reports whether the recipient can act. A witness must wait for the signature that is to be witnessed.
func (s *partState) awaited(i int) bool {
	return s.open() && !s.signed[i] && (i != aWitness || s.signed[aPrincipal])
}

// succeed replaces the recipient at a position with another person.
func (s *partState) succeed(i int, delegated bool) {
	if s.link[i] != "" {
		s.ended[i] = s.link[i]
	}
	s.link[i], s.consent[i], s.opened[i], s.delegated[i] = "", false, false, delegated
}

// authorize returns the status with which a link is rejected, or 0 if it is accepted. For a recipient who has already
// signed or declined, it returns the given status.
func (s *partState) authorize(c partCall, acted int) int {
	switch {
	case c.link != s.link[c.part]:
		return http.StatusUnauthorized
	case s.signed[c.part] || s.declined[c.part]:
		return acted
	case !s.open():
		return http.StatusUnauthorized
	}
	return 0
}

// stepParts reports whether the call could have produced this response, and returns the resulting state.
func stepParts(in, asked, out any) (bool, any) {
	s, c, o := in.(partState), asked.(partCall), out.(partSeen)
	i, want := c.part, http.StatusOK
	switch c.what {
	case "get":
		if o.status == "completed" && s.signed == [parts]bool{true, true, true, true, true} {
			s.status = "completed"
		}
		return o.code == want && o.status == s.status && o.deadline == s.deadline && o.copyTo == s.copyTo, s
	case "edit": // a sent envelope is not a draft
		want = http.StatusConflict
	case "void":
		if want = http.StatusBadRequest; s.open() {
			want, s.status = http.StatusOK, "voided"
		}
	case "extend":
		if want = http.StatusConflict; s.open() {
			want, s.deadline = http.StatusOK, c.deadline
		}
	case "replace":
		if want = http.StatusConflict; s.open() && !s.signed[i] {
			want = http.StatusOK
			s.succeed(i, false)
		}
	case "replaceCopy":
		if want = http.StatusConflict; s.open() {
			want, s.copyTo = http.StatusOK, c.copyTo
		}
	case "link":
		if want = http.StatusConflict; s.awaited(i) {
			if s.link[i] == "" && o.link != s.ended[i] {
				s.link[i] = o.link
			}
			return o.code == http.StatusOK && o.link == s.link[i], s
		}
	case "delegate":
		if want = s.authorize(c, http.StatusConflict); want == 0 {
			if want = http.StatusConflict; !s.delegated[i] { // each person chosen by the sender may delegate once
				want = http.StatusNoContent
				s.succeed(i, true)
			}
		}
	case "consent":
		if want = s.authorize(c, http.StatusConflict); want == 0 {
			if want = http.StatusConflict; !s.consent[i] {
				want, s.consent[i] = http.StatusOK, true
			}
		}
	case "view":
		if want = s.authorize(c, http.StatusUnauthorized); want == 0 {
			want, s.opened[i] = http.StatusNoContent, true
		}
	case "decline":
		if want = s.authorize(c, http.StatusConflict); want == 0 {
			want, s.declined[i], s.status = http.StatusOK, true, "declined"
		}
	case "sign":
		if want = s.authorize(c, http.StatusConflict); want == 0 {
			switch {
			case !s.consent[i]:
				want = http.StatusUnauthorized // consent is required first
			case i == aViewer && !s.opened[i]:
				want = http.StatusConflict
			default:
				want, s.signed[i] = http.StatusOK, true
			}
		}
	}
	return o.code == want, s
}

func partModel(first partState) porcupine.Model {
	return porcupine.Model{Init: func() any { return first }, Step: stepParts}
}

// nextPartCall returns a random next call of a client that knows the given links.
func nextPartCall(rnd *rand.Rand, known *[parts]string, client, n int, start time.Time) partCall {
	in := partCall{what: "get", part: rnd.IntN(parts)}
	needsLink := false
	switch p := rnd.IntN(100); {
	case p < 10:
		in.what = "replace"
	case p < 14:
		in.what, in.copyTo = "replaceCopy", fmt.Sprintf("copy-%d-%d@example.com", client, n)
	case p < 30:
		in.what = "link"
	case p < 42:
		in.what, needsLink = "consent", true
	case p < 50:
		in.what, in.part, needsLink = "view", aViewer, true
	case p < 78:
		in.what, needsLink = "sign", true
	case p < 83:
		in.what, needsLink = "delegate", true
	case p < 90:
		in.what, in.deadline = "extend", start.AddDate(0, 0, 20+client).Add(time.Duration(n)*time.Second).UTC().Format(time.RFC3339)
	case p < 92:
		in.what = "edit"
	case p < 93:
		in.what, needsLink = "decline", true
	case p < 94:
		in.what = "void"
	}
	if needsLink && known[in.part] == "" { // no link has been returned yet, so request one
		in.what = "link"
	}
	in.link = identity(known[in.part])
	return in
}

// TestPartModelRejects checks that the model rejects impossible histories.
func TestPartModelRejects(t *testing.T) {
	t.Parallel()
	first := partState{status: "in_progress", deadline: "May", copyTo: "c", link: [parts]string{"a", "v", "p", "", "i"}, consent: [parts]bool{true, true, true, false, true}}
	at := int64(0)
	then := func(c partCall, o partSeen) porcupine.Operation {
		at += 2
		return porcupine.Operation{Input: c, Call: at, Output: o, Return: at + 1}
	}
	did := func(what string, part int, link string, code int) porcupine.Operation {
		return then(partCall{what: what, part: part, link: link}, partSeen{code: code})
	}
	told := func(part int, link string) porcupine.Operation {
		return then(partCall{what: "link", part: part}, partSeen{code: 200, link: link})
	}
	get := func(status, copyTo string) porcupine.Operation {
		return then(partCall{what: "get"}, partSeen{code: 200, status: status, deadline: "May", copyTo: copyTo})
	}
	newCopy := func(code int) porcupine.Operation {
		return then(partCall{what: "replaceCopy", copyTo: "d"}, partSeen{code: code})
	}
	for name, h := range map[string][]porcupine.Operation{
		"approved with the previous recipient's link":    {did("replace", anApprover, "", 200), did("sign", anApprover, "a", 200)},
		"approved with the previous recipient's consent": {did("replace", anApprover, "", 200), told(anApprover, "b"), did("sign", anApprover, "b", 200)},
		"confirmed without viewing":                      {did("sign", aViewer, "v", 200)},
		"confirmed what the previous recipient viewed":   {did("view", aViewer, "v", 204), did("replace", aViewer, "", 200), told(aViewer, "w"), did("consent", aViewer, "w", 200), did("sign", aViewer, "w", 200)},
		"rejected although it was viewed":                {did("view", aViewer, "v", 204), did("sign", aViewer, "v", 409)},
		"a link for a witness before the signature":      {told(aWitness, "w")},
		"no link for a witness after the signature":      {did("sign", aPrincipal, "p", 200), did("link", aWitness, "", 409)},
		"witnessed after a void":                         {did("sign", aPrincipal, "p", 200), told(aWitness, "w"), did("consent", aWitness, "w", 200), did("void", 0, "", 200), did("sign", aWitness, "w", 200)},
		"the principal is replaced after the signature":  {did("sign", aPrincipal, "p", 200), did("replace", aPrincipal, "", 200)},
		"consented with a replaced witness's link":       {did("sign", aPrincipal, "p", 200), told(aWitness, "w"), did("replace", aWitness, "", 200), did("consent", aWitness, "w", 200)},
		"approved after a decline":                       {did("decline", aViewer, "v", 200), did("sign", anApprover, "a", 200)},
		"closed twice":                                   {did("decline", aViewer, "v", 200), did("void", 0, "", 200)},
		"replaced the copy recipient after a void":       {did("void", 0, "", 200), newCopy(200)},
		"a replaced copy recipient without effect":       {newCopy(200), get("in_progress", "c")},
		"edited a sent envelope":                         {did("edit", 0, "", 200)},
		"completed without the witness":                  {did("sign", aPrincipal, "p", 200), did("sign", anApprover, "a", 200), did("view", aViewer, "v", 204), did("sign", aViewer, "v", 200), did("sign", anInPerson, "i", 200), get("completed", "c")},
		"delegated twice":                                {did("delegate", anInPerson, "i", 204), told(anInPerson, "j"), did("delegate", anInPerson, "j", 204)},
	} {
		require.Equal(t, porcupine.Illegal, porcupine.CheckOperationsTimeout(partModel(first), h, time.Minute), name)
	}
	require.Equal(t, porcupine.Ok, porcupine.CheckOperationsTimeout(partModel(first), []porcupine.Operation{
		did("sign", aViewer, "v", 409), did("view", aViewer, "v", 204), did("sign", aViewer, "v", 200), did("link", aWitness, "", 409), did("replace", aWitness, "", 200),
		did("sign", aPrincipal, "p", 200), told(aWitness, "w"), did("sign", aWitness, "w", 401), did("consent", aWitness, "w", 200), did("delegate", anApprover, "a", 204),
		did("sign", anApprover, "a", 401), told(anApprover, "b"), did("consent", anApprover, "b", 200), newCopy(200), did("sign", anApprover, "b", 200),
		did("sign", anInPerson, "i", 200), get("in_progress", "d"), did("sign", aWitness, "w", 200), newCopy(409), get("completed", "d"), did("void", 0, "", 400), did("edit", 0, "", 409),
	}, time.Minute))
}
