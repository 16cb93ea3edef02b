package verify

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"

	"countersign/pdf"
	"countersign/seal/manifest"
)

// maxAttachments is the maximum number of attachments in a record.
const maxAttachments = 6000

// errNotEmbedded reports that a file listed in the record is not in the document.
var errNotEmbedded = errors.New("no embedded file has the listed name")

// checkAttachments compares the files attached by signers with the record.
func (e *examiner) checkAttachments(ctx context.Context) error {
	if e.record == nil || len(e.record.manifest.Attachments) == 0 {
		return nil
	}
	all := e.record.manifest.Attachments
	if len(all) > maxAttachments {
		e.add("manifest.contradiction", values{"reason": "it lists too many attachments"})
		return nil
	}
	embedded, err := embeddedFiles(e.seal.file)
	sound := true
	for _, a := range all {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		var data []byte
		reason := err
		if reason == nil {
			data, reason = readEmbedded(e.seal.file, embedded[manifest.AttachmentPrefix+a.ID])
		}
		sum := sha256.Sum256(data)
		switch {
		case reason != nil:
			e.add("attachments.missing", values{"name": a.Name, "reason": reason})
			sound = false
		case int64(len(data)) != a.Size || hex.EncodeToString(sum[:]) != a.SHA256:
			e.add("attachments.changed", values{"name": a.Name})
			sound = false
		}
	}
	if sound {
		e.add("attachments.found", values{"count": len(all)})
	}
	return nil
}

// embeddedFiles returns the file specifications of a document by name.
func embeddedFiles(f *pdf.File) (map[string]pdf.Value, error) {
	catalog, _, err := f.Catalog()
	if err != nil {
		return nil, err
	}
	names, err := f.Dict(catalog.Get("Names"))
	if err != nil {
		return nil, err
	}
	out := map[string]pdf.Value{}
	err = pdf.WalkNames(f, names.Get("EmbeddedFiles"), func(key, v pdf.Value) error {
		if name, ok := key.Bytes(); ok {
			out[string(name)] = v
		}
		return nil
	})
	return out, err
}

func readEmbedded(f *pdf.File, spec pdf.Value) ([]byte, error) {
	if spec == nil {
		return nil, errNotEmbedded
	}
	d, err := f.Dict(spec)
	if err != nil {
		return nil, err
	}
	ef, err := f.Dict(d.Get("EF"))
	if err != nil {
		return nil, err
	}
	ref, ok := ef.Get("F").Ref()
	if !ok {
		return nil, errNotEmbedded
	}
	o, err := f.Object(ref)
	if err != nil {
		return nil, err
	}
	if !o.IsStream() {
		return nil, errNotEmbedded
	}
	return f.StreamData(o)
}
