package seal

import (
	"fmt"
	"io"
	"strings"

	"countersign/seal/manifest"
	"countersign/seal/pdf"
)

// maxUpload bounds an original that is attached, in bytes.
const maxUpload = 100 << 20

// attachUpload adds the original of a rewritten file as it was uploaded, under a
// name that the file does not use; the record tells where it is.
func (a *assembly) attachUpload(catalog pdf.Dict) ([]attachment, error) {
	p := a.job.Prepared
	if p == nil || p.As != manifest.Rewritten {
		return nil, nil
	}
	name, err := a.freeName(catalog)
	if err != nil {
		return nil, err
	}
	if p.UploadSize > maxUpload {
		return nil, fmt.Errorf("%w: original of %d bytes", pdf.ErrLimit, p.UploadSize)
	}
	data := make([]byte, p.UploadSize)
	if _, err := io.ReadFull(io.NewSectionReader(p.Upload, 0, p.UploadSize), data); err != nil {
		return nil, fmt.Errorf("reading the original: %w", err)
	}
	ref := a.w.Reserve()
	a.w.Begin(ref) // as it is, uncompressed
	a.w.Append(fmt.Appendf(nil, "<</Type/EmbeddedFile/Subtype/application#2Fpdf/Length %d/Params%s>>\nstream\n", len(data), a.fileParams(p.UploadSize)))
	a.w.Append(data)
	a.w.AppendString("\nendstream")
	a.w.End()
	p.Attachment, p.Name = ref.Num, name
	return []attachment{{name, name, "The original document, unchanged", "Source", ref}}, nil
}

// freeName is a name that no attachment of the file has.
func (a *assembly) freeName(catalog pdf.Dict) (string, error) {
	taken := make(map[string]bool)
	names, err := a.dict(catalog.Get("Names"))
	if err != nil {
		return "", err
	}
	note := func(v pdf.Value) error {
		v, err := pdf.ResolveIn(a.file, v)
		if b, ok := v.Bytes(); ok {
			taken[strings.ToLower(pdf.DecodeText(b))] = true
		}
		return err
	}
	if tree := names.Get("EmbeddedFiles"); !tree.IsNull() {
		if err := pdf.WalkNames(a.file, tree, func(key, v pdf.Value) error {
			spec, err := pdf.OptionalDict(a.file, v)
			if err != nil {
				return err
			}
			for _, v := range []pdf.Value{key, spec.Get("F"), spec.Get("UF")} {
				if err := note(v); err != nil {
					return err
				}
			}
			return nil
		}); err != nil {
			return "", err
		}
	}
	name := "original.pdf"
	for i := 2; taken[name]; i++ {
		name = fmt.Sprintf("original-%d.pdf", i)
	}
	return name, nil
}
