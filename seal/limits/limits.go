// Package limits says how much one envelope can hold so that its documents can be sealed. Entry and sealing share these
// figures: package models refuses what exceeds them when it is entered, and package seal writes all that they allow.
package limits

import "unicode/utf8"

// The seal record is one stream of the sealed file: a JWS whose payload, in base64, lists the documents, the signers, the
// values and the whole audit trail.
const (
	// Record bounds the seal record, in bytes: more than that is not read of one stream of a PDF.
	Record = 16 << 20
	// payload bounds the record before base64. The rest of the JWS is smaller than 8 KiB.
	payload = (Record - 8<<10) / 4 * 3
	// Texts bounds what signers enter into the fields of an envelope, in bytes of JSON.
	Texts = 2 << 20
	// Appearances bounds what the record says of the pages that signers were shown, in bytes of JSON.
	Appearances = 3 << 20
	// Trail bounds all else that the record holds, most of which is the audit trail, in bytes of JSON.
	Trail = payload - Texts - Appearances
)

// What the record says of the pages that signers were shown: at most Hashes × 110, Ranges × 20 and Finished × 220 bytes,
// MinRanges for each signer if that is more, and the ids of documents and signers.
const (
	Finished  = 1_000  // finished pages, for all signers together
	Hashes    = 20_000 // of a page in a level: 4,000 pages in all levels, and their texts
	Ranges    = 20_000 // of pages, for all signers together
	MinRanges = 100    // … for each signer
)

// What a sealed file holds beside the original and the record.
const (
	// Rewritten bounds the pages of an original that are written again, in bytes. It is checked at the upload.
	Rewritten = 32 << 20
	// Pictures bounds the different pictures of an envelope, in bytes of their compressed samples.
	Pictures = 32 << 20
	// drawnTexts is more than what drawing Texts takes, in bytes.
	drawnTexts = 32 << 20
	// Added limits the bytes that sealing adds to the pages: they are held in memory.
	Added = Rewritten + Pictures + drawnTexts
)

const (
	// Copies bounds, in bytes, the pictures that one person signs with, each as often as it stands in a field.
	Copies = 32 << 20
	// UserAgent bounds a user agent, in bytes of JSON: each event of the audit trail has one.
	UserAgent = 512
	// Event is more than an event takes, in bytes of JSON, without lists and texts that people enter.
	Event = 1400
)

// JSON returns how many bytes a text takes in JSON, without its quotation marks.
func JSON(s string) int {
	n := 0
	for _, r := range s {
		n += runeJSON(r)
	}
	return n
}

// Embedded returns how many bytes a JSON text takes as a part of another.
func Embedded(text []byte) int {
	n := len(text)
	for _, r := range string(text) {
		if r == '<' || r == '>' || r == '&' || r == '\u2028' || r == '\u2029' {
			n += runeJSON(r) - utf8.RuneLen(r)
		}
	}
	return n
}

// Cut returns the beginning of a text that takes up to most bytes in JSON.
func Cut(s string, most int) string {
	for i, r := range s {
		if most -= runeJSON(r); most < 0 {
			return s[:i]
		}
	}
	return s
}

// runeJSON is what a character takes as package encoding/json writes it.
func runeJSON(r rune) int {
	switch {
	case r == '"', r == '\\', r == '\n', r == '\r', r == '\t':
		return 2
	case r < ' ', r == '<', r == '>', r == '&', r == '\u2028', r == '\u2029', r == utf8.RuneError:
		return 6
	}
	return utf8.RuneLen(r)
}
