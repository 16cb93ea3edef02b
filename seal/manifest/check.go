package manifest

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/gowebpki/jcs"
)

// Check returns an error if the record is inconsistent with itself.
func (m *Manifest) Check() error {
	switch {
	case m.Version != 1:
		return fmt.Errorf("the record's version %d is not supported", m.Version)
	case m.Envelope.ID == "" || m.Document == "":
		return fmt.Errorf("the record does not name the envelope or the document")
	case m.SealedAt.IsZero():
		return fmt.Errorf("the record does not contain the time of sealing")
	case m.CertificatePage < 1 || m.Pages < m.CertificatePage:
		return fmt.Errorf("invalid page numbers")
	}
	hashes, own := "", 0
	for i, d := range m.All {
		if d.Order != i+1 {
			return fmt.Errorf("document %d has number %d", i+1, d.Order)
		}
		if d.ID == m.Document {
			own++
			if d.SHA256 != m.Original.SHA256 {
				return fmt.Errorf("the hash of the original differs")
			}
			if m.Original.As == "prefix" && m.CertificatePage != d.PageCount+1 {
				return fmt.Errorf("the number of pages of the original differs")
			}
			if err := m.checkPrepared(d); err != nil {
				return err
			}
		}
		hashes += d.SHA256
	}
	if own != 1 {
		return fmt.Errorf("the document in this file is listed %d times", own)
	}
	all := hashes
	if len(m.All) > 1 {
		sum := sha256.Sum256([]byte(hashes))
		all = hex.EncodeToString(sum[:])
	}
	if m.Envelope.OriginalHash != all {
		return fmt.Errorf("the hash of all originals differs")
	}
	return m.checkEvents()
}

// event contains the members of an audit event that are compared with the record.
type event struct {
	Event     string    `json:"event"`
	Actor     string    `json:"actor"`
	Timestamp time.Time `json:"timestamp"`
	Detail    struct {
		DocumentID   string `json:"documentId"`
		AttachmentID string `json:"attachmentId"`
		FieldID      string `json:"fieldId"`
		SHA256       string `json:"sha256"`
		Order        int    `json:"order"`
		SignerID     string `json:"signerId"`
		Person       int    `json:"person"`
		Kind         string `json:"kind"`
		WitnessFor   string `json:"witnessFor"`
	} `json:"detail"`
	seq int // starting at 0
}

// checkPrepared compares the two descriptions of this document's prepared file.
func (m *Manifest) checkPrepared(d File) error {
	prepared := ""
	if p := m.Original.Prepared; p != nil {
		prepared = p.SHA256
		if p.SHA256 == "" || p.SHA256 == m.Original.SHA256 {
			return fmt.Errorf("the hash of the prepared file is missing or equals that of the original")
		}
	}
	if d.PreparedSHA256 != prepared {
		return fmt.Errorf("the prepared file of the document differs")
	}
	return nil
}

// chainEvents contains the audit events that are compared with the record.
type chainEvents struct {
	added     []event            // document.added events
	prepared  map[string]string  // hash of the prepared file, by document
	attached  map[string]event   // by attachment
	signed    map[string]event   // by signer
	succeeded map[string][]event // events that name the next person, by signer
}

// checkEvents compares documents, signers and attachments with the audit chain.
func (m *Manifest) checkEvents() error {
	chain, err := collectEvents(m.Audit.Events)
	if err == nil {
		err = m.checkDocuments(chain)
	}
	if err == nil {
		err = m.checkSigners(chain)
	}
	if err == nil {
		err = m.checkAttachments(chain)
	}
	if err == nil {
		err = m.checkAppearance()
	}
	return err
}

func collectEvents(raw []json.RawMessage) (chainEvents, error) {
	out := chainEvents{prepared: map[string]string{}, attached: map[string]event{}, signed: map[string]event{}, succeeded: map[string][]event{}}
	for i, b := range raw {
		ev := event{seq: i}
		if err := json.Unmarshal(b, &ev); err != nil {
			return out, fmt.Errorf("event %d cannot be read", i+1)
		}
		switch ev.Event {
		case "document.added":
			out.added = append(out.added, ev)
			delete(out.prepared, ev.Detail.DocumentID)
		case "document.prepared":
			out.prepared[ev.Detail.DocumentID] = ev.Detail.SHA256
		case "attachment.added":
			out.attached[ev.Detail.AttachmentID] = ev
		case "signer.signed":
			id, ok := strings.CutPrefix(ev.Actor, "signer:")
			if _, twice := out.signed[id]; !ok || twice {
				return out, fmt.Errorf("event %d is a signature without a signer, or the second signature of a signer", i+1)
			}
			out.signed[id] = ev
		case "signer.replaced", "signer.delegated":
			out.succeeded[ev.Detail.SignerID] = append(out.succeeded[ev.Detail.SignerID], ev)
		}
	}
	return out, nil
}

