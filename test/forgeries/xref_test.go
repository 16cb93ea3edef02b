package forgeries_test

import (
	"bytes"
	"fmt"
	"strings"
)

// crossReferenceForgeries returns files in which other programs find objects that no honest section lists.
func crossReferenceForgeries() []forgery {
	const class = "detour and unlisted objects"
	unlisted := func(name string, shows effect, end func(b []byte, w *writer) []byte) forgery {
		return forgery{name: "unlisted-" + name, class: class, want: altered, shows: shows, make: func(g *genuine) []byte {
			w := after(g.bytes).object(objContent, 0, textStream(forgedText))
			w.entries = nil
			return end(g.bytes, w)
		}}
	}
	// ending ends an update with an empty section.
	ending := func(b []byte, w *writer, before, table, size, behind string) []byte {
		at := len(w.b)
		return w.text(fmt.Sprintf("%sxref\n%strailer\n<</Size %s/Prev %d%s>>\nstartxref\n%d\n%%%%EOF\n%s", before, table, size, lastXRef(b), newestTrailer(b), at, behind)).b
	}
	return []forgery{
		{
			name: "detour-dormant-section", class: class, want: altered, shows: poppler(forgedText),
			original: func() []byte { return withDormantPrev(detourAt) },
			make: func(g *genuine) []byte {
				w := after(g.bytes)
				w.text("%" + strings.Repeat("x", detourAt-len(w.b)-2) + "\n")
				w.text(fmt.Sprintf("xref\n0 0\ntrailer\n<</Size 6000/Prev %d%s>>\n", lastXRef(g.bytes), newestTrailer(g.bytes)))
				return w.table(strings.Index(string(g.original), "xref\n5 1\n"), newestTrailer(g.bytes))
			},
		},
		unlisted("far-start", stream(forgedText), func(b []byte, w *writer) []byte {
			at := len(w.b)
			return w.text(fmt.Sprintf("xref\n0 0\ntrailer\n<</Size 6000/Prev %d%s>>\nstartxref\n%d\n%%%%EOF\n%%%s\n", lastXRef(b), newestTrailer(b), at, strings.Repeat("x", 1500))).b
		}),
		unlisted("comment-before-section", stream(forgedText), func(b []byte, w *writer) []byte { return ending(b, w, "% table\n", "0 0\n", "6000", "") }),
		unlisted("odd-entry-ends", poppler(forgedText), func(b []byte, w *writer) []byte {
			return ending(b, w, "", "5000 2\n0000000000 00000 n\n0000000000 00000 x\n", "6000", "")
		}),
		unlisted("size-one", either(forgedText), func(b []byte, w *writer) []byte { return ending(b, w, "", "0 0\n", "1", "") }),
		unlisted("no-section", either(forgedText), func(_ []byte, w *writer) []byte { return w.text("%" + strings.Repeat("x", 1500) + "\n").b }),
		unlisted("no-trailer", either(forgedText), func(_ []byte, w *writer) []byte {
			return w.text(fmt.Sprintf("xref\n0 0\nstartxref\n%d\n%%%%EOF\n", len(w.b))).b
		}),
		unlisted("start-at-zero", poppler(forgedText), func(_ []byte, w *writer) []byte { return w.text("startxref\n0\n%%EOF\n").b }),
		unlisted("start-in-comment", either(forgedText), func(b []byte, w *writer) []byte {
			return w.text(fmt.Sprintf("%% startxref\n%%%d\n%%%%EOF\n", lastXRef(b))).b
		}),
		unlisted("start-beyond-the-end", poppler(forgedText), func(_ []byte, w *writer) []byte { return w.text("startxref\n99999999\n%%EOF\n").b }),
		unlisted("two-ends", either(forgedText), func(b []byte, w *writer) []byte {
			return w.text(fmt.Sprintf("startxref\n%d\n%%%%EOF\nstartxref\n0\n%%%%EOF\n", lastXRef(b))).b
		}),
		unlisted("text-after-the-end", either(forgedText), func(_ []byte, w *writer) []byte {
			return append(w.b, []byte(strings.Repeat("text\n", 400))...)
		}),
		{
			name: "detour-circle", class: class, want: altered, shows: nothing("programs that do not remember visited sections hang"),
			make: func(g *genuine) []byte {
				w := after(g.bytes)
				return w.table(len(w.b), newestTrailer(g.bytes))
			},
		},
		{
			name: "detour-into-the-seal", class: class, want: altered, shows: either(forgedText),
			make: func(g *genuine) []byte {
				// The sections before the seal are skipped and then rebuilt by the appended update.
				w := after(g.bytes).object(objContent, 0, textStream(forgedText))
				return w.table(lastXRef(g.original), "/Root 1 0 R")
			},
		},
		{
			name: "dangling-reference", class: class, want: altered, original: openReference("5000 0 R", ""), shows: either(forgedText),
			make: func(g *genuine) []byte { return update(g.bytes, map[int]string{5000: textStream(forgedText)}) },
		},
		{
			name: "dangling-reference-generation", class: class, want: altered, original: openReference("5000 7 R", ""), shows: either(forgedText),
			make: func(g *genuine) []byte {
				return after(g.bytes).object(5000, 7, textStream(forgedText)).finish(g.bytes)
			},
		},
		{
			name: "dangling-reference-array", class: class, want: altered, original: openReference("40 0 R", "[5 0 R 5000 0 R]"), shows: either(forgedText),
			make: func(g *genuine) []byte { return update(g.bytes, map[int]string{5000: textStream(forgedText)}) },
		},
		{
			name: "dangling-annotation", class: class, want: altered, shows: picture(1),
			original: func() []byte {
				d := newDraft()
				d.objects[objPage] = pageOf(objContent, "/Annots[5000 0 R]")
				return d.bytes()
			},
			make: func(g *genuine) []byte {
				return update(g.bytes, map[int]string{
					5000: "<</Type/Annot/Subtype/Stamp/F 4/Rect[60 690 500 720]/P 4 0 R/AP<</N 5001 0 R>>>>", 5001: appearance(forgedText),
				})
			},
		},
		{
			name: "dangling-unlisted", class: class, want: altered, original: openReference("5000 0 R", ""), shows: either(honestText),
			make: func(g *genuine) []byte {
				// When Poppler finds an unresolved reference, it rebuilds its table and finds the object in appended
				// data.
				return append(bytes.Clone(g.bytes), []byte("5000 0 obj\n"+textStream(forgedText)+"\nendobj\n")...)
			},
		},
	}
}

// detourAt is the position to which a dormant section in an original refers. The position is beyond the seal.
const detourAt = 400_000

func withDormantPrev(at int) []byte {
	d := newDraft()
	inner := func(object int) string {
		return "5 0 obj\n" + textStream(forgedText) + fmt.Sprintf("\nendobj\nxref\n5 1\n%010d 00000 n \ntrailer\n<</Size 6000/Root 1 0 R/Prev %d>>\n", object, at)
	}
	d.objects[30] = streamOf("", inner(0))
	d.objects[30] = streamOf("", inner(strings.Index(string(d.bytes()), "5 0 obj\n"+textStream(forgedText))))
	return d.bytes()
}

// openReference returns a file that refers to a second content stream, which does not exist.
func openReference(reference, array string) func() []byte {
	return func() []byte {
		d := newDraft()
		contents := "[5 0 R " + reference + "]"
		if array != "" {
			contents = reference
			d.objects[40] = array
		}
		d.objects[objPage] = strings.Replace(pageOf(objContent, ""), "/Contents 5 0 R", "/Contents "+contents, 1)
		return d.bytes()
	}
}
