package models

import (
	"cmp"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/google/uuid"

	"countersign/internal/plaintext"
)

// DocumentKind distinguishes uploaded documents from sealed ones.
type DocumentKind string

// The kinds of documents.
const (
	DocumentOriginal DocumentKind = "original"
	DocumentSealed   DocumentKind = "sealed"
)

// PurgeStatus is the state of a document's file under the retention policy.
type PurgeStatus string

// The purge states.
const (
	PurgeActive PurgeStatus = "active"
	PurgePurged PurgeStatus = "purged"
)

// PageRun is a sequence of pages of the same size, from page From (1-based) to the page before the next run. Width and
// Height are the displayed size of the pages in points, after applying CropBox, Rotate and UserUnit.
type PageRun struct {
	From   int     `json:"from"`
	Width  float64 `json:"width"`
	Height float64 `json:"height"`
}

// Document is a PDF in an envelope.
type Document struct {
	ID             uuid.UUID `gorm:"primaryKey"`
	EnvelopeID     uuid.UUID
	Kind           DocumentKind
	OriginalID     *uuid.UUID // the original of a sealed document
	Name           string     // file name for display
	MimeType       string
	SHA256         string `gorm:"column:sha256"` // lowercase hexadecimal
	Size           int64  // bytes
	PageCount      int
	Pages          []PageRun `gorm:"serializer:json"`
	Order          int       `gorm:"column:document_order"` // starts at 1
	BlobKey        string
	RetentionUntil *time.Time
	PurgeStatus    PurgeStatus
	CreatedAt      time.Time
	// TimestampedUntil is the expiry of the certificate of a sealed document's latest document time-stamp, or nil if
	// there is no time-stamp.
	TimestampedUntil *time.Time
	// TimestampPending reports whether a time-stamp must still be added because the time-stamp authority was
	// unavailable during sealing.
	TimestampPending bool
	// Encrypted reports whether the file is stored encrypted.
	Encrypted bool
	// SealFacts contains the results of examining an original for sealing, as encoded by package seal. If it is empty,
	// the original is examined again during sealing.
	SealFacts string
	// The prepared file, which recipients read and sign instead of the original. It is the original without the removed
	// parts. The fields are empty if there is no prepared file.
	PreparedSHA256    string `gorm:"column:prepared_sha256"`
	PreparedSize      int64
	PreparedKey       string
	PreparedEncrypted bool
	PreparedChanges   []PreparedChange `gorm:"serializer:json"`
	Preparation       string           // description of the preparation for the seal record
	// Notes contains the codes of content that other programs may display differently.
	Notes []string `gorm:"serializer:json"`
	// Shared reports whether the files also belong to a template or to another envelope. Such files are kept as long as
	// any row refers to them.
	Shared bool
}

// PageSize returns the size of page n (1-based) in points, or false if there is no such page.
func (d *Document) PageSize(n int) (w, h float64, ok bool) {
	if n < 1 || n > d.PageCount {
		return 0, 0, false
	}
	for _, r := range d.Pages {
		if r.From > n {
			break
		}
		w, h, ok = r.Width, r.Height, true
	}
	return w, h, ok
}

// PageRuns groups a list of page sizes into runs.
func PageRuns(sizes [][2]float64) []PageRun {
	var runs []PageRun
	for i, s := range sizes {
		if n := len(runs); n > 0 && runs[n-1].Width == s[0] && runs[n-1].Height == s[1] {
			continue
		}
		runs = append(runs, PageRun{From: i + 1, Width: s[0], Height: s[1]})
	}
	return runs
}

// DocumentInput describes an uploaded PDF that was accepted: its name, pages and files, and the results of its
// examination.
type DocumentInput struct {
	Document

	Warnings []string // codes of content that other programs may display differently
}

// NextDocumentID returns the ID of the next document, so that its file can be stored under that ID before the envelope
// is changed.
func (e *Envelope) NextDocumentID(newID func() uuid.UUID) uuid.UUID {
	if len(e.Originals()) == 0 {
		return e.FirstDocumentID
	}
	return newID()
}

