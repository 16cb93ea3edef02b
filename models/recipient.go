package models

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"

	"countersign/locales"
)

// RecipientKind is the part that a recipient plays.
type RecipientKind string

// The kinds. All but RecipientCopy are signers of the envelope: it is completed when
// each of them has signed, approved or read.
const (
	RecipientSigner   RecipientKind = "signer"
	RecipientApprover RecipientKind = "approver"
	RecipientViewer   RecipientKind = "viewer"
	RecipientCopy     RecipientKind = "copy"
	RecipientInPerson RecipientKind = "in_person"
)

// RecipientKindNames names the kinds in messages.
var RecipientKindNames = alternatives([]RecipientKind{RecipientSigner, RecipientApprover, RecipientViewer, RecipientCopy, RecipientInPerson})

// recipientRules are the rules of a kind.
type recipientRules struct {
	counts        bool // completion waits for the recipient
	signs         bool // the envelope needs fields for the recipient, who can have witnesses
	takesFields   bool // fields can be for the recipient
	readsAll      bool // the recipient must open every document before finishing
	hosted        bool // a host gets the link and hands the device over
	mailsCodes    bool // a one-time code can go to the recipient's address
	keepsDrawings bool // a signature can be kept for the recipient's next envelope
	witnesses     bool // the recipient can be a witness
}

var kindRules = map[RecipientKind]recipientRules{
	RecipientSigner:   {counts: true, signs: true, takesFields: true, mailsCodes: true, keepsDrawings: true, witnesses: true},
	RecipientApprover: {counts: true, takesFields: true, mailsCodes: true, keepsDrawings: true},
	RecipientViewer:   {counts: true, readsAll: true, mailsCodes: true},
	RecipientCopy:     {mailsCodes: true},
	RecipientInPerson: {counts: true, signs: true, takesFields: true, hosted: true},
}

// rules returns the rules of a kind ("" is a signer); false if the kind does not exist.
func (k RecipientKind) rules() (recipientRules, bool) {
	r, ok := kindRules[cmp.Or(k, RecipientSigner)]
	return r, ok
}

// takesFields reports whether fields can be for recipients of the kind.
func (k RecipientKind) takesFields() bool {
	r, ok := k.rules()
	return r.takesFields || !ok // an unknown kind is reported elsewhere
}

func (s *Signer) rules() recipientRules {
	r, _ := s.Kind.rules() // it was checked when the recipient was added
	return r
}

// DefaultAuthMethod returns the authentication method of a recipient without a requested one.
func (k RecipientKind) DefaultAuthMethod() AuthMethod {
	if r, ok := k.rules(); ok && !r.mailsCodes {
		return AuthNone
	}
	return AuthEmailOTP
}

// ShownKind returns the kind as responses show it: "" for an ordinary signer.
func (s *Signer) ShownKind() RecipientKind {
	if s.Kind == RecipientSigner {
		return ""
	}
	return s.Kind
}

// Host receives an in-person signer's link and hands the device over.
type Host struct{ Name, Email string }

// Host is the signer's host; nil: the signer gets the link.
func (s *Signer) Host() *Host {
	if !s.rules().hosted || s.HostEmail == nil {
		return nil
	}
	return &Host{s.HostName, *s.HostEmail}
}

// Invitee returns name and address of the person who receives the link: the signer or the host.
func (s *Signer) Invitee() (name, email string) {
	if h := s.Host(); h != nil {
		return h.Name, h.Email
	}
	return s.Name, s.Email
}

// InvitedByMail reports whether the service sends the signer's current link. It does not if the sender delivers links,
// unless the sender requested that this link be sent.
func (s *Signer) InvitedByMail() bool { return !s.Silent || s.resent() }

// resent reports whether the sender requested that the current link be sent.
func (s *Signer) resent() bool {
	n := len(s.Resends)
	return n > 0 && s.LinkIssuedAt != nil && s.Resends[n-1].Equal(*s.LinkIssuedAt)
}

// InvitedAnew reports whether the invitation belongs to the change that issued the current link: a resend, or a
// replacement. The invitation of the routing group waits for that change, so that it is sent once.
func (s *Signer) InvitedAnew() bool {
	return s.resent() || s.LinkIssuedAt != nil && s.Predecessor().Until.Equal(*s.LinkIssuedAt)
}

