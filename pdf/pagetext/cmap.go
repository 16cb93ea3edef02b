package pagetext

import (
	"slices"
	"strings"
	"unicode/utf16"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/encoding/korean"
	"golang.org/x/text/encoding/simplifiedchinese"
	"golang.org/x/text/encoding/traditionalchinese"
)

// cmap maps character codes to Unicode or to CIDs (9.7.5, 9.10.3).
type cmap struct {
	spaces []codeRange // codespace ranges
	chars  map[uint32]string
	ranges []cmapRange // ranges with text; ranges and cids are sorted by lo after parsing
	cids   []cmapRange
	size   int // number of entries
}

type codeRange struct {
	length int
	lo, hi uint32
}

type cmapRange struct {
	lo, hi uint32
	text   []uint16 // text of lo; for later codes, its last unit is incremented
	cid    int      // CID of lo
}

// parseCMap parses an embedded CMap. It ignores unknown content.
func parseCMap(b []byte) *cmap {
	c := &cmap{chars: make(map[uint32]string)}
	s := scanner{b: b}
	for c.size < maxCMap {
		op, ok := s.next()
		if !ok {
			break
		}
		switch op {
		case "endcodespacerange":
			for i := 0; i+1 < len(s.operands); i += 2 {
				lo, n := code(s.operands[i])
				hi, _ := code(s.operands[i+1])
				if n >= 1 && n <= 4 && len(c.spaces) < maxSpaces {
					c.spaces = append(c.spaces, codeRange{n, lo, hi})
					c.size++
				}
			}
		case "endbfchar":
			for i := 0; i+1 < len(s.operands); i += 2 {
				c.bfChar(s.operands[i], s.operands[i+1])
			}
		case "endbfrange":
			for i := 0; i+2 < len(s.operands); i += 3 {
				c.bfRange(s.operands[i], s.operands[i+1], s.operands[i+2])
			}
		case "endcidchar":
			for i := 0; i+1 < len(s.operands); i += 2 {
				lo, _ := code(s.operands[i])
				c.cids = append(c.cids, cmapRange{lo: lo, hi: lo, cid: int(s.operands[i+1].number())})
				c.size++
			}
		case "endcidrange":
			for i := 0; i+2 < len(s.operands); i += 3 {
				lo, _ := code(s.operands[i])
				hi, _ := code(s.operands[i+1])
				if hi >= lo {
					c.cids = append(c.cids, cmapRange{lo: lo, hi: hi, cid: int(s.operands[i+2].number())})
				}
				c.size++
			}
		}
	}
	byLow := func(a, b cmapRange) int { return int(int64(a.lo) - int64(b.lo)) }
	slices.SortStableFunc(c.ranges, byLow)
	slices.SortStableFunc(c.cids, byLow)
	return c
}

func code(o operand) (n uint32, length int) {
	b, ok := o.value.Bytes()
	if !ok || len(b) > 4 {
		return 0, 0
	}
	return number(b), len(b)
}

func units(o operand) []uint16 {
	b, ok := o.value.Bytes()
	if !ok || len(b) > 512 {
		return nil
	}
	if len(b) == 1 {
		return []uint16{uint16(b[0])}
	}
	return pairs(b)
}

// pairs converts each pair of bytes to one number.
func pairs(b []byte) []uint16 {
	out := make([]uint16, 0, len(b)/2)
	for i := 0; i+1 < len(b); i += 2 {
		out = append(out, uint16(b[i])<<8|uint16(b[i+1]))
	}
	return out
}

func (c *cmap) bfChar(from, to operand) {
	n, length := code(from)
	if length == 0 {
		return
	}
	c.size++
	if name, ok := to.value.Name(); ok {
		if text, ok := nameText(name); ok {
			c.chars[n] = text
		}
		return
	}
	c.chars[n] = string(utf16.Decode(units(to)))
}

func (c *cmap) bfRange(from, to, target operand) {
	lo, length := code(from)
	hi, _ := code(to)
	if length == 0 || hi < lo {
		return
	}
	c.size++
	if !target.value.IsArray() {
		if u := units(target); len(u) > 0 {
			c.ranges = append(c.ranges, cmapRange{lo: lo, hi: hi, text: u})
		}
		return
	}
	n := lo
	for o := range target.elements() {
		if n <= hi && n >= lo && c.size < maxCMap {
			c.chars[n] = string(utf16.Decode(units(o)))
			c.size++
		}
		n++
	}
}

// find returns the range that contains a code. If ranges overlap, it prefers the range with the highest start, and
// among those the one defined last.
func find(ranges []cmapRange, n uint32) *cmapRange {
	i, _ := slices.BinarySearchFunc(ranges, n, func(r cmapRange, n uint32) int {
		if r.lo <= n {
			return -1
		}
		return 1
	})
	for tries := 0; i > 0 && tries < 8; tries++ { // ranges should not overlap
		if i--; ranges[i].hi >= n {
			return &ranges[i]
		}
	}
	return nil
}

// text returns the Unicode text of a code.
func (c *cmap) text(n uint32) (string, bool) {
	if t, ok := c.chars[n]; ok {
		return t, true
	}
	r := find(c.ranges, n)
	if r == nil {
		return "", false
	}
	u := slices.Clone(r.text)
	if d := n - r.lo; len(u) == 2 && utf16.IsSurrogate(rune(u[0])) {
		return string(utf16.DecodeRune(rune(u[0]), rune(u[1])) + rune(d)), true //nolint:gosec // invalid ones become U+FFFD
	}
	u[len(u)-1] += uint16(n - r.lo) //nolint:gosec // overflow results in a wrong character, as specified by the file
	return string(utf16.Decode(u)), true
}

