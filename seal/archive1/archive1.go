// Package archive1 writes version 1 of the increments that follow a seal. Such an increment contains the validation
// data of the seal's signatures and a document time-stamp over the entire file (ISO 32000-2, 12.8.4.3 and 12.8.5).
//
// The package is frozen. A verifier regenerates every increment and compares it with the file byte for byte, so the
// output of this package must never change. A different format requires a new package, archive2, and this package
// remains for the files that it wrote. The golden vectors in its test guard the output. For the same reason, it shares
// no code with the rest of the seal.
package archive1

import (
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
)

// Revision describes the existing file to the writer.
type Revision struct {
	Size    int64  // size of the file in bytes; its last byte ends a line
	Start   int64  // offset of its newest cross-reference section
	Stream  bool   // whether that section is a cross-reference stream
	Next    int    // first unused object number
	Root    Object // object of the catalog
	Catalog string // catalog as written, without DSS
	Info    string // trailer entry as written; empty if absent
	ID      string // first part of the file identifier, as written
	Fields  Object // array object of the form's fields
	Listed  string // content of that array as written
	DSS     int    // object number of the DSS dictionary; 0 if there is none
	Certs   []int  // object numbers of the listed certificates
	OCSPs   []int
	CRLs    []int
}

// Object identifies an indirect object.
type Object struct{ Num, Gen int }

// Evidence is the validation data of one increment, all in DER.
type Evidence struct {
	Certs      [][]byte
	Statements []Statement // statements about the revocation of certificates
}

// Statement is an OCSP response or a revocation list.
type Statement struct {
	CRL bool
	DER []byte
}

// TokenSize is the space reserved for the time-stamp, in bytes.
const TokenSize = 16 << 10

// hashSize is the length of a hash, in bytes.
const hashSize = 32

// NonceSize is the length of the random part of an increment, in bytes.
const NonceSize = 16

// Increment is the content that follows a revision. Positions are offsets in Bytes.
type Increment struct {
	Bytes    []byte
	Contents int      // position of the "<" of the time-stamp, whose digits are zeros
	End      int      // position after the ">" of the time-stamp
	Nonce    int      // position of the hexadecimal nonce in the trailer
	Issuers  int      // position of the hexadecimal hash of the authority's issuers
	Revision Revision // the resulting revision
}

const limit = 9_999_999_999 // a larger offset does not fit in a cross-reference table

// Write returns the increment, with space reserved for the time-stamp. The argument issuers is the hash of the
// certificates that the time-stamp contains in addition to the authority's own. Without this hash, no signature would
// cover those certificates.
func Write(r Revision, e Evidence, nonce [NonceSize]byte, issuers [hashSize]byte) (Increment, error) {
	w := writer{base: r.Size, next: r.Next}
	certs, ocsps, crls := r.Certs, r.OCSPs, r.CRLs
	for _, der := range e.Certs {
		certs = append(certs[:len(certs):len(certs)], w.stream(der))
	}
	for _, s := range e.Statements {
		n := w.stream(s.DER)
		if s.CRL {
			crls = append(crls[:len(crls):len(crls)], n)
		} else {
			ocsps = append(ocsps[:len(ocsps):len(ocsps)], n)
		}
	}
	dss := r.DSS
	if dss == 0 {
		dss = w.allocate()
	}
	w.begin(Object{dss, 0})
	w.add("<</Type/DSS")
	for _, l := range []struct {
		key  string
		list []int
	}{{"Certs", certs}, {"OCSPs", ocsps}, {"CRLs", crls}} {
		if len(l.list) > 0 {
			w.add("\n/" + l.key + "[" + references(l.list) + "]")
		}
	}
	w.add(">>")
	w.end()

	out := Increment{}
	sig, field := Object{w.allocate(), 0}, Object{w.allocate(), 0}
	w.begin(sig)
	w.add("<</Type/DocTimeStamp/Filter/Adobe.PPKLite/SubFilter/ETSI.RFC3161\n/CSGN_Archive<</V 1/Issuers<")
	out.Issuers = len(w.b)
	w.add(fmt.Sprintf("%X", issuers) + ">>>\n/ByteRange[0 ")
	byteRange := len(w.b)
	w.add(strings.Repeat(" ", byteRangeWidth) + "]\n/Contents")
	out.Contents = len(w.b)
	w.add("<" + strings.Repeat("0", 2*TokenSize) + ">")
	out.End = len(w.b)
	w.add(">>")
	w.end()
	w.begin(field)
	w.add("<</Type/Annot/Subtype/Widget/FT/Sig/T(Time-stamp " + hex.EncodeToString(nonce[:NonceSize/2]) + ")/V " + references([]int{sig.Num}) +
		"/Rect[0 0 0 0]/F 132>>")
	w.end()
	listed := strings.TrimLeft(r.Listed+" "+references([]int{field.Num}), " ")
	w.begin(r.Fields)
	w.add("[" + listed + "]")
	w.end()
	catalog := r.Catalog
	if r.DSS == 0 {
		catalog = strings.TrimSuffix(r.Catalog, ">>") + "/DSS " + references([]int{dss}) + "\n>>"
		w.begin(r.Root)
		w.add(catalog)
		w.end()
	}
	start := w.base + int64(len(w.b))
	out.Nonce = w.finish(r, nonce)
	total := w.base + int64(len(w.b))
	if total > limit {
		return out, fmt.Errorf("archive1: the file would have %d bytes, more than a cross-reference table can address", total)
	}
	copy(w.b[byteRange:byteRange+byteRangeWidth], fmt.Sprintf("%d %d %d", w.base+int64(out.Contents), w.base+int64(out.End), total-w.base-int64(out.End)))
	out.Bytes = w.b
	out.Revision = Revision{
		Size: total, Start: start, Stream: r.Stream, Next: w.next, Root: r.Root, Catalog: catalog, Info: r.Info, ID: r.ID,
		Fields: r.Fields, Listed: listed, DSS: dss, Certs: certs, OCSPs: ocsps, CRLs: crls,
	}
	return out, nil
}

const byteRangeWidth = 3*10 + 2 // three numbers of at most ten digits, separated by spaces

func references(list []int) string {
	var b strings.Builder
	for i, n := range list {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(strconv.Itoa(n) + " 0 R")
	}
	return b.String()
}
