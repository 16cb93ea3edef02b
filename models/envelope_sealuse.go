package models

import (
	"github.com/google/uuid"

	"countersign/seal/limits"
)

// SealUse is the used capacity of a sealed document. Every new entry must leave enough capacity for the awaited
// signers, so that sealing never fails because of size.
type SealUse struct {
	Trail    int `json:"trail,omitempty"`    // audit trail, and attachments listed in the record, in bytes of JSON
	Texts    int `json:"texts,omitempty"`    // entered texts, in bytes of JSON
	Pictures int `json:"pictures,omitempty"` // entered pictures, in bytes of compressed samples
}

// The reserve for each signer who has not acted, and the estimated sizes of parts of the seal record.
const (
	reservedCodes    = 5 // guaranteed number of codes per link, regardless of other records
	reservedEvents   = 26
	reservedText     = 64         // bytes of JSON per field
	reservedPictures = 128 << 10  // bytes of compressed samples
	maxFileName      = 6 * 105    // bytes of JSON per attachment name
	listedField      = 420        // bytes of JSON per value, without its text
	listedFile       = 420        // bytes of JSON per attachment
	listedSigner     = 1200       // bytes of JSON per signer
	listedID         = 40         // bytes of JSON per ID in a list
	listedRest       = 16 << 10   // bytes of JSON for the members that occur once per envelope
	maxCodes         = 200        // codes per link
	maxPageLog       = 2400       // recorded first views of pages, by all signers together
	minPageLog       = 20         // recorded first views of pages, by each signer
	listedOrigin     = 1100 + 300 // bytes of JSON per document
)

// trailCapacity returns the unused capacity of the seal record in bytes of JSON, excluding the reserves of signers who
// have not acted.
func (e *Envelope) trailCapacity() int {
	capacity := limits.Trail - e.Used.Trail - listedRest - limits.JSON(e.TenantID) - 2*limits.JSON(Deref(e.Subject, "")) - e.awaitedTrail()
	largest := 0
	for _, d := range e.Originals() {
		capacity -= listedOrigin
		largest = max(largest, limits.Embedded([]byte(d.Preparation)))
	}
	for _, s := range e.Signers {
		capacity -= listedSigner + limits.JSON(s.Name) + limits.JSON(s.Email) + limits.JSON(s.HostName) + len(e.Signers)*listedID
		capacity -= limits.Embedded([]byte(Deref(s.PreviousJSON, "")))
	}
	for _, f := range e.Fields {
		capacity -= listedField + limits.JSON(f.Name) + limits.JSON(f.Attributes.Group) + limits.JSON(f.Attributes.Option)
	}
	return capacity - largest
}

// hasCapacity reports whether the seal record has capacity for n more events that contain no entered text.
func (e *Envelope) hasCapacity(events int) bool { return e.trailCapacity() >= events*limits.Event }

// awaitedTrail returns the reserve in the seal record for the actions of the awaited signers.
func (e *Envelope) awaitedTrail() int {
	kept := len(e.Copies) * reservedEvents * limits.Event
	acted := e.acted()
	for _, s := range e.Signers {
		if !acted[s.ID] {
			kept += reservedEvents*limits.Event + len(e.Signers)*listedID
		}
	}
	for _, f := range e.Fields {
		if f.Type == FieldAttachment && !acted[f.SignerID] {
			kept += limits.Event + listedFile + 2*maxFileName
		}
	}
	return kept
}

// acted returns, for each signer, whether the signer has signed or declined.
func (e *Envelope) acted() map[uuid.UUID]bool {
	acted := make(map[uuid.UUID]bool, len(e.Signers))
	for _, s := range e.Signers {
		acted[s.ID] = s.HasActed()
	}
	return acted
}

// awaitedTexts returns the reserve for the texts of signers who have not acted, except the signer with the given ID.
func (e *Envelope) awaitedTexts(except uuid.UUID) int {
	kept, acted, signers := 0, e.acted(), make(map[uuid.UUID]*Signer, len(e.Signers))
	for _, s := range e.Signers {
		signers[s.ID] = s
	}
	for _, f := range e.Fields {
		if f.SignerID != except && !acted[f.SignerID] && !f.Type.File() {
			kept += reservedText + limits.JSON(f.Prefilled(signers[f.SignerID]))
		}
	}
	return kept
}

