// Package audit verifies that the audit trail is unchanged. It recomputes every chain and compares it with the sealed
// files. An attacker with full control of the database can create a self-consistent chain. But that chain cannot match
// files signed with keys that the database does not reveal, or lists confirmed by a time-stamp authority (anchors).
package audit

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"countersign/models"
	"countersign/seal/trust"
	"countersign/seal/verify"
	"countersign/store"
	"countersign/store/blob"
)

// Verifier compares the database with the files.
type Verifier struct {
	Store *store.Store
	Blobs blob.Store
	Now   func() time.Time
	// TSARoots contains the trusted roots for signers of anchors. If it is nil, these signers are not checked.
	TSARoots *x509.CertPool
	// Revocation contains the revocation data of time-stamp authorities, which tokens do not include.
	Revocation trust.Evidence
}

// Report contains the findings for one envelope or one anchor.
type Report struct {
	EnvelopeID uuid.UUID     `json:"envelopeId,omitzero"`
	Anchor     *AnchorReport `json:"anchor,omitempty"`
	Events     int           `json:"events"`
	// Sealed is the number of compared sealed files.
	Sealed int `json:"sealedFiles"`
	// Originals is the number of compared originals.
	Originals int `json:"originals"`
	// Attachments is the number of compared attachments.
	Attachments int      `json:"attachments"`
	Problems    []string `json:"problems"`
}

// OK reports whether no problem was found.
func (r *Report) OK() bool { return len(r.Problems) == 0 }

func (r *Report) add(format string, args ...any) {
	r.Problems = append(r.Problems, fmt.Sprintf(format, args...))
}

// pageSize is the number of envelopes that one query lists.
const pageSize = 500

// All verifies every anchor and every envelope, and checks that no files remain from envelopes that are missing from
// the database. It emits one report for each anchor and each envelope. Files of a missing envelope are reported under
// that envelope's ID.
func (v Verifier) All(ctx context.Context, emit func(*Report) error) error {
	keys, err := v.keys(ctx)
	if err != nil {
		return err
	}
	anchors, err := v.anchors(ctx, uuid.Nil, emit)
	if err != nil {
		return err
	}
	known := make(map[uuid.UUID]bool)
	for after := uuid.Nil; ; {
		refs, err := v.Store.AllEnvelopes(ctx, after, pageSize)
		if err != nil {
			return err
		}
		for _, ref := range refs {
			known[ref.ID] = true
			if err := v.envelope(ctx, ref, keys, anchors, emit); err != nil {
				return err
			}
		}
		if len(refs) < pageSize {
			break
		}
		after = refs[len(refs)-1].ID
	}
	return v.unreferencedFiles(ctx, known, emit)
}

// One verifies one envelope and the anchors that can list it.
func (v Verifier) One(ctx context.Context, id uuid.UUID, emit func(*Report) error) error {
	ref, err := v.Store.FindEnvelope(ctx, id)
	if err != nil {
		return err
	}
	keys, err := v.keys(ctx)
	if err != nil {
		return err
	}
	anchors, err := v.anchors(ctx, id, emit)
	if err != nil {
		return err
	}
	return v.envelope(ctx, ref, keys, anchors, emit)
}

// keys returns the public parts of the keys that sign seal records. The private keys are encrypted with the master key,
// so access to the database is not sufficient to create another key.
func (v Verifier) keys(ctx context.Context) (map[string]trust.RecordKey, error) {
	all, err := v.Store.Keys(ctx, models.KeyManifests)
	if err != nil {
		return nil, err
	}
	out := make(map[string]trust.RecordKey, len(all))
	for _, k := range all {
		out[k.ID] = trust.RecordKey{Key: k.Private.Public()}
	}
	return out, nil
}

// envelope verifies one envelope, and emits the findings.
func (v Verifier) envelope(ctx context.Context, ref store.EnvelopeRef, keys map[string]trust.RecordKey, anchors *anchorIndex,
	emit func(*Report) error,
) error {
	e, events, err := v.Store.AnyEnvelopeWithEvents(ctx, ref.AppID, ref.ID)
	if broken, ok := errors.AsType[*store.ArchiveError](err); ok {
		r := &Report{EnvelopeID: ref.ID, Problems: []string{}}
		r.add("the archive %s %s", broken.Key, broken.Problem)
		return emit(r)
	}
	if err != nil {
		return err
	}
	r := &Report{EnvelopeID: e.ID, Events: len(events), Problems: []string{}}
	if err := models.VerifyChain(events, e.AuditSeq, e.AuditHead); err != nil {
		r.add("%s", err)
	}
	if err := models.CheckDisplayedDigests(events); err != nil {
		r.add("%s", err)
	}
	checkStatus(r, e, events)
	anchors.checkAge(r, events)
	for _, d := range e.Originals() {
		if err := v.original(ctx, r, e, events, d); err != nil {
			return err
		}
	}
	if err := v.attachments(ctx, r, e, events); err != nil {
		return err
	}
	for _, d := range e.Sealed() {
		if err := v.file(ctx, r, e, events, d, keys); err != nil {
			return err
		}
	}
	return emit(r)
}

