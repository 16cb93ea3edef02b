package verify

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"

	"countersign/pdf"
)

// SealMark is the part of the seal's signature dictionary that no other program writes. It locates the seal record and
// the original, and protects parts that the signature itself cannot cover.
type SealMark struct {
	Record   pdf.Ref
	From, To int64  // range of the original in the file
	Chain    string // ChainHash of the certificates in the signature
	Stamp    string // StampNone, StampOptional or StampRequired
	Issuers  string // hash of the time-stamp's additional certificates; empty without a time-stamp
}

// Values of SealMark.Stamp, which states whether the signature has a time-stamp.
const (
	StampNone     = "None"
	StampOptional = "Optional" // omitted if the authority was not available
	StampRequired = "Required"
)

// The dictionary begins with these lines. A search looks for the second one.
const (
	signatureBegin = "<</Type/Sig/Filter/Adobe.PPKLite/SubFilter/ETSI.CAdES.detached\n"
	markAhead      = len("/CSGN") // length of the text before searchedMark
	searchedMark   = "_Seal<</V "
)

const docMDP = "/Reference[<</Type/SigRef/TransformMethod/DocMDP/TransformParams<</Type/TransformParams/V/1.2/P 1>>>>]\n"

// Begin returns the dictionary up to its byte range.
func (m SealMark) Begin(name, reason pdf.Value, date string) string {
	stamp := m.Stamp
	if stamp != StampNone {
		stamp += "/Issuers<" + m.Issuers + ">"
	}
	return signatureBegin + fmt.Sprintf("/CSGN_Seal<</V 1/Record %d %d R/Original[%d %d]/Chain<%s>/Stamp/%s>>\n", m.Record.Num, m.Record.Gen, m.From, m.To, m.Chain, stamp) +
		"/Name " + string(name) + "\n/Reason " + string(reason) + "\n/M(" + date + ")\n" + docMDP
}

// signatureDict is a seal's signature dictionary, read from a file.
type signatureDict struct {
	SealMark
	object      int   // object number
	at          int64 // offset of the object
	contents    int64 // offset of "<"
	contentsEnd int64 // offset after ">"
	end         int64 // end of the covered bytes
}

const (
	numberRE = `(0|[1-9][0-9]{0,9})`
	textRE   = `(?:\((?:[^()\\]|\\[()\\])*\)|<FEFF[0-9A-F]*>)`
)

// signatureDictionary matches the output of writeSignature, starting with the object number.
var signatureDictionary = regexp.MustCompile(`^` + numberRE + ` 0 obj\n` + regexp.QuoteMeta(signatureBegin) +
	`/CSGN_Seal<</V 1/Record ` + numberRE + ` 0 R/Original\[` + numberRE + ` ` + numberRE + `\]/Chain<([0-9A-F]{64})>/Stamp/(?:(None)|(Optional|Required)/Issuers<([0-9A-F]{64})>)>>\n` +
	`/Name ` + textRE + `\n/Reason ` + textRE + `\n/M\(D:[0-9]{14}Z\)\n` + regexp.QuoteMeta(docMDP) +
	`/ByteRange\[0 (` + numberRE + ` ` + numberRE + ` ` + numberRE + ` *)\]\n/Contents<`)

// ByteRangeWidth is the space reserved for the byte range, which consists of three numbers of at most ten digits,
// separated by spaces.
const ByteRangeWidth = 3*10 + 2

// maxDictionary is the maximum size of the dictionary up to its contents, in bytes.
const maxDictionary = 8 << 10

var errDictionary = errors.New("the signature dictionary is not in the format of a seal")

// readSignatureDict reads the dictionary whose mark begins at the given offset.
func readSignatureDict(r io.ReaderAt, size, mark int64) (signatureDict, error) {
	var d signatureDict
	ahead := int64(len(signatureBegin) + len(" 0 obj\n"))
	from := max(0, mark-ahead-10)
	b := make([]byte, min(size-from, maxDictionary))
	if err := ReadFull(r, b, from); err != nil {
		return d, err
	}
	at := mark - ahead - from // offset of the space after the object number
	if at < 1 {
		return d, errDictionary
	}
	for at > 0 && b[at-1] >= '0' && b[at-1] <= '9' {
		at--
	}
	m := signatureDictionary.FindSubmatchIndex(b[at:])
	if m == nil {
		return d, errDictionary
	}
	group := func(i int) string {
		if m[2*i] < 0 {
			return ""
		}
		return string(b[at:][m[2*i]:m[2*i+1]])
	}
	integer := func(i int) int64 {
		n, err := strconv.ParseInt(group(i), 10, 64)
		if err != nil {
			n = -1 // unreachable because of the regular expression
		}
		return n
	}
	d = signatureDict{
		SealMark: SealMark{Record: pdf.Ref{Num: int(integer(2))}, From: integer(3), To: integer(4), Chain: group(5), Stamp: group(6) + group(7), Issuers: group(8)},
		object:   int(integer(1)), at: from + at, contents: from + at + int64(m[1]) - 1,
		contentsEnd: integer(11), end: integer(11) + integer(12),
	}
	switch {
	case len(group(9)) != ByteRangeWidth:
		return d, errDictionary
	case integer(10) != d.contents || d.contentsEnd-d.contents < 4 || (d.contentsEnd-d.contents)%2 != 0 || d.end <= d.contentsEnd || d.contentsEnd-d.contents > 2*maxContents+2:
		return d, errors.New("the byte range does not match the position of the signature")
	case d.end > size:
		return d, &cutOffError{d.end}
	}
	return d, nil
}

// cutOffError reports that a file ends before the bytes that its seal covers.
type cutOffError struct{ end int64 }

func (e *cutOffError) Error() string { return fmt.Sprintf("the signature covers %d bytes", e.end) }

// maxContents is the maximum size of a signature, in bytes.
const maxContents = 256 << 10

// readContents returns the signature with its padding. Hexadecimal can be written in several ways, and no signature
// covers these bytes, so readContents accepts only the form that the seal writes.
func (d signatureDict) readContents(r io.ReaderAt) ([]byte, error) {
	b := make([]byte, d.contentsEnd-d.contents)
	if err := ReadFull(r, b, d.contents); err != nil {
		return nil, err
	}
	digits := b[1 : len(b)-1]
	out := make([]byte, len(digits)/2)
	if _, err := hex.Decode(out, digits); err != nil || b[0] != '<' || b[len(b)-1] != '>' || !bytes.Equal(hex.AppendEncode(nil, out), digits) {
		return nil, errDigits
	}
	return out, nil
}

var errDigits = errors.New("the hexadecimal digits of the signature are malformed")
