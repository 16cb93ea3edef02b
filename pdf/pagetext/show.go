package pagetext

import (
	"fmt"
	"math"

	"countersign/pdf"
)

// showText executes a text-showing operator (9.4.3).
func (s *interpreter) showText(op string) error {
	if len(s.operands) == 0 {
		return nil
	}
	last := s.operands[len(s.operands)-1]
	switch op {
	case "'", "\"":
		if op == "\"" && len(s.operands) >= 3 {
			s.g.word, s.g.char = s.n(0), s.n(1)
		}
		s.move(0, -s.g.leading)
	case "TJ":
		for o := range last.elements() {
			if n, ok := decimal(o.value); ok {
				s.advance(-n / 1000 * s.g.size)
			} else if err := s.show(o); err != nil {
				return err
			}
		}
		return nil
	}
	return s.show(last)
}

// advance moves the text position in the writing direction, by unscaled text space units.
func (s *interpreter) advance(by float64) {
	x, y := by*s.g.scale, 0.0
	if s.g.font != nil && s.g.font.vertical {
		x, y = 0, by
	}
	s.tm[4] += x*s.tm[0] + y*s.tm[2]
	s.tm[5] += x*s.tm[1] + y*s.tm[3]
}

// run is a string shown by a text operator. Its glyphs are created on demand.
type run struct {
	font             *face
	codes            []byte
	m                pdf.Matrix // from glyph space of the first code to the page
	by               [2]float64 // displacement on the page for an advance of 1
	size, char, word float64
	use, start       int
	invisible        bool
	braces           bool // whether it contains a brace or bracket
	angle            int
	unit             [2]float64 // writing direction
	scale            float64    // scale of an advance of 1 in glyph space
	across           float64
	height           float64 // displayed font size
}

func (s *interpreter) show(o operand) error {
	a := s.g.font
	if a == nil {
		return nil
	}
	b, ok := o.value.Bytes()
	if !ok {
		return nil
	}
	r := run{codes: b, font: a, size: s.g.size, char: s.g.char, word: s.g.word}
	total, count := 0.0, 0
	for i := 0; i < len(b); {
		if s.codes++; s.codes > maxCodes {
			return fmt.Errorf("%w: too many characters", ErrLimit)
		}
		n, c := a.code(b[i:])
		total += r.step(n, b[i], c)
		r.braces = r.braces || c.brace
		i += n
		count++
	}
	if s.off == 0 && count > 0 {
		if s.page.codes += count; s.page.codes > maxGlyphs {
			return fmt.Errorf("%w: too many characters", ErrLimit)
		}
		r.use, r.start = s.use, o.start
		r.invisible = s.g.mode == 3 || s.g.mode == 7
		r.place(s.tm.Times(s.g.ctm), s.g.scale, s.g.rise)
		s.page.runs = append(s.page.runs, r)
	}
	s.advance(total)
	return nil
}

// step returns the displacement of a code.
func (r *run) step(n int, first byte, c *codeInfo) float64 {
	step := c.width*r.size + r.char
	if r.font.vertical {
		step = r.font.down[1]/1000*r.size + r.char
	}
	if n == 1 && first == ' ' {
		step += r.word
	}
	return step
}

// place determines the position of the run. The argument text is the matrix from text space to the page.
func (r *run) place(text pdf.Matrix, scale, rise float64) {
	r.m = pdf.Matrix{r.size * scale, 0, 0, r.size, 0, rise}.Times(text)
	dx, dy := r.m[0], r.m[1]
	r.by = [2]float64{scale * text[0], scale * text[1]}
	r.height = math.Hypot(r.m[2], r.m[3])
	if r.font.vertical {
		dx, dy = -r.m[2], -r.m[3]
		r.by = [2]float64{text[2], text[3]}
		r.height = math.Hypot(r.m[0], r.m[1])
	}
	r.angle = angle(dx, dy)
	if r.scale = math.Hypot(dx, dy); r.scale > 0 {
		r.unit = [2]float64{dx / r.scale, dy / r.scale}
		r.across = -r.m[4]*r.unit[1] + r.m[5]*r.unit[0]
	}
}

// glyphs adds the glyphs of a run to the page.
func (p *Page) glyphs(r *run) {
	a := r.font
	at := 0.0
	for i := 0; i < len(r.codes); {
		n, c := a.code(r.codes[i:])
		step := r.step(n, r.codes[i], c)
		x, y := r.m[4]+at*r.by[0], r.m[5]+at*r.by[1]
		x0, y0, x1, y1 := 0.0, a.descent, c.width, a.ascent
		length := c.width * r.scale
		if a.vertical {
			x0, x1 = -c.width/2, c.width/2
			y0, y1 = a.down[1]/1000, 0
			length = -a.down[1] / 1000 * r.scale
		}
		left := min(r.m[0]*x0, r.m[0]*x1) + min(r.m[2]*y0, r.m[2]*y1) + x
		right := max(r.m[0]*x0, r.m[0]*x1) + max(r.m[2]*y0, r.m[2]*y1) + x
		top := min(r.m[1]*x0, r.m[1]*x1) + min(r.m[3]*y0, r.m[3]*y1) + y
		bottom := max(r.m[1]*x0, r.m[1]*x1) + max(r.m[3]*y0, r.m[3]*y1) + y
		cx, cy := (left+right)/2, (top+bottom)/2
		if cx >= 0 && cy >= 0 && cx <= p.Width && cy <= p.Height { // false for NaN
			g := Glyph{
				Text: c.text, Box: Box{left, top, right - left, bottom - top}, Size: r.height, Angle: r.angle, Invisible: r.invisible,
				Position: Position{Use: r.use, Start: r.start, Code: i, Length: n},
				along:    x*r.unit[0] + y*r.unit[1], across: r.across,
			}
			if r.size != 0 {
				g.Position.Advance = step / r.size * 1000
			}
			g.end = g.along + length
			p.Glyphs = append(p.Glyphs, g)
		}
		at += step
		i += n
	}
}

// angle returns a direction in degrees, clockwise because y points down.
func angle(dx, dy float64) int {
	if dy == 0 && dx > 0 { // fast path for most text
		return 0
	}
	return (int(math.Round(math.Atan2(dy, dx)*180/math.Pi)) + 360) % 360
}
