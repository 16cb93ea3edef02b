package models

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"

	"countersign/locales"
)

// RecipientKind is the role of a recipient in an envelope.
type RecipientKind string

// The kinds of recipients. All except RecipientCopy are signers of the envelope. The envelope is completed when each of
// them has signed, approved or read it.
const (
	RecipientSigner   RecipientKind = "signer"
	RecipientApprover RecipientKind = "approver"
	RecipientViewer   RecipientKind = "viewer"
	RecipientCopy     RecipientKind = "copy"
	RecipientInPerson RecipientKind = "in_person"
)

type recipientRules struct {
	kind          RecipientKind
	counts        bool // the envelope is completed only after the recipient has acted
	signs         bool // the recipient needs fields, and can have witnesses
	takesFields   bool // fields can be assigned to the recipient
	readsAll      bool // the recipient must open every document before finishing
	hosted        bool // a host receives the link and hands over the device
	mailsCodes    bool // a one-time code can be emailed to the recipient
	keepsDrawings bool // a signature can be saved for the recipient's next envelope
	witnesses     bool // the recipient can be a witness
}

// recipientKinds lists the kinds, in the order in which messages name them.
var recipientKinds = []recipientRules{
	{kind: RecipientSigner, counts: true, signs: true, takesFields: true, mailsCodes: true, keepsDrawings: true, witnesses: true},
	{kind: RecipientApprover, counts: true, takesFields: true, mailsCodes: true, keepsDrawings: true},
	{kind: RecipientViewer, counts: true, readsAll: true, mailsCodes: true},
	{kind: RecipientCopy, mailsCodes: true},
	{kind: RecipientInPerson, counts: true, signs: true, takesFields: true, hosted: true},
}

// RecipientKinds returns all kinds.
func RecipientKinds() []RecipientKind {
	return mapSlice(recipientKinds, func(r recipientRules) RecipientKind { return r.kind })
}

// RecipientKindNames lists the kinds in error messages.
var RecipientKindNames = alternatives(RecipientKinds())

// rules returns the rules for a kind, or false if the kind does not exist. An empty kind means a signer.
func (k RecipientKind) rules() (recipientRules, bool) {
	k = cmp.Or(k, RecipientSigner)
	for _, r := range recipientKinds {
		if r.kind == k {
			return r, true
		}
	}
	return recipientRules{}, false
}

// takesFields reports whether fields can be assigned to recipients of this kind.
func (k RecipientKind) takesFields() bool {
	r, ok := k.rules()
	return r.takesFields || !ok // checkRecipient reports an unknown kind
}

func (s *Signer) rules() recipientRules {
	r, _ := s.Kind.rules() // checked when the recipient was added
	return r
}

// DefaultAuthMethod returns the authentication method of a recipient for whom no method was requested.
func (k RecipientKind) DefaultAuthMethod() AuthMethod {
	if r, ok := k.rules(); ok && !r.mailsCodes {
		return AuthNone
	}
	return AuthEmailOTP
}

// DisplayKind returns the kind as shown in responses, which is "" for an ordinary signer.
func (s *Signer) DisplayKind() RecipientKind {
	if s.Kind == RecipientSigner {
		return ""
	}
	return s.Kind
}

// Host is the person who receives an in-person signer's link and hands over the device.
type Host struct{ Name, Email string }

// Host returns the signer's host, or nil if the signer receives the link.
func (s *Signer) Host() *Host {
	if !s.rules().hosted || s.HostEmail == nil {
		return nil
	}
	return &Host{s.HostName, *s.HostEmail}
}

// Invitee returns the name and address of the person who receives the link, which is the signer or the host.
func (s *Signer) Invitee() (name, email string) {
	if h := s.Host(); h != nil {
		return h.Name, h.Email
	}
	return s.Name, s.Email
}

// InvitedByMail reports whether the service emails the signer's current link. If the sender delivers links, the service
// emails it only at the sender's request.
func (s *Signer) InvitedByMail() bool { return !s.Silent || s.resent() }

