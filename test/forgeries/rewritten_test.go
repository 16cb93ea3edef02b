package forgeries_test

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"countersign/seal/admission"
	"countersign/seal/rejection"
)

// rewritten is an original with an object that sealing rewrites or copies. The object is designed so that rewriting it
// makes a program display another part of it, or stop displaying it.
type rewritten struct {
	name     string
	bytes    func() []byte
	readers  []reader // programs display the honest text, and not the forged text
	rejected bool     // rejected at upload; otherwise, the sealed file still shows the honest text in these readers
}

// reader returns the text that a program displays.
type reader struct {
	name string
	text func(dir, file string) string
}

func (r reader) isHonest(dir string, b []byte) error {
	return errors.Join(contains(r.name, r.text, honestText).shown(dir, nil, b), lacks(r.name, r.text, forgedText, "").shown(dir, nil, b))
}

func rewrittenOriginals() []rewritten {
	p, m, j := reader{"poppler", popplerText}, reader{"mupdf", mupdfText}, reader{"pdf.js", pdfjsText}
	all := []reader{p, m, j}
	of := func(catalog string, objects map[int]string) func() []byte {
		return func() []byte {
			d := newDraft()
			d.catalog = catalog
			for n, o := range objects {
				d.objects[n] = o
			}
			return d.bytes()
		}
	}
	const look = "/Type/XObject/Subtype/Form/BBox[0 0 612 792]/Resources<</Font<</F1 3 0 R>>>>"
	forgedLook := streamOf(look, "BT /F1 18 Tf 72 600 Td ("+forgedText+") Tj ET")
	const fieldEntries = "/Type/Annot/FT/Tx/T(a)/V(" + forgedText + ")/DA(/F1 12 Tf 0 g)/Rect[0 0 612 792]/AP<</N 31 0 R>>"
	// field returns a function that creates a file with a form field that covers page 1 and is drawn below the values.
	field := func(object string, more map[int]string) func() []byte {
		objects := map[int]string{objPage: pageOf(objContent, "/Annots[30 0 R]"), 30: object, 31: forgedLook}
		for n, o := range more {
			objects[n] = o
		}
		return of("/AcroForm<</Fields[30 0 R]/DR<</Font<</F1 3 0 R>>>>>>", objects)
	}
	flags := func(f string, more map[int]string) func() []byte {
		return field("<</Subtype/Widget/F "+f+fieldEntries+">>", more)
	}
	// painted returns a file whose page first paints its text, and then the forged form from the given resources.
	painted := func(resources string, more map[int]string) func() []byte {
		objects := map[int]string{
			objPage: "<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]/Resources " + resources + "/Contents[5 0 R 33 0 R]>>", 31: forgedLook, 33: streamOf("", "/X Do"),
		}
		for n, o := range more {
			objects[n] = o
		}
		return of("", objects)
	}
	tree := func(root string) func() []byte {
		return of("/MarkInfo<</Marked true>>/StructTreeRoot 30 0 R", map[int]string{30: "<</Type/StructTreeRoot" + root + ">>"})
	}
	return []rewritten{
		{"flags-hidden-by-reference", flags("32 0 R", map[int]string{32: "2"}), all, false},
		{"flags-no-view-by-reference", flags("32 0 R", map[int]string{32: "32"}), all, false},
		{"flags-hidden-real", flags("2.0", nil), []reader{j, m}, true},
		{"flags-no-view-real", flags("32.0", nil), []reader{j, m}, true},
		{"flags-real-by-reference", flags("32 0 R", map[int]string{32: "2.0"}), []reader{j, m}, true},
		{"flags-by-two-references", flags("32 0 R", map[int]string{32: "33 0 R", 33: "2"}), []reader{m}, true},
		{"flags-beyond-32-bits", flags("4294967298", nil), []reader{j, m}, true},
		{"field-is-stream", field(streamOf("/Subtype/Widget/F 4"+fieldEntries, ""), nil), []reader{p, j}, true},
		{"field-by-two-references", field("34 0 R", map[int]string{34: "<</Subtype/Widget/F 4" + fieldEntries + ">>"}), []reader{j}, true},
		{"resources-are-stream", painted("34 0 R", map[int]string{34: streamOf("/Font<</F1 3 0 R>>/XObject<</X 31 0 R>>", "")}), []reader{j}, true},
		{"xobjects-are-stream", painted("<</Font<</F1 3 0 R>>/XObject 34 0 R>>", map[int]string{34: streamOf("/X 31 0 R", "")}), []reader{j}, true},
		{"form-is-content", of("/AcroForm 5 0 R", nil), all, true},
		{"files-are-content", of("/Names<</EmbeddedFiles 5 0 R>>", nil), all, true},
		{"parents-are-node", func() []byte {
			d := newDraft()
			d.catalog = "/StructTreeRoot 30 0 R"
			d.objects[objPages] = "<</Type/Pages/Kids[8 0 R 6 0 R]/Count 2>>"
			d.objects[objPage] = strings.Replace(pageOf(objContent, ""), "/Parent 2 0 R", "/Parent 8 0 R", 1)
			d.objects[8] = "<</Type/Pages/Parent 2 0 R/Kids[4 0 R]/Count 1/MediaBox[0 0 612 792]>>"
			d.objects[30] = "<</Type/StructTreeRoot/ParentTreeNextKey 1/ParentTree 8 0 R>>"
			return d.bytes()
		}, all, true},
		{"structure-is-content", of("/StructTreeRoot 5 0 R", nil), all, false},
		{"element-is-content", tree("/K 5 0 R"), all, false},
		{"parents-are-content", tree("/ParentTreeNextKey 1/ParentTree 5 0 R"), all, true},
	}
}

