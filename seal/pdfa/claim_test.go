package pdfa_test

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"countersign/pdf"
	"countersign/seal/pdfa"
)

const (
	head = `<?xpacket begin="` + "\ufeff" + `" id="W5M0MpCehiHzreSzNTczkc9d"?><x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">`
	tail = `</rdf:RDF></x:xmpmeta>` + "\n  \n" + `<?xpacket end="w"?>`
	id   = `"http://www.aiim.org/pdfa/ns/id/"`
)

// withMetadata returns a PDF whose catalog contains only a reference to a metadata stream.
func withMetadata(dict string, xmp []byte) []byte {
	var b bytes.Buffer
	b.WriteString("%PDF-1.7\n")
	at := [3]int{}
	for i, o := range []string{"<</Type/Catalog/Metadata 2 0 R>>", fmt.Sprintf("<<%s/Length %d>>\nstream\n%s\nendstream", dict, len(xmp), xmp)} {
		at[i+1] = b.Len()
		fmt.Fprintf(&b, "%d 0 obj\n%s\nendobj\n", i+1, o)
	}
	start := b.Len()
	fmt.Fprintf(&b, "xref\n0 3\n0000000000 65535 f \n%010d 00000 n \n%010d 00000 n \ntrailer\n<</Size 3/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF\n", at[1], at[2], start)
	return b.Bytes()
}

func find(t *testing.T, file []byte) *pdfa.Claim {
	t.Helper()
	f, err := pdf.Open(bytes.NewReader(file), int64(len(file)), pdf.DefaultLimits())
	require.NoError(t, err)
	c, err := pdfa.Find(f)
	require.NoError(t, err)
	return c
}

// withdrawn returns the metadata after withdrawal of the claim.
func withdrawn(t *testing.T, file []byte, c *pdfa.Claim) string {
	t.Helper()
	f, err := pdf.Open(bytes.NewReader(file), int64(len(file)), pdf.DefaultLimits())
	require.NoError(t, err)
	w, err := pdf.NewIncrement(f)
	require.NoError(t, err)
	catalog, root, err := f.Catalog()
	require.NoError(t, err)
	catalog = catalog.Clone()
	c.Withdraw(w, &catalog)
	w.PutDict(root, catalog)
	require.NoError(t, w.Finish(root, nil, make([]byte, 16)))
	whole := append(bytes.Clone(file), w.Bytes()...)
	require.Nil(t, find(t, whole), "the claim has been removed")
	f, err = pdf.Open(bytes.NewReader(whole), int64(len(whole)), pdf.DefaultLimits())
	require.NoError(t, err)
	catalog, _, err = f.Catalog()
	require.NoError(t, err)
	ref, _ := catalog.Get("Metadata").Ref()
	o, err := f.Object(ref)
	require.NoError(t, err)
	data, err := f.StreamData(o)
	require.NoError(t, err)
	return string(data)
}

