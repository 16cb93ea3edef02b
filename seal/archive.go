package seal

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"countersign/seal/cms"
	"countersign/seal/pdf"
)

// maxArchiveStamps bounds how often a document's time-stamp can be renewed.
const maxArchiveStamps = 64

// maxTokenSize is what is reserved for a document time-stamp.
const maxTokenSize = 16 << 10

// Renew copies a sealed document into out, an empty file, and adds validation
// data (DSS, ISO 32000-2, 12.8.4.3) and a document time-stamp (12.8.5) that
// covers all before it: PAdES B-LTA. Done again before the last time-stamp's
// certificate ends, it keeps the seal verifiable for decades. What does not
// verify is not renewed.
func (s *Sealer) Renew(ctx context.Context, in io.ReaderAt, size int64, out *os.File) (Result, error) {
	if s.tsa == nil {
		return Result{}, errors.New("seal: no time-stamp authority is configured")
	}
	before, err := Verify(ctx, in, size, VerifyOptions{Now: s.cfg.Now})
	if err != nil {
		return Result{}, err
	}
	if before.Verdict != VerdictValid && before.Verdict != VerdictUntrusted {
		return Result{}, fmt.Errorf("seal: the document to renew is %s: %s", before.Verdict, before.firstFailure())
	}
	h := sha256.New()
	err = readRange(ctx, in, 0, size, func(at int64, b []byte) error {
		h.Write(b)
		_, err := out.WriteAt(b, at)
		return err
	})
	if err != nil {
		return Result{}, fmt.Errorf("seal: copying: %w", err)
	}
	return s.extend(ctx, out, size, h)
}

func (r *Report) firstFailure() string {
	for _, f := range r.Findings {
		if f.Status == Failed {
			return f.Detail
		}
	}
	return r.Summary
}

// extend appends one increment with validation data and a document time-stamp
// to the sealed file in out, whose first size bytes went into h.
func (s *Sealer) extend(ctx context.Context, out *os.File, size int64, h hash.Hash) (Result, error) {
	f, err := pdf.Open(out, size, pdf.DefaultLimits())
	if err != nil {
		return Result{}, fmt.Errorf("seal: %w", err)
	}
	evidence, err := s.evidence(ctx, f)
	if err != nil {
		return Result{}, fmt.Errorf("seal: validation data: %w", err)
	}
	w, err := pdf.NewIncrement(f)
	if err != nil {
		return Result{}, fmt.Errorf("seal: %w", err)
	}
	var nonce [16]byte
	if _, err := io.ReadFull(s.cfg.Rand, nonce[:]); err != nil {
		return Result{}, fmt.Errorf("seal: %w", err)
	}
	place, err := writeArchive(f, w, evidence, nonce)
	if err != nil {
		return Result{}, fmt.Errorf("seal: %w", err)
	}
	tail, total := w.Bytes(), w.Offset()
	place.fill(tail, size, total)
	h.Write(tail[:place.contents-size])
	covered, err := cloneHash(h)
	if err != nil {
		return Result{}, err
	}
	covered.Write(tail[place.contentsEnd-size:])
	token, err := s.stampDigest(ctx, covered.Sum(nil))
	if err != nil {
		return Result{}, fmt.Errorf("seal: %w", err)
	}
	if len(token) > maxTokenSize {
		return Result{}, fmt.Errorf("seal: the time-stamp has %d bytes, but only %d are reserved", len(token), maxTokenSize)
	}
	stamp, err := cms.ParseToken(token)
	if err != nil {
		return Result{}, fmt.Errorf("seal: %w", err)
	}
	hex.Encode(tail[place.contents-size+1:], token)
	h.Write(tail[place.contents-size:])
	if _, err := out.WriteAt(tail, size); err != nil {
		return Result{}, fmt.Errorf("seal: writing: %w", err)
	}
	pages, err := f.Walk(func(*pdf.Page) error { return nil })
	if err != nil {
		return Result{}, fmt.Errorf("seal: %w", err)
	}
	report, err := s.verifyOwn(ctx, out, total, nil)
	if err == nil && report.SHA256 != hex.EncodeToString(h.Sum(nil)) {
		err = errors.New("seal: the file does not hold what was written")
	}
	return Result{SHA256: report.SHA256, Size: total, PageCount: pages, TimestampedUntil: stamp.Certificate.NotAfter}, err
}

