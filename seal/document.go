package seal

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"countersign/pdf"
	"countersign/seal/manifest"
	"countersign/seal/pdfa"
	"countersign/seal/verify"
)

// writeCertificate writes the certificate's pages. The first page contains the signature's widget annotation and a link
// to the verification page.
func (a *assembly) writeCertificate(parent, field, sig pdf.Ref) error {
	c, err := newCertificate(a.t, a.job, a.sealer.cfg.ServiceName, a.paper)
	if err != nil {
		return err
	}
	if err := c.draw(); err != nil {
		return err
	}
	look := c.appearance(a.sealer.name)
	form, err := look.form()
	if err != nil {
		return err
	}
	for i, p := range c.pages {
		ref := a.w.Reserve()
		a.certPages = append(a.certPages, ref)
		d := pdf.Dict{
			{Key: "Type", Value: pdf.Value("/Page")},
			{Key: "Parent", Value: parent.Value()},
			// Set all inheritable attributes explicitly.
			{Key: "MediaBox", Value: box(0, 0, c.w, c.h)},
			{Key: "CropBox", Value: box(0, 0, c.w, c.h)},
			{Key: "Rotate", Value: pdf.Value("0")},
			{Key: "Resources", Value: p.resources()},
		}
		if a.tags != nil { // a single paragraph, so that the text is read in drawing order
			m := markedContent{kind: "P"}
			p.b = append(append(m.begin(nil, 0), p.b...), "EMC\n"...)
			number := a.tags.allocate()
			d.Set("StructParents", pdf.Value(strconv.FormatInt(number, 10)))
			a.tags.add(number, ref, nil, []markedContent{m})
		}
		d.Set("Contents", a.w.AddStream(nil, p.b).Value())
		if i == 0 {
			annots := []pdf.Value{field.Value()}
			if c.linkBox[2] > 0 {
				annots = append(annots, a.w.Add(pdf.Dict{
					{Key: "Type", Value: pdf.Value("/Annot")},
					{Key: "Subtype", Value: pdf.Value("/Link")},
					{Key: "Rect", Value: c.rectangle(c.linkBox)},
					{Key: "Border", Value: pdf.Value("[0 0 0]")},
					{Key: "F", Value: pdf.Value("4")},
					{Key: "A", Value: append(pdf.AppendURI(pdf.Value("<</S/URI/URI"), a.job.VerifyURL), ">>"...)},
				}.Value()).Value())
			}
			d.Set("Annots", pdf.JoinArray(annots))
			a.w.PutDict(field, pdf.Dict{
				{Key: "Type", Value: pdf.Value("/Annot")},
				{Key: "Subtype", Value: pdf.Value("/Widget")},
				{Key: "FT", Value: pdf.Value("/Sig")},
				{Key: "T", Value: pdf.AppendText(nil, "Seal "+a.nonce)},
				{Key: "V", Value: sig.Value()},
				{Key: "Rect", Value: c.rectangle(c.sigBox)},
				{Key: "P", Value: ref.Value()},
				{Key: "F", Value: pdf.Value("132")}, // the flags Print and Locked
				{Key: "AP", Value: slices.Concat(pdf.Value("<</N "), form.Value(), pdf.Value(">>"))},
			})
		}
		a.w.PutDict(ref, d)
	}
	return nil
}

// rectangle converts x, y, width and height, measured from the top left corner, to a PDF rectangle.
func (c *certificate) rectangle(b [4]float64) pdf.Value {
	left := c.page().left(b[0], b[2])
	return box(left, c.h-b[1]-b[3], left+b[2], c.h-b[1])
}

// writePageTree appends the certificate to the root of the page tree.
func (a *assembly) writePageTree(root pdf.Ref) error {
	d, err := a.file.Dict(root.Value())
	if err != nil {
		return err
	}
	kids, err := a.file.Resolve(d.Get("Kids"))
	if err != nil {
		return err
	}
	if !kids.IsArray() {
		return fmt.Errorf("%w: page tree", pdf.ErrDamaged)
	}
	kids = slices.Clip(kids[:len(kids)-1]) // already walked; there may be thousands, so the array is not parsed
	for _, r := range a.certPages {
		kids = r.Append(append(kids, ' '))
	}
	d = d.Clone()
	d.Set("Kids", append(kids, ']'))
	d.Set("Count", pdf.Value(strconv.Itoa(a.pages+len(a.certPages))))
	a.w.PutDict(root, d)
	return nil
}

// writeCatalog adds the form, permissions and attachments to the catalog. It preserves all other entries, except that
// it removes the DSS and withdraws a PDF/A claim.
func (a *assembly) writeCatalog(root pdf.Ref, catalog pdf.Dict, field, sig pdf.Ref) error {
	catalog = catalog.Clone()
	if err := a.mergeForm(&catalog, field); err != nil {
		return err
	}
	perms, err := a.dict(catalog.Get("Perms"))
	if err != nil {
		return err
	}
	perms.Set("DocMDP", sig.Value())
	catalog.Set("Perms", perms.Value())

	attached, err := a.attachUpload(catalog)
	if err != nil {
		return err
	}
	m := newManifest(a.job, a.sealer.cfg.ServiceName)
	m.Pages, m.CertificatePage = a.pages+len(a.certPages), a.pages+1
	a.record, err = manifest.Sign(m, a.sealer.cfg.ManifestSigner, a.sealer.cfg.ManifestKeyID, a.sealer.cfg.Rand)
	if err != nil {
		return err
	}
	a.recordRef = a.w.AddStream(pdf.Dict{
		{Key: "Type", Value: pdf.Value("/EmbeddedFile")},
		{Key: "Subtype", Value: pdf.AppendName(nil, "application/jose+json")},
		{Key: "Params", Value: a.fileParams(int64(len(a.record)))},
	}, a.record)
	attached = append(attached, attachment{manifest.AttachmentKey, manifest.FileName, "Seal record of " + a.sealer.cfg.ServiceName, "Data", a.recordRef})
	given, err := a.embedAttachments()
	if err != nil {
		return err
	}
	if err := a.attach(&catalog, append(attached, given...)); err != nil {
		return err
	}
	claim, err := pdfa.Find(a.file)
	if err != nil {
		return err
	}
	if claim != nil { // the seal's additions violate most parts of PDF/A; see ADR 17
		claim.Withdraw(a.w, &catalog)
	}
	catalog.Delete("DSS") // only later increments add validation data
	a.w.PutDict(root, catalog)
	return nil
}

