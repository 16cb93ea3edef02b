package sealing_test

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"countersign/seal/admission"
	"countersign/test/kit/sealkit"
)

// archivable returns a PDF that claims PDF/A conformance, with a title and a producer in both Info and XMP.
func archivable(properties string) []byte {
	xmp := `<?xpacket begin="" id="W5M0MpCehiHzreSzNTczkc9d"?><x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">` +
		`<rdf:Description rdf:about="" xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:title><rdf:Alt><rdf:li xml:lang="x-default">Lease of flat 7</rdf:li></rdf:Alt></dc:title></rdf:Description>` +
		`<rdf:Description rdf:about="" xmlns:pdf="http://ns.adobe.com/pdf/1.3/" pdf:Producer="Writer 7"/>` +
		`<rdf:Description rdf:about="" xmlns:xmp="http://ns.adobe.com/xap/1.0/" xmp:ModifyDate="2026-01-02T03:04:05Z"/>` +
		properties + `</rdf:RDF></x:xmpmeta><?xpacket end="w"?>`
	const profile = "<</N 3/Length 0>>\nstream\n\nendstream"
	file := sealkit.ClassicPDF(sealkit.Layout{
		Catalog: "/Metadata 1000 0 R/OutputIntents[<</Type/OutputIntent/S/GTS_PDFA1/OutputConditionIdentifier(sRGB)/DestOutputProfile 1002 0 R>>]",
		Pages:   []sealkit.Page{{Extra: "/MediaBox[0 0 612 792]" + sealkit.OwnResources}},
		Objects: []string{
			fmt.Sprintf("<</Type/Metadata/Subtype/XML/Length %d>>\nstream\n%s\nendstream", len(xmp), xmp),
			"<</Title(Lease of flat 7)/Producer(Writer 7)/ModDate(D:20260102030405Z)>>", profile,
		},
	})
	return bytes.Replace(file, []byte("/Root 1 0 R"), []byte("/Root 1 0 R/Info 1001 0 R"), 1)
}

// TestPDFAClaims checks that a sealed file does not claim PDF/A conformance, and that the sender receives a warning.
// Other programs must still find the remaining metadata, with the same values as in the document information.
func TestPDFAClaims(t *testing.T) {
	t.Parallel()
	k := sealkit.NewFixture(t)
	description := func(members string) string {
		return `<rdf:Description rdf:about="" xmlns:pdfaid="http://www.aiim.org/pdfa/ns/id/">` + members + `</rdf:Description>`
	}
	for level, properties := range map[string]string{
		"PDF/A-1b": description("<pdfaid:part>1</pdfaid:part><pdfaid:conformance>B</pdfaid:conformance>"),
		"PDF/A-2b": `<rdf:Description rdf:about="" xmlns:pdfaid="http://www.aiim.org/pdfa/ns/id/" pdfaid:part="2" pdfaid:conformance="B"/>`,
		"PDF/A-3b": description("<pdfaid:part>3</pdfaid:part><pdfaid:conformance>B</pdfaid:conformance>"),
		"PDF/A-4":  description("<pdfaid:part>4</pdfaid:part><pdfaid:rev>2020</pdfaid:rev>"),
		"":         "",
	} {
		t.Run(level, func(t *testing.T) {
			t.Parallel()
			original := archivable(properties)
			var claimed []string
			for _, w := range sealkit.Admitted(t, original).Warnings {
				if w.Code == admission.WarnPDFA {
					claimed = append(claimed, w.Detail)
				}
			}
			file, whole := sealkit.Sealed(t, k.Sealer(t), sealkit.Job(t, original))
			require.True(t, bytes.HasPrefix(whole, original))
			xmp, err := sealkit.Run(t, "pdfinfo", "-meta", file)
			require.NoError(t, err)
			require.Contains(t, xmp, "Lease of flat 7")
			require.Contains(t, xmp, `pdf:Producer="Writer 7"`)
			require.Contains(t, xmp, `xmp:ModifyDate="2026-01-02T03:04:05Z"`)
			require.NotContains(t, xmp, "pdfa", "reported by pdfinfo")
			shown, err := sealkit.Run(t, "mutool", "show", file, "trailer/Root/Metadata")
			require.NoError(t, err)
			require.NotContains(t, shown, "pdfa")
			info, err := sealkit.Run(t, "pdfinfo", "-rawdates", file)
			require.NoError(t, err)
			for _, line := range []string{"Lease of flat 7", "Writer 7", "D:20260102030405Z"} {
				require.Contains(t, info, line, "Info and XMP must match")
			}
			require.NotContains(t, info, "PDF/A")
			if level == "" {
				require.Empty(t, claimed)
				require.False(t, bytes.Contains(whole[len(original):], []byte("/Subtype /XML")), "metadata without a claim must not be rewritten")
				return
			}
			require.Equal(t, []string{level}, claimed)
			require.True(t, bytes.Contains(whole[len(original):], []byte("/Subtype /XML")))
		})
	}
}