// evidence gathers what is known about the certificates of every signature
// and time-stamp in the file.
func (s *Sealer) evidence(ctx context.Context, f *pdf.File) (cms.Evidence, error) {
	var all cms.Evidence
	fields, err := signatureFields(f)
	if err != nil {
		return all, err
	}
	for _, ref := range fields {
		field, err := f.Dict(ref.Value())
		if err != nil {
			return all, err
		}
		sig, err := f.Dict(field.Get("V"))
		if err != nil {
			return all, err
		}
		der, ok := sig.Get("Contents").Bytes()
		if !ok {
			continue
		}
		signed, err := cms.Parse(der)
		if err != nil {
			continue // of the original, made by others
		}
		list := []*cms.Signed{signed}
		if signed.Token != nil {
			if t, err := cms.ParseToken(signed.Token); err == nil {
				list = append(list, t.Signed)
			}
		}
		for _, one := range list {
			e, err := cms.Gather(ctx, s.cfg.HTTPClient, one.Chain(), s.cfg.Now())
			if err != nil {
				return all, err
			}
			all.Certs = appendNew(all.Certs, e.Certs)
			all.OCSPs = appendNew(all.OCSPs, e.OCSPs)
			all.CRLs = appendNew(all.CRLs, e.CRLs)
		}
	}
	return all, nil
}

func appendNew(list, more [][]byte) [][]byte {
	for _, b := range more {
		if !slices.ContainsFunc(list, func(x []byte) bool { return string(x) == string(b) }) {
			list = append(list, b)
		}
	}
	return list
}

// writeArchive writes the validation data and the time-stamp's placeholder.
func writeArchive(f *pdf.File, w *pdf.Increment, e cms.Evidence, nonce [16]byte) (signaturePlace, error) {
	var place signaturePlace
	catalog, root, err := f.Catalog()
	if err != nil {
		return place, err
	}
	catalog = catalog.Clone()
	var dss pdf.Dict
	if v := catalog.Get("DSS"); v != nil {
		if dss, err = f.Dict(v); err != nil {
			return place, err
		}
	}
	for _, part := range []struct {
		key  string
		data [][]byte
	}{{"Certs", e.Certs}, {"OCSPs", e.OCSPs}, {"CRLs", e.CRLs}} {
		list, err := arrayOf(f, dss.Get(part.key))
		if err != nil {
			return place, err
		}
		for _, b := range part.data {
			list = append(list, w.AddStream(nil, b).Value())
		}
		if len(list) > 0 {
			dss.Set(part.key, joinArray(list))
		}
	}
	catalog.Set("DSS", w.Add(dss.Value()).Value())

	sig := w.Reserve()
	place = writePlaceholder(w, sig, "<</Type/DocTimeStamp/Filter/Adobe.PPKLite/SubFilter/ETSI.RFC3161\n", maxTokenSize)
	field := w.Add(pdf.Dict{
		{Key: "Type", Value: pdf.Value("/Annot")},
		{Key: "Subtype", Value: pdf.Value("/Widget")},
		{Key: "FT", Value: pdf.Value("/Sig")},
		{Key: "T", Value: pdf.AppendText(nil, "Time-stamp "+hex.EncodeToString(nonce[:8]))},
		{Key: "V", Value: sig.Value()},
		{Key: "Rect", Value: pdf.Value("[0 0 0 0]")},
		{Key: "F", Value: pdf.Value("132")},
	}.Value())
	formRef, own := catalog.Get("AcroForm").Ref()
	form, err := f.Dict(catalog.Get("AcroForm"))
	if err != nil {
		return place, err
	}
	fields, err := arrayOf(f, form.Get("Fields"))
	if err != nil {
		return place, err
	}
	form = form.Clone()
	form.Set("Fields", joinArray(append(fields, field.Value())))
	if own {
		w.PutDict(formRef, form)
	} else {
		catalog.Set("AcroForm", form.Value())
	}
	w.PutDict(root, catalog)
	return place, w.Finish(root, nil, nonce[:])
}

// writePlaceholder writes a signature dictionary that begins as given, with
// room for byte range and contents, and tells where these are.
func writePlaceholder(w *pdf.Increment, ref pdf.Ref, begin string, contents int) signaturePlace {
	var p signaturePlace
	w.Begin(ref)
	w.AppendString(begin)
	w.AppendString("/ByteRange[0 ")
	p.byteRange = w.Offset()
	w.AppendString(strings.Repeat(" ", byteRangeWidth))
	w.AppendString("]\n/Contents")
	p.contents = w.Offset()
	w.AppendString("<" + strings.Repeat("0", 2*contents) + ">")
	p.contentsEnd = w.Offset()
	w.AppendString(">>")
	w.End()
	return p
}

// fill writes the byte range into tail, which begins at base in a file of
// total bytes.
func (p signaturePlace) fill(tail []byte, base, total int64) {
	b := strconv.AppendInt(nil, p.contents, 10)
	b = append(b, ' ')
	b = strconv.AppendInt(b, p.contentsEnd, 10)
	b = append(b, ' ')
	b = strconv.AppendInt(b, total-p.contentsEnd, 10)
	copy(tail[p.byteRange-base:][:byteRangeWidth], b)
}
