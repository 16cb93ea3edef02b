package pdf

import "bytes"

// Character classes (7.2.3). Regular characters belong to none of them.
const (
	classSpace = 1 << iota
	classDelimiter
)

var classes = [256]byte{
	0: classSpace, '\t': classSpace, '\n': classSpace, '\f': classSpace, '\r': classSpace, ' ': classSpace,
	'(': classDelimiter, ')': classDelimiter, '<': classDelimiter, '>': classDelimiter, '[': classDelimiter, ']': classDelimiter,
	'{': classDelimiter, '}': classDelimiter, '/': classDelimiter, '%': classDelimiter,
}

// IsSpace reports whether c is white space (7.2.3).
func IsSpace(c byte) bool { return classes[c] == classSpace }

// IsDelimiter reports whether c is a delimiter, which ends a token but is not white space.
func IsDelimiter(c byte) bool { return classes[c] == classDelimiter }

// IsRegular reports whether c is a regular character, which is neither white space nor a delimiter.
func IsRegular(c byte) bool { return classes[c] == 0 }

// SkipSpace returns the position of the next byte that is not part of white space or a comment (7.2.3, 7.2.4).
func SkipSpace(b []byte, i int) int {
	for i < len(b) {
		switch {
		case IsSpace(b[i]):
			i++
		case b[i] == '%':
			for i < len(b) && b[i] != '\n' && b[i] != '\r' {
				i++
			}
		default:
			return i
		}
	}
	return i
}

// skipRegular returns the end of a run of regular characters.
func skipRegular(b []byte, i int) int {
	for i < len(b) && IsRegular(b[i]) {
		i++
	}
	return i
}

// scanUint parses a run of digits.
func scanUint(b []byte, i int) (n, end int, ok bool) {
	start := i
	for i < len(b) && b[i] >= '0' && b[i] <= '9' {
		if n > 1<<50 {
			return 0, i, false
		}
		n = n*10 + int(b[i]-'0')
		i++
	}
	return n, i, i > start
}

// maxDigits is the maximum number of digits read backwards for a number.
const maxDigits = 15

func skipDigits(b []byte, i int) int {
	for i < len(b) && b[i]-'0' <= 9 {
		i++
	}
	return i
}

// skipValue returns the end of the object that begins at b[i]. It returns errEnd if b ends too early. With any other
// error it returns the position of the error.
func skipValue(b []byte, i, depth int) (int, error) {
	if depth > MaxDepth {
		return i, errDepth
	}
	if i >= len(b) {
		return 0, errEnd
	}
	switch c := b[i]; {
	case c == '/':
		return endOfToken(b, skipRegular(b, i+1))
	case c == '(':
		return skipLiteral(b, i)
	case c == '<':
		if i+1 >= len(b) {
			return 0, errEnd
		}
		if b[i+1] == '<' {
			return skipDict(b, i+2, depth)
		}
		if n := bytes.IndexByte(b[i:], '>'); n >= 0 {
			return i + n + 1, nil
		}
		return 0, errEnd
	case c == '[':
		for i++; ; {
			i = SkipSpace(b, i)
			if i >= len(b) {
				return 0, errEnd
			}
			if b[i] == ']' {
				return i + 1, nil
			}
			end, err := skipValue(b, i, depth+1)
			if err != nil {
				return end, err
			}
			i = end
		}
	case c >= '0' && c <= '9':
		return skipNumberOrRef(b, i)
	case IsRegular(c):
		return endOfToken(b, skipRegular(b, i))
	}
	return i, errDelimiter
}

// endOfToken rejects a token that extends to the end of the buffer, because the token may continue.
func endOfToken(b []byte, i int) (int, error) {
	if i >= len(b) {
		return 0, errEnd
	}
	return i, nil
}

func skipLiteral(b []byte, i int) (int, error) {
	open := 0
	for ; i < len(b); i++ {
		switch b[i] {
		case '\\':
			i++
		case '(':
			open++
		case ')':
			if open--; open == 0 {
				return i + 1, nil
			}
		}
	}
	return 0, errEnd
}

func skipDict(b []byte, i, depth int) (int, error) {
	for {
		i = SkipSpace(b, i)
		if i+1 >= len(b) {
			return 0, errEnd
		}
		if b[i] == '>' && b[i+1] == '>' {
			return i + 2, nil
		}
		if b[i] != '/' {
			return i, errKey
		}
		end, err := skipValue(b, SkipSpace(b, skipRegular(b, i+1)), depth+1)
		if err != nil {
			return end, err
		}
		i = end
	}
}

// skipNumberOrRef distinguishes "12" from "12 0 R".
func skipNumberOrRef(b []byte, i int) (int, error) {
	end := skipDigits(b, i)
	if end < len(b) && IsRegular(b[end]) {
		return endOfToken(b, skipRegular(b, end))
	}
	j := SkipSpace(b, end)
	k := skipDigits(b, j)
	if k >= len(b) {
		return 0, errEnd
	}
	if k == j || k-j > maxDigits || !IsSpace(b[k]) && b[k] != '%' {
		return end, nil
	}
	k = SkipSpace(b, k)
	if k >= len(b) {
		return 0, errEnd
	}
	if b[k] != 'R' {
		return end, nil
	}
	if k+1 >= len(b) {
		return 0, errEnd
	}
	if IsRegular(b[k+1]) {
		return end, nil
	}
	return k + 1, nil
}

// Parse returns the object at the start of b, after any white space, and the position after it.
func Parse(b []byte) (Value, int, error) {
	// Append a keyword to distinguish a complete token at the end from a truncated one.
	start := SkipSpace(b, 0)
	end, err := skipValue(append(b[:len(b):len(b)], " endobj "...), start, 0)
	if err != nil {
		return nil, 0, err
	}
	if end > len(b) {
		return nil, 0, errEnd
	}
	return b[start:end:end], end, nil
}
