package verify

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strings"

	"countersign/pdf"
	"countersign/seal/manifest"
)

// maxMarks is the maximum number of possible seal signatures in a file.
const maxMarks = 8

// errTooManyMarks reports that a file has more than maxMarks possible signatures.
var errTooManyMarks = fmt.Errorf("more than %d positions look like the signature of a seal", maxMarks)

// Marks searches a stream of bytes for possible seal signatures.
type Marks struct {
	at    []int64 // offsets at which the marks begin
	pos   int64   // offset of the next byte
	carry []byte  // last bytes, in which a mark might begin
}

// Scan searches the next bytes.
func (m *Marks) Scan(b []byte) error {
	const overlap = len(searchedMark) - 1
	if len(m.carry) > 0 { // a mark might span the boundary
		edge := append(m.carry, b[:min(len(b), overlap)]...) //nolint:gocritic // carry is created again below
		if err := m.search(edge, m.pos-int64(len(m.carry))); err != nil {
			return err
		}
	}
	if err := m.search(b, m.pos); err != nil {
		return err
	}
	m.pos += int64(len(b))
	keep := append(m.carry[:len(m.carry):len(m.carry)], b[max(0, len(b)-overlap):]...)
	m.carry = bytes.Clone(keep[max(0, len(keep)-overlap):])
	return nil
}

func (m *Marks) search(b []byte, base int64) error {
	for from := 0; ; {
		i := bytes.Index(b[from:], []byte(searchedMark))
		if i < 0 {
			return nil
		}
		from += i + 1
		at := base + int64(from) - 1 - int64(markAhead)
		if n := len(m.at); at < 0 || n > 0 && m.at[n-1] >= at {
			continue
		}
		if len(m.at) >= maxMarks {
			return errTooManyMarks
		}
		m.at = append(m.at, at)
	}
}

type sealedRevision struct {
	signatureDict
	file *pdf.File
	read io.ReaderAt
}

// openSealedRevision opens the part of a file covered by a signature as a separate file, and checks that this part is
// the revision sealed by the signature.
func openSealedRevision(r io.ReaderAt, size, mark int64) (*sealedRevision, error) {
	d, err := readSignatureDict(r, size, mark)
	if err != nil {
		return nil, err
	}
	part := io.NewSectionReader(r, 0, d.end)
	f, err := pdf.Open(part, d.end, pdf.DefaultLimits())
	if err != nil {
		return nil, fmt.Errorf("the covered bytes are not a PDF: %w", err)
	}
	s := &sealedRevision{signatureDict: d, file: f, read: part}
	return s, s.check()
}

func (s *sealedRevision) check() error {
	tail := fmt.Appendf(nil, "startxref\n%d\n%%%%EOF\n", s.file.StartXRef())
	b := make([]byte, len(tail))
	if err := ReadFull(s.read, b, s.end-int64(len(b))); err != nil || !bytes.Equal(b, tail) {
		return errors.New("the covered bytes do not end in the format of a sealed file")
	}
	if s.file.StartXRef() < s.contentsEnd {
		return errors.New("the signature is after the cross-reference section")
	}
	root, ok := s.file.Trailer().Get("Root").Ref()
	if !ok {
		return errors.New("the trailer does not refer to a catalog")
	}
	if s.From != 0 || s.To <= 0 || s.To > s.at {
		return errors.New("the position of the original is invalid")
	}
	var hasRoot, hasRecord, listed bool
	err := s.file.VisitNewestSection(func(ref pdf.Ref, at int64) error {
		if at < s.To || at >= s.end {
			return fmt.Errorf("object %d, to which the seal refers, is outside the seal", ref.Num)
		}
		hasRoot = hasRoot || ref == root
		hasRecord = hasRecord || ref == s.Record
		listed = listed || ref.Num == s.object && ref.Gen == 0 && at == s.at
		return nil
	})
	if err != nil {
		return err
	}
	if !hasRoot || !listed {
		return errors.New("the newest cross-reference section does not list the signature and the catalog")
	}
	if !hasRecord {
		return errors.New("the newest cross-reference section does not list the seal record")
	}
	catalog, _, err := s.file.Catalog()
	if err != nil {
		return err
	}
	perms, err := s.file.Dict(catalog.Get("Perms"))
	if err != nil {
		return errors.New("the catalog does not refer to the signature")
	}
	if ref, ok := perms.Get("DocMDP").Ref(); !ok || ref != (pdf.Ref{Num: s.object}) {
		return errors.New("the catalog refers to another signature")
	}
	return nil
}