// resent reports whether the sender requested that the current link be sent.
func (s *Signer) resent() bool {
	n := len(s.Resends)
	return n > 0 && s.LinkIssuedAt != nil && s.Resends[n-1].Equal(*s.LinkIssuedAt)
}

// HasOwnInvitation reports whether the current link was issued by a resend or a replacement, which sends its own
// invitation. The invitations of the routing group then omit the signer, who would otherwise receive two.
func (s *Signer) HasOwnInvitation() bool {
	return s.resent() || s.LinkIssuedAt != nil && s.Predecessor().Until.Equal(*s.LinkIssuedAt)
}

// KeepsSignature reports whether the service saves the signer's signature and offers it for reuse.
func (s *Signer) KeepsSignature() bool { return s.rules().keepsDrawings && s.NeedsCode() }

// Recipients returns all signers and copy recipients in the order of creation.
func (e *Envelope) Recipients() []*Signer {
	if len(e.Copies) == 0 {
		return e.Signers
	}
	all := slices.Concat(e.Signers, e.Copies)
	slices.SortStableFunc(all, func(a, b *Signer) int { return cmp.Compare(a.Position, b.Position) })
	return all
}

// Recipient returns the signer or copy recipient with the given ID, or nil.
func (e *Envelope) Recipient(id uuid.UUID) *Signer {
	if s := find(e.Copies, func(s *Signer) bool { return s.ID == id }); s != nil {
		return s
	}
	return e.Signer(id)
}

// AddRecipient adds a recipient to the envelope's signers or copy recipients.
func (e *Envelope) AddRecipient(s *Signer) {
	if s.rules().counts {
		e.Signers = append(e.Signers, s)
	} else {
		e.Copies = append(e.Copies, s)
	}
}

// Principal returns the signer whose signature s witnesses, or nil if s is not a witness.
func (e *Envelope) Principal(s *Signer) *Signer {
	return find(e.Signers, func(p *Signer) bool { return s.WitnessFor != "" && p.Role == s.WitnessFor })
}

// alignWitnesses copies the routing order of each witnessed signer to the signer's witnesses.
func (e *Envelope) alignWitnesses() {
	for _, s := range e.Signers {
		if p := e.Principal(s); p != nil {
			s.RoutingOrder = p.RoutingOrder
		}
	}
}

