package pagetext

import (
	_ "embed"
	"strconv"
	"strings"
	"sync"
	"unicode/utf16"
	"unicode/utf8"

	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/unicode/norm"
)

//go:embed glyphlist.txt
var glyphList string // Adobe Glyph List

//go:embed standard.txt
var standardList string

//go:embed symbol.txt
var symbolList string

// glyphNames maps the names of the Adobe Glyph List to Unicode.
//
//nolint:gochecknoglobals // a constant table, read when first needed
var glyphNames = sync.OnceValue(func() map[string]string {
	m := make(map[string]string, 4400)
	for line := range strings.Lines(glyphList) {
		name, codes, ok := strings.Cut(strings.TrimSpace(line), ";")
		if !ok || strings.HasPrefix(name, "#") {
			continue
		}
		var text []rune
		for code := range strings.FieldsSeq(codes) {
			if n, err := strconv.ParseUint(code, 16, 21); err == nil {
				text = append(text, rune(n))
			}
		}
		m[name] = string(text)
	}
	return m
})

// nameText returns the text of a glyph name according to the Adobe Glyph List specification. Examples are "uni0041",
// "u1F600", "f_i" and "a.alt".
func nameText(name string) (string, bool) {
	name, _, _ = strings.Cut(name, ".")
	if name == "" || len(name) > 128 {
		return "", false
	}
	if text, ok := glyphNames()[name]; ok {
		return text, true
	}
	var b strings.Builder
	for part := range strings.SplitSeq(name, "_") {
		text, ok := partText(part)
		if !ok {
			return "", false
		}
		b.WriteString(text)
	}
	return b.String(), b.Len() > 0
}

func partText(part string) (string, bool) {
	if text, ok := glyphNames()[part]; ok {
		return text, true
	}
	if hex, ok := strings.CutPrefix(part, "uni"); ok && len(hex) >= 4 && len(hex)%4 == 0 {
		var units []uint16
		for i := 0; i < len(hex); i += 4 {
			n, err := strconv.ParseUint(hex[i:i+4], 16, 16)
			if err != nil {
				return "", false
			}
			units = append(units, uint16(n))
		}
		return string(utf16.Decode(units)), true
	}
	if hex, ok := strings.CutPrefix(part, "u"); ok && len(hex) >= 4 && len(hex) <= 6 {
		n, err := strconv.ParseUint(hex, 16, 21)
		if err == nil && utf8.ValidRune(rune(n)) {
			return string(rune(n)), true
		}
	}
	return "", false
}

// normal returns text normalized for comparison, which means decomposed and without invisible characters.
func normal(text string) string {
	if len(text) == 1 && text[0] >= ' ' && text[0] < 0x7f {
		return text
	}
	return norm.NFKD.String(strings.Map(func(r rune) rune {
		switch {
		case r == '\t' || r == '\n' || r == '\r':
			return ' '
		case r < ' ' || r == 0x7f || r == utf8.RuneError || r == '\u200b' || r == '\ufeff' || r == '\u200e' || r == '\u200f':
			return -1
		}
		return r
	}, text))
}

// table is the encoding of a simple font. It contains the Unicode text of every code, or "" if there is none.
type table [256]string

func listTable(list string) func() *table {
	return sync.OnceValue(func() *table {
		var t table
		for line := range strings.Lines(list) {
			code, name, ok := strings.Cut(strings.TrimSpace(line), " ")
			n, err := strconv.ParseUint(code, 16, 8)
			if !ok || err != nil {
				continue
			}
			t[n], _ = nameText(name)
		}
		return &t
	})
}

func charmapTable(c *charmap.Charmap) func() *table {
	return sync.OnceValue(func() *table {
		var t table
		for i := 0x20; i < 256; i++ {
			if r := c.DecodeByte(byte(i)); r != utf8.RuneError && r >= ' ' && (r < 0x7f || r > 0x9f) {
				t[i] = string(r)
			}
		}
		return &t
	})
}

// Encodings from Annex D.
//
//nolint:gochecknoglobals // constant tables, read when first needed
var (
	standardEncoding = listTable(standardList)
	symbolEncoding   = listTable(symbolList)
	macRomanEncoding = charmapTable(charmap.Macintosh)
	winAnsiEncoding  = charmapTable(charmap.Windows1252)
)

// baseEncoding returns the encoding with the given name, or nil if it is unknown.
func baseEncoding(name string) *table {
	switch name {
	case "WinAnsiEncoding":
		return winAnsiEncoding()
	case "MacRomanEncoding":
		return macRomanEncoding()
	case "StandardEncoding":
		return standardEncoding()
	}
	return nil
}
