package browser_test

import (
	"bytes"
	"fmt"
	"image/jpeg"
	"strings"
)

// leaf is a page of a test PDF, with its lines and additional entries of its dictionary.
type leaf struct {
	title   string
	lines   []string
	extra   string
	picture []byte // a gray JPEG that fills the page
}

// pdfOf returns a plain PDF whose pages are A4 unless specified otherwise.
func pdfOf(leaves ...leaf) []byte {
	var b bytes.Buffer
	offsets := []int{}
	obj := func(body string) {
		offsets = append(offsets, b.Len())
		fmt.Fprintf(&b, "%d 0 obj\n%s\nendobj\n", len(offsets), body)
	}
	b.WriteString("%PDF-1.7\n%\xe2\xe3\xcf\xd3\n")
	kids := make([]string, len(leaves))
	for i := range leaves {
		kids[i] = fmt.Sprintf("%d 0 R", 5+2*i)
	}
	obj("<</Type/Catalog/Pages 2 0 R>>")
	obj(fmt.Sprintf("<</Type/Pages/Kids[%s]/Count %d/MediaBox[0 0 595 842]/Resources<</Font<</F1 3 0 R/F2 4 0 R>>>>>>", strings.Join(kids, " "), len(leaves)))
	obj("<</Type/Font/Subtype/Type1/BaseFont/Times-Roman/Encoding/WinAnsiEncoding>>")
	obj("<</Type/Font/Subtype/Type1/BaseFont/Times-Bold/Encoding/WinAnsiEncoding>>")
	var pictures [][]byte
	for i, l := range leaves {
		var c strings.Builder
		if l.picture != nil {
			l.extra += fmt.Sprintf("/Resources<</Font<</F1 3 0 R/F2 4 0 R>>/XObject<</Scan %d 0 R>>>>", 5+2*len(leaves)+len(pictures))
			pictures = append(pictures, l.picture)
			c.WriteString("q 595 0 0 842 0 0 cm /Scan Do Q\n")
		}
		fmt.Fprintf(&c, "BT /F2 20 Tf 72 748 Td (%s) Tj ET\n", l.title)
		y := 712
		for _, line := range l.lines {
			fmt.Fprintf(&c, "BT /F1 11.5 Tf 72 %d Td (%s) Tj ET\n", y, line)
			y -= 17
		}
		obj(fmt.Sprintf("<</Type/Page/Parent 2 0 R/Contents %d 0 R %s>>", 6+2*i, l.extra))
		obj(fmt.Sprintf("<</Length %d>>\nstream\n%s\nendstream", c.Len(), c.String()))
	}
	for _, picture := range pictures {
		size, err := jpeg.DecodeConfig(bytes.NewReader(picture))
		if err != nil {
			panic(err)
		}
		obj(fmt.Sprintf("<</Type/XObject/Subtype/Image/Width %d/Height %d/ColorSpace/DeviceGray/BitsPerComponent 8/Filter/DCTDecode/Length %d>>\nstream\n%s\nendstream", size.Width, size.Height, len(picture), picture))
	}
	at := b.Len()
	fmt.Fprintf(&b, "xref\n0 %d\n0000000000 65535 f \n", len(offsets)+1)
	for _, o := range offsets {
		fmt.Fprintf(&b, "%010d 00000 n \n", o)
	}
	fmt.Fprintf(&b, "trailer\n<</Size %d/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF\n", len(offsets)+1, at)
	return b.Bytes()
}

// leaseDocument returns a realistic contract of two pages.
func leaseDocument() []byte {
	return pdfOf(leaf{title: "Workshop lease", lines: []string{
		"between Harbour Yard Ltd, 14 Quay Street, as landlord, and the tenant named below.",
		"",
		"1. The landlord lets to the tenant the workshop on the ground floor of 14 Quay Street,",
		"with 86 square metres of floor, the yard in common, and two parking spaces.",
		"",
		"2. The lease begins on 1 January 2027 and runs for three years. It is renewed for one",
		"year at a time unless one of the parties gives notice three months before its end.",
		"",
		"3. The rent is 940 a month, due on the third working day. Heating and water are paid",
		"by use. The deposit is two months' rent and is returned within six weeks.",
		"",
		"4. The tenant may fit machines and benches, and leaves the floor as it was found.",
		"Noise ends at eight in the evening.",
		"",
		"5. The landlord keeps roof, walls and the goods lift in working order.",
		"", "", "", "Landlord's terms read and accepted:", "",
	}}, leaf{title: "Signatures", lines: []string{
		"The parties have read both pages of this lease and agree to it.",
		"", "", "", "Tenant", "", "", "", "", "Name of the business", "", "", "Date", "", "", "I have been given the keys' inventory",
	}})
}
