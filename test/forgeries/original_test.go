package forgeries_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/stretchr/testify/require"

	"countersign/seal"
	"countersign/seal/admission"
	"countersign/seal/rejection"
)

// prepared is an original that its author designed to be deceptive once it is sealed, without later changes. The
// original must either be rejected or result in a valid seal whose report identifies the correct envelope.
type prepared struct {
	name  string
	bytes func() []byte
	must  bool // the original must be rejected
}

const fakeRecord = `{"payload":"e30","protected":"e30","signature":"e30"}`

func preparedOriginals() []prepared {
	attached := func(name, tree, specification string, more func(d *draft)) prepared {
		return prepared{"attachment-" + name, func() []byte {
			d := newDraft()
			d.catalog = "/Names<</EmbeddedFiles " + tree + ">>"
			d.objects[40] = "<</Type/Filespec" + specification + "/EF<</F 41 0 R/UF 41 0 R>>>>"
			d.objects[41] = streamOf("/Type/EmbeddedFile", fakeRecord)
			if more != nil {
				more(d)
			}
			return d.bytes()
		}, true}
	}
	wide := func(s string) string {
		out := "<FEFF"
		for _, u := range utf16.Encode([]rune(s)) {
			out += fmt.Sprintf("%04X", u)
		}
		return out + ">"
	}
	const key, file = "countersign-seal.json", "/F(seal.json)/UF(seal.json)"
	duplicate := func(name string, number int, value string) prepared {
		return prepared{"duplicate-key-" + name, func() []byte {
			d := newDraft()
			d.objects[number] = value
			return d.bytes()
		}, true}
	}
	// tree returns an original with a page tree from which programs select different pages, so that signers would not
	// see the pages that are sealed.
	tree := func(name string, objects map[int]string) prepared {
		return prepared{"page-tree-" + name, func() []byte {
			d := newDraft()
			d.objects[objPages] = "<</Type/Pages/Kids[4 0 R 6 0 R]/Count 2/MediaBox[0 0 612 792]/Resources<</Font<</F1 3 0 R>>>>>>"
			maps.Copy(d.objects, objects)
			return d.bytes()
		}, true}
	}
	return []prepared{
		attached("ascii", "<</Names[("+key+") 40 0 R]>>", file, nil),
		attached("utf-16", "<</Names["+wide(key)+" 40 0 R]>>", "/F(seal.json)/UF"+wide("seal.json"), nil),
		attached("hexadecimal", fmt.Sprintf("<</Names[<%x> 40 0 R]>>", key), file, nil),
		attached("octal", `<</Names[(\143ountersign-seal.json) 40 0 R]>>`, file, nil),
		attached("file-name-only", "<</Names[(annex) 40 0 R]>>", file, nil),
		attached("file-name-in-utf-16", "<</Names[(annex) 40 0 R]>>", "/F(annex)/UF"+wide("seal.json"), nil),
		attached("name-in-tree", "<</Kids[42 0 R]>>", file, func(d *draft) { d.objects[42] = "<</Limits[(a)(z)]/Names[(" + key + ") 40 0 R]>>" }),
		attached("name-out-of-order", "<</Names[(z) 40 0 R("+key+") 40 0 R(a) 40 0 R]>>", file, nil),
		attached("associated-file", "<</Names[]>>", file, func(d *draft) { d.catalog += "/AF[40 0 R]" }),
		{"attachment-original-pdf", func() []byte {
			d := newDraft()
			d.catalog = "/Names<</EmbeddedFiles<</Names[(original.pdf) 40 0 R]>>>>"
			d.objects[40] = "<</Type/Filespec/F(original.pdf)/UF(original.pdf)/EF<</F 41 0 R>>>>"
			d.objects[41] = streamOf("/Type/EmbeddedFile", string(filledForm()))
			return d.bytes()
		}, false},
		{"attachment-annotation", func() []byte {
			d := newDraft()
			d.objects[objPage] = pageOf(objContent, "/Annots[<</Type/Annot/Subtype/FileAttachment/Rect[0 0 9 9]/FS 40 0 R>>]")
			d.objects[40] = "<</Type/Filespec" + file + "/EF<</F 41 0 R>>>>"
			d.objects[41] = streamOf("/Type/EmbeddedFile", fakeRecord)
			return d.bytes()
		}, false},
		duplicate("catalog", objCatalog, "<</Type/Catalog/Pages 2 0 R/Pages 50 0 R>>"),
		duplicate("catalog-escaped", objCatalog, "<</Type/Catalog/P#61ges 50 0 R/Pages 2 0 R>>"),
		duplicate("pages", objPages, "<</Type/Pages/Kids[4 0 R 6 0 R]/Count 2/Kids[6 0 R]>>"),
		duplicate("page", objPage, pageOf(objContent, "/Contents 7 0 R")),
		duplicate("resources", objPage, strings.Replace(pageOf(objContent, ""), "/Resources<<", "/Resources<</Font<<>>", 1)),
		{"duplicate-key-trailer", func() []byte {
			d := newDraft()
			d.trailer = "/Root 6 0 R"
			return d.bytes()
		}, true},
		tree("count-of-fewer-pages", map[int]string{objPages: "<</Type/Pages/Kids[4 0 R 6 0 R]/Count 1>>"}),
		tree("count-below-zero", map[int]string{objPages: "<</Type/Pages/Kids[4 0 R 6 0 R]/Count -2>>"}),
		tree("page-of-another-parent", map[int]string{
			8: "<</Type/Pages/Kids[4 0 R]/Count 1/MediaBox[0 0 612 300]/Rotate 90/Resources<</Font<</F1 9 0 R>>>>>>",
			9: "<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding<</Differences[49/nine]>>>>", objPage: "<</Type/Page/Contents 5 0 R/Parent 8 0 R>>",
		}),
		tree("page-without-parent", map[int]string{objPage: "<</Type/Page/Contents 5 0 R>>"}),
		tree("page-its-own-parent", map[int]string{objPage: "<</Type/Page/Contents 5 0 R/Parent 4 0 R>>"}),
		tree("resources-null", map[int]string{objPage: "<</Type/Page/Contents 5 0 R/Parent 2 0 R/Resources null>>"}),
		tree("node-is-page-by-reference", map[int]string{
			objPages: "<</Type/Pages/Kids[8 0 R 6 0 R]/Count 2>>", 8: "<</Type 9 0 R/Parent 2 0 R/Kids[4 0 R]/Count 1/MediaBox[0 0 612 792]/Contents 7 0 R>>", 9: "/Page",
			objPage: strings.Replace(pageOf(objContent, ""), "/Parent 2 0 R", "/Parent 8 0 R", 1),
		}),
		tree("node-of-no-type", map[int]string{ // MuPDF accepts the node as a page
			objPages: "<</Type/Pages/Kids[8 0 R 6 0 R]/Count 2>>", 8: "<</Parent 2 0 R/Kids[4 0 R]/Count 1/MediaBox[0 0 612 792]/Contents 7 0 R>>",
			objPage: strings.Replace(pageOf(objContent, ""), "/Parent 2 0 R", "/Parent 8 0 R", 1),
		}),
		tree("page-is-stream", map[int]string{objPage: streamOf(strings.TrimSuffix(strings.TrimPrefix(pageOf(objContent, ""), "<<"), ">>"), "")}),
		{"page-tree-rotation-real", tree("", map[int]string{objPage: pageOf(objContent, "/Rotate 90.0")}).bytes, false},
		{"page-tree-rotation-by-half", tree("", map[int]string{objPage: pageOf(objContent, "/Rotate 45")}).bytes, false},
		tree("parameters-by-other-key", map[int]string{objContent: streamOf("/DP<</Predictor 12>>", "BT ET")}),
		tree("resources-undefined", map[int]string{objPage: "<</Type/Page/Contents 5 0 R/Parent 2 0 R/Resources 40 0 R>>"}),
		{"two-generations", func() []byte {
			d := newDraft()
			d.objects[objPage] = strings.Replace(pageOf(objContent, ""), "/Contents 5 0 R", "/Contents[5 0 R 5 1 R]", 1)
			return d.bytes()
		}, true},
		{"number-beyond-all", func() []byte {
			d := newDraft()
			d.objects[objPage] = pageOf(objContent, "/Mark 8388607 0 R")
			return d.bytes()
		}, false},
		{"signature-text-in-stream", func() []byte {
			d := newDraft()
			g := genuineFiles()[levelB]
			h := holes(g.bytes, len(g.original))[0]
			d.objects[40] = streamOf("", string(g.bytes[h.object-6:h.to])+">>\nendobj\n")
			return d.bytes()
		}, false},
		{"signature-text-as-object", func() []byte {
			d := newDraft()
			g := genuineFiles()[levelB]
			h := holes(g.bytes, len(g.original))[0]
			d.objects[40] = strings.TrimPrefix(string(g.bytes[h.object:h.to]), " obj\n") + ">>"
			return d.bytes()
		}, false},
		{"signature-text-many-times", func() []byte {
			d := newDraft()
			g := genuineFiles()[levelB]
			h := holes(g.bytes, len(g.original))[0]
			d.objects[40] = streamOf("", strings.Repeat(string(g.bytes[h.object-6:h.from+3])+">\n", 20))
			return d.bytes()
		}, false},
		{"sealed-already", func() []byte { return newFakeIssuerLike(victim()).make(levelB, filledForm()).bytes }, false},
		{"sealed-already-and-archived", func() []byte { return genuineFiles()[levelLTA].bytes }, false},
		{"sealed-already-and-altered", func() []byte {
			return update(genuineFiles()[levelB].bytes, map[int]string{objContent: textStream(forgedText)})
		}, false},
		{"sealed-already-and-cut-loose", func() []byte {
			// The original is a sealed file with an update that hides the signature. The forger's text is drawn on that
			// file, whose own seal precedes the new one.
			b := genuineFiles()[levelB].bytes
			catalog := objectOf(b, objCatalog)
			for _, key := range []string{"Perms", "AcroForm", "Names", "AF"} {
				catalog = with(catalog, key, "")
			}
			return update(b, map[int]string{objCatalog: catalog, objContent: textStream(forgedText)})
		}, false},
		{"sealed-already-and-reordered", func() []byte {
			b := genuineFiles()[levelT].bytes
			catalog := with(with(with(objectOf(b, objCatalog), "Perms", "<<>>"), "AcroForm", "<</Fields[]>>"), "Names", "<<>>")
			catalog = with(catalog, "AF", "[]")
			return update(b, map[int]string{objCatalog: catalog})
		}, false},
		{"references-to-what-comes-later", func() []byte {
			// The page refers to every object number that the objects of the seal and the validation data may have.
			d := newDraft()
			refs := "["
			for n := 8; n < 200; n++ {
				refs += fmt.Sprintf(" %d 0 R", n)
			}
			d.objects[objPage] = pageOf(objContent, "/Annots"+refs+"]")
			return d.bytes()
		}, false},
		{"references-with-generations", func() []byte {
			d := newDraft()
			refs := "["
			for n := 8; n < 200; n++ {
				refs += fmt.Sprintf(" %d %d R", n, n%3)
			}
			d.objects[objPage] = pageOf(objContent, "/Annots"+refs+"]")
			return d.bytes()
		}, false},
		{"references-in-unused-object", func() []byte {
			d := newDraft()
			d.objects[40] = "[60 0 R 61 0 R 62 0 R 63 1 R 64 65535 R 70 0 R]"
			return d.bytes()
		}, false},
		{"size-too-small", func() []byte {
			return bytes.Replace(agreement(), []byte("/Size 8/"), []byte("/Size 2/"), 1)
		}, false},
		{"unlisted-objects", func() []byte {
			d := newDraft()
			for n := 1; n < 200; n++ {
				d.last += fmt.Sprintf("%d 0 obj\n%s\nendobj\n", n, textStream(forgedText))
			}
			return d.bytes()
		}, false},
		{"bytes-before-header", func() []byte { return append([]byte("%!junk\n"), agreement()...) }, false},
		{"bytes-behind-the-end", func() []byte { return append(agreement(), bytes.Repeat([]byte("x"), 500)...) }, false},
		{"second-header", func() []byte {
			d := newDraft()
			d.last = "%PDF-1.7\n"
			return d.bytes()
		}, false},
		{"catalog-with-validation-data", func() []byte {
			d := newDraft()
			d.catalog = "/DSS<</Certs[41 0 R]/VRI<<>>>>"
			d.objects[41] = streamOf("", "x")
			return d.bytes()
		}, false},
		{"catalog-with-escaped-validation-data", func() []byte {
			d := newDraft()
			d.catalog = "/D#53S<</Certs[]>>"
			return d.bytes()
		}, false},
		{"form-fields-with-comment", func() []byte {
			d := newDraft()
			d.catalog = "/AcroForm<</Fields[10 0 R %\n]>>"
			d.objects[10] = "<</FT/Tx/T(a)/V(b)>>"
			return d.bytes()
		}, false},
		{"form-fields-twice", func() []byte {
			d := newDraft()
			d.catalog = "/AcroForm<</Fields[]/Fields[10 0 R]>>"
			d.objects[10] = "<</FT/Tx/T(a)/V(b)>>"
			return d.bytes()
		}, false},
		{"form-is-null", func() []byte {
			d := newDraft()
			d.catalog = "/AcroForm null/Names null/AF null"
			return d.bytes()
		}, false},
		{"identifier-odd", func() []byte {
			d := newDraft()
			d.trailer = "/ID[(a%\\)b)<00>]"
			return d.bytes()
		}, false},
		{"identifier-long", func() []byte {
			d := newDraft()
			d.trailer = "/ID[<" + strings.Repeat("00", 30_000) + "><00>]"
			return d.bytes()
		}, false},
		{"information-direct", func() []byte {
			d := newDraft()
			d.trailer = "/Info<</Title(x)>>"
			return d.bytes()
		}, false},
		{"dormant-section", hiddenSection, false},
		{"hidden-catalog", hiddenCatalog, false},
		{"form", filledForm, false},
	}
}

