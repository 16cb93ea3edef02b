package text

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"sync"

	"countersign/pdf"
	"countersign/seal/fonts"
)

// Embedder collects the glyphs that a document uses and embeds them. It embeds one subset per font, as a composite font
// with ToUnicode (ISO 32000-2, 9.7, 9.10.3).
type Embedder struct {
	used map[*fonts.Font]*subset
}

type glyphKey struct {
	gid  uint16
	text string
}

// subset numbers glyphs in order of use. A glyph that represents several strings is assigned several numbers, so that
// each occurrence is extracted as its own string.
type subset struct {
	name   string // name in the resources: F1, F2, …
	gids   []uint16
	texts  []string
	widths []float64 // in thousandths of an em
	index  map[glyphKey]int

	program, packed []byte // the subset as a font file, uncompressed and compressed
	err             error
}

// NewEmbedder returns an empty Embedder.
func NewEmbedder() *Embedder { return &Embedder{used: map[*fonts.Font]*subset{}} }

func (e *Embedder) subset(f *fonts.Font) *subset {
	s, ok := e.used[f]
	if !ok {
		s = &subset{
			name: "F" + strconv.Itoa(len(e.used)+1), gids: []uint16{0}, texts: []string{""}, widths: []float64{0},
			index: map[glyphKey]int{},
		}
		e.used[f] = s
	}
	return s
}

func (s *subset) code(f *fonts.Font, g Glyph) (int, error) {
	k := glyphKey{g.ID, g.Text}
	if n, ok := s.index[k]; ok {
		return n, nil
	}
	adv, err := f.Advance(g.ID)
	if err != nil {
		return 0, err
	}
	n := len(s.gids)
	s.index[k] = n
	s.gids = append(s.gids, g.ID)
	s.texts = append(s.texts, g.Text)
	s.widths = append(s.widths, math.Round(float64(adv)*1e4/float64(f.UnitsPerEm()))/10)
	return n, nil
}

// emboldening is the width of the stroke around the glyphs of a font without a bold face, in ems.
const emboldening = 0.028

// Append appends the operators that show a line with its left end at x, y. They must be placed between BT and ET.
// Emboldened text is stroked, so the stroke and fill colors should be the same.
func (e *Embedder) Append(b []byte, line Line, size, x, y float64) ([]byte, error) {
	for _, run := range line.Runs {
		var err error
		if b, err = e.appendRun(b, run, size, x, y); err != nil {
			return nil, err
		}
		x += run.Advance * size / em
	}
	return b, nil
}

func (e *Embedder) appendRun(b []byte, run Run, size, x, y float64) ([]byte, error) {
	if len(run.Glyphs) == 0 {
		return b, nil
	}
	s := e.subset(run.Font)
	if !run.Plain {
		b = append(b, "/Span<</ActualText<FEFF"...)
		b = pdf.AppendUTF16(b, run.Text)
		b = append(b, ">>>BDC\n"...)
	}
	if run.Embolden {
		b = append(b, "2 Tr "...)
		b = pdf.AppendNumber(b, size*emboldening)
		b = append(b, " w "...)
	}
	b = append(b, '/')
	b = append(b, s.name...)
	b = append(b, ' ')
	b = pdf.AppendNumber(b, size)
	b = append(b, " Tf 1 0 0 1 "...)
	b = pdf.AppendNumber(b, x)
	b = append(b, ' ')
	b = pdf.AppendNumber(b, y)
	b = append(b, " Tm ["...)
	open, rise, pending := false, 0.0, 0.0
	closeString := func() {
		if open {
			b = append(b, '>')
			open = false
		}
	}
	for _, g := range run.Glyphs {
		code, err := s.code(run.Font, g)
		if err != nil {
			return nil, err
		}
		if g.DY != rise {
			closeString()
			rise = g.DY
			b = append(b, "]TJ "...)
			b = pdf.AppendNumber(b, rise*size/em)
			b = append(b, " Ts ["...)
		}
		if shift := pending - g.DX; math.Abs(shift) > 0.05 {
			closeString()
			b = pdf.AppendNumber(b, shift)
		}
		if !open {
			b = append(b, '<')
			open = true
		}
		b = appendHex16(b, code)
		pending = s.widths[code] + g.DX - g.Advance
	}
	closeString()
	b = append(b, "]TJ"...)
	if rise != 0 {
		b = append(b, " 0 Ts"...)
	}
	if run.Embolden {
		b = append(b, " 0 Tr"...)
	}
	b = append(b, '\n')
	if !run.Plain {
		b = append(b, "EMC\n"...)
	}
	return b, nil
}

func appendHex16(b []byte, n int) []byte {
	const digits = "0123456789ABCDEF"
	return append(b, digits[n>>12&15], digits[n>>8&15], digits[n>>4&15], digits[n&15])
}