// KeepsSignature reports whether the service saves the signer's signature and offers a saved one.
func (s *Signer) KeepsSignature() bool { return s.rules().keepsDrawings && s.NeedsCode() }

// Recipients returns all recipients in the order of creation: signers and copy recipients.
func (e *Envelope) Recipients() []*Signer {
	if len(e.Copies) == 0 {
		return e.Signers
	}
	all := slices.Concat(e.Signers, e.Copies)
	slices.SortStableFunc(all, func(a, b *Signer) int { return cmp.Compare(a.Position, b.Position) })
	return all
}

// Recipient returns the signer or copy recipient with that id, or nil.
func (e *Envelope) Recipient(id uuid.UUID) *Signer {
	if s := find(e.Copies, func(s *Signer) bool { return s.ID == id }); s != nil {
		return s
	}
	return e.Signer(id)
}

// Place appends a recipient to the envelope's recipients of the same category.
func (e *Envelope) Place(s *Signer) {
	if s.rules().counts {
		e.Signers = append(e.Signers, s)
	} else {
		e.Copies = append(e.Copies, s)
	}
}

// Principal returns the signer whose signature s witnesses; nil if s is not a witness.
func (e *Envelope) Principal(s *Signer) *Signer {
	return find(e.Signers, func(p *Signer) bool { return s.WitnessFor != "" && p.Role == s.WitnessFor })
}

// alignWitnesses sets the routing order of witnesses to the order of their principals.
func (e *Envelope) alignWitnesses() {
	for _, s := range e.Signers {
		if p := e.Principal(s); p != nil {
			s.RoutingOrder = p.RoutingOrder
		}
	}
}

// checkRecipient records the problems of the requested kind of recipient.
func (in SignerInput) checkRecipient(p Problems, path string) {
	rules, ok := in.Kind.rules()
	if !ok {
		p.Add(path+"kind", "must be %s", RecipientKindNames)
		return
	}
	if in.Language != "" && !Speaks(in.Language) {
		p.Add(path+"language", "must be a language tag (BCP 47) of one of %s", strings.Join(SupportedLanguages, ", "))
	}
	if in.AuthMethod == AuthEmailOTP && !rules.mailsCodes {
		p.Add(path+"authMethod", "must be none or sms_otp for kind %s: the host has the device and cannot read the signer's email", in.Kind)
	}
	switch {
	case rules.hosted && in.Host == nil:
		p.Add(path+"host", "is required for kind %s: the person who gets the link and hands over the device", in.Kind)
	case in.Host != nil && !rules.hosted:
		p.Add(path+"host", "is only for kind in_person")
	case in.Host != nil:
		CheckText(p, path+"host.name", in.Host.Name, 1, 255)
		CheckEmail(p, path+"host.email", in.Host.Email)
		if EmailKey(in.Host.Email) == EmailKey(in.Email) {
			p.Add(path+"host.email", "must differ from the signer's")
		}
	}
	if in.AllowDelegation && !rules.counts {
		p.Add(path+"allowDelegation", "is not for kind %s: there is nothing to delegate", in.Kind)
	}
	if in.WitnessFor != "" {
		CheckText(p, path+"witnessFor", in.WitnessFor, 1, maxRole)
		switch {
		case !rules.witnesses:
			p.Add(path+"witnessFor", "is only for kind signer")
		case in.WitnessFor == in.Role:
			p.Add(path+"witnessFor", "must not be the recipient's own role")
		}
	}
}

// Speaks reports whether there are texts in the language of a tag of BCP 47.
func Speaks(tag string) bool {
	if !languageTag.MatchString(tag) {
		return false
	}
	base, _, _ := strings.Cut(strings.ToLower(tag), "-")
	return locales.Match(tag) == base
}

// ResolveWitnesses sets the routing order of a request's witnesses to the order of their principals, and records the
// principals who cannot be witnessed. path returns the prefix of a signer's problems.
func ResolveWitnesses(p Problems, signers []SignerInput, path func(i int) string) {
	for i, in := range signers {
		if in.WitnessFor == "" {
			continue
		}
		at := slices.IndexFunc(signers, func(other SignerInput) bool { return other.Role == in.WitnessFor })
		if at < 0 {
			p.addFirst(path(i)+"witnessFor", "is the role of no signer of this envelope")
			continue
		}
		principal, witness := &Signer{}, &Signer{}
		signers[at].apply(principal)
		in.apply(witness)
		if member, text := witnessProblem(witness, principal, in.RoutingOrder); text != "" {
			p.addFirst(path(i)+member, text)
		}
		signers[i].RoutingOrder = principal.RoutingOrder
	}
}

