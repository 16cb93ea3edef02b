package fonts

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
)

// Advance returns the advance width of a glyph in font units.
func (f *Font) Advance(gid uint16) (int, error) {
	adv, _, err := f.metric(gid)
	return int(adv), err
}

func (f *Font) metric(gid uint16) (advance uint16, bearing uint16, err error) {
	t, b, i := f.tables["hmtx"], make([]byte, 4), int(gid)
	_, err = f.file.ReadAt(b, t.offset+4*int64(min(i, f.numHMetric-1)))
	if err == nil && i >= f.numHMetric { // the glyph shares the last advance
		_, err = f.file.ReadAt(b[2:], t.offset+int64(f.numHMetric)*4+int64(i-f.numHMetric)*2)
	}
	return binary.BigEndian.Uint16(b), binary.BigEndian.Uint16(b[2:]), err
}

// outline returns a glyph's description in the glyf table. It is empty for a blank glyph.
func (f *Font) outline(gid uint16) ([]byte, error) {
	if int(gid) >= f.numGlyphs {
		return nil, fmt.Errorf("fonts: glyph %d does not exist", gid)
	}
	loca, glyf := f.tables["loca"], f.tables["glyf"]
	width := int64(2)
	if f.longLoca {
		width = 4
	}
	b := make([]byte, 2*width)
	if _, err := f.file.ReadAt(b, loca.offset+int64(gid)*width); err != nil {
		return nil, err
	}
	from, to := 2*int64(binary.BigEndian.Uint16(b)), 2*int64(binary.BigEndian.Uint16(b[2:]))
	if f.longLoca {
		from, to = int64(binary.BigEndian.Uint32(b)), int64(binary.BigEndian.Uint32(b[4:]))
	}
	if from > to || to > glyf.length {
		return nil, errors.New("fonts: invalid loca table")
	}
	g := make([]byte, to-from)
	_, err := f.file.ReadAt(g, glyf.offset+from)
	return g, err
}

// Flags for a component of a composite glyph (OpenType, glyf table).
const (
	argsAreWords   = 0x0001
	haveScale      = 0x0008
	moreComponents = 0x0020
	haveXYScale    = 0x0040
	have2x2        = 0x0080
)

// Subset returns a TrueType font with the given glyphs. Glyph i of the result is glyph gids[i] of f. gids[0] should be
// 0, the glyph for missing characters.
func (f *Font) Subset(gids []uint16) ([]byte, error) {
	gids = append([]uint16(nil), gids...)
	index := make(map[uint16]int, len(gids))
	for i, g := range gids {
		if _, ok := index[g]; !ok {
			index[g] = i
		}
	}
	var glyf, hmtx []byte
	loca := make([]byte, 4, 4*len(gids)+4)
	for i := 0; i < len(gids); i++ { // components are appended during the loop
		g, err := f.outline(gids[i])
		if err != nil {
			return nil, err
		}
		if err := components(g, func(gid uint16) uint16 {
			n, ok := index[gid]
			if !ok {
				n = len(gids)
				index[gid] = n
				gids = append(gids, gid)
			}
			return uint16(n) //nolint:gosec // at most 65,535 glyphs
		}); err != nil {
			return nil, err
		}
		if len(gids) > 65535 {
			return nil, errors.New("fonts: too many glyphs")
		}
		glyf = append(glyf, g...)
		for len(glyf)%4 != 0 {
			glyf = append(glyf, 0)
		}
		loca = binary.BigEndian.AppendUint32(loca, uint32(len(glyf))) //nolint:gosec // a part of a file below 4 GB
		adv, lsb, err := f.metric(gids[i])
		if err != nil {
			return nil, err
		}
		hmtx = binary.BigEndian.AppendUint16(hmtx, adv)
		hmtx = binary.BigEndian.AppendUint16(hmtx, lsb)
	}
	n := uint16(len(gids)) //nolint:gosec // checked above
	head, err1 := f.table("head", 54)
	hhea, err2 := f.table("hhea", 36)
	maxp, err3 := f.table("maxp", 6)
	if err := errors.Join(err1, err2, err3); err != nil {
		return nil, err
	}
	clear(head[8:12]) // checkSumAdjustment, which PDF readers ignore
	binary.BigEndian.PutUint16(head[50:], 1)
	binary.BigEndian.PutUint16(hhea[34:], n)
	binary.BigEndian.PutUint16(maxp[4:], n)
	return sfnt([]table{{"glyf", glyf}, {"head", head}, {"hhea", hhea}, {"hmtx", hmtx}, {"loca", loca}, {"maxp", maxp}}), nil
}

// components renumbers the component glyphs of a composite glyph in place.
func components(g []byte, renumber func(uint16) uint16) error {
	if len(g) < 10 || g[0] < 0x80 { // numberOfContours is not negative, so the glyph is simple
		return nil
	}
	for i := 10; ; {
		if i+4 > len(g) {
			return errors.New("fonts: truncated composite glyph")
		}
		flags := binary.BigEndian.Uint16(g[i:])
		binary.BigEndian.PutUint16(g[i+2:], renumber(binary.BigEndian.Uint16(g[i+2:])))
		i += 6
		if flags&argsAreWords != 0 {
			i += 2
		}
		switch {
		case flags&haveScale != 0:
			i += 2
		case flags&haveXYScale != 0:
			i += 4
		case flags&have2x2 != 0:
			i += 8
		}
		if flags&moreComponents == 0 {
			return nil
		}
	}
}

type table struct {
	tag  string
	data []byte
}

// sfnt assembles a font file from tables that are sorted by tag.
func sfnt(tables []table) []byte {
	n := len(tables)
	log := bits.Len(uint(n)) - 1
	power := 1 << log
	be := binary.BigEndian
	out := be.AppendUint32(nil, 0x00010000)
	for _, v := range []int{n, power * 16, log, (n - power) * 16} {
		out = be.AppendUint16(out, uint16(v)) //nolint:gosec // a handful
	}
	at := len(out) + 16*n
	for _, t := range tables {
		out = append(out, t.tag...)
		out = be.AppendUint32(out, checksum(t.data))
		out = be.AppendUint32(out, uint32(at))          //nolint:gosec // a part of a file smaller than 4 GB
		out = be.AppendUint32(out, uint32(len(t.data))) //nolint:gosec // likewise
		at += (len(t.data) + 3) &^ 3
	}
	for _, t := range tables {
		out = append(out, t.data...)
		for len(out)%4 != 0 {
			out = append(out, 0)
		}
	}
	return out
}

func checksum(b []byte) uint32 {
	var sum uint32
	for ; len(b) >= 4; b = b[4:] {
		sum += binary.BigEndian.Uint32(b)
	}
	var last [4]byte
	copy(last[:], b)
	return sum + binary.BigEndian.Uint32(last[:])
}