// TestPreparedOriginals checks that a person who prepares an original cannot make the verifier read a record other than
// the seal's.
func TestPreparedOriginals(t *testing.T) {
	t.Parallel()
	genuineFiles()
	for _, p := range preparedOriginals() {
		for _, l := range []level{levelB, levelLTA} {
			t.Run(p.name+"/"+string(l), func(t *testing.T) {
				t.Parallel()
				original := p.bytes()
				var rejected *rejection.Error
				_, err := admission.Admit(context.Background(), bytes.NewReader(original), int64(len(original)), admission.DefaultLimits())
				if errors.As(err, &rejected) {
					t.Logf("refused: %s", rejected.Message)
					return
				}
				require.NoError(t, err)
				require.False(t, p.must, "this file must be rejected at upload")
				h := newFakeIssuerLike(victim())
				g, err := h.tryMake(l, original, func(j *seal.Job) {
					j.Envelope.Subject = "The right one"
					inEnvelope(j, otherID, j.Document)
				})
				require.NoError(t, err, "an accepted file must be sealable")
				r := verified(g.bytes, h.trust())
				require.Equal(t, valid, r.Verdict, explain(r))
				require.Equal(t, otherID, r.EnvelopeID)
				require.Equal(t, "The right one", r.Subject)
				require.Equal(t, hashOf(original), r.OriginalSHA256)
				sameAfterRenewal(t, g)
			})
		}
	}
}

// sameAfterRenewal checks that later additions by the service do not change the displayed content.
func sameAfterRenewal(t *testing.T, g *genuine) {
	t.Helper()
	if bytes.Equal(g.sealed, g.bytes) {
		return
	}
	dir := t.TempDir()
	for name, show := range map[string]func(b []byte) string{
		"pdftotext": func(b []byte) string { return popplerText(dir, saved(dir, b)) },
		"mutool":    func(b []byte) string { return mupdfText(dir, saved(dir, b)) },
		"qpdf":      func(b []byte) string { return run(dir, "qpdf", "--check", saved(dir, b)) },
		"pdftoppm":  func(b []byte) string { return hashOf([]byte(run(dir, "pdftoppm", "-r", "20", "-q", saved(dir, b)))) },
	} {
		require.Equal(t, show(g.sealed), show(g.bytes), name)
	}
}
