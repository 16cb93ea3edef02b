package seal

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"slices"

	"countersign/pdf"
)

// Reading describes a document to display with the values entered so far.
type Reading struct {
	Original       io.ReaderAt
	Size           int64  // in bytes
	OriginalSHA256 string // lower-case hex
	PageCount      int
	Values         []Value
	Names          map[string]string // names of signers, by ID
	Facts          *Facts            // facts of the original; if nil, they are determined
	// Version identifies the values. The same version for the same original always yields the same bytes, so that a
	// reader can request parts of the copy.
	Version string
	// Page is the only page to draw on, starting at 1. Zero means all pages.
	Page int
	// Foot is the line at the foot of each page, or nil for no line.
	Foot *FootLine
}

// FootLine is the content of the line at the foot of each page of a sealed document.
type FootLine struct {
	Service      string
	EnvelopeID   string
	UploadSHA256 string // hash of the uploaded PDF, lower-case hex
	Language     string // BCP 47 tag of the certificate's language
}

// ReadingCopy draws values on a document as Seal does, and the line at the foot if Foot is set. The copy has no
// certificate and no seal. The result reads from Original, which must stay open. A signed original is also accepted.
// Its signature then shows that the copy differs from the original. If undefined references in the original cannot be
// defined, ReadingCopy returns the original unchanged.
func ReadingCopy(ctx context.Context, r Reading) (*io.SectionReader, error) {
	original := io.NewSectionReader(r.Original, 0, r.Size)
	if r.Foot == nil && !slices.ContainsFunc(r.Values, func(v Value) bool { return !v.empty() }) {
		return original, nil
	}
	f, err := pdf.Open(r.Original, r.Size, pdf.DefaultLimits())
	if err != nil {
		return nil, fmt.Errorf("seal: %w", err)
	}
	w, err := pdf.NewIncrement(f)
	if err != nil {
		return nil, fmt.Errorf("seal: %w", err)
	}
	err = defineUndefined(ctx, f, w, r.Facts)
	if errors.Is(err, pdf.ErrDamaged) || errors.Is(err, pdf.ErrLimit) { // a signed original; Admit rejects all others
		return original, nil
	}
	if err != nil {
		return nil, fmt.Errorf("seal: %w", err)
	}
	job := &Job{Original: r.Original, Size: r.Size, OriginalSHA256: r.OriginalSHA256, Document: Document{PageCount: r.PageCount}, Values: r.Values}
	for id, name := range r.Names {
		job.Signers = append(job.Signers, Signer{ID: id, Name: name})
	}
	id := sha256.Sum256([]byte(r.OriginalSHA256 + r.Version))
	s := &Sealer{cfg: Config{Rand: &fixedReader{rest: id[:]}}}
	if r.Foot != nil {
		s.cfg.ServiceName, job.Envelope.ID, job.OriginalSHA256, job.Language = r.Foot.Service, r.Foot.EnvelopeID, r.Foot.UploadSHA256, r.Foot.Language
	}
	a, err := s.newAssembly(job, w, f)
	if err != nil {
		return nil, fmt.Errorf("seal: %w", err)
	}
	a.valuesOnly, a.onlyPage = r.Foot == nil, r.Page
	if r.Facts != nil && r.Foot != nil && f.Fits(r.Facts.mentioned) {
		a.lineless, a.known = r.Facts.lineless, true
	}
	if err := a.buildReading(ctx, id[:16]); err != nil {
		return nil, fmt.Errorf("seal: %w", err)
	}
	all := concatReader{r.Original, r.Size, w.Bytes()}
	return io.NewSectionReader(all, 0, w.Offset()), nil
}

// defineUndefined defines the undefined objects of the original, as Seal does, because an added object must not be
// assigned a number to which the original refers.
func defineUndefined(ctx context.Context, f *pdf.File, w *pdf.Increment, facts *Facts) error {
	if facts != nil && f.Fits(facts.mentioned) {
		return w.DefineUndefined(facts.mentioned)
	}
	scan, err := f.ReferenceScan()
	if err != nil {
		return err
	}
	m, err := scan.Find(ctx)
	if err != nil {
		return err
	}
	return w.DefineUndefined(m)
}

// buildReading writes the pages on which something is drawn.
func (a *assembly) buildReading(ctx context.Context, id []byte) error {
	_, root, err := a.file.Catalog()
	if err != nil {
		return err
	}
	a.t.font = a.w.Reserve()
	if err := a.drawOnPages(ctx); err != nil {
		return err
	}
	if err := a.t.fonts.Write(a.w, a.t.font); err != nil {
		return err
	}
	return a.w.Finish(root, nil, id)
}

// fixedReader returns the given bytes, followed by zeros.
type fixedReader struct{ rest []byte }

func (f *fixedReader) Read(b []byte) (int, error) {
	clear(b)
	f.rest = f.rest[copy(b, f.rest):]
	return len(b), nil
}
