package seal

import (
	"bytes"
	"crypto/sha256"
	"encoding/ascii85"
	"encoding/hex"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"countersign/pdf"
	"countersign/seal/manifest"
	"countersign/seal/rejection"
)

// AttachedFile is a file attached by a signer to a field of the document. It is embedded in the sealed file.
type AttachedFile struct {
	ID, FieldID, SignerID string
	Name, MimeType        string
	SHA256                string // lower-case hex; checked when the file is embedded
	Size                  int64  // in bytes
	Content               io.ReaderAt
}

// attachmentNames returns a unique name for each attachment in the sealed file.
func attachmentNames(all []AttachedFile) []string {
	taken := map[string]bool{manifest.FileName: true, originalName: true}
	names := make([]string, 0, len(all))
	for _, a := range all {
		name := a.Name
		stem, ending := name, ""
		if i := strings.LastIndexByte(name, '.'); i > 0 {
			stem, ending = name[:i], name[i:]
		}
		for n := 2; taken[strings.ToLower(name)]; n++ {
			name = fmt.Sprintf("%s (%d)%s", stem, n, ending)
		}
		taken[strings.ToLower(name)] = true
		names = append(names, name)
	}
	return names
}

// originalName is the default attachment name of an upload that was rewritten.
const originalName = "original.pdf"

func (a *assembly) embedAttachments() ([]attachment, error) {
	names, signers := attachmentNames(a.job.Attachments), map[string]string{}
	for _, s := range a.job.Signers {
		signers[s.ID] = s.Name
	}
	var out []attachment
	for i, at := range a.job.Attachments {
		data := make([]byte, at.Size)
		if n, err := at.Content.ReadAt(data, 0); n < len(data) {
			return nil, fmt.Errorf("seal: reading attachment %s: %w", at.ID, err)
		}
		if sum := sha256.Sum256(data); hex.EncodeToString(sum[:]) != at.SHA256 {
			return nil, rejection.New(rejection.OriginalChanged, "An attachment differs from the uploaded file: its hash has changed.")
		}
		packed, filter := packAttachment(data)
		ref := a.w.AddStored(pdf.Dict{
			{Key: "Type", Value: pdf.Value("/EmbeddedFile")},
			{Key: "Subtype", Value: pdf.AppendName(nil, at.MimeType)},
			{Key: "Params", Value: a.fileParams(at.Size)},
			{Key: "Filter", Value: pdf.Value(filter)},
			{Key: "Length", Value: pdf.Value(strconv.Itoa(len(packed)))},
		}.Value(), packed)
		out = append(out, attachment{manifest.AttachmentPrefix + at.ID, names[i], "Given by " + signers[at.SignerID], "Supplement", ref})
	}
	return out, nil
}

// packAttachment compresses a file. A program that scans the sealed file, instead of following its cross-reference
// tables, must not mistake the result for part of the document. Because Flate can leave data unchanged, a result that
// contains a PDF keyword is also encoded with ASCII85, whose output contains no spaces.
func packAttachment(data []byte) (packed []byte, filter string) {
	packed = pdf.Deflate(data)
	if !slices.ContainsFunc(pdf.StructureWords, func(word string) bool { return bytes.Contains(packed, []byte(word)) }) {
		return packed, "/FlateDecode"
	}
	coded := make([]byte, ascii85.MaxEncodedLen(len(packed)), ascii85.MaxEncodedLen(len(packed))+2)
	coded = coded[:ascii85.Encode(coded, packed)]
	return append(coded, "~>"...), "[/ASCII85Decode/FlateDecode]"
}

// manifestAttachments returns the record's entries for the attachments.
func manifestAttachments(job *Job) []manifest.Attachment {
	names := attachmentNames(job.Attachments)
	var out []manifest.Attachment
	for i, a := range job.Attachments {
		out = append(out, manifest.Attachment{
			ID: a.ID, FieldID: a.FieldID, SignerID: a.SignerID, Name: names[i], MimeType: a.MimeType, Size: a.Size, SHA256: a.SHA256,
		})
	}
	return out
}

func (c *certificate) drawAttachments() {
	if len(c.job.Attachments) == 0 {
		return
	}
	names := attachmentNames(c.job.Attachments)
	c.section(c.text.Attachments, 3*rowHeight)
	for i, a := range c.job.Attachments {
		p := c.page()
		title := p.wrap(faceSmall, fmt.Sprintf(c.text.AttachmentOf, names[i], c.names["signer:"+a.SignerID], a.Size), c.inner(), 0)
		h := 10*float64(len(title)) + 18
		c.ensureSpace(h)
		p = c.page()
		p.lines(faceSmall, certMargin, c.y+11, 10, title)
		p.line(faceMono, certMargin, c.y+h-7, a.SHA256)
		c.y += h
	}
	c.y += 20
}

// maxUpload is the maximum size of an attached original, in bytes.
const maxUpload = 100 << 20

// attachUpload attaches the unchanged upload under an unused name if a rewritten file replaces it. The record contains
// the object number and the name of the attachment.
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
		return nil, fmt.Errorf("%w: the original is %d bytes long", pdf.ErrLimit, p.UploadSize)
	}
	data := make([]byte, p.UploadSize)
	if _, err := io.ReadFull(io.NewSectionReader(p.Upload, 0, p.UploadSize), data); err != nil {
		return nil, fmt.Errorf("reading the original: %w", err)
	}
	ref := a.w.AddStored(a.embeddedPDF(p.UploadSize), data)
	p.Attachment, p.Name = ref.Num, name
	return []attachment{{name, name, "The original document, unchanged", "Source", ref}}, nil
}

// freeName returns a name that no attachment in the file uses.
func (a *assembly) freeName(catalog pdf.Dict) (string, error) {
	taken := make(map[string]bool)
	names, err := a.dict(catalog.Get("Names"))
	if err != nil {
		return "", err
	}
	lookup := &pdf.Lookup{File: a.file}
	note := func(key, v pdf.Value) error {
		spec := lookup.Dict(v)
		for _, v := range []pdf.Value{key, spec.Get("F"), spec.Get("UF")} {
			if b, ok := lookup.Value(v).Bytes(); ok {
				taken[strings.ToLower(pdf.DecodeText(b))] = true
			}
		}
		return lookup.Err
	}
	if tree := names.Get("EmbeddedFiles"); !tree.IsNull() {
		if err := pdf.WalkNames(a.file, tree, note); err != nil {
			return "", err
		}
	}
	name := originalName
	for i := 2; taken[name]; i++ {
		name = fmt.Sprintf("original-%d.pdf", i)
	}
	return name, nil
}
