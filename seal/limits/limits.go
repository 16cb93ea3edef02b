// Package limits defines the maximum content of one envelope whose documents can be sealed. Entry and sealing share
// these figures: package models rejects entries that exceed them, and package seal writes everything within them.
package limits

import "unicode/utf8"

// The seal record is one stream of the sealed file: a JWS whose payload, in base64, lists the documents, the signers, the
// values and the whole audit trail.
const (
	// Record limits the seal record, in bytes. Readers do not read more from one stream of a PDF.
	Record = 16 << 20
	// payload limits the record before base64. The rest of the JWS is smaller than 8 KiB.
	payload = (Record - 8<<10) / 4 * 3
	// Texts limits the values that signers enter into the fields of an envelope, in bytes of JSON.
	Texts = 2 << 20
	// Appearances limits the record's data about the pages shown to signers, in bytes of JSON.
	Appearances = 3 << 20
	// Trail limits the rest of the record, most of which is the audit trail, in bytes of JSON.
	Trail = payload - Texts - Appearances
)

// The record's data about the pages shown to signers: at most Hashes × 110, Ranges × 20 and Finished × 220 bytes,
// MinRanges for each signer if that is more, and the ids of documents and signers.
const (
	Finished  = 1_000  // finished pages, for all signers together
	Hashes    = 20_000 // of a page in a level: 4,000 pages in all levels, and their texts
	Ranges    = 20_000 // of pages, for all signers together
	MinRanges = 100    // … for each signer
)

// Limits of a sealed file's content other than the original and the record.
const (
	// Rewritten limits the pages of an original that the seal writes again, in bytes. It is checked at the upload.
	Rewritten = 32 << 20
	// Pictures limits the distinct pictures of an envelope, in bytes of their compressed samples.
	Pictures = 32 << 20
	// drawnTexts is an upper bound of the size of drawn Texts, in bytes.
	drawnTexts = 32 << 20
	// Added limits the bytes that sealing adds to the pages: they are held in memory.
	Added = Rewritten + Pictures + drawnTexts
)

const (
	// Copies limits, in bytes, the pictures of one person's signature, counted once for each field.
	Copies = 32 << 20
	// UserAgent limits a user agent, in bytes of JSON: each event of the audit trail has one.
	UserAgent = 512
	// Event is an upper bound of the size of an event, in bytes of JSON, without lists and entered texts.
	Event = 1400
)

// JSON returns the size of a text in JSON, in bytes, without its quotation marks.
func JSON(s string) int {
	n := 0
	for _, r := range s {
		n += runeJSON(r)
	}
	return n
}

// Embedded returns the size of a JSON text as part of another JSON text, in bytes.
func Embedded(text []byte) int {
	n := len(text)
	for _, r := range string(text) {
		if r == '<' || r == '>' || r == '&' || r == '\u2028' || r == '\u2029' {
			n += runeJSON(r) - utf8.RuneLen(r)
		}
	}
	return n
}

// Cut returns the longest beginning of a text whose size in JSON is at most most bytes.
func Cut(s string, most int) string {
	for i, r := range s {
		if most -= runeJSON(r); most < 0 {
			return s[:i]
		}
	}
	return s
}

// runeJSON returns the size of a character as written by package encoding/json.
func runeJSON(r rune) int {
	switch {
	case r == '"', r == '\\', r == '\n', r == '\r', r == '\t':
		return 2
	case r < ' ', r == '<', r == '>', r == '&', r == '\u2028', r == '\u2029', r == utf8.RuneError:
		return 6
	}
	return utf8.RuneLen(r)
}