// checkRecipient records the problems of the recipient's kind and of the input values that depend on it.
func (in SignerInput) checkRecipient(p Problems, path string) {
	rules, ok := in.Kind.rules()
	if !ok {
		p.Add(path+"kind", "must be %s", RecipientKindNames)
		return
	}
	if in.Language != "" && !hasLanguage(in.Language) {
		p.Add(path+"language", "must be a language tag (BCP 47) of one of %s", strings.Join(SupportedLanguages, ", "))
	}
	if in.AuthMethod == AuthEmailOTP && !rules.mailsCodes {
		p.Add(path+"authMethod", "must be none or sms_otp for kind %s: the host has the device and cannot read the signer's email", in.Kind)
	}
	switch {
	case rules.hosted && in.Host == nil:
		p.Add(path+"host", "is required for kind %s: the person who receives the link and hands over the device", in.Kind)
	case in.Host != nil && !rules.hosted:
		p.Add(path+"host", "is only for kind in_person")
	case in.Host != nil:
		CheckText(p, path+"host.name", in.Host.Name, 1, 255)
		CheckEmail(p, path+"host.email", in.Host.Email)
		if EmailKey(in.Host.Email) == EmailKey(in.Email) {
			p.Add(path+"host.email", "must differ from the signer's email address")
		}
	}
	if in.AllowDelegation && !rules.counts {
		p.Add(path+"allowDelegation", "is not supported for kind %s, which cannot delegate", in.Kind)
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

// hasLanguage reports whether texts are available in the language of a BCP 47 tag.
func hasLanguage(tag string) bool {
	if !languageTag.MatchString(tag) {
		return false
	}
	base, _, _ := strings.Cut(strings.ToLower(tag), "-")
	return locales.Match(tag) == base
}

// ResolveWitnesses copies the routing order of each witnessed signer in a request to the signer's witnesses, and
// records a problem for each signer who cannot be witnessed. The path function returns the path prefix for the problems
// of the signer at an index.
func ResolveWitnesses(p Problems, signers []SignerInput, path func(i int) string) {
	for i, in := range signers {
		if in.WitnessFor == "" {
			continue
		}
		at := slices.IndexFunc(signers, func(other SignerInput) bool { return other.Role == in.WitnessFor })
		if at < 0 {
			p.addFirst(path(i)+"witnessFor", "is not the role of a signer of this envelope")
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

// witnessProblem returns the reason why a recipient cannot witness another one, and the affected member of the
// request. It returns empty strings if there is no problem. The parameter order is the witness's own routing order, or
// zero if it is absent.
func witnessProblem(witness, principal *Signer, order int) (member, text string) {
	switch {
	case !principal.rules().signs || principal.WitnessFor != "":
		return "witnessFor", "is the role of a recipient who cannot have a witness: only the kinds signer and in_person can, unless they are witnesses themselves"
	case EmailKey(witness.Email) == EmailKey(principal.Email):
		return "email", "must differ from the email address of the witnessed signer"
	case order != 0 && order != principal.RoutingOrder:
		return "routingOrder", fmt.Sprintf("must be the routing order of the witnessed signer (%d), or be omitted", principal.RoutingOrder)
	}
	return "", ""
}

// checkWitnesses records the problems of an envelope's witnesses before it is sent.
func (e *Envelope) checkWitnesses(p Problems) {
	for _, s := range e.Signers {
		if s.WitnessFor == "" {
			continue
		}
		principal := e.Principal(s)
		if principal == nil {
			p.addFirst("signers", "a witness is assigned to the role "+s.WitnessFor+", which no signer has")
		} else if _, text := witnessProblem(s, principal, 0); text != "" {
			p.addFirst("signers", "the witness for the role "+s.WitnessFor+" "+text)
		}
	}
}

// checkOwnWitness checks a recipient that was added or changed, in the same way as checkWitnesses. The witnessed signer
// can be added later.
func (e *Envelope) checkOwnWitness(p Problems, in SignerInput) {
	witness := &Signer{}
	in.apply(witness)
	if principal := e.Principal(witness); principal != nil {
		if member, text := witnessProblem(witness, principal, in.RoutingOrder); text != "" {
			p.addFirst(member, text)
		}
	}
}

// kindDetail adds the recipient's kind to an event, unless the recipient is an ordinary signer.
func (s *Signer) kindDetail(d Detail) Detail {
	if kind := s.DisplayKind(); kind != "" {
		d["kind"] = string(kind)
	}
	return d
}

// witnessedAddress reports whether an address belongs to a witness of s, or to the signer whom s witnesses. A witness
// must be a different person from the signer.
func (e *Envelope) witnessedAddress(s *Signer, email string) bool {
	return slices.ContainsFunc(e.Signers, func(other *Signer) bool {
		return (e.Principal(s) == other || e.Principal(other) == s) && EmailKey(other.Email) == EmailKey(email)
	})
}

// RequestedAction returns the action requested from a recipient, which is the recipient's kind, "witness", or "" for an
// ordinary signature.
func (e *Envelope) RequestedAction(s *Signer) string {
	if s.WitnessFor != "" {
		return "witness"
	}
	return string(s.DisplayKind())
}

// OwnAction is like RequestedAction, but returns "" if a host receives the request, because the recipient's own action
// is then a signature.
func (e *Envelope) OwnAction(s *Signer) string {
	if s.rules().hosted {
		return ""
	}
	return e.RequestedAction(s)
}

// AllSign reports whether every recipient who must act has to sign, rather than approve or read.
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
	rejected := Reject(KindConflict, "documents_not_opened", "Please open every document first.")
	rejected.Details = map[string]any{"documentIds": left}
	return rejected
}
