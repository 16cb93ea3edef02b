package pdf

// textOperator tracks the range of text positions (9.4), from the start of the text to its farthest possible end, as
// far as this can be determined without the fonts. It returns false for other operators.
func (s *stream) textOperator(op string) bool {
	n, ok := s.numbers(min(len(s.operands), len(s.nums)))
	if !ok {
		n = nil
	}
	last := func(d float64) float64 {
		if len(n) > 0 {
			return n[len(n)-1]
		}
		return d
	}
	switch op {
	case "BT":
		s.text, s.textLine = Matrix{1, 0, 0, 1, 0, 0}, Matrix{1, 0, 0, 1, 0, 0}
	case "Tf":
		if n, ok := s.numbers(1); ok {
			s.g.fontSize = n[0]
		}
	case "TL":
		s.g.leading = last(s.g.leading)
	case "Tc", "Tw":
		s.g.spacing = max(s.g.spacing, last(0))
	case "Tm":
		if len(n) == 6 {
			s.text, s.textLine = Matrix(n), Matrix(n)
		}
	case "Td", "TD":
		if len(n) == 2 {
			if op == "TD" {
				s.g.leading = -n[1]
			}
			s.nextLine(n[0], n[1])
		}
	case "T*":
		s.nextLine(0, -s.g.leading)
	case "'", `"`:
		s.nextLine(0, -s.g.leading)
		s.show()
	case "Tj", "TJ":
		s.show()
	default:
		return false
	}
	return true
}

func (s *stream) nextLine(x, y float64) {
	s.textLine = Matrix{1, 0, 0, 1, x, y}.Times(s.textLine)
	s.text = s.textLine
}

// show records the extent of a string, counting each byte as one wide character.
func (s *stream) show() {
	if s.reader.work--; len(s.operands) == 0 {
		return
	}
	const below, above = -0.35, 1.1 // multiples of the font size
	size := s.g.fontSize
	width := float64(len(s.operands[len(s.operands)-1])) * (max(size, -size) + s.g.spacing)
	m := s.text.Times(s.g.ctm)
	corners := make([][2]float64, 0, 4)
	for _, c := range [4][2]float64{{0, below * size}, {width, below * size}, {0, above * size}, {width, above * size}} {
		x, y := m.Apply(c[0], c[1])
		corners = append(corners, [2]float64{x, y})
	}
	s.reader.marks(&s.g, boundsOf(corners, 0))
	s.text = Matrix{1, 0, 0, 1, width, 0}.Times(s.text)
}
