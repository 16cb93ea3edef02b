// Package pdfa finds a PDF's claim of conformance to PDF/A (ISO 19005), and removes it from the metadata.
package pdfa

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"strings"

	"countersign/pdf"
)

// namespace is the prefix of the namespace URI for the properties named part, conformance, rev, amd and corr (ISO
// 19005-1, 6.7.11). Some old programs end the URI with ".html".
const namespace = "http://www.aiim.org/pdfa/ns/id"

// maxXMP is the maximum size of metadata that is parsed, in bytes. Longer metadata is replaced completely.
const maxXMP = 4 << 20

// Claim is a PDF's claim of conformance to PDF/A.
type Claim struct {
	// Level is the claimed part and conformance level, such as "PDF/A-2b". It is "PDF/A" if the part and level cannot
	// be read.
	Level string

	dict pdf.Dict // dictionary of the metadata stream
	rest []byte   // metadata without the claim
}

// Find returns the claim in the document's metadata (ISO 32000-2, 14.3.2), or nil if there is none. Metadata that
// cannot be decoded contains no claim, because no program can read it.
func Find(f *pdf.File) (*Claim, error) {
	catalog, _, err := f.Catalog()
	if err != nil {
		return nil, err
	}
	ref, ok := catalog.Get("Metadata").Ref()
	if !ok {
		return nil, nil //nolint:nilnil // there is no claim
	}
	o, err := f.Object(ref)
	if err != nil || !o.IsStream() {
		return nil, err
	}
	c := &Claim{Level: "PDF/A", rest: []byte(emptyPacket)}
	if c.dict, err = o.Value.Dict(); err != nil {
		return nil, err
	}
	large, err := f.DecodedSizeExceeds(o, maxXMP)
	if err != nil && !errors.Is(err, pdf.ErrFilter) && !errors.Is(err, pdf.ErrDamaged) {
		return nil, err
	}
	if err == nil && large {
		return c, nil
	}
	xmp, err := f.StreamData(o)
	if errors.Is(err, pdf.ErrFilter) || errors.Is(err, pdf.ErrDamaged) {
		return nil, nil //nolint:nilnil // there is no readable claim
	}
	if err != nil || !mentionsClaim(xmp) {
		return nil, err
	}
	rest, level, err := without(xmp)
	switch {
	case err != nil: // not well-formed UTF-8 XML
		return c, nil
	case level == "": // the namespace is only declared or described, but not used
		return nil, nil //nolint:nilnil // there is no claim
	}
	c.rest, c.Level = rest, level
	return c, nil
}

// Withdraw writes the metadata without the claim as a new, uncompressed stream, and sets the catalog's Metadata entry
// to it. The original stream remains, because other objects may use it.
func (c *Claim) Withdraw(w *pdf.Increment, catalog *pdf.Dict) {
	d := c.dict.Clone()
	for _, key := range []string{"Filter", "DecodeParms", "DL"} {
		d.Delete(key)
	}
	d.Set("Length", pdf.AppendNumber(nil, float64(len(c.rest))))
	catalog.Set("Metadata", w.AddStored(d.Value(), c.rest).Value())
}

// emptyPacket replaces metadata that contains a claim but cannot be parsed.
const emptyPacket = `<?xpacket begin="" id="W5M0MpCehiHzreSzNTczkc9d"?><x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"/></x:xmpmeta><?xpacket end="r"?>`

// mentionsClaim reports whether XMP metadata in UTF-8, UTF-16 or UTF-32 contains the namespace.
func mentionsClaim(xmp []byte) bool {
	return bytes.Contains(bytes.ReplaceAll(xmp, []byte{0}, nil), []byte(namespace))
}

// without returns XMP metadata without the namespace's properties and declarations. It also returns the claimed level,
// which is empty if there are no properties. It fails if the XMP is not well-formed UTF-8 XML.
func without(xmp []byte) (rest []byte, level string, err error) {
	xmp = bytes.TrimRight(xmp, "\x00")
	d := xml.NewDecoder(bytes.NewReader(xmp))
	var (
		stated  = map[string]string{}
		copied  int64 // offset in xmp up to which content was copied to rest or omitted
		open    int   // number of open elements
		claimed int   // number of open elements at the start of a property; 0 outside a property
		name    string
	)
	for {
		at := d.InputOffset()
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return append(rest, xmp[copied:]...), describe(stated), nil
		}
		if err != nil {
			return nil, "", err
		}
		switch t := token.(type) {
		case xml.StartElement:
			open++
			if claimed > 0 {
				break
			}
			rest = append(rest, xmp[copied:at]...)
			copied = d.InputOffset()
			if isClaim(t.Name.Space) {
				claimed, name = open, t.Name.Local
				stated[name] = ""
				break
			}
			tag := trimTag(xmp[at:copied], t.Attr, stated)
			rest = append(rest, tag...)
		case xml.CharData:
			if claimed > 0 {
				stated[name] += string(t)
			}
		case xml.EndElement:
			if claimed == open {
				claimed, copied = 0, d.InputOffset()
			}
			open--
		}
	}
}

func isClaim(space string) bool { return strings.HasPrefix(space, namespace) }

// trimTag returns a start tag without the namespace's attributes and declarations. It adds the values of those
// attributes to the given map. The tag must be well-formed, and attrs must contain its attributes in order.
func trimTag(tag []byte, attrs []xml.Attr, stated map[string]string) []byte {
	const space = " \t\r\n"
	at := bytes.IndexAny(tag, space+"/>")
	out := append(make([]byte, 0, len(tag)), tag[:at]...)
	for _, a := range attrs {
		begin := at
		at += bytes.IndexByte(tag[at:], '=')
		at += bytes.IndexAny(tag[at:], `"'`)
		at += 2 + bytes.IndexByte(tag[at+1:], tag[at])
		switch {
		case isClaim(a.Name.Space):
			stated[a.Name.Local] = a.Value
		case a.Name.Space == "xmlns" && isClaim(a.Value): // declaration of a prefix that is no longer used
		default:
			out = append(out, tag[begin:at]...)
		}
	}
	return append(out, tag[at:]...)
}

// describe returns the level claimed by the properties.
func describe(stated map[string]string) string {
	if len(stated) == 0 {
		return ""
	}
	part := strings.TrimSpace(stated["part"])
	if len(part) != 1 || part < "1" || part > "9" {
		return "PDF/A"
	}
	return "PDF/A-" + part + strings.ToLower(strings.TrimSpace(stated["conformance"]))
}
