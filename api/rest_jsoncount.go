package api

import (
	"errors"
	"io"

	"countersign/models"
)

// The limits of a JSON text. They are checked on the raw bytes, before the text is parsed.
const (
	maxDepth  = 32      // nesting levels of arrays and objects
	maxValues = 100_000 // values and member names
)

// jsonCount contains the size of a JSON text, the number of its values, and its depth.
type jsonCount struct {
	bytes      int64
	values     int // strings (including names), numbers, literals, arrays and objects
	containers int // arrays and objects
	depth      int // maximum nesting level
}

// Upper bounds on the memory for a parsed JSON text, in bytes.
const (
	memoryPerByte      = 3       // the text itself, and the copies of its strings
	memoryPerValue     = 64      // a value in a map or slice
	memoryPerContainer = 1 << 10 // an object that a handler reads into a structure
)

// memory returns an upper bound on the memory used by the parsed text, in bytes.
func (n jsonCount) memory() int64 {
	return n.bytes*memoryPerByte + int64(n.values)*memoryPerValue + int64(n.containers)*memoryPerContainer
}

// check returns an error if a JSON text exceeds the limits. The parameter name is the form part's name, or "" for the
// body.
func (n jsonCount) check(name string) error {
	switch {
	case n.depth > maxDepth:
		return models.Reject(models.KindInvalid, "invalid_json", "%s is nested more than %d levels deep.", partName(name), maxDepth)
	case n.values > maxValues:
		return models.Reject(models.KindInvalid, "invalid_json", "%s contains more than %d values and names.", partName(name), maxValues)
	}
	return nil
}

// countJSON counts the values in a JSON text while reading it. It does not validate the text.
func countJSON(r io.Reader) (jsonCount, error) {
	var s jsonScanner
	buf := make([]byte, 8<<10)
	for {
		n, err := r.Read(buf)
		s.scan(buf[:n])
		if errors.Is(err, io.EOF) {
			return s.jsonCount, nil
		}
		if err != nil {
			return s.jsonCount, err
		}
	}
}

// jsonScanner counts the values in a JSON text that arrives in pieces.
type jsonScanner struct {
	jsonCount

	open    int  // arrays and objects that are still open
	quoted  bool // within a string
	escaped bool // after a backslash within a string
	word    bool // within a number or literal
}

func (s *jsonScanner) scan(b []byte) {
	s.bytes += int64(len(b))
	for _, ch := range b {
		if s.quoted {
			switch {
			case s.escaped:
				s.escaped = false
			case ch == '\\':
				s.escaped = true
			case ch == '"':
				s.quoted = false
			}
			continue
		}
		switch ch {
		case '"':
			s.quoted, s.word = true, false
			s.values++
		case '{', '[':
			s.word = false
			s.values++
			s.containers++
			s.open++
			s.depth = max(s.depth, s.open)
		case '}', ']':
			s.word = false
			s.open--
		case ',', ':', ' ', '\t', '\r', '\n':
			s.word = false
		default:
			if !s.word {
				s.word = true
				s.values++
			}
		}
	}
}