// Found is the result of a search for the seal.
type Found struct {
	seal    *sealedRevision // last matching seal
	mark    int64           // mark of the seal, or the last mark if none matches
	reason  error           // reason that the mark does not match
	remains bool            // whether there are other traces of a seal
}

// Find searches for the seal from the end of the file, where it usually is. Any other candidates are found later, while
// the file is hashed. The signature value need not be in the file yet, because Find does not read it.
func Find(ctx context.Context, r io.ReaderAt, size int64) (*Found, error) {
	out := &Found{}
	tried := 0
	trace := []byte(strings.ToUpper(hex.EncodeToString([]byte(manifest.AttachmentKey))))
	overlap := int64(len(trace))
	buf := NewBuffer()
	defer buf.Free()
	for end := size; end > 0; {
		if ctx.Err() != nil {
			return out, ctx.Err()
		}
		from := max(0, end-CopyBuffer+overlap)
		b := buf[:min(size, end+overlap)-from]
		if err := ReadFull(r, b, from); err != nil {
			return out, fmt.Errorf("seal: reading: %w", err)
		}
		out.remains = out.remains || bytes.Contains(b, trace)
		for stop := len(b); ; {
			i := bytes.LastIndex(b[:stop], []byte(searchedMark))
			if i < 0 {
				break
			}
			stop = i + len(searchedMark) - 1
			at := from + int64(i) - int64(markAhead)
			if at < 0 || from+int64(i) >= end { // already found in the previous piece
				continue
			}
			if tried++; tried > maxMarks {
				out.reason = errTooManyMarks
				return out, nil
			}
			s, err := openSealedRevision(r, size, at)
			if err == nil {
				out.seal, out.mark = s, at
				return out, nil
			}
			if ctx.Err() != nil {
				return out, ctx.Err()
			}
			if out.reason == nil {
				out.reason, out.mark = err, at
			}
		}
		end = from
	}
	return out, nil
}

// ReadPages reads every page of the sealed revision. It does nothing if there is no seal.
func (f *Found) ReadPages(ctx context.Context) error {
	if f.seal == nil {
		return nil
	}
	_, err := f.seal.file.Walk(func(*pdf.Page) error { return ctx.Err() })
	return err
}

// ContainsMark reports whether a file contains a possible seal signature.
func ContainsMark(ctx context.Context, r io.ReaderAt, size int64) (bool, error) {
	var m Marks
	err := ReadRange(ctx, r, 0, size, func(_ int64, b []byte) error { return m.Scan(b) })
	if errors.Is(err, errTooManyMarks) {
		err = nil
	}
	return len(m.at) > 0, err
}

// ResemblesSeal reports whether an upload contains bytes that could be mistaken for its seal after sealing. A sealed
// file must have exactly one seal.
func ResemblesSeal(ctx context.Context, r io.ReaderAt, size int64, signed bool) (bool, error) {
	var m Marks
	err := ReadRange(ctx, r, 0, size, func(_ int64, b []byte) error { return m.Scan(b) })
	if errors.Is(err, errTooManyMarks) || len(m.at) == maxMarks {
		return true, nil
	}
	if err != nil || signed { // a signed file will be embedded, and its offsets no longer match there
		return false, err
	}
	for _, at := range m.at {
		if _, err := openSealedRevision(r, size, at); err == nil {
			return true, nil
		}
	}
	return false, nil
}
