package pagetext

import (
	"bytes"
	"iter"

	"countersign/pdf"
)

// operand is the written form of an operand, and its offset in the content.
type operand struct {
	value pdf.Value
	start int
}

// scanner splits a content stream into operands and operators (7.8.2). It skips invalid content, as PDF readers do.
type scanner struct {
	b        []byte
	i        int
	operands []operand
}

// next returns the next operator, or false at the end. It sets s.operands.
func (s *scanner) next() (string, bool) {
	s.operands = s.operands[:0]
	for {
		start, end := s.token()
		if start == end {
			return "", false
		}
		switch c := s.b[start]; {
		case c == '/' || c == '(' || c == '<' || c == '[' || c >= '0' && c <= '9' || c == '-' || c == '+' || c == '.':
			if len(s.operands) < maxOperands {
				s.operands = append(s.operands, operand{pdf.Value(s.b[start:end:end]), start})
			}
		case pdf.IsDelimiter(c): // unexpected delimiter
		default:
			word := s.b[start:end]
			if string(word) == "true" || string(word) == "false" || string(word) == "null" {
				if len(s.operands) < maxOperands {
					s.operands = append(s.operands, operand{word, start})
				}
				continue
			}
			if string(word) == "ID" {
				s.skipImage()
			}
			return string(word), true
		}
	}
}

// token returns the range of the next object or word. Both positions are equal at the end of the content.
func (s *scanner) token() (start, end int) {
	b := s.b
	i := pdf.SkipSpace(b, s.i)
	start = i
	if i >= len(b) {
		s.i = i
		return i, i
	}
	switch c := b[i]; {
	case c == '(':
		i = skipString(b, i)
	case c == '<' && i+1 < len(b) && b[i+1] == '<', c == '[':
		i = s.skipNested(i)
	case c == '<':
		if n := bytes.IndexByte(b[i:], '>'); n >= 0 {
			i += n + 1
		} else {
			i = len(b)
		}
	case c != '/' && pdf.IsDelimiter(c):
		i++
	default:
		i++
		for i < len(b) && pdf.IsRegular(b[i]) {
			i++
		}
	}
	s.i = i
	return start, i
}

// skipString returns the end of the literal string that begins at i (7.3.4.2).
func skipString(b []byte, i int) int {
	depth := 0
	for ; i < len(b); i++ {
		switch b[i] {
		case '\\':
			i++
		case '(':
			depth++
		case ')':
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
	return len(b)
}

// skipNested returns the end of the array or dictionary that begins at i.
func (s *scanner) skipNested(i int) int {
	depth := 0
	for i < len(s.b) {
		i = pdf.SkipSpace(s.b, i)
		if i >= len(s.b) {
			break
		}
		switch c := s.b[i]; {
		case c == '(':
			i = skipString(s.b, i)
			continue
		case c == '[':
			depth++
		case c == ']':
			depth--
		case c == '<' && i+1 < len(s.b) && s.b[i+1] == '<':
			depth++
			i++
		case c == '>' && i+1 < len(s.b) && s.b[i+1] == '>':
			depth--
			i++
		}
		i++
		if depth <= 0 {
			return i
		}
	}
	return len(s.b)
}

// skipImage skips the data of an inline image, up to and including EI (8.9.7).
func (s *scanner) skipImage() {
	b := s.b
	for i := s.i + 1; i+1 < len(b); i++ {
		if b[i] == 'E' && b[i+1] == 'I' && pdf.IsSpace(b[i-1]) && (i+2 >= len(b) || !pdf.IsRegular(b[i+2])) {
			s.i = i + 2
			return
		}
	}
	s.i = len(b)
}

// elements iterates over the elements of an array operand.
func (o operand) elements() iter.Seq[operand] {
	return func(yield func(operand) bool) {
		s := scanner{b: o.value[1:]}
		for {
			start, end := s.token()
			if start == end || s.b[start] == ']' || !yield(operand{pdf.Value(s.b[start:end:end]), o.start + 1 + start}) {
				return
			}
		}
	}
}

// number returns the operand as a number, or 0 if it is not a number.
func (o operand) number() float64 {
	n, ok := decimal(o.value)
	if !ok {
		return 0
	}
	return n
}

// decimal parses a number (7.3.3).
func decimal(b []byte) (n float64, ok bool) {
	negative, scale := false, 0.0
	for i, c := range b {
		switch {
		case c >= '0' && c <= '9':
			n = n*10 + float64(c-'0')
			scale *= 10
			ok = true
		case c == '.' && scale == 0:
			scale = 1
		case c == '-' && !ok:
			negative = true
		case c == '+' && i == 0:
		case c == '-': // "12-34" is read as 12
			return finish(n, scale, negative), ok
		default:
			return 0, false
		}
	}
	n = finish(n, scale, negative)
	return n, ok && n < 1e9 && n > -1e9
}

func finish(n, scale float64, negative bool) float64 {
	if scale > 1 {
		n /= scale
	}
	if negative {
		n = -n
	}
	return n
}
