package models

import (
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"
)

// DisplayedValues identifies the values of other signers that were shown to a signer.
type DisplayedValues struct {
	// Digest is the SHA-256 hash, in lowercase hexadecimal, of the RFC 8785 canonical JSON of
	//
	//	{"envelopeId": …, "signers": [{"signerId": …, "valuesSha256": …}, …]}
	//
	// for all signers who have signed, ordered by signerId, with valuesSha256 as in the signer.signed event.
	Digest string
	// Signers lists the signers whose values the digest covers, ordered by ID.
	Signers []uuid.UUID
}

// signerValuesHash identifies the values that a signer signed.
type signerValuesHash struct {
	Signer uuid.UUID `json:"signerId"`
	Values string    `json:"valuesSha256"`
}

// Shown returns the digest of the values of all signers who have signed.
func (e *Envelope) Shown() (DisplayedValues, error) {
	entries := []signerValuesHash{}
	for _, s := range e.Signers {
		if s.Status == SignerSigned {
			entries = append(entries, signerValuesHash{s.ID, s.ValuesHash})
		}
	}
	return newDisplayedValues(e.ID, entries)
}

func newDisplayedValues(envelope uuid.UUID, entries []signerValuesHash) (DisplayedValues, error) {
	slices.SortFunc(entries, func(a, b signerValuesHash) int { return strings.Compare(a.Signer.String(), b.Signer.String()) })
	b, err := canonicalJSON(map[string]any{"envelopeId": envelope, "signers": entries})
	if err != nil {
		return DisplayedValues{}, fmt.Errorf("compute digest of displayed values: %w", err)
	}
	out := DisplayedValues{Digest: hexDigest(b)}
	for _, v := range entries {
		out.Signers = append(out.Signers, v.Signer)
	}
	return out, nil
}

// RecordDisplayedValues records that the values of all signers who have signed are shown to the link's holder. No
// values are shown to a client that is not confirmed.
func (e *Envelope) RecordDisplayedValues(act ActionContext, l Link) (*Signer, error) {
	s, err := e.ConfirmedReader(act, l)
	if err != nil {
		return nil, err
	}
	now, err := e.Shown()
	if err != nil {
		return nil, err
	}
	s.Shown, s.ShownSigners = now.Digest, now.Signers
	return s, nil
}

// ErrValuesChanged is returned if another signer has signed since the values were shown, so a signature would not cover
// all values.
var ErrValuesChanged = Reject(KindConflict, "values_changed",
	"Another signer has signed since the document was displayed. Review their entries and sign again.")

// recordSignedDigest records the values that were shown to s at signing. It uses the digest in the request, which must
// cover all current values, or by default the digest that was last delivered to the link.
func (e *Envelope) recordSignedDigest(s *Signer, named *string) error {
	if named == nil {
		return nil
	}
	now, err := e.Shown()
	if err != nil {
		return err
	}
	if *named != now.Digest {
		return ErrValuesChanged
	}
	s.Shown, s.ShownSigners, s.ShownConfirmed = now.Digest, now.Signers, true
	return nil
}

// addDisplayedDigest adds the following to a signer.signed event: the digest that was shown to the signer (null if
// unknown), the signers whose values it covers, and whether the request contained it.
func (s *Signer) addDisplayedDigest(d Detail) Detail {
	d["shown"] = nil
	if s.Shown != "" {
		d["shown"], d["shownSigners"], d["shownConfirmed"] = s.Shown, DisplayedValues{Signers: s.ShownSigners}.names(), s.ShownConfirmed
	}
	return d
}

// names returns the IDs of the signers in the format of an event.
func (s DisplayedValues) names() string {
	return strings.Join(mapSlice(s.Signers, uuid.UUID.String), ",")
}

// CheckDisplayedDigests verifies the digest recorded with each signature in a chain. The digest must cover the values
// of the listed signers, all of whom must have signed earlier. If the signer's request contained the digest, the
// digest must cover all earlier signers.
func CheckDisplayedDigests(events []Event) error {
	var before []signerValuesHash
	for i := range events {
		ev := &events[i]
		if ev.Name != EventSignerSigned {
			continue
		}
		text := func(name string) string { s, _ := ev.Detail[name].(string); return s }
		id, err := uuid.Parse(text("signerId"))
		if err != nil {
			return fmt.Errorf("event %d names no signer", ev.Seq)
		}
		if digest := text("shown"); digest != "" {
			names := text("shownSigners")
			covered := []signerValuesHash{}
			for _, v := range before {
				if strings.Contains(names, v.Signer.String()) {
					covered = append(covered, v)
				}
			}
			all, _ := ev.Detail["shownConfirmed"].(bool)
			shown, err := newDisplayedValues(ev.EnvelopeID, covered)
			if err != nil {
				return err
			}
			if shown.Digest != digest || shown.names() != names || all && len(covered) != len(before) {
				return fmt.Errorf("event %d: the record of the values shown to the signer differs from the values signed earlier", ev.Seq)
			}
		}
		before = append(before, signerValuesHash{id, text("valuesSha256")})
	}
	return nil
}
