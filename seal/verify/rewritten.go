package verify

import (
	"context"
	"errors"
	"io"
	"strings"
	"time"

	"countersign/pdf"
	"countersign/seal/cms"
	"countersign/seal/manifest"
	"countersign/seal/trust"
)

// rewrittenSeal contains the parts of a seal that remain in a file that another program has rewritten.
type rewrittenSeal struct {
	Chain      certChain  `json:"chain"` // chain of the signature
	SealedAt   time.Time  `json:"sealedAt"`
	KeyID      string     `json:"keyId"`
	Key        *publicKey `json:"key"`
	EnvelopeID string     `json:"envelopeId"`
}

var errRecordFound = errors.New("seal: found")

// findRewritten returns the seal's record and signature from their standard locations in a PDF, or nil if either is
// missing.
func findRewritten(ctx context.Context, r io.ReaderAt, size int64) *rewrittenSeal {
	lim := pdf.DefaultLimits()
	lim.MaxStream = 16 << 20 // enough for the record
	f, err := pdf.Open(r, size, lim)
	if err != nil {
		return nil
	}
	record := attachedRecord(ctx, f)
	if record == nil || record.err != nil {
		return nil
	}
	chain := sealingChain(f)
	if chain == nil {
		return nil
	}
	return &rewrittenSeal{chain, record.manifest.SealedAt, record.kid, &publicKey{record.key}, record.manifest.Envelope.ID}
}

// attachedRecord returns the seal record from the embedded files (7.11.4), or nil if it is absent.
func attachedRecord(ctx context.Context, f *pdf.File) *OpenedRecord {
	catalog, _, err := f.Catalog()
	if err != nil {
		return nil
	}
	names, err := pdf.OptionalDict(f, catalog.Get("Names"))
	if err != nil {
		return nil
	}
	var spec pdf.Value
	err = pdf.WalkNames(f, names.Get("EmbeddedFiles"), func(key, v pdf.Value) error {
		if b, _ := key.Bytes(); pdf.DecodeText(b) == manifest.AttachmentKey {
			spec = v
			return errRecordFound
		}
		return ctx.Err()
	})
	if !errors.Is(err, errRecordFound) {
		return nil
	}
	lookup := &pdf.Lookup{File: f}
	ref, ok := lookup.Dict(lookup.Dict(spec).Get("EF")).Get("F").Ref()
	if lookup.Err != nil || !ok {
		return nil
	}
	o, err := f.Object(ref)
	if err != nil || !o.IsStream() {
		return nil
	}
	b, err := f.StreamData(o)
	if err != nil {
		return nil
	}
	return OpenRecord(b)
}

// sealingChain returns the certificates of the certification signature, or nil if there is none.
func sealingChain(f *pdf.File) certChain {
	catalog, _, err := f.Catalog()
	if err != nil {
		return nil
	}
	lookup := &pdf.Lookup{File: f}
	contents, _ := lookup.Value(lookup.Dict(lookup.Dict(catalog.Get("Perms")).Get("DocMDP")).Get("Contents")).Bytes()
	signed, err := cms.ParseStrict(contents)
	if lookup.Err != nil || err != nil {
		return nil
	}
	return signed.Certificates
}

// addRewritten replaces the findings for a file whose seal was rewritten. Such a file proves nothing, because anyone
// can copy the signature and the record of a sealed file into another one.
func (r *Report) addRewritten(s *rewrittenSeal, opt Options) {
	in := trust.Seal{Certificates: s.Chain, Claimed: s.SealedAt, RecordKeyID: s.KeyID, RecordKey: s.Key.PublicKey}
	found := opt.Trust.Evaluate(in, opt.now())
	what := values{"name": strings.TrimSpace(found.By), "envelope": s.EnvelopeID}
	r.Findings, r.Signatures = nil, nil
	if found.Sealer.Status == trust.Trusted || found.RecordKey.Status == trust.Trusted {
		r.add("signature.rewritten", what)
	} else {
		r.add("signature.rewritten_unknown", what)
	}
}