// TestClaims checks that a claim is found in each form permitted by XMP, and that nothing else is removed.
func TestClaims(t *testing.T) {
	t.Parallel()
	const other = `<rdf:Description rdf:about="" xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:title><rdf:Alt><rdf:li xml:lang="x-default">A &amp; B</rdf:li></rdf:Alt></dc:title></rdf:Description>`
	for name, c := range map[string]struct{ in, out, level string }{
		"elements": {
			`<rdf:Description rdf:about="" xmlns:pdfaid=` + id + `><pdfaid:part>1</pdfaid:part>` + "\n" + `<pdfaid:conformance>B</pdfaid:conformance></rdf:Description>`,
			`<rdf:Description rdf:about="">` + "\n" + `</rdf:Description>`, "PDF/A-1b",
		},
		"attributes": {
			`<rdf:Description rdf:about=""` + "\n" + ` xmlns:pdfaid=` + id + ` pdfaid:part="2" pdfaid:conformance='U'/>`, `<rdf:Description rdf:about=""/>`, "PDF/A-2u",
		},
		"declared outside, with another prefix": {
			`<rdf:Description rdf:about="" xmlns:a=` + id + ` xmlns:b="urn:b" b:x="a=&quot;1'"><a:part>4</a:part><a:rev>2020</a:rev><b:y/></rdf:Description>`,
			`<rdf:Description rdf:about="" xmlns:b="urn:b" b:x="a=&quot;1'"><b:y/></rdf:Description>`, "PDF/A-4",
		},
		"the default namespace": {`<part xmlns=` + id + `>3</part><conformance xmlns=` + id + `>A</conformance>`, ``, "PDF/A-3a"},
		"nested":                {`<rdf:Description xmlns:p=` + id + `><p:part><rdf:Bag><p:part>2</p:part></rdf:Bag></p:part></rdf:Description>`, `<rdf:Description></rdf:Description>`, "PDF/A-2"},
		"no number":             {`<rdf:Description xmlns:p=` + id + ` p:part="one"/>`, `<rdf:Description/>`, "PDF/A"},
		"an amendment alone":    {`<rdf:Description xmlns:p=` + id + ` p:amd="2005"/>`, `<rdf:Description/>`, "PDF/A"},
		"an old namespace":      {`<rdf:Description xmlns:p="http://www.aiim.org/pdfa/ns/id.html" p:part="1"/>`, `<rdf:Description/>`, "PDF/A-1"},
	} {
		file := withMetadata("/Type/Metadata/Subtype/XML", []byte(head+other+c.in+tail))
		claim := find(t, file)
		require.NotNil(t, claim, name)
		require.Equal(t, c.level, claim.Level, name)
		require.Equal(t, head+other+c.out+tail, withdrawn(t, file, claim), name)
	}
}

// TestNoClaim checks that metadata that only describes the properties, or that is unreadable, contains no claim.
func TestNoClaim(t *testing.T) {
	t.Parallel()
	for name, file := range map[string][]byte{
		"none":         withMetadata("", []byte(head+tail)),
		"declared":     withMetadata("", []byte(head+`<rdf:Description xmlns:pdfaid=`+id+`/>`+tail)),
		"described":    withMetadata("", []byte(head+`<s:namespaceURI xmlns:s="http://www.aiim.org/pdfa/ns/schema#">http://www.aiim.org/pdfa/ns/id/</s:namespaceURI>`+tail)),
		"empty":        withMetadata("", nil),
		"not XML":      withMetadata("", []byte("<<<")),
		"not decoded":  withMetadata("/Filter/JPXDecode", []byte(`<p:part xmlns:p=`+id+`>1</p:part>`)),
		"no metadata":  bytes.Replace(withMetadata("", nil), []byte("Metadata"), []byte("Metadatb"), 1),
		"no stream":    bytes.Replace(withMetadata("", nil), []byte("Metadata 2"), []byte("Metadata 1"), 1),
		"no reference": bytes.Replace(withMetadata("", nil), []byte("2 0 R"), []byte("(abc)"), 1),
	} {
		require.Nil(t, find(t, file), name)
	}
}

// TestUnparsedClaims checks that metadata with a claim is replaced completely if it cannot be parsed.
func TestUnparsedClaims(t *testing.T) {
	t.Parallel()
	claim := `<rdf:Description xmlns:p=` + id + ` p:part="1"/>`
	var wide []byte
	for _, c := range []byte(head + claim + tail) {
		wide = append(wide, 0, c)
	}
	for name, xmp := range map[string][]byte{
		"not well-formed": []byte(head + claim),
		"an entity":       []byte(head + claim + "&amp2;" + tail),
		"UTF-16":          wide,
		"too long":        []byte(head + claim + strings.Repeat(" ", 4<<20) + tail),
	} {
		file := withMetadata("/Type/Metadata", xmp)
		c := find(t, file)
		require.NotNil(t, c, name)
		require.Equal(t, "PDF/A", c.Level, name)
		left := withdrawn(t, file, c)
		require.NotContains(t, left, "pdfa", name)
		d := xml.NewDecoder(strings.NewReader(left))
		for {
			if _, err := d.Token(); err != nil {
				require.ErrorIs(t, err, io.EOF, name)
				break
			}
		}
	}
}
