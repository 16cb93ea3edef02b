package forgeries_test

import (
	"bytes"
	"context"
	"crypto/x509"
	"encoding/hex"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// withArchive returns the file with at least one increment of validation data after the seal. Anyone can add such an
// increment to a file that has none.
func (g *genuine) withArchive() *genuine {
	if len(g.later()) > 0 {
		return g
	}
	renewalsMu.Lock()
	defer renewalsMu.Unlock()
	if r := renewals[g]; r != nil {
		return r
	}
	h := newFakeIssuerLike(g.house)
	h.now = renewTime
	r := *g
	s := h.sealerOf(levelT)
	r.bytes = must(intoFile(func(out *os.File) error {
		_, err := s.Renew(context.Background(), bytes.NewReader(g.bytes), int64(len(g.bytes)), out)
		return err
	}))
	renewals[g] = &r
	return &r
}

var (
	renewals   = map[*genuine]*genuine{}
	renewalsMu sync.Mutex
)

// rearchived changes the last increment of validation data and obtains a time-stamp for it from an authority, as anyone
// can do.
func (g *genuine) rearchived(change func(inc *increment), stamp ...func(*token)) []byte {
	return g.rewritten(change, func(b []byte, _ int) []byte { return b }, stamp...)
}

// rewritten is like rearchived, but also calls edit with the bytes of the file and the offset at which the increment
// begins.
func (g *genuine) rewritten(change func(inc *increment), edit func(b []byte, from int) []byte, stamp ...func(*token)) []byte {
	g = g.withArchive()
	later := g.later()
	last := later[len(later)-1]
	inc := takeApart(g.bytes, last.from)
	change(inc)
	b := edit(inc.write(g.bytes[:last.from]), last.from)
	fillRange(b, holes(b, last.from)[0], len(b))
	h := newFakeIssuerLike(g.house)
	h.now = map[level]time.Time{levelB: renewTime, levelT: renewTime, levelLT: sealTime, levelLTA: secondTime}[g.level]
	return h.stampDocument(b, last.from, stamp...)
}

// stamped appends an increment of validation data to a file that the service has not sealed, in the form in which the
// service would write it.
func (g *genuine) stamped(b []byte) []byte {
	g = g.withArchive()
	last := g.later()[0]
	inc := takeApart(g.bytes[:last.to], last.from)
	base := after(b).b
	inc.trailer = with(inc.trailer, "Prev", strconv.Itoa(lastXRef(b)))
	// The forger's objects remain, because only new objects and the catalog are written.
	h := newFakeIssuerLike(g.house)
	h.now = secondTime
	return h.stampDocument(inc.write(base), len(base))
}

// archiveForgeries returns forgeries with modified validation data, which any forger can collect, and forgeries with an
// authority's time-stamps over other content.
func archiveForgeries() []forgery {
	const class = "validation data"
	archive := func(name string, shows effect, change func(g *genuine, inc *increment)) forgery {
		return forgery{name: "archive-" + name, class: class, want: altered, shows: shows, make: func(g *genuine) []byte {
			return g.rearchived(func(inc *increment) { change(g, inc) })
		}}
	}
	catalog := func(g *genuine, inc *increment) *part {
		if inc.number(objCatalog) == nil { // written by an earlier increment
			inc.parts = append(inc.parts, part{objCatalog, 0, objectOf(g.withArchive().bytes, objCatalog)})
		}
		return inc.number(objCatalog)
	}
	// unlisted adds to the increment an object that its section does not list, and damages the section so that programs
	// rebuild it.
	unlisted := func(name string, spoil func(b []byte, from int) []byte) forgery {
		return forgery{name: "archive-unlisted-" + name, class: "stamped by a trusted authority", want: altered, shows: either(forgedText), make: func(g *genuine) []byte {
			return g.rewritten(func(inc *increment) {
				inc.lead = append(bytes.Clone(inc.lead), []byte("5 0 obj\n"+textStream(forgedText)+"\nendobj\n")...)
			}, spoil)
		}}
	}
	replace := func(old, replacement string) func(b []byte, from int) []byte {
		return func(b []byte, from int) []byte {
			return append(bytes.Clone(b[:from]), bytes.ReplaceAll(b[from:], []byte(old), []byte(replacement))...)
		}
	}
	evidence := nothing("certificates would be validated with other validation data")
	list := []forgery{
		archive("catalog-key-twice", either(forgedText), func(g *genuine, inc *increment) {
			pages := inc.add("<</Type/Pages/Kids[" + strconv.Itoa(inc.highest()+2) + " 0 R]/Count 1>>")
			inc.add(strings.Replace(pageOf(inc.highest()+2, ""), "/Parent 2", "/Parent "+strconv.Itoa(pages), 1))
			inc.add(textStream(forgedText))
			c := catalog(g, inc)
			c.body = fmt.Sprintf("<</Pages %d 0 R ", pages) + strings.TrimPrefix(c.body, "<<")
			c.body = strings.TrimSuffix(c.body, ">>") + fmt.Sprintf(" /Pages %d 0 R>>", pages)
		}),
		archive("trailer-key-twice", either(forgedText), func(_ *genuine, inc *increment) {
			n := inc.highest()
			root := inc.add(fmt.Sprintf("<</Type/Catalog/Pages %d 0 R>>", n+2))
			inc.add(fmt.Sprintf("<</Type/Pages/Kids[%d 0 R]/Count 1>>", n+3))
			inc.add(pageOf(n+4, ""))
			inc.add(textStream(forgedText))
			inc.trailer = fmt.Sprintf("<</Root %d 0 R ", root) + strings.TrimPrefix(inc.trailer, "<<")
			inc.trailer = strings.TrimSuffix(inc.trailer, ">>") + fmt.Sprintf(" /Root %d 0 R>>", root)
		}),
		archive("page-content", poppler(forgedText), func(_ *genuine, inc *increment) {
			inc.parts = append(inc.parts, part{objContent, 0, textStream(forgedText)})
		}),
		archive("new-object-unused", nothing("an object that a later update or a more lenient program could use"), func(_ *genuine, inc *increment) {
			inc.add(textStream(forgedText))
		}),
		archive("junk-in-store", object("trailer", "Root"), func(_ *genuine, inc *increment) {
			p := inc.find("/Certs")
			p.body = strings.TrimSuffix(p.body, ">>") + "/Junk(" + forgedText + ")>>"
		}),
		archive("store-with-vri", nothing("validation data of a kind that the service does not write"), func(_ *genuine, inc *increment) {
			p := inc.find("/Certs")
			p.body = strings.TrimSuffix(p.body, ">>") + "/VRI<</00 <</Type/VRI>>>>>>"
		}),
		archive("comment-between-objects", nothing("text that a program that rebuilds its table could interpret as objects"), func(_ *genuine, inc *increment) {
			inc.parts[0].body += "\nendobj\n% 5 0 obj\n"
		}),
		archive("visible-stamp-field", object("trailer", "Root"), func(_ *genuine, inc *increment) {
			p := inc.find("/FT /Sig")
			p.body = strings.Replace(p.body, "[0 0 0 0]", "[0 0 612 792]", 1)
		}),
		archive("stamp-field-with-picture", object("trailer", "Root"), func(_ *genuine, inc *increment) {
			n := inc.add(appearance(forgedText))
			p := inc.find("/FT /Sig")
			p.body = with(with(p.body, "AP", fmt.Sprintf("<</N %d 0 R>>", n)), "Rect", "[60 690 500 720]")
		}),
		archive("stamp-field-with-action", object("trailer", "Root"), func(_ *genuine, inc *increment) {
			p := inc.find("/FT /Sig")
			p.body = with(p.body, "A", "<</S/URI/URI(https://mallory.example)>>")
		}),
		archive("other-nonce", nothing("the name of the time-stamp's field no longer has its meaning"), func(_ *genuine, inc *increment) {
			p := inc.find("/FT /Sig")
			p.body = with(p.body, "T", "(Time-stamp 0123456789abcdef)")
		}),
		archive("identifier-changed", pdfjs("identifier 00"), func(_ *genuine, inc *increment) {
			id := entry(inc.trailer, "ID")
			inc.trailer = with(inc.trailer, "ID", strings.Replace(id, id[1:5], "<00"+id[4:5], 1))
		}),
		archive("extensions-in-catalog", object("1", "Extensions"), func(g *genuine, inc *increment) {
			c := catalog(g, inc)
			c.body = with(c.body, "Extensions", "<</MALL<</BaseVersion/1.7/ExtensionLevel 1>>>>")
		}),
		archive("form-flags", object("1", "SigFlags"), func(g *genuine, inc *increment) {
			c := catalog(g, inc)
			c.body = strings.Replace(c.body, "/SigFlags 3", "/SigFlags 0", 1)
		}),
		archive("info-added", information(forgedText), func(_ *genuine, inc *increment) {
			n := inc.add("<</Title(" + forgedText + ")>>")
			inc.trailer = with(inc.trailer, "Info", fmt.Sprintf("%d 0 R", n))
		}),
		archive("spelled-otherwise", nothing("the same objects in other bytes: only a comparison of bytes detects the change"), func(g *genuine, inc *increment) {
			c := catalog(g, inc)
			c.body = strings.Replace(c.body, "/Type /Catalog", "/Type  /Catalog", 1)
			c.body = strings.Replace(c.body, "/Type/Catalog", "/Type /Catalog", 1)
		}),
		archive("another-order", nothing("the same objects in another order"), func(_ *genuine, inc *increment) { slices.Reverse(inc.parts) }),
		archive("evidence-permuted", evidence, func(_ *genuine, inc *increment) {
			p := inc.find("/Certs")
			certs := referencesOf(entry(p.body, "Certs"))
			slices.Reverse(certs)
			p.body = with(p.body, "Certs", "["+strings.Join(certs, " ")+"]")
		}),
		archive("evidence-stripped", evidence, func(_ *genuine, inc *increment) {
			p := inc.find("/Certs")
			p.body = with(with(p.body, "OCSPs", ""), "CRLs", "")
		}),
		archive("certificate-stripped", evidence, func(_ *genuine, inc *increment) {
			p := inc.find("/Certs")
			certs := referencesOf(entry(p.body, "Certs"))
			p.body = with(p.body, "Certs", "["+strings.Join(certs[:len(certs)-1], " ")+"]")
		}),
		archive("certificate-foreign", evidence, func(_ *genuine, inc *increment) {
			n := inc.add(hexStream(newRoot("Mallory").cert.Raw))
			p := inc.find("/Certs")
			p.body = with(p.body, "Certs", strings.TrimSuffix(entry(p.body, "Certs"), "]")+fmt.Sprintf(" %d 0 R]", n))
		}),
		archive("statement-foreign", evidence, func(g *genuine, inc *increment) {
			other := newRoot("Mallory")
			n := inc.add(hexStream(g.house.network.statusOf(other, other, g.house.sealer.cert.SerialNumber)))
			p := inc.find("/Certs")
			p.body = with(p.body, "OCSPs", fmt.Sprintf("[%d 0 R]", n))
		}),
		archive("statement-twice", evidence, func(_ *genuine, inc *increment) {
			p := inc.find("/Certs")
			o := referencesOf(entry(p.body, "OCSPs"))
			p.body = with(p.body, "OCSPs", "["+o[0]+" "+o[0]+"]")
		}),
		archive("statement-older", evidence, func(g *genuine, inc *increment) {
			h := newFakeIssuerLike(g.house)
			h.now = sealTime.AddDate(0, -6, 0)
			n := inc.add(hexStream(h.network.statusOf(h.sealRoot, h.sealRoot, h.sealer.cert.SerialNumber)))
			p := inc.find("/Certs")
			p.body = with(p.body, "OCSPs", fmt.Sprintf("[%d 0 R]", n))
		}),
		archive("partial-list", evidence, func(g *genuine, inc *increment) {
			n := inc.add(hexStream(g.house.network.list(g.house.tsaRoot, func(l *x509.RevocationList) {
				l.ExtraExtensions = append(l.ExtraExtensions, deltaIndicator())
			})))
			p := inc.find("/Certs")
			p.body = with(p.body, "CRLs", fmt.Sprintf("[%d 0 R]", n))
		}),
	}
	list = append(list,
		unlisted("odd-entry-ends", replace(" n\r\n", " x\n\n")),
		unlisted("comment-before-section", replace("\nxref\n", "\n%xref\n")),
		unlisted("start-beyond-the-end", replace("startxref\n", "startxref\n9")),
		unlisted("no-start", replace("startxref\n", "startxfer\n")),
		unlisted("two-sections", replace("\nxref\n", "\nxref\n0 1\n0000000000 65535 f\r\ntrailer\n<</Size 1>>\nxref\n")),
	)
	for _, f := range append(append(resaveForgeries(), crossReferenceForgeries()...), slices.Concat(shadowForgeries(), annotationForgeries())...) {
		if !slices.Contains([]string{
			"isa-content", "isa-page-tree", "isa-certificate-page", "isa-comment", "isa-zeros", "detour-dormant-section", "detour-into-the-seal",
			"dangling-reference", "dangling-reference-generation",
			"shadow-hide-replaced-cover", "shadow-replace-font-encoding", "shadow-hide-and-replace-content", "eaa-free-text", "ssa-unsigned-field",
		}, f.name) {
			continue
		}
		before := f.make
		f.make = func(g *genuine) []byte { return g.stamped(before(g)) }
		f.name, f.class = f.name+"-stamped", "stamped by a trusted authority"
		list = append(list, f)
	}
	return list
}

// restated replaces the OCSP response for the sealer's certificate.
func (g *genuine) restated(der []byte) []byte {
	return g.rearchived(func(inc *increment) {
		p := inc.number(refNumber(referencesOf(entry(inc.find("/Certs").body, "OCSPs"))[0]))
		head, data, _ := strings.Cut(p.body, "\nstream\n")
		lower := strings.ToLower(data) == data
		digits := hex.EncodeToString(der)
		if !lower {
			digits = strings.ToUpper(digits)
		}
		p.body = regexp.MustCompile(`/Length \d+`).ReplaceAllString(head, fmt.Sprintf("/Length %d", len(digits)+1)) + "\nstream\n" + digits + ">\nendstream"
	})
}

func referencesOf(v string) []string {
	var out []string
	fields := strings.Fields(strings.Trim(v, "[]"))
	for i := 0; i+2 < len(fields); i += 3 {
		out = append(out, strings.Join(fields[i:i+3], " "))
	}
	return out
}

func hexStream(b []byte) string {
	return streamOf("/Filter/ASCIIHexDecode", strings.ToUpper(hex.EncodeToString(b))+">")
}
