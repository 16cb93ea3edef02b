package seal

import (
	"context"
	"encoding/hex"
	"fmt"
	"io"

	"countersign/pdf"
	"countersign/seal/limits"
	"countersign/seal/rejection"
	"countersign/seal/text"
)

// assembly builds everything that follows the original in the sealed file.
type assembly struct {
	job    *Job
	sealer *Sealer
	file   *pdf.File
	w      *pdf.Increment
	t      *typesetter
	tags   *tagger // nil if the original is not tagged
	nonce  string  // makes the seal's names distinct from the original's
	// valuesOnly omits the line at the foot and skips pages without values, for a reading copy without that line.
	valuesOnly bool
	onlyPage   int // the only page to draw on, starting at 1; 0 means all pages
	// dryRun processes every annotation as if it overlapped a value.
	dryRun bool
	// lineless contains the pages without free space for the line at the foot. The field known reports whether they
	// were already determined at upload; see Facts.
	lineless pageSet
	known    bool

	pages     int
	paper     [2]float64
	certPages []pdf.Ref
	record    []byte // seal.json
	recordRef pdf.Ref
	// Further entries of the signature dictionary; see verify.SealMark.
	stamp, issuers string

	sig signaturePlace
}

// signaturePlace contains the offsets of the signature's placeholders in the file.
type signaturePlace struct {
	byteRange   int64 // offset of the second number in ByteRange
	contents    int64 // offset of "<"
	contentsEnd int64 // offset after ">"
}

// A4 and US Letter, in points.
const (
	a4Width, a4Height         = 595.28, 841.89
	letterWidth, letterHeight = 612, 792
)

func (s *Sealer) newAssembly(job *Job, w *pdf.Increment, f *pdf.File) (*assembly, error) {
	var nonce [8]byte
	if _, err := io.ReadFull(s.cfg.Rand, nonce[:]); err != nil {
		return nil, err
	}
	return &assembly{
		job: job, sealer: s, file: f, w: w, nonce: hex.EncodeToString(nonce[:]), paper: [2]float64{a4Width, a4Height}, stamp: s.stamp,
		t: &typesetter{lib: library(), fonts: text.NewEmbedder(), w: w, inks: map[string]placedImage{}, ahead: prefetch(job, &s.codes)},
	}, nil
}

// build writes the pages, certificate, attachments and signature.
func (a *assembly) build(ctx context.Context) error {
	a.t.font = a.w.Reserve()
	catalog, root, err := a.file.Catalog()
	if err != nil {
		return err
	}
	parent, _ := catalog.Get("Pages").Ref()
	a.tags = newTagger(a.file, a.w, catalog)
	if err := a.drawOnPages(ctx); err != nil {
		return err
	}
	field, sigRef := a.w.Reserve(), a.w.Reserve()
	if err := a.writeCertificate(parent, field, sigRef); err != nil {
		return err
	}
	if err := a.writePageTree(parent); err != nil {
		return err
	}
	if err := a.writeCatalog(root, catalog, field, sigRef); err != nil {
		return err
	}
	if a.tags != nil {
		if err := a.tags.finish(); err != nil {
			return err
		}
	}
	if err := a.t.fonts.Write(a.w, a.t.font); err != nil {
		return err
	}
	a.writeSignature(sigRef)
	id, err := hex.DecodeString(a.job.OriginalSHA256[:16] + a.nonce)
	if err != nil {
		return err
	}
	return a.w.Finish(root, nil, id)
}

// drawOnPages draws the values on their pages, and the line at the foot of every page.
func (a *assembly) drawOnPages(ctx context.Context) error {
	values := map[int][]Value{}
	for _, v := range a.job.Values {
		values[v.Page-1] = append(values[v.Page-1], v)
	}
	names := map[string]string{}
	for _, s := range a.job.Signers {
		names[s.ID] = s.Name
	}
	p := &painter{assembly: a, line: map[int]pdf.Ref{}, values: values, signers: names, budget: maxLineContent}
	catalog, _, err := a.file.Catalog()
	if err != nil {
		return err
	}
	p.layered = !catalog.Get("OCProperties").IsNull()
	p.left = pdf.NewOpenState(a.file, maxLeftContent, p.layered)
	pages := min(max(a.job.Document.PageCount, 0), pdf.DefaultLimits().MaxPages)
	a.w.Grow(2*pages+typicalExtraObjects, pages*rewrittenPageSize)
	a.pages, err = a.file.Walk(func(page *pdf.Page) error { return p.page(ctx, page) })
	if err != nil {
		return err
	}
	for page, v := range values {
		if page < 0 || page >= a.pages {
			return rejection.New(rejection.FieldOffPage, fmt.Sprintf("Field %s is on page %d, but the document has %s.", v[0].FieldID, page+1, plural(a.pages, "page")))
		}
	}
	return nil
}

// rewrittenPageSize is the approximate size, in bytes, of a rewritten page dictionary and the annotation for its line.
const rewrittenPageSize = 360

// typicalExtraObjects is the approximate number of objects added in addition to the pages.
const typicalExtraObjects = 64

// mostAdded returns the maximum number of bytes added to the pages. In a dry run, it covers only the rewritten pages.
// For a seal, it also covers entered content of maximum size.
func (a *assembly) mostAdded() int64 {
	if a.dryRun {
		return limits.Rewritten
	}
	return limits.Added
}