// Write embeds the fonts, and writes the Font entry of the resource dictionary as object ref.
func (e *Embedder) Write(w *pdf.Increment, ref pdf.Ref) error {
	var wait sync.WaitGroup
	for f, s := range e.used { // subsets are created concurrently, and written in order
		wait.Go(func() {
			if s.program, s.err = f.Subset(s.gids); s.err == nil {
				s.packed = pdf.Deflate(s.program)
			}
		})
	}
	wait.Wait()
	res := pdf.Dict{}
	byName := func(a, b *fonts.Font) int { return cmp.Compare(e.used[a].name, e.used[b].name) }
	for _, f := range slices.SortedFunc(maps.Keys(e.used), byName) {
		font, err := e.used[f].write(w, f)
		if err != nil {
			return fmt.Errorf("text: embedding %s: %w", f.Name, err)
		}
		res.Set(e.used[f].name, font.Value())
	}
	w.PutDict(ref, res)
	return nil
}

func (s *subset) write(w *pdf.Increment, f *fonts.Font) (pdf.Ref, error) {
	if s.err != nil {
		return pdf.Ref{}, s.err
	}
	sum := sha256.Sum256(s.program)
	tag := make([]byte, 6) // six letters that distinguish subsets (9.9.2)
	for i := range tag {
		tag[i] = 'A' + sum[i]%26
	}
	name := pdf.Value(pdf.AppendName(nil, string(tag)+"+"+f.Name))
	file := w.AddStream(pdf.Dict{{Key: "Length1", Value: formatNumber(len(s.program))}, {Key: "Filter", Value: pdf.Value("/FlateDecode")}}, s.packed)
	m := f.Metrics()
	descriptor := w.Add(pdf.Dict{
		{Key: "Type", Value: pdf.Value("/FontDescriptor")},
		{Key: "FontName", Value: name},
		{Key: "Flags", Value: formatNumber(4)}, // symbolic, with its own encoding
		{Key: "FontBBox", Value: fmt.Appendf(nil, "[%d %d %d %d]", m.BBox[0], m.BBox[1], m.BBox[2], m.BBox[3])},
		{Key: "ItalicAngle", Value: formatNumber(0)},
		{Key: "Ascent", Value: formatNumber(m.Ascent)},
		{Key: "Descent", Value: formatNumber(m.Descent)},
		{Key: "CapHeight", Value: formatNumber(m.CapHeight)},
		{Key: "StemV", Value: formatNumber(80)},
		{Key: "FontFile2", Value: file.Value()},
	}.Value())
	widths := []byte("[0[")
	for i, n := range s.widths {
		if i > 0 {
			widths = append(widths, ' ')
		}
		widths = pdf.AppendNumber(widths, n)
	}
	widths = append(widths, "]]"...)
	descendant := w.Add(pdf.Dict{
		{Key: "Type", Value: pdf.Value("/Font")},
		{Key: "Subtype", Value: pdf.Value("/CIDFontType2")},
		{Key: "BaseFont", Value: name},
		{Key: "CIDSystemInfo", Value: pdf.Value("<</Registry(Adobe)/Ordering(Identity)/Supplement 0>>")},
		{Key: "FontDescriptor", Value: descriptor.Value()},
		{Key: "CIDToGIDMap", Value: pdf.Value("/Identity")},
		{Key: "DW", Value: formatNumber(0)},
		{Key: "W", Value: widths},
	}.Value())
	unicode := w.AddStream(nil, s.toUnicode())
	return w.Add(pdf.Dict{
		{Key: "Type", Value: pdf.Value("/Font")},
		{Key: "Subtype", Value: pdf.Value("/Type0")},
		{Key: "BaseFont", Value: name},
		{Key: "Encoding", Value: pdf.Value("/Identity-H")},
		{Key: "DescendantFonts", Value: slices.Concat(pdf.Value("["), descendant.Value(), pdf.Value("]"))},
		{Key: "ToUnicode", Value: unicode.Value()},
	}.Value()), nil
}

func formatNumber(n int) pdf.Value { return pdf.Value(strconv.Itoa(n)) }

// toUnicode returns the CMap that maps codes to text (9.10.3).
func (s *subset) toUnicode() []byte {
	var b bytes.Buffer
	b.WriteString("/CIDInit /ProcSet findresource begin\n12 dict begin\nbegincmap\n" +
		"/CIDSystemInfo <</Registry (Adobe) /Ordering (UCS) /Supplement 0>> def\n" +
		"/CMapName /Adobe-Identity-UCS def\n/CMapType 2 def\n" +
		"1 begincodespacerange\n<0000> <FFFF>\nendcodespacerange\n")
	const most = 100 // maximum number of entries in a section
	for from := 1; from < len(s.texts); from += most {
		to := min(from+most, len(s.texts))
		fmt.Fprintf(&b, "%d beginbfchar\n", to-from)
		for i := from; i < to; i++ {
			text := s.texts[i]
			if text == "" {
				text = "\u200B" // any further glyph of a cluster has no text
			}
			b.WriteByte('<')
			b.Write(appendHex16(nil, i))
			b.WriteString("> <")
			b.Write(pdf.AppendUTF16(nil, text))
			b.WriteString(">\n")
		}
		b.WriteString("endbfchar\n")
	}
	b.WriteString("endcmap\nCMapName currentdict /CMap defineresource pop\nend\nend\n")
	return b.Bytes()
}
