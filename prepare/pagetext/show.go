package pagetext

import (
	"fmt"
	"math"
)

// showText shows strings (9.4.3).
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
		var err error
		last.elements(func(o operand) {
			if n, ok := decimal(o.value); ok {
				s.advance(-n / 1000 * s.g.size)
			} else if err == nil {
				err = s.show(o)
			}
		})
		return err
	}
	return s.show(last)
}

// advance moves on in the direction of writing, in unscaled text space units.
func (s *interpreter) advance(by float64) {
	x, y := by*s.g.scale, 0.0
	if s.g.font != nil && s.g.font.vertical {
		x, y = 0, by
	}
	s.tm[4] += x*s.tm[0] + y*s.tm[2]
	s.tm[5] += x*s.tm[1] + y*s.tm[3]
}

// show shows one string.
func (s *interpreter) show(o operand) error {
	b, ok := o.value.Bytes()
	if !ok {
		return nil
	}
	a := s.g.font
	if a == nil {
		return nil
	}
	for i := 0; i < len(b); {
		n := max(1, a.next(b[i:]))
		code := b[i : i+n]
		width := a.width(code)
		step := width*s.g.size + s.g.char
		if a.vertical {
			step = a.down[1]/1000*s.g.size + s.g.char
		}
		if n == 1 && code[0] == ' ' {
			step += s.g.word
		}
		if s.off == 0 {
			if len(s.page.Glyphs) >= maxGlyphs {
				return fmt.Errorf("%w: too many characters", ErrLimit)
			}
			at := Position{Form: s.form, Use: s.use, Start: o.start, End: o.start + len(o.value), Code: i, Length: n}
			if s.g.size != 0 {
				at.Advance = step / s.g.size * 1000
			}
			s.add(a, code, width, at)
		}
		s.advance(step)
		i += n
	}
	return nil
}

// add adds a glyph at the current position.
func (s *interpreter) add(a *face, code []byte, width float64, at Position) {
	m := matrix{s.g.size * s.g.scale, 0, 0, s.g.size, 0, s.g.rise}.times(s.tm).times(s.g.ctm)
	x0, y0, x1, y1 := 0.0, a.descent, width, a.ascent
	along := [2]float64{1, 0} // the direction of writing, in glyph space
	if a.vertical {
		x0, x1 = -width/2, width/2
		y0, y1 = a.down[1]/1000, 0
		along = [2]float64{0, -1}
	}
	box := [4]float64{math.Inf(1), math.Inf(1), math.Inf(-1), math.Inf(-1)}
	for _, c := range [4][2]float64{{x0, y0}, {x1, y0}, {x1, y1}, {x0, y1}} {
		x, y := m.apply(c[0], c[1])
		box = [4]float64{min(box[0], x), min(box[1], y), max(box[2], x), max(box[3], y)}
	}
	cx, cy := (box[0]+box[2])/2, (box[1]+box[3])/2
	if !(cx >= 0 && cy >= 0 && cx <= s.page.Width && cy <= s.page.Height) { // not shown, or no number
		return
	}
	dx, dy := along[0]*m[0]+along[1]*m[2], along[0]*m[1]+along[1]*m[3]
	g := Glyph{
		Box: Box{box[0], box[1], box[2] - box[0], box[3] - box[1]}, Size: math.Hypot(m[2], m[3]), Angle: angle(dx, dy),
		Invisible: s.g.mode == 3 || s.g.mode == 7, Position: at,
	}
	g.Text, g.Known = a.text(code)
	length := width * math.Hypot(dx, dy)
	if a.vertical {
		length = -a.down[1] / 1000 * math.Hypot(dx, dy)
		g.Size = math.Hypot(m[0], m[1])
	}
	if scale := math.Hypot(dx, dy); scale > 0 {
		ux, uy := dx/scale, dy/scale
		g.along, g.across = m[4]*ux+m[5]*uy, -m[4]*uy+m[5]*ux
	}
	g.end = g.along + length
	s.page.Glyphs = append(s.page.Glyphs, g)
}

// angle returns a direction in degrees, clockwise as y points down.
func angle(dx, dy float64) int {
	return (int(math.Round(math.Atan2(dy, dx)*180/math.Pi)) + 360) % 360
}
