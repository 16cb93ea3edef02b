package models

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/google/uuid"

	"countersign/seal/limits"
)

// FinishedPages lists the pages, rendered with all values, that were shown to a signer before signing with these
// values.
type FinishedPages struct {
	Values string         `json:"values"` // hash of the signer's values, as in the signer.signed event
	Shown  string         `json:"shown"`  // digest of the other signers' values
	Pages  []FinishedPage `json:"pages"`
}

// FinishedPage is a page at a level, rendered with values.
type FinishedPage struct {
	Document   uuid.UUID `json:"document"`
	Page       int       `json:"page"`
	Level      int       `json:"level"`
	Appearance string    `json:"appearance"` // hash of the pixels, in lowercase hexadecimal
}

// compare orders pages by document, page and level.
func (p FinishedPage) compare(o FinishedPage) int {
	if c := bytes.Compare(p.Document[:], o.Document[:]); c != 0 {
		return c
	}
	if p.Page != o.Page {
		return p.Page - o.Page
	}
	return p.Level - o.Level
}

// Preview returns the values that a submission would sign, and the digest of the other signers' values. It performs the
// same checks as Sign, but changes nothing.
func (e *Envelope) Preview(act ActionContext, l Link, sub Submission) (values []FieldValue, shown string, err error) {
	s, err := e.authorizeSign(act, l)
	if err != nil {
		return nil, "", err
	}
	now, err := e.Shown()
	if err != nil {
		return nil, "", err
	}
	attached := e.Attached
	values, err = e.values(s, sub, act.At)
	e.Attached = attached
	if err == nil && sub.Shown != nil && *sub.Shown != now.Digest {
		err = ErrValuesChanged
	}
	return values, now.Digest, err
}

// RecordFinished records that a page, rendered with values, was delivered to the holder of a link. It ignores pages
// that exceed the capacity of the record, and discards earlier pages with other values.
func (e *Envelope) RecordFinished(act ActionContext, l Link, values []FieldValue, shown string, p FinishedPage) error {
	s, err := e.authorizeSign(act, l)
	if err != nil {
		return err
	}
	next := FinishedPages{Values: valuesHash(values), Shown: shown}
	if f := s.Pages.Finished; f != nil && f.Values == next.Values && f.Shown == shown {
		next.Pages = f.Pages
	}
	at, known := slices.BinarySearchFunc(next.Pages, p, FinishedPage.compare)
	if known || len(next.Pages) >= limits.MaxFinishedPages/len(e.Signers) {
		return nil
	}
	next.Pages = slices.Insert(slices.Clone(next.Pages), at, p) // the store compares the row with the loaded pages
	s.Pages.Finished = &next
	return nil
}

// finishedDetail adds the number of finished pages that were shown to the signer, and their digest, to a signer.signed
// event. The digest is the SHA-256 hash of "<document id> <page> <level> <hash>\n" for each page. Pages with other
// values are discarded.
func (s *Signer) finishedDetail(shown string, d Detail) Detail {
	f := s.Pages.Finished
	if f == nil || f.Values != s.ValuesHash || f.Shown != shown || len(f.Pages) == 0 {
		s.Pages.Finished = nil
		return d
	}
	var lines bytes.Buffer
	for _, p := range f.Pages {
		fmt.Fprintf(&lines, "%s %d %d %s\n", p.Document, p.Page, p.Level, p.Appearance)
	}
	d["finishedPages"], d["finished"] = len(f.Pages), hexDigest(lines.Bytes())
	return d
}
