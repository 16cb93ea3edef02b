package verify

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"slices"

	"countersign/pdf"
	"countersign/prepare/revision1"
	"countersign/seal/manifest"
)

var (
	// errPositionMismatch reports that the seal and the record disagree on the position of the original.
	errPositionMismatch = errors.New("the seal and the record give different positions")
	// errOtherOriginal reports that the hash of the original differs from the recorded hash.
	errOtherOriginal = errors.New("the hash of the original differs")
	// errOtherBytes reports that the appended bytes cannot be reproduced.
	errOtherBytes = errors.New("repeating the preparation does not produce the bytes that follow the original")
)

// checkPrepared compares the prepared file with its description in the record and with the original, by reproducing the
// appended bytes.
func (e *examiner) checkPrepared(ctx context.Context, m manifest.Placement) error {
	p := m.Prepared
	if p.Size != e.seal.To || m.Size <= 0 {
		e.add("original.missing", values{"reason": errPositionMismatch})
		return nil
	}
	if hex.EncodeToString(e.digests.original) != p.SHA256 {
		e.add("original.changed", nil)
		return nil
	}
	var err error
	switch {
	case p.As == manifest.Appended && m.As == "prefix" && p.Writer == revision1.Version && p.Plan != nil && m.Size < p.Size:
		err = e.reproduce(ctx, m)
	case p.As == manifest.Rewritten && m.As == "attached" && p.Writer == 0 && p.Plan == nil:
		err = e.checkAttached(ctx, m)
	default:
		err = errPositionMismatch
	}
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, errOtherOriginal):
		e.add("original.changed", nil)
	case err != nil:
		e.add("original.prepared_otherwise", values{"reason": err})
	case p.As == manifest.Rewritten:
		e.add("original.rewritten", values{"name": p.Name, "sha256": m.SHA256})
	default:
		e.add("original.found", values{"from": int64(0), "to": m.Size, "sha256": m.SHA256})
		e.add("original.prepared", values{"from": m.Size, "to": p.Size})
	}
	return nil
}

// hashOriginal checks that a part of the file is the original described in the record, and returns its hash.
func (e *examiner) hashOriginal(ctx context.Context, from int64, m manifest.Placement) ([sha256.Size]byte, error) {
	h := sha256.New()
	err := hashRange(ctx, e.r, from, from+m.Size, h)
	sum := [sha256.Size]byte(h.Sum(nil))
	if err == nil && hex.EncodeToString(sum[:]) != m.SHA256 {
		err = errOtherOriginal
	}
	return sum, err
}

// reproduce regenerates the bytes appended to the original and compares them with the file.
func (e *examiner) reproduce(ctx context.Context, m manifest.Placement) error {
	hash, err := e.hashOriginal(ctx, 0, m)
	if err != nil {
		return err
	}
	f, err := pdf.Open(io.NewSectionReader(e.r, 0, m.Size), m.Size, pdf.DefaultLimits())
	if err != nil {
		return fmt.Errorf("the original cannot be read: %w", err)
	}
	want, changes, err := revision1.Write(ctx, f, hash, *m.Prepared.Plan)
	if err != nil {
		return err
	}
	h := sha256.New()
	err = hashRange(ctx, e.r, m.Size, m.Prepared.Size, h)
	if err == nil && [sha256.Size]byte(h.Sum(nil)) != sha256.Sum256(want) {
		err = errOtherBytes
	}
	if err == nil && !slices.Equal(changes, m.Prepared.Changes) {
		err = errors.New("the reproduced changes differ from the record")
	}
	return err
}

// checkAttached verifies the original attached to a rewritten file.
func (e *examiner) checkAttached(ctx context.Context, m manifest.Placement) error {
	o, err := e.seal.file.Object(pdf.Ref{Num: m.Prepared.Attachment})
	if err != nil {
		return err
	}
	if !o.IsStream() || o.Data < e.seal.To {
		return errors.New("the original is not attached at the recorded position")
	}
	d, err := o.Value.Dict()
	if err != nil {
		return err
	}
	size, err := e.seal.file.StreamLength(o)
	if err != nil {
		return err
	}
	if d.Get("Filter") != nil || size != m.Size || o.Data+size > e.seal.contents {
		return errors.New("the original is not attached in the format of a seal")
	}
	_, err = e.hashOriginal(ctx, o.Data, m)
	return err
}
