// Package archive1 writes version 1 of the increments that follow a seal: the validation data of its signatures, and a
// document time-stamp over the whole file (ISO 32000-2, 12.8.4.3 and 12.8.5).
//
// It is frozen. A verifier writes every increment again and compares it with the file byte by byte, so no byte that
// this package writes may ever change. A different format becomes archive2, and this package remains for the files
// that it wrote. The golden vectors in its test guard it. For the same reason it shares no code with the rest of the
// seal.
package archive1

import (
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
)

// Revision describes the file so far for the writer.
type Revision struct {
	Size    int64  // of the file in bytes; the last one is an end of line
	Start   int64  // of its newest cross-reference section
	Stream  bool   // the kind of that section
	Next    int    // the first free object number
	Root    Object // the catalog
	Catalog string // as written; it holds no DSS yet
	Info    string // of the trailer, as written; empty: none
	ID      string // the first half of the file's identifier, as written
	Fields  Object // the array of the form's fields
	Listed  string // content of that array, as written
	DSS     int    // object number of the validation data; 0: none
	Certs   []int  // object numbers of the listed certificates
	OCSPs   []int
	CRLs    []int
}

// Object names an object.
type Object struct{ Num, Gen int }

// Evidence is the content of one increment. All of it is DER.
type Evidence struct {
	Certs      [][]byte
	Statements []Statement // about certificates, in the order of these
}

// Statement is an OCSP response or a revocation list.
type Statement struct {
	CRL bool
	DER []byte
}

// TokenSize is the space reserved for the time-stamp, in bytes.
const TokenSize = 16 << 10

// HashSize is the length of a hash, in bytes.
const HashSize = 32

// NonceSize is the length of the random part of an increment.
const NonceSize = 16

// Increment is the content that follows a revision. Positions are offsets in Bytes.
type Increment struct {
	Bytes    []byte
	Contents int      // position of "<" of the time-stamp, whose digits are zeros
	End      int      // after its ">"
	Nonce    int      // position of the nonce in the trailer, in hexadecimal
	Issuers  int      // position of the hash of the authority's issuers, likewise
	Revision Revision // the resulting revision
}

const limit = 9_999_999_999 // a larger offset has no place in a table

// Write returns the increment, with room for the time-stamp. issuers is the hash
// of the certificates that the time-stamp carries above its authority's own,
// which no signature covers otherwise.
func Write(r Revision, e Evidence, nonce [NonceSize]byte, issuers [HashSize]byte) (Increment, error) {
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
		dss = w.take()
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
	sig, field := Object{w.take(), 0}, Object{w.take(), 0}
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
		return out, fmt.Errorf("archive1: a file of %d bytes", total)
	}
	copy(w.b[byteRange:byteRange+byteRangeWidth], fmt.Sprintf("%d %d %d", w.base+int64(out.Contents), w.base+int64(out.End), total-w.base-int64(out.End)))
	out.Bytes = w.b
	out.Revision = Revision{
		Size: total, Start: start, Stream: r.Stream, Next: w.next, Root: r.Root, Catalog: catalog, Info: r.Info, ID: r.ID,
		Fields: r.Fields, Listed: listed, DSS: dss, Certs: certs, OCSPs: ocsps, CRLs: crls,
	}
	return out, nil
}

const byteRangeWidth = 3*10 + 2 // three numbers of at most ten digits, and blanks

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