func (m *Manifest) checkDocuments(chain chainEvents) error {
	for i, ev := range chain.added {
		if i == len(m.All) {
			return fmt.Errorf("the audit trail adds more documents than the record lists")
		}
		if d := m.All[i]; ev.Detail.DocumentID != d.ID || ev.Detail.SHA256 != d.SHA256 || ev.Detail.Order != d.Order {
			return fmt.Errorf("document %d differs from the one added in the audit trail", i+1)
		}
	}
	if added := len(chain.added); added != len(m.All) {
		return fmt.Errorf("the audit trail adds %d documents, but the record lists %d", added, len(m.All))
	}
	left := maps.Clone(chain.prepared)
	for _, d := range m.All {
		if want := cmp.Or(d.PreparedSHA256, d.SHA256); cmp.Or(left[d.ID], d.SHA256) != want {
			return fmt.Errorf("the prepared file of document %d differs", d.Order)
		}
		delete(left, d.ID)
	}
	if len(left) > 0 {
		return fmt.Errorf("the audit trail prepares a document that the record does not list")
	}
	return nil
}

func (m *Manifest) checkSigners(chain chainEvents) error {
	for _, s := range m.Signers {
		ev, ok := chain.signed[s.ID]
		if ok != (s.SignedAt != nil) || ok && !ev.Timestamp.Equal(*s.SignedAt) {
			return fmt.Errorf("the status or signing time of signer %s differs", s.ID)
		}
		if err := s.checkPart(chain.signed); err != nil {
			return err
		}
		if err := s.checkPrevious(chain.succeeded[s.ID]); err != nil {
			return err
		}
	}
	for id := range chain.signed {
		if !slices.ContainsFunc(m.Signers, func(s Signer) bool { return s.ID == id }) {
			return fmt.Errorf("the audit trail has a signature of a person who is not listed as a signer")
		}
	}
	return nil
}

func (m *Manifest) checkAttachments(chain chainEvents) error {
	for _, a := range m.Attachments {
		if ev := chain.attached[a.ID]; ev.Detail.SHA256 != a.SHA256 || ev.Detail.FieldID != a.FieldID || ev.Actor != "signer:"+a.SignerID {
			return fmt.Errorf("attachment %s differs from the one added in the audit trail", a.ID)
		}
	}
	return nil
}

// checkPrevious compares a signer's predecessors with the events in which they were replaced. A record without
// predecessors may predate this list.
func (s Signer) checkPrevious(events []event) error {
	if len(s.Previous) == 0 {
		return nil
	}
	if len(s.Previous) != len(events) {
		return fmt.Errorf("the number of previous recipients of signer %s differs", s.ID)
	}
	for i, p := range s.Previous {
		if events[i].Detail.Person != i+2 || !events[i].Timestamp.Equal(p.Until) {
			return fmt.Errorf("the time at which signer %s was replaced differs", s.ID)
		}
	}
	return nil
}

// CheckChain recomputes the hash of each event, which is the SHA-256 hash of its RFC 8785 canonical form, excluding the
// hash but including the previous event's hash. It rejects a chain without a beginning or a signature, which cannot
// belong to a completed envelope.
func CheckChain(events []json.RawMessage, head, envelopeID string) error {
	prev, signatures := hex.EncodeToString(make([]byte, sha256.Size)), 0
	for i, raw := range events {
		n := i + 1
		var e map[string]json.RawMessage
		var link struct {
			EnvelopeID string `json:"envelopeId"`
			Event      string `json:"event"`
			Seq        int    `json:"seq"`
			PrevHash   string `json:"prevHash"`
			Hash       string `json:"hash"`
		}
		if err := errors.Join(json.Unmarshal(raw, &e), json.Unmarshal(raw, &link)); err != nil {
			return fmt.Errorf("event %d cannot be read", n)
		}
		switch {
		case link.Seq != n:
			return fmt.Errorf("event %d has number %d", n, link.Seq)
		case link.PrevHash != prev:
			return fmt.Errorf("event %d does not continue the chain", n)
		case link.EnvelopeID != envelopeID:
			return fmt.Errorf("event %d belongs to another envelope", n)
		case n == 1 && link.Event != "envelope.created":
			return fmt.Errorf("the chain does not begin with the creation of the envelope")
		}
		if link.Event == "signer.signed" {
			signatures++
		}
		delete(e, "hash")
		canonical, err := json.Marshal(e)
		if err == nil {
			canonical, err = jcs.Transform(canonical)
		}
		if err != nil {
			return fmt.Errorf("event %d cannot be read", n)
		}
		sum := sha256.Sum256(canonical)
		if link.Hash != hex.EncodeToString(sum[:]) {
			return fmt.Errorf("event %d was modified", n)
		}
		prev = link.Hash
	}
	switch {
	case prev != head:
		return fmt.Errorf("the last hash of the chain differs from the seal record")
	case signatures == 0:
		return fmt.Errorf("the %d events of the chain do not complete the envelope", len(events))
	}
	return nil
}

// checkPart compares a signer's role with the role in the signing event. The argument signed contains the signing
// events by signer.
func (s *Signer) checkPart(signed map[string]event) error {
	ev, ok := signed[s.ID]
	if !ok {
		return nil
	}
	if s.Kind != ev.Detail.Kind || s.WitnessFor != ev.Detail.WitnessFor {
		return fmt.Errorf("the role of signer %s differs", s.ID)
	}
	if s.WitnessFor == "" {
		return nil
	}
	if of, ok := signed[s.WitnessFor]; !ok || of.seq >= ev.seq {
		return fmt.Errorf("signer %s is the witness of a person who had not signed", s.ID)
	}
	return nil
}