// checkStatus compares the envelope's status with the outcome in the chain. It detects an envelope whose chain and
// record were both truncated, because the final event is then missing.
func checkStatus(r *Report, e *models.Envelope, events []models.Event) {
	count := make(map[models.EventName]int)
	for i := range events {
		count[events[i].Name]++
	}
	want := map[models.EventName]int{models.EventEnvelopeCreated: 1}
	if e.Status.Terminal() { // the final event is named after the status
		want[models.EventName("envelope."+e.Status)] = 1
	}
	if e.Status == models.StatusCompleted {
		want[models.EventDocumentSealed] = len(e.Sealed())
	}
	if e.SentAt != nil {
		want[models.EventEnvelopeSent] = 1
	}
	for _, s := range e.Signers {
		if s.SignedAt != nil {
			want[models.EventSignerSigned]++
		}
	}
	for _, d := range e.Documents {
		if d.PurgeStatus == models.PurgePurged {
			want[models.EventDocumentPurged]++
		}
	}
	if len(e.Editors) == 0 && e.Status != models.StatusDeleted {
		want[models.EventSignerAdded], want[models.EventDocumentAdded] = len(e.Recipients()), len(e.Originals())
	} else if e.SentAt != nil {
		checkPrepared(r, e, events)
	}
	for name, n := range want {
		if count[name] != n {
			r.add("the envelope is %s, but its chain contains %d of the %d expected %s events", e.Status, count[name], n, name)
		}
	}
}

// checkPrepared compares the envelope with the draft that the chain recorded when it was sent. Edits of a draft are
// recorded only there, so earlier events may describe other signers, documents and fields.
func checkPrepared(r *Report, e *models.Envelope, events []models.Event) {
	fields, err := e.FieldsDigest()
	if err != nil {
		r.add("the digest of the fields cannot be computed: %v", err)
		return
	}
	for i := range events {
		ev := &events[i]
		if ev.Name != models.EventDraftPrepared {
			continue
		}
		counts, _ := ev.Detail["counts"].(map[string]any)
		for name, n := range map[string]int{"signers": len(e.Recipients()), "documents": len(e.Originals()), "fields": len(e.Fields)} {
			if fmt.Sprint(counts[name]) != strconv.Itoa(n) {
				r.add("the envelope has %d %s, but according to its chain %v were sent", n, name, counts[name])
			}
		}
		// A purge deletes prefilled values, which the hash covers.
		if ev.Detail["fieldsSha256"] != fields && !e.Purged() {
			r.add("the fields differ from those that were sent according to the chain")
		}
		return
	}
	r.add("the draft was edited, but its chain does not record what was sent")
}

// original compares an uploaded file with its record and with the chain.
func (v Verifier) original(ctx context.Context, r *Report, e *models.Envelope, events []models.Event, d *models.Document) error {
	if d.PurgeStatus == models.PurgePurged {
		return nil
	}
	f, err := blob.OpenRecorded(ctx, v.Blobs, store.FileRecord(d))
	if errors.Is(err, fs.ErrNotExist) {
		return v.missing(ctx, r, e, d, "document")
	}
	if err == nil || errors.Is(err, blob.ErrModified) {
		r.Originals++
	}
	if err != nil {
		return r.addUnreadable(err, "document", d.ID)
	}
	_ = f.Close() // read-only file
	for i := range events {
		if ev := &events[i]; ev.Name == models.EventDocumentAdded && ev.Detail["documentId"] == d.ID.String() && ev.Detail["sha256"] == d.SHA256 {
			return v.prepared(ctx, r, e, events, d)
		}
	}
	r.add("no event contains document %s with its recorded hash", d.ID)
	return nil
}

// prepared compares the file that was presented to recipients with its record and with the chain.
func (v Verifier) prepared(ctx context.Context, r *Report, e *models.Envelope, events []models.Event, d *models.Document) error {
	shown, last := d.Presented(), d.SHA256
	for i := range events {
		if ev := &events[i]; ev.Name == models.EventDocumentPrepared && ev.Detail["documentId"] == d.ID.String() {
			last, _ = ev.Detail["sha256"].(string)
		}
	}
	if shown.SHA256 != last {
		r.add("the recorded hash of the prepared document %s differs from the one in the chain", d.ID)
	}
	if !d.IsPrepared() {
		return nil
	}
	f, err := blob.OpenRecorded(ctx, v.Blobs, store.FileRecord(shown))
	if errors.Is(err, fs.ErrNotExist) {
		return v.missing(ctx, r, e, d, "the prepared file of document")
	}
	if err != nil {
		return r.addUnreadable(err, "the prepared file of document", d.ID)
	}
	return f.Close()
}