// TestRewritten checks that rewritten objects are displayed exactly as in the original.
func TestRewritten(t *testing.T) {
	t.Parallel()
	genuineFiles()
	for _, c := range rewrittenOriginals() {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			b := c.bytes()
			for _, r := range c.readers {
				require.NoError(t, r.isHonest(t.TempDir(), b), "the upload")
			}
			_, err := admission.Admit(t.Context(), bytes.NewReader(b), int64(len(b)), admission.DefaultLimits())
			if _, rejected := errors.AsType[*rejection.Error](err); rejected {
				require.True(t, c.rejected, err)
				return
			}
			require.NoError(t, err)
			g := newFakeIssuerLike(victim()).make(levelB, b)
			require.Equal(t, valid, verified(g.bytes, g.house.trust()).Verdict)
			for _, r := range c.readers {
				require.NoError(t, r.isHonest(t.TempDir(), g.bytes), "the sealed file")
			}
			require.False(t, c.rejected, "this file must be rejected at upload")
		})
	}
}

// overObject1 returns an original with an update. According to some programs, but not to others, the update frees
// object 1, which is a form with the honest text.
func overObject1() *draft {
	d := newDraft()
	d.objects[objPage] = strings.Replace(pageOf(objContent, ""), "/Font<<", "/XObject<</X 1 0 R>>/Font<<", 1)
	d.objects[objContent] = streamOf("", "BT /F1 18 Tf 72 600 Td ("+forgedText+") Tj ET /X Do")
	d.objects[objCatalog] = streamOf("/Type/XObject/Subtype/Form/BBox[0 0 612 792]/Resources<</Font<</F1 3 0 R>>>>", "BT /F1 18 Tf 72 700 Td ("+honestText+") Tj ET")
	d.objects[8] = "<</Type/Catalog/Pages 2 0 R>>"
	return d
}

