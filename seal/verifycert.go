package seal

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/gowebpki/jcs"

	"countersign/seal/cms"
	"countersign/seal/pdf"
)

// checkTimestamp reads the signature's own time-stamp.
func (v *verifier) checkTimestamp(context.Context) error {
	if v.signed.Token == nil {
		return nil
	}
	t, err := cms.ParseToken(v.signed.Token)
	if err != nil {
		v.report.add("timestamp.malformed", values{"reason": err})
		return nil
	}
	digest, err := t.StampedDigest(v.signed.Signature)
	if err == nil {
		err = t.Verify(digest)
	}
	if err != nil {
		v.report.add("timestamp.wrong", values{"reason": err})
		return nil
	}
	v.judged.Stamps = []stamp{{Chain: t.Chain(), Time: t.Time}}
	return nil
}

// checkLater looks at what was added after the seal: validation data and
// document time-stamps are allowed (ISO 32000-2, 12.8.2.2.2), nothing else.
func (v *verifier) checkLater(ctx context.Context) error {
	end := v.rng[2] + v.rng[3]
	if end == v.size {
		v.report.add("later_changes.none", nil)
		return nil
	}
	if err := v.laterIncrements(ctx, end); err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		v.altered(end, err)
		return nil
	}
	err := v.checkArchive(ctx)
	if !v.report.Has("later_changes.unknown") {
		v.report.add("later_changes.archive", nil)
	}
	return err
}

// altered reports bytes that the service did not write.
func (v *verifier) altered(from int64, err error) {
	v.report.add("later_changes.unknown", values{"offset": from, "bytes": v.size - from, "reason": err})
	v.report.Additions = &Additions{From: from, Bytes: v.size - from, Kind: "unknown"}
}

// laterIncrements returns what is wrong with the increments after the seal.
func (v *verifier) laterIncrements(ctx context.Context, end int64) error {
	if v.file.StartXRef() < end || !v.file.FollowsOn(v.sealed) {
		return fmt.Errorf("they are not an increment of the sealed file")
	}
	was, root, err := v.sealed.Catalog()
	if err != nil {
		return err
	}
	is, newRoot, err := v.file.Catalog()
	if err != nil {
		return err
	}
	if root != newRoot {
		return fmt.Errorf("the catalog was replaced")
	}
	form, _ := was.Get("AcroForm").Ref()
	err = v.file.Changed(end, func(num int) error {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		old, err := v.sealed.Has(num)
		if err != nil || !old || num == 0 || num == root.Num || num == form.Num {
			return err
		}
		return fmt.Errorf("object %d of the sealed document was replaced", num)
	})
	if err != nil {
		return err
	}
	if err := onlyDiffer(was, is, "DSS", "AcroForm", "Extensions"); err != nil {
		return fmt.Errorf("catalog: %w", err)
	}
	return v.laterForm(was, is)
}

// onlyDiffer returns an error if dictionaries differ in other keys than allowed.
func onlyDiffer(was, is pdf.Dict, allowed ...string) error {
	for _, pair := range [][2]pdf.Dict{{was, is}, {is, was}} {
		for _, e := range pair[0] {
			if !slices.Contains(allowed, e.Key) && !bytes.Equal(e.Value, pair[1].Get(e.Key)) {
				return fmt.Errorf("%s was changed", e.Key)
			}
		}
	}
	return nil
}

// laterForm checks that the form only gained document time-stamps.
func (v *verifier) laterForm(was, is pdf.Dict) error {
	old, err := v.sealed.Dict(was.Get("AcroForm"))
	if err != nil {
		return err
	}
	form, err := v.file.Dict(is.Get("AcroForm"))
	if err != nil {
		return err
	}
	if err := onlyDiffer(old, form, "Fields", "SigFlags"); err != nil {
		return fmt.Errorf("form: %w", err)
	}
	before, err := v.sealed.Array(old.Get("Fields"))
	if err != nil {
		return err
	}
	after, err := v.file.Array(form.Get("Fields"))
	if err != nil {
		return err
	}
	if len(after) < len(before) || len(after) > len(before)+maxArchiveStamps {
		return fmt.Errorf("form fields were removed or added")
	}
	for i, f := range before {
		if !bytes.Equal(f, after[i]) {
			return fmt.Errorf("form fields were replaced")
		}
	}
	for _, f := range after[len(before):] {
		field, err := v.file.Dict(f)
		if err != nil {
			return err
		}
		sig, err := v.file.Dict(field.Get("V"))
		if err != nil || !field.Get("FT").IsName("Sig") || !sig.Get("SubFilter").IsName("ETSI.RFC3161") {
			return fmt.Errorf("a form field was added that is no time-stamp")
		}
		if _, ok := f.Ref(); !ok || field.Get("Kids") != nil || field.Get("AP") != nil || field.Get("AA") != nil {
			return fmt.Errorf("a time-stamp was added that shows something")
		}
	}
	return nil
}

// checkManifest compares the record with the document that it is in.
func (v *verifier) checkManifest(context.Context) error {
	m := v.manifest
	if m == nil {
		return nil
	}
	for _, d := range m.All {
		if d.ID == m.Document && d.SHA256 != m.Original.SHA256 {
			v.report.add("manifest.contradiction", values{"reason": "the original's hash"})
		}
	}
	return nil
}

// checkChain recomputes the audit chain.
func (v *verifier) checkChain(context.Context) error {
	if v.manifest == nil {
		v.report.add("audit_chain.missing", nil)
		return nil
	}
	if err := v.record.chain; err != nil {
		v.report.add("audit_chain.broken", values{"reason": err})
		return nil
	}
	v.report.add("audit_chain.complete", values{"events": len(v.manifest.Audit.Events), "head": v.manifest.Audit.Head})
	return nil
}

// verifyChain recomputes each event's hash: SHA-256 over its RFC 8785 form
// without the hash, the previous event's hash included.
func verifyChain(events []json.RawMessage, head, envelopeID string) error {
	prev := hex.EncodeToString(make([]byte, sha256.Size))
	for i, raw := range events {
		n := i + 1
		var e map[string]json.RawMessage
		if err := json.Unmarshal(raw, &e); err != nil {
			return fmt.Errorf("event %d cannot be read", n)
		}
		var link struct {
			EnvelopeID string `json:"envelopeId"`
			Seq        int    `json:"seq"`
			PrevHash   string `json:"prevHash"`
			Hash       string `json:"hash"`
		}
		if err := json.Unmarshal(raw, &link); err != nil {
			return fmt.Errorf("event %d cannot be read", n)
		}
		switch {
		case link.Seq != n:
			return fmt.Errorf("event %d has number %d", n, link.Seq)
		case link.PrevHash != prev:
			return fmt.Errorf("event %d does not follow on the one before it", n)
		case link.EnvelopeID != envelopeID:
			return fmt.Errorf("event %d is of another envelope", n)
		}
		delete(e, "hash")
		plain, err := json.Marshal(e)
		if err != nil {
			return fmt.Errorf("event %d cannot be read", n)
		}
		canonical, err := jcs.Transform(plain)
		if err != nil {
			return fmt.Errorf("event %d cannot be read", n)
		}
		sum := sha256.Sum256(canonical)
		if link.Hash != hex.EncodeToString(sum[:]) {
			return fmt.Errorf("event %d was changed", n)
		}
		prev = link.Hash
	}
	if prev != head {
		return fmt.Errorf("it does not end where the seal record says")
	}
	return nil
}