func (a *assembly) fileParams(size int64) pdf.Value {
	return fmt.Appendf(nil, "<</Size %d/ModDate(%s)>>", size, pdfDate(a.job.SealedAt))
}

type attachment struct {
	key, name, description, relationship string
	data                                 pdf.Ref
}

// attach adds files to the embedded files and to the associated files (14.13).
func (a *assembly) attach(catalog *pdf.Dict, all []attachment) error {
	af, err := pdf.ArrayIn(a.file, catalog.Get("AF"))
	if err != nil {
		return err
	}
	var entries []pdf.Entry
	for _, at := range all {
		spec := a.w.Add(pdf.Dict{
			{Key: "Type", Value: pdf.Value("/Filespec")},
			{Key: "F", Value: pdf.AppendText(nil, at.name)},
			{Key: "UF", Value: pdf.AppendText(nil, at.name)},
			{Key: "Desc", Value: pdf.AppendText(nil, at.description)},
			{Key: "AFRelationship", Value: pdf.AppendName(nil, at.relationship)},
			{Key: "EF", Value: slices.Concat(pdf.Value("<</F "), at.data.Value(), pdf.Value("/UF "), at.data.Value(), pdf.Value(">>"))},
		}.Value()).Value()
		entries = append(entries, pdf.Entry{Key: at.key, Value: spec})
		af = append(af, spec)
	}
	names, err := a.dict(catalog.Get("Names"))
	if err != nil {
		return err
	}
	tree, err := pdf.InsertNames(a.file, a.w, names.Get("EmbeddedFiles"), entries)
	if err != nil {
		return err
	}
	names.Set("EmbeddedFiles", tree)
	catalog.Set("Names", names.Value())
	catalog.Set("AF", pdf.JoinArray(af))
	return nil
}

// dict resolves v and returns a copy of the dictionary.
func (a *assembly) dict(v pdf.Value) (pdf.Dict, error) {
	v, err := pdf.ResolveIn(a.file, v)
	if err != nil || v.IsNull() {
		return nil, err
	}
	d, err := v.Dict()
	if err != nil {
		return nil, fmt.Errorf("%w: expected a dictionary", pdf.ErrDamaged)
	}
	return d.Clone(), nil
}

// mergeForm adds the signature field to the interactive form (12.7.3).
func (a *assembly) mergeForm(catalog *pdf.Dict, field pdf.Ref) error {
	form, err := a.dict(catalog.Get("AcroForm"))
	if err != nil {
		return err
	}
	fields, err := pdf.ArrayIn(a.file, form.Get("Fields"))
	if err != nil {
		return err
	}
	// Fields is an indirect object, so that later increments can rewrite it without rewriting the form.
	form.Set("Fields", a.w.Add(pdf.JoinArray(append(fields, field.Value()))).Value())
	form.Set("SigFlags", pdf.Value("3")) // the flags SignaturesExist and AppendOnly
	if ref, ok := catalog.Get("AcroForm").Ref(); ok {
		if v, err := a.file.Resolve(ref.Value()); err != nil || !v.IsNull() { // missing objects were defined as null
			a.w.PutDict(ref, form)
			return err
		}
	}
	catalog.Set("AcroForm", form.Value())
	return nil
}

// writeSignature writes the signature dictionary (12.8.1) with placeholders for ByteRange and Contents, and records
// their positions. Searching for the placeholders later might find content of the uploaded document instead.
func (a *assembly) writeSignature(ref pdf.Ref) {
	mark := verify.SealMark{Record: a.recordRef, To: a.job.Size, Chain: a.sealer.chain, Stamp: a.stamp, Issuers: a.issuers}
	begin := mark.Begin(pdf.AppendText(nil, a.sealer.name), pdf.AppendText(nil, "Sealed by "+a.sealer.cfg.ServiceName), pdfDate(a.sealer.cfg.Now()))
	a.w.Begin(ref)
	a.w.AppendString(begin)
	a.w.AppendString("/ByteRange[0 ")
	a.sig.byteRange = a.w.Offset()
	a.w.AppendString(strings.Repeat(" ", verify.ByteRangeWidth))
	a.w.AppendString("]\n/Contents")
	a.sig.contents = a.w.Offset()
	a.w.AppendString("<" + strings.Repeat("0", 2*a.sealer.contents) + ">")
	a.sig.contentsEnd = a.w.Offset()
	a.w.AppendString(">>")
	a.w.End()
}

// fill writes the byte range into the last part of a file. The argument base is the offset of that part, and total is
// the size of the file.
func (p signaturePlace) fill(tail []byte, base, total int64) {
	b := fmt.Sprintf("%d %d %d", p.contents, p.contentsEnd, total-p.contentsEnd)
	copy(tail[p.byteRange-base:][:verify.ByteRangeWidth], b)
}