// witnessProblem returns the reason that one recipient cannot witness another, and the affected member of the request;
// "" if there is no problem. order is the witness's own routing order, 0 if absent.
func witnessProblem(witness, principal *Signer, order int) (member, text string) {
	switch {
	case !principal.rules().signs || principal.WitnessFor != "":
		return "witnessFor", "is the role of somebody who has no witnesses: only kinds signer and in_person have, unless they are witnesses themselves"
	case EmailKey(witness.Email) == EmailKey(principal.Email):
		return "email", "must be another person's than that of whom is witnessed"
	case order != 0 && order != principal.RoutingOrder:
		return "routingOrder", fmt.Sprintf("must be that of whom is witnessed (%d), or be left out", principal.RoutingOrder)
	}
	return "", ""
}

// checkWitnesses records the problems of the witnesses of an envelope before it is sent.
func (e *Envelope) checkWitnesses(p Problems) {
	for _, s := range e.Signers {
		if s.WitnessFor == "" {
			continue
		}
		principal := e.Principal(s)
		if principal == nil {
			p.addFirst("signers", "a witness is for the role "+s.WitnessFor+", which no signer has")
		} else if _, text := witnessProblem(s, principal, 0); text != "" {
			p.addFirst("signers", "the witness for the role "+s.WitnessFor+" "+text)
		}
	}
}

// checkOwnWitness is checkWitnesses for one added or changed recipient. The witnessed signer can be added later.
func (e *Envelope) checkOwnWitness(p Problems, in SignerInput) {
	witness := &Signer{}
	in.apply(witness)
	if principal := e.Principal(witness); principal != nil {
		if member, text := witnessProblem(witness, principal, in.RoutingOrder); text != "" {
			p.addFirst(member, text)
		}
	}
}

// kindDetail adds the properties of a recipient other than an ordinary signer to an event.
func (s *Signer) kindDetail(d Detail) Detail {
	if kind := s.ShownKind(); kind != "" {
		d["kind"] = string(kind)
	}
	return d
}

// witnessedAddress reports whether an address belongs to the signer whom s witnesses, or to a witness of s. These must
// be different people.
func (e *Envelope) witnessedAddress(s *Signer, email string) bool {
	return slices.ContainsFunc(e.Signers, func(other *Signer) bool {
		return (e.Principal(s) == other || e.Principal(other) == s) && EmailKey(other.Email) == EmailKey(email)
	})
}

// Asked returns what a recipient is requested to do: the kind, "witness", or "" for an ordinary signature.
func (e *Envelope) Asked(s *Signer) string {
	if s.WitnessFor != "" {
		return "witness"
	}
	return string(s.ShownKind())
}

// AskedInPerson is Asked for the recipient's own action if a host receives the request.
func (e *Envelope) AskedInPerson(s *Signer) string {
	if s.rules().hosted {
		return ""
	}
	return e.Asked(s)
}

// AllSign reports whether every awaited recipient signs, rather than only approves or reads.
func (e *Envelope) AllSign() bool {
	return !slices.ContainsFunc(e.Signers, func(s *Signer) bool { return !s.rules().signs })
}

// ReadsAll reports whether the signer must open every document.
func (s *Signer) ReadsAll() bool { return s.rules().readsAll }

// Unopened returns the documents that a signer must open and has not opened yet.
func (e *Envelope) Unopened(s *Signer) []uuid.UUID {
	if !s.ReadsAll() {
		return nil
	}
	var ids []uuid.UUID
	for _, d := range e.Originals() {
		if !slices.Contains(s.Opened, d.ID) {
			ids = append(ids, d.ID)
		}
	}
	return ids
}

func (e *Envelope) checkOpened(s *Signer) error {
	left := e.Unopened(s)
	if len(left) == 0 {
		return nil
	}
	refused := Refuse(KindConflict, "documents_not_opened", "Please open every document first.")
	refused.Details = map[string]any{"documentIds": left}
	return refused
}