// awaitedPictures returns the reserve for the pictures of signers who have not acted, except the signer with the given
// ID.
func (e *Envelope) awaitedPictures(except uuid.UUID) int {
	waiting, acted := make(map[uuid.UUID]bool), e.acted()
	for _, f := range e.Fields {
		if f.Type.Image() && f.SignerID != except && !acted[f.SignerID] {
			waiting[f.SignerID] = true
		}
	}
	return len(waiting) * reservedPictures
}

// optional contains the events that are rejected if the seal record has no capacity left, with the member that the
// error names. Events that the service itself causes are always accepted.
var optional = map[EventName]string{
	EventDocumentAdded: "documents", EventDocumentPrepared: "documents", EventSignerAdded: "signers", EventFieldAdded: "fields", EventEnvelopeSent: "fields",
	EventEnvelopeUpdated: "", EventSignerReplaced: "", EventCopyReplaced: "", EventSignerDelegated: "", EventLinkIssued: "", EventLinkRenewed: "",
}

// checkCapacity returns an error if the seal record has no capacity for the recorded events.
func (e *Envelope) checkCapacity() error {
	member, found := "", false
	for i := range e.Events {
		if m, ok := optional[e.Events[i].Name]; ok && e.Events[i].Actor != ActorSystem {
			member, found = m, true
		}
	}
	switch {
	case !found:
		return nil
	case e.trailCapacity() < 0 && member == "":
		return Reject(KindConflict, "audit_trail_full",
			"The audit trail of this envelope is full: together with the other contents of the seal record, it is limited to %d KiB. The envelope can still be signed, declined or voided.",
			limits.Trail>>10)
	case e.trailCapacity() < 0:
		return tooLarge(member, "the envelope would be too large to seal: documents, recipients and fields, with their records, are limited to %d KiB in total", limits.Trail>>10)
	case member != "" && e.Used.Texts+e.awaitedTexts(uuid.Nil) > limits.Texts:
		return tooLarge("fields", "the envelope would be too large to seal: the default values of all fields are limited to %d MiB in total", limits.Texts>>20)
	}
	return nil
}

// tooLarge returns the error for an envelope that is too large to be sealed.
func tooLarge(member, format string, args ...any) error {
	p := Problems{}
	p.Add(member, format, args...)
	return &Error{Kind: KindInvalid, Code: "envelope_too_large", Message: member + ": " + p[member][0], Fields: p}
}

// useValues adds a signer's values to the used capacity of the sealed documents, and rejects values that do not fit.
// The map sizes contains the size of each picture by hash.
func (e *Envelope) useValues(s *Signer, values []FieldValue, sizes map[string]int) error {
	p, use, files := Problems{}, e.Used, make(map[uuid.UUID]bool)
	for _, a := range e.Attached {
		files[a.FieldID] = true
		use.Trail += listedFile + 2*limits.JSON(a.Name)
	}
	texts, pictures, copies, counted := 0, 0, 0, make(map[string]bool)
	for _, v := range values {
		if !files[v.FieldID] {
			texts += limits.JSON(v.Text)
		}
		copies += len(v.Image)
		if len(v.Image) > 0 && !counted[v.ImageSHA256] {
			counted[v.ImageSHA256] = true
			pictures += sizes[v.ImageSHA256]
		}
	}
	if left := limits.Texts - use.Texts - e.awaitedTexts(s.ID); texts > left {
		p.Add("fields", "the text values are %d KiB in total, but the sealed documents can contain only %d KiB: shorten the longest values", kilobytes(texts), max(left, 0)>>10)
	}
	if left := limits.Pictures - use.Pictures - e.awaitedPictures(s.ID); pictures > left {
		p.Add("fields", "the images are %d KiB in total, but the sealed documents can contain only %d KiB: use smaller or simpler images", kilobytes(pictures), max(left, 0)>>10)
	}
	if copies > limits.Copies {
		p.Add("fields", "the images of all fields are %d KiB in total, but the limit is %d MiB: use smaller images", kilobytes(copies), limits.Copies>>20)
	}
	if err := p.Err(); err != nil {
		return err
	}
	use.Texts += texts
	use.Pictures += pictures
	e.Used = use
	return nil
}

// kilobytes converts bytes to kilobytes, rounded up.
func kilobytes(n int) int { return (n + 1<<10 - 1) >> 10 }
