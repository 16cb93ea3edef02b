// Package limits defines the maximum content of an envelope. Package models rejects entries that exceed these limits,
// and package seal can seal every envelope within them.
package limits

import "unicode/utf8"

// The seal record is one stream of the sealed file. It contains a JWS, whose base64 payload lists the documents, the
// signers, the values and the complete audit trail.
const (
	// record limits the seal record, in bytes. Verification does not read more than this from a single stream of a PDF.
	record = 16 << 20
	// payload limits the record before base64 encoding. The rest of the JWS is smaller than 8 KiB.
	payload = (record - 8<<10) / 4 * 3
	// Texts limits the values entered by signers into the fields of an envelope, in bytes of JSON.
	Texts = 2 << 20
	// Appearances limits the record's data about the pages shown to signers, in bytes of JSON.
	Appearances = 3 << 20
	// Trail limits the rest of the record, most of which is the audit trail, in bytes of JSON.
	Trail = payload - Texts - Appearances
)

// These limits apply to the record's data about the pages shown to signers. The data has at most Hashes × 110 + Ranges
// × 20 + Finished × 220 bytes, plus the IDs of documents and signers. With many signers, the second term is MinRanges ×
// 20 bytes for each signer.
const (
	MaxFinishedPages = 1_000  // finished pages of all signers
	MaxHashes        = 20_000 // hashes of pages and texts; enough for 4,000 pages at all levels
	MaxRanges        = 20_000 // ranges of pages of all signers
	MinRanges        = 100    // minimum number of ranges for each signer
)

// These limits apply to the content of a sealed file other than the original and the record.
const (
	// Rewritten limits the original's page data that the seal rewrites, in bytes. It is checked at upload.
	Rewritten = 32 << 20
	// Pictures limits the distinct pictures of an envelope, in bytes of their compressed samples.
	Pictures = 32 << 20
	// drawnTexts is an upper bound, in bytes, on the content that draws entered values with a total size of Texts.
	drawnTexts = 32 << 20
	// Added limits the bytes that sealing adds to the pages, because they are held in memory.
	Added = Rewritten + Pictures + drawnTexts
)

const (
	// Copies limits the pictures of one person's signature, in bytes. A picture is counted once for each field that
	// uses it.
	Copies = 32 << 20
	// UserAgent limits a user agent, in bytes of JSON, because each audit event contains one.
	UserAgent = 512
	// Event is an upper bound on the size of an audit event, in bytes of JSON, excluding lists and entered text.
	Event = 1400
)

// JSON returns the size of a string when encoded in JSON, in bytes, without its quotation marks.
func JSON(s string) int {
	n := 0
	for _, r := range s {
		n += runeJSON(r)
	}
	return n
}

// Embedded returns the size of a JSON text when embedded in another JSON text, in bytes.
func Embedded(text []byte) int {
	n := len(text)
	for _, r := range string(text) {
		if r == '<' || r == '>' || r == '&' || r == '\u2028' || r == '\u2029' {
			n += runeJSON(r) - utf8.RuneLen(r)
		}
	}
	return n
}

// Cut returns the longest prefix of a string that fits into the given number of bytes of JSON.
func Cut(s string, most int) string {
	for i, r := range s {
		if most -= runeJSON(r); most < 0 {
			return s[:i]
		}
	}
	return s
}

// runeJSON returns the size of a character when encoded by package encoding/json, in bytes.
func runeJSON(r rune) int {
	switch {
	case r == '"', r == '\\', r == '\n', r == '\r', r == '\t':
		return 2
	case r < ' ', r == '<', r == '>', r == '&', r == '\u2028', r == '\u2029', r == utf8.RuneError:
		return 6
	}
	return utf8.RuneLen(r)
}