// addUnreadable adds a problem if the error means that a recorded file cannot be read, and returns any other error.
func (r *Report) addUnreadable(err error, what string, id uuid.UUID) error {
	switch {
	case errors.Is(err, blob.ErrModified):
		r.add("the file of %s %s does not match its recorded hash, or is recorded as encrypted but is not", what, id)
	case errors.Is(err, blob.ErrDamaged):
		r.add("%s %s: %s", what, id, blob.ErrDamaged)
	default:
		return err
	}
	return nil
}

// missing reports a missing file, unless the file was purged in the meantime.
func (v Verifier) missing(ctx context.Context, r *Report, e *models.Envelope, d *models.Document, what string) error {
	now, err := v.Store.Envelope(ctx, e.AppID, e.ID)
	if err != nil {
		return err
	}
	if n := now.Document(d.ID); n == nil || n.PurgeStatus != models.PurgePurged {
		r.add("the file of %s %s is missing", what, d.ID)
	}
	return nil
}

// file compares a sealed file with its record and with the chain.
func (v Verifier) file(ctx context.Context, r *Report, e *models.Envelope, events []models.Event, d *models.Document, keys map[string]trust.RecordKey) error {
	if d.PurgeStatus == models.PurgePurged {
		return nil
	}
	f, err := blob.OpenRecorded(ctx, v.Blobs, store.FileRecord(d))
	if errors.Is(err, blob.ErrModified) {
		_ = r.addUnreadable(err, "sealed document", d.ID)
		f, err = v.Blobs.Open(ctx, d.BlobKey) // open the file anyway, to report its other problems as well
	}
	if errors.Is(err, fs.ErrNotExist) {
		return v.missing(ctx, r, e, d, "sealed document")
	}
	if err != nil {
		return r.addUnreadable(err, "sealed document", d.ID)
	}
	defer func() { _ = f.Close() }() // read-only file
	r.Sealed++
	rep, err := verify.File(ctx, f, f.Size, verify.Options{Trust: trust.Policy{RecordKeys: keys}, Now: v.Now})
	if err != nil {
		return fmt.Errorf("read sealed document %s: %w", d.ID, err)
	}
	// The certificate's trustworthiness is not checked here, because the record in the file is signed with a key of
	// this service.
	for _, c := range rep.Findings {
		if c.Status == verify.Failed || c.Check == verify.CheckManifestKey && c.Status != verify.Passed {
			r.add("sealed document %s: %s", d.ID, c.Detail)
		}
	}
	if rep.EnvelopeID != e.ID.String() {
		r.add("sealed document %s belongs to envelope %s", d.ID, rep.EnvelopeID)
		return nil
	}
	switch n := rep.Events; {
	case n == 0 || n > len(events):
		r.add("the chain ends at event %d, but was sealed with %d events", len(events), n)
	case events[n-1].Hash != rep.ChainHead:
		r.add("the first %d events of the chain differ from the sealed events", n)
	}
	if !recordedSeal(events, d) {
		r.add("no event contains sealed document %s", d.ID)
	}
	return nil
}

// recordedSeal reports whether the chain records the hash of a document's sealed file, both at sealing and after each
// time-stamp added later.
func recordedSeal(events []models.Event, d *models.Document) bool {
	sum := ""
	for i := range events {
		ev := &events[i]
		if ev.Detail["sealedDocumentId"] != d.ID.String() {
			continue
		}
		switch {
		case ev.Name == models.EventDocumentSealed && sum == "",
			ev.Name == models.EventDocumentStamped && ev.Detail["sha256Before"] == sum:
			sum, _ = ev.Detail["sha256"].(string)
		default:
			return false
		}
	}
	return sum == d.SHA256
}

// unreferencedFiles reports sealed files of envelopes that are not in the database. It looks up each envelope again,
// because it may have been created after the list was read.
func (v Verifier) unreferencedFiles(ctx context.Context, known map[uuid.UUID]bool, emit func(*Report) error) error {
	return v.Blobs.Walk(ctx, blob.Envelopes, func(file blob.Entry) error {
		folder, _, _ := strings.Cut(strings.TrimPrefix(file.Key, blob.Envelopes), "/")
		id, err := uuid.Parse(folder)
		if err != nil || known[id] || !strings.Contains(file.Key, "/sealed/") {
			return nil // an interrupted upload leaves an original without a record; see package sweep
		}
		known[id] = true
		_, err = v.Store.FindEnvelope(ctx, id)
		if !errors.Is(err, models.ErrNotFound) {
			return err
		}
		r := &Report{EnvelopeID: id}
		r.add("the file store contains sealed files of this envelope, but the database has no record of it")
		return emit(r)
	})
}
