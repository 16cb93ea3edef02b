package forgeries_test

import (
	"bytes"
	"fmt"
	"strings"
)

// resaveForgeries returns incremental saving attacks (ISA), in which an update is appended to the sealed file.
func resaveForgeries() []forgery {
	const class = "incremental saving"
	isa := func(name string, shows effect, forge func(b []byte) []byte) forgery {
		return forgery{name: name, class: class, want: altered, shows: shows, make: func(g *genuine) []byte { return forge(g.bytes) }}
	}
	return []forgery{
		isa("isa-content", poppler(forgedText), func(b []byte) []byte {
			return update(b, map[int]string{objContent: textStream(forgedText)})
		}),
		isa("isa-page", poppler(forgedText), func(b []byte) []byte {
			return update(b, map[int]string{objPage: pageOf(5000, ""), 5000: textStream(forgedText)})
		}),
		isa("isa-page-tree", information("Pages: 1"), func(b []byte) []byte {
			return update(b, map[int]string{objPages: "<</Type/Pages/Kids[6 0 R]/Count 1>>"})
		}),
		isa("isa-added-page", poppler(forgedText), func(b []byte) []byte {
			pages := objectOf(b, objPages)
			kids := strings.Replace(entry(pages, "Kids"), "]", " 5000 0 R]", 1)
			return update(b, map[int]string{
				objPages: with(with(pages, "Kids", kids), "Count", fmt.Sprint(strings.Count(kids, "R"))), 5000: pageOf(5001, ""), 5001: textStream(forgedText),
			})
		}),
		isa("isa-new-catalog", poppler(forgedText), func(b []byte) []byte {
			w := after(b)
			w.object(5000, 0, "<</Type/Catalog/Pages 5001 0 R>>").object(5001, 0, "<</Type/Pages/Kids[5002 0 R]/Count 1>>").
				object(5002, 0, pageOf(5003, "")).object(5003, 0, textStream(forgedText))
			return w.table(lastXRef(b), "/Root 5000 0 R")
		}),
		isa("isa-without-prev", poppler(forgedText), func(b []byte) []byte {
			w := after(b)
			for n, o := range map[int]string{
				1: "<</Type/Catalog/Pages 2 0 R>>", 2: "<</Type/Pages/Kids[4 0 R]/Count 1>>", 3: "<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
				4: pageOf(5, ""), 5: textStream(forgedText),
			} {
				w.object(n, 0, o)
			}
			at := len(w.b)
			w.text("xref\n0 1\n0000000000 65535 f \n")
			for _, e := range w.entries {
				w.text(fmt.Sprintf("%d 1\n%010d 00000 n \n", e.number, e.at))
			}
			return w.text(fmt.Sprintf("trailer\n<</Size 6/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF\n", at)).b
		}),
		isa("isa-cross-reference-stream", poppler(forgedText), func(b []byte) []byte {
			w := after(b).object(objContent, 0, textStream(forgedText))
			at := len(w.b)
			data := fmt.Sprintf("01%08x00 01%08x00", w.entries[0].at, at)
			return w.object(5000, 0, streamOf(fmt.Sprintf("/Type/XRef/W[1 4 1]/Index[%d 1 5000 1]/Size 6000/Prev %d%s/Filter/ASCIIHexDecode",
				objContent, lastXRef(b), newestTrailer(b)), data+">")).text(fmt.Sprintf("startxref\n%d\n%%%%EOF\n", at)).b
		}),
		isa("isa-object-stream", poppler(forgedText), func(b []byte) []byte {
			page := pageOf(5002, "")
			w := after(b).object(5001, 0, streamOf("/Type/ObjStm/N 1/First 4", "4 0 "+page)).object(5002, 0, textStream(forgedText))
			at := len(w.b)
			data := fmt.Sprintf("02%08x00 01%08x00 01%08x00 01%08x00", 5001, at, w.entries[0].at, w.entries[1].at)
			return w.object(5000, 0, streamOf(fmt.Sprintf("/Type/XRef/W[1 4 1]/Index[%d 1 5000 3]/Size 6000/Prev %d%s/Filter/ASCIIHexDecode",
				objPage, lastXRef(b), newestTrailer(b)), data+">")).text(fmt.Sprintf("startxref\n%d\n%%%%EOF\n", at)).b
		}),
		isa("isa-hybrid", mupdf(forgedText), func(b []byte) []byte {
			w := after(b).object(objContent, 0, textStream(forgedText))
			at := len(w.b)
			w.object(5000, 0, streamOf(fmt.Sprintf("/Type/XRef/W[1 4 1]/Index[%d 1]/Size 6000/Filter/ASCIIHexDecode", objContent),
				fmt.Sprintf("01%08x00>", w.entries[0].at)))
			w.entries = nil
			return w.table(lastXRef(b), newestTrailer(b)+fmt.Sprintf("/XRefStm %d", at))
		}),
		isa("isa-freed-content", mupdfLacks(honestText, "Second page"), func(b []byte) []byte {
			w := after(b)
			at := len(w.b)
			return w.text(fmt.Sprintf("xref\n%d 1\n0000000000 00001 f \ntrailer\n<</Size 6000/Prev %d%s>>\nstartxref\n%d\n%%%%EOF\n",
				objContent, lastXRef(b), newestTrailer(b), at)).b
		}),
		isa("isa-drawn-value", popplerLacks("Ada Lovelace signed", "Second page"), func(b []byte) []byte {
			return update(b, map[int]string{objPage: pageOf(objContent, "")})
		}),
		isa("isa-certificate-page", poppler(forgedText), func(b []byte) []byte {
			kids := strings.Fields(strings.Trim(entry(objectOf(b, objPages), "Kids"), "[]"))
			last := refNumber(strings.Join(kids[len(kids)-3:], " "))
			page := objectOf(b, last)
			page = with(with(page, "Contents", "5000 0 R"), "Resources", "<</Font<</F1 3 0 R>>>>")
			return update(b, map[int]string{last: page, 5000: textStream(forgedText)})
		}),
		isa("isa-document-information", information(forgedText), func(b []byte) []byte {
			return after(b).object(5000, 0, "<</Title("+forgedText+")>>").table(lastXRef(b), newestTrailer(b)+"/Info 5000 0 R")
		}),
		isa("isa-record-replaced", attachment("seal.json", forgedText), func(b []byte) []byte {
			names := "<</EmbeddedFiles<</Names[(countersign-seal.json) 5000 0 R]>>>>"
			return update(b, map[int]string{
				objCatalog: with(objectOf(b, objCatalog), "Names", names),
				5000:       "<</Type/Filespec/F(seal.json)/UF(seal.json)/EF<</F 5001 0 R>>>>", 5001: streamOf("/Type/EmbeddedFile", forgedText),
			})
		}),
		isa("isa-attachment-added", attachment("annex.txt", forgedText), func(b []byte) []byte {
			names := "<</EmbeddedFiles<</Names[(a) 5000 0 R]>>>>"
			return update(b, map[int]string{
				objCatalog: with(objectOf(b, objCatalog), "Names", names),
				5000:       "<</Type/Filespec/F(annex.txt)/UF(annex.txt)/EF<</F 5001 0 R>>>>", 5001: streamOf("/Type/EmbeddedFile", forgedText),
			})
		}),
		isa("isa-open-action", object("trailer", "https://mallory.example"), func(b []byte) []byte {
			b = update(b, map[int]string{objCatalog: with(objectOf(b, objCatalog), "OpenAction", "<</S/URI/URI(https://mallory.example)>>")})
			return after(b).table(lastXRef(b), newestTrailer(b)+"/Mark(https://mallory.example)")
		}),
		isa("isa-optional-content", popplerLacks(honestText, "Second page"), func(b []byte) []byte {
			catalog := with(objectOf(b, objCatalog), "OCProperties", "<</OCGs[5000 0 R]/D<</OFF[5000 0 R]/Order[5000 0 R]>>>>")
			content := "/OC /Hidden BDC BT /F1 18 Tf 72 700 Td (" + honestText + ") Tj ET EMC"
			return update(b, map[int]string{
				objCatalog: catalog, 5000: "<</Type/OCG/Name(x)>>", objContent: streamOf("", content),
				objPage: strings.Replace(pageOf(objContent, ""), "/Resources<<", "/Resources<</Properties<</Hidden 5000 0 R>>", 1),
			})
		}),
		isa("isa-page-box", picture(1), func(b []byte) []byte {
			return update(b, map[int]string{objPage: with(objectOf(b, objPage), "CropBox", "[0 0 612 300]")})
		}),
		isa("isa-encrypt-entry", pdfjs("refused PasswordException"), func(b []byte) []byte {
			return after(b).table(lastXRef(b), newestTrailer(b)+"/Encrypt<</Filter/Standard/V 1/R 2/O<00>/U<00>/P 0>>")
		}),
		isa("isa-comment", nothing("a comment that no program displays and no seal covers"), func(b []byte) []byte {
			return append(bytes.Clone(b), "% "+forgedText+"\n"...)
		}),
		isa("isa-line-end", nothing("one byte, which changes the file's hash"), func(b []byte) []byte {
			return append(bytes.Clone(b), '\n')
		}),
		isa("isa-zeros", nothing("bytes that no program reads"), func(b []byte) []byte {
			return append(bytes.Clone(b), make([]byte, 512)...)
		}),
		isa("isa-empty-update", nothing("a section without entries, which is rejected although it changes nothing"), func(b []byte) []byte {
			return after(b).finish(b)
		}),
		isa("isa-whole-file-again", nothing("the file contains the seal twice"), func(b []byte) []byte {
			return append(bytes.Clone(b), b...)
		}),
	}
}