// CheckAddDocument returns an error if no further document can be added, regardless of its content.
func (e *Envelope) CheckAddDocument(maxDocuments int) error {
	if err := e.check(ActionAddDocument); err != nil {
		return err
	}
	n := len(e.Originals())
	if n >= MaxDocuments {
		return Reject(KindInvalid, "too_many_documents", "An envelope can have at most %d documents.", MaxDocuments)
	}
	if n >= maxDocuments {
		return Reject(KindPayment, "plan_documents", "The plan allows %d document(s) per envelope; for more, upgrade to the Pro plan.", maxDocuments)
	}
	return nil
}

// AddDocument adds an uploaded PDF to a draft. maxDocuments is the limit set by the app's plan. Fields that were placed
// before the first document was added must fit on that document's pages.
func (e *Envelope) AddDocument(act ActionContext, in DocumentInput, maxDocuments int) (*Document, error) {
	if err := e.CheckAddDocument(maxDocuments); err != nil {
		return nil, err
	}
	d := &in.Document
	d.ID, d.EnvelopeID, d.Kind, d.MimeType = e.NextDocumentID(act.NewID), e.ID, DocumentOriginal, "application/pdf"
	d.Order, d.PurgeStatus, d.CreatedAt = len(e.Originals())+1, PurgeActive, act.At
	d.Notes = in.Warnings
	p := Problems{}
	for i, f := range e.Fields {
		if f.DocumentID == d.ID {
			f.normalize(p, IndexedPath(i), d)
		}
	}
	if err := p.Err(); err != nil {
		return nil, err
	}
	e.Documents = append(e.Documents, d)
	e.HashOriginal = CombineHashes(e.Originals())
	detail := Detail{"documentId": d.ID.String(), "sha256": d.SHA256, "pageCount": d.PageCount, "order": d.Order}
	if len(in.Warnings) > 0 {
		detail["warnings"] = in.Warnings
	}
	e.record(act, EventDocumentAdded, uuid.Nil, detail)
	if d.IsPrepared() {
		e.recordPrepared(act, d)
	}
	return d, nil
}

// finite reports whether v can be a coordinate. It returns false for NaN and for values beyond one million.
func finite(v float64) bool { return math.Abs(v) <= 1e6 }

// FileName returns the file name for downloads, which is based on the envelope's subject if there is one. If there are
// several documents, the name also contains the number and the name of the document, as in "Lease (2) floor plan.pdf".
// The file name is valid on any file system.
func (e *Envelope) FileName(d *Document) string {
	if strings.TrimSpace(Deref(e.Subject, "")) == "" {
		return e.DocumentName(d)
	}
	name := fileStem(*e.Subject, 100)
	if len(e.Originals()) > 1 {
		name = fmt.Sprintf("%s (%d)", name, d.Order)
		if own := fileStem(d.Name, 60); own != "" && own != unnamedDocument {
			name += " " + own
		}
	}
	return cmp.Or(name, unnamedDocument) + ".pdf"
}

// DocumentName returns the display name of the document. It is the name of the uploaded file, with a number if another
// document in the envelope has the same name.
func (e *Envelope) DocumentName(d *Document) string {
	name := cmp.Or(fileStem(d.Name, 100), unnamedDocument)
	for _, other := range e.Originals() {
		if other.Order != d.Order && strings.EqualFold(cmp.Or(fileStem(other.Name, 100), unnamedDocument), name) {
			return fmt.Sprintf("%s (%d).pdf", name, d.Order)
		}
	}
	return name + ".pdf"
}

// unnamedDocument is the name of a file that was uploaded without a name.
const unnamedDocument = "document"

// fileStem converts text to a file name without an extension and with at most the given number of characters. The
// result is empty if the text contains no usable characters.
func fileStem(text string, most int) string {
	clean := strings.Map(func(r rune) rune {
		if plaintext.Hidden(r) || strings.ContainsRune(`/\:*?"<>|`, r) {
			return '_'
		}
		return r
	}, text)
	if n := len(clean) - len(".pdf"); n >= 0 && strings.EqualFold(clean[n:], ".pdf") {
		clean = clean[:n]
	}
	r := []rune(clean)
	return strings.Trim(string(r[:min(len(r), most)]), " .")
}