// cid returns the CID of a code.
func (c *cmap) cid(n uint32) int {
	if r := find(c.cids, n); r != nil {
		return r.cid + int(n-r.lo)
	}
	return 0
}

// next returns the length of the code at the start of b (9.7.6.3).
func (c *cmap) next(b []byte) int {
	var n uint32
	for length := 1; length <= min(4, len(b)); length++ {
		n = n<<8 | uint32(b[length-1])
		for _, s := range c.spaces {
			if s.length == length && s.contains(n) {
				return length
			}
		}
	}
	shortest := 1
	if len(c.spaces) > 0 {
		shortest = 4
		for _, s := range c.spaces {
			shortest = min(shortest, s.length)
		}
	}
	return min(shortest, len(b))
}

// contains compares codes byte by byte, because a codespace range is multidimensional.
func (s codeRange) contains(n uint32) bool {
	for i := range s.length {
		shift := 8 * i
		if c := byte(n >> shift); c < byte(s.lo>>shift) || c > byte(s.hi>>shift) { //nolint:gosec // a single byte
			return false
		}
	}
	return true
}

// predefined is a predefined CMap (9.7.5.2).
type predefined struct {
	vertical bool
	identity bool              // two-byte codes are CIDs
	unicode  string            // "UCS2", "UTF16", "UTF32" or "UTF8", if codes are Unicode
	legacy   encoding.Encoding // legacy encoding of the codes, if any
}

// predefinedCMap returns the predefined CMap with the given name, or false if there is none.
func predefinedCMap(name string) (predefined, bool) {
	stem, direction := name, ""
	if i := strings.LastIndexByte(name, '-'); i > 0 {
		stem, direction = name[:i], name[i+1:]
	}
	if name == "H" || name == "V" {
		return predefined{vertical: name == "V", legacy: japanese.ISO2022JP}, true
	}
	p := predefined{vertical: direction == "V"}
	if direction != "H" && direction != "V" {
		return p, false
	}
	if stem == "Identity" {
		p.identity = true
		return p, true
	}
	if rest, ok := strings.CutPrefix(stem, "Uni"); ok {
		for _, form := range []string{"UCS2", "UTF16", "UTF32", "UTF8"} {
			if strings.Contains(rest, "-"+form) {
				p.unicode = form
				return p, true
			}
		}
		return p, false
	}
	switch stem {
	case "GB-EUC", "GBpc-EUC", "GBK-EUC", "GBKp-EUC", "GBK2K":
		p.legacy = simplifiedchinese.GB18030
	case "B5pc", "HKscs-B5", "ETen-B5", "ETenms-B5":
		p.legacy = traditionalchinese.Big5
	case "83pv-RKSJ", "90ms-RKSJ", "90msp-RKSJ", "90pv-RKSJ", "Add-RKSJ", "Ext-RKSJ":
		p.legacy = japanese.ShiftJIS
	case "EUC":
		p.legacy = japanese.EUCJP
	case "KSC-EUC", "KSCms-UHC", "KSCms-UHC-HW", "KSCpc-EUC":
		p.legacy = korean.EUCKR
	default:
		return p, false
	}
	return p, true
}

// next returns the length of the code at the start of b.
func (p predefined) next(b []byte) int {
	n := 2
	switch {
	case p.identity || p.unicode == "UCS2" || p.legacy == japanese.ISO2022JP:
	case p.unicode == "UTF16":
		if b[0] >= 0xD8 && b[0] <= 0xDB {
			n = 4
		}
	case p.unicode == "UTF32":
		n = 4
	case p.unicode == "UTF8":
		switch c := b[0]; {
		case c < 0xC0:
			n = 1
		case c >= 0xF0:
			n = 4
		case c >= 0xE0:
			n = 3
		}
	case b[0] <= 0x80 || p.legacy == japanese.ShiftJIS && b[0] >= 0xA0 && b[0] <= 0xDF:
		n = 1
	case p.legacy == simplifiedchinese.GB18030 && len(b) >= 4 && b[1] >= 0x30 && b[1] <= 0x39:
		n = 4
	}
	return min(n, len(b))
}

// text returns the Unicode text of a code.
func (p predefined) text(b []byte) (string, bool) {
	switch {
	case p.unicode == "UCS2" || p.unicode == "UTF16":
		return string(utf16.Decode(pairs(b))), len(b) > 1
	case p.unicode == "UTF32":
		return string(rune(number(b))), true //nolint:gosec // invalid ones become U+FFFD
	case p.unicode == "UTF8":
		return strings.ToValidUTF8(string(b), "\uFFFD"), true
	case p.legacy == japanese.ISO2022JP: // JIS X 0208, encoded like EUC-JP without the high bits
		out, err := japanese.EUCJP.NewDecoder().Bytes([]byte{b[0] | 0x80, b[len(b)-1] | 0x80})
		return string(out), err == nil
	case p.legacy != nil:
		out, err := p.legacy.NewDecoder().Bytes(b)
		return string(out), err == nil && !strings.ContainsRune(string(out), '\uFFFD')
	}
	return "", false
}

// number returns a code as an integer.
func number(b []byte) (n uint32) {
	for _, c := range b {
		n = n<<8 | uint32(c)
	}
	return n
}