func freeingContinuations() []continuation {
	table := func(sections string) func() []byte {
		return func() []byte {
			b := rooted(overObject1().bytes())
			return fmt.Appendf(slices.Clone(b), "xref\n%strailer\n<</Size 9/Root 8 0 R/Prev %d>>\nstartxref\n%d\n%%%%EOF\n", sections, lastXRef(b), len(b))
		}
	}
	repaired := func(entries string) func() []byte {
		d := newDraft()
		d.objects[objPage] = pageOf(objContent, entries)
		d.objects[objContent] = textStream(forgedText)
		d.last = "5 0 obj\n" + textStream(honestText) + "\nendobj\n"
		return d.bytes
	}
	alone := []effect{pdfjs(honestText)}
	later := []effect{lacks("pdf.js", pdfjsText, honestText, forgedText)}
	return []continuation{
		{"object-1-freed", table("1 1\n0000000000 00001 f\r\n"), alone, later},
		{"freed-and-repaired", func() []byte {
			d := newDraft()
			d.objects[objPage] = pageOf(objContent, "/Annots[30 0 R]")
			d.objects[objContent] = textStream(forgedText)
			d.objects[30] = "<</Type/Annot/Subtype/Stamp/F 4/Rect[0 0 612 792]/AP<</N 31 0 R>>>>"
			d.objects[31] = streamOf("/Type/XObject/Subtype/Form/BBox[0 0 612 792]/Resources<</Font<</F1 3 0 R>>>>", "BT /F1 18 Tf 72 600 Td ("+honestText+") Tj ET")
			b := d.bytes()
			return fmt.Appendf(b, "xref\n0 1\n0000000000 65535 f \n30 1\n0000000000 00001 f \ntrailer\n<</Size 32/Root 1 0 R/Prev %d>>\nstartxref\n%d\n%%%%EOF\n", lastXRef(b), len(b))
		}, []effect{poppler(honestText)}, []effect{popplerLacks(honestText, forgedText)}},
		// Poppler cannot find an object, so it rebuilds its table and uses the last object for each number.
		{"repaired", repaired("/Group 9 0 R"), []effect{poppler(honestText), pdfjs(forgedText)}, []effect{poppler(forgedText)}},
		{"first-object-at-byte-0", func() []byte {
			b := rooted(overObject1().withStream())
			return bytes.Replace(b, fmt.Appendf(nil, "01%08X", bytes.Index(b, []byte("\n1 0 obj"))+1), []byte("0100000000"), 1)
		}, []effect{poppler(honestText)}, []effect{popplerLacks(honestText, forgedText)}},
		{"listed-at-byte-0", func() []byte {
			d := newDraft()
			d.objects[objPage] = strings.Replace(pageOf(objContent, ""), "/Font<<", "/XObject<</X 30 0 R>>/Font<<", 1)
			d.objects[objContent] = streamOf("", "BT /F1 18 Tf 72 600 Td ("+forgedText+") Tj ET /X Do")
			d.objects[30] = streamOf("/Type/XObject/Subtype/Form/BBox[0 0 612 792]/Resources<</Font<</F1 3 0 R>>>>", "BT /F1 18 Tf 72 700 Td ("+honestText+") Tj ET")
			b := d.bytes()
			at := bytes.Index(b, []byte("30 0 obj"))
			return bytes.Replace(b, fmt.Appendf(nil, "30 1\n%010d", at), []byte("30 1\n0000000000"), 1)
		}, []effect{poppler(honestText)}, []effect{popplerLacks(honestText, forgedText)}},
		{"object-1-freed-in-second-subsection", table("0 1\n0000000000 65535 f\r\n1 1\n0000000000 00001 f\r\n"), alone, later},
	}
}

// TestEntriesBeyondBounds checks that numbers in cross-reference streams are rejected if they exceed 32 bits. The
// program pdf.js truncates them to 32 bits, and would find an object where other programs find none.
func TestEntriesBeyondBounds(t *testing.T) {
	t.Parallel()
	for name, entry := range map[string]string{
		"offset":            "0180000000OBJECT10000",
		"offset of 33 bits": "0100000001OBJECT10000",
		"stream":            "0280000000OBJECT10000",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := listingObject1(entry)
			if name != "stream" {
				require.NoError(t, pdfjs(honestText).shown(t.TempDir(), nil, b))
			}
			_, err := admission.Admit(t.Context(), bytes.NewReader(b), int64(len(b)), admission.DefaultLimits())
			var rejected *rejection.Error
			require.ErrorAs(t, err, &rejected)
			require.Equal(t, rejection.PDFNeedsRepair, rejected.Code)
			require.Contains(t, rejected.Message, "invalid entry for object 1")
		})
	}
}

// listingObject1 returns overObject1 with an update that lists object 1. The entry is in hexadecimal and has fields
// of one, eight and two bytes.
func listingObject1(entry string) []byte {
	b := rooted(overObject1().withStream())
	at := len(b)
	object := fmt.Sprintf("%08X", bytes.Index(b, []byte("\n1 0 obj"))+1)
	data := fmt.Sprintf("%s01%016X0000>", strings.Replace(entry, "OBJECT1", object, 1), at)
	dict := fmt.Sprintf("/Type/XRef/W[1 8 2]/Index[1 1 20 1]/Size 21/Root 8 0 R/Prev %d/Filter/ASCIIHexDecode", lastXRef(b))
	return after(b).object(20, 0, streamOf(dict, data)).text(fmt.Sprintf("startxref\n%d\n%%%%EOF\n", at)).b
}

// rooted makes object 8 the catalog.
func rooted(b []byte) []byte {
	return bytes.Replace(b, []byte("/Root 1 0 R"), []byte("/Root 8 0 R"), 1)
}
