package pdf

import (
	"encoding/hex"
	"strings"
	"unicode/utf16"
)

// Bytes returns the content of a literal or hexadecimal string (7.3.4).
func (v Value) Bytes() ([]byte, bool) {
	switch {
	case len(v) >= 2 && v[0] == '(':
		return decodeLiteral(v[1 : len(v)-1]), true
	case len(v) >= 2 && v[0] == '<' && v[1] != '<':
		digits := make([]byte, 0, len(v))
		for _, c := range v[1 : len(v)-1] {
			if !IsSpace(c) {
				digits = append(digits, c)
			}
		}
		if len(digits)%2 == 1 {
			digits = append(digits, '0')
		}
		out := make([]byte, len(digits)/2)
		if _, err := hex.Decode(out, digits); err != nil {
			return nil, false
		}
		return out, true
	}
	return nil, false
}

func decodeLiteral(b []byte) []byte {
	out := make([]byte, 0, len(b))
	for i := 0; i < len(b); i++ {
		c := b[i]
		if c == '\r' { // an end-of-line marker in a string counts as one line feed
			if i+1 < len(b) && b[i+1] == '\n' {
				i++
			}
			out = append(out, '\n')
			continue
		}
		if c != '\\' || i+1 >= len(b) {
			out = append(out, c)
			continue
		}
		i++
		switch c = b[i]; c {
		case 'n', 'r', 't', 'b', 'f':
			out = append(out, "\n\r\t\b\f"[strings.IndexByte("nrtbf", c)])
		case '\n':
		case '\r':
			if i+1 < len(b) && b[i+1] == '\n' {
				i++
			}
		case '0', '1', '2', '3', '4', '5', '6', '7':
			n := int(c - '0')
			for k := 0; k < 2 && i+1 < len(b) && b[i+1] >= '0' && b[i+1] <= '7'; k++ {
				i++
				n = n*8 + int(b[i]-'0')
			}
			out = append(out, byte(n)) //nolint:gosec // high-order overflow is ignored (7.3.4.2)
		default:
			out = append(out, c)
		}
	}
	return out
}

// docEncoding lists the characters that differ between PDFDocEncoding and Latin-1 (annex D.3), in ranges of codes.
//
//nolint:gochecknoglobals // a constant
var docEncoding = map[byte]string{0x18: "˘ˇˆ˙˝˛˚˜", 0x80: "•†‡…—–ƒ⁄‹›−‰„“”‘’‚™ﬁﬂŁŒŠŸŽıłœšž", 0xA0: "€"}

func docCharacter(c byte) rune {
	for first, characters := range docEncoding {
		if all := []rune(characters); c >= first && int(c-first) < len(all) {
			return all[c-first]
		}
	}
	return rune(c)
}

// EncodeDoc encodes a string in PDFDocEncoding. It reports whether the encoding has all of its characters.
func EncodeDoc(text string) ([]byte, bool) {
	var out []byte
	for _, r := range text {
		c := 0
		for c < 256 && docCharacter(byte(c)) != r {
			c++
		}
		if c == 256 {
			return nil, false
		}
		out = append(out, byte(c))
	}
	return out, true
}

// DecodeText decodes a text string (7.9.2.2) in UTF-16, UTF-8 or PDFDocEncoding.
func DecodeText(b []byte) string {
	switch {
	case len(b) >= 2 && b[0] == 0xFE && b[1] == 0xFF:
		var units []uint16
		for i := 2; i+1 < len(b); i += 2 {
			units = append(units, uint16(b[i])<<8|uint16(b[i+1]))
		}
		return string(utf16.Decode(units))
	case len(b) >= 3 && b[0] == 0xEF && b[1] == 0xBB && b[2] == 0xBF:
		return strings.ToValidUTF8(string(b[3:]), "\uFFFD")
	}
	runes := make([]rune, len(b))
	for i, c := range b {
		runes[i] = docCharacter(c)
	}
	return string(runes)
}
