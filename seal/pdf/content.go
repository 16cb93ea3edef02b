package pdf

import (
	"errors"
	"slices"
)

// maxBalance bounds the decoded content that Unbalanced reads of one page.
const maxBalance = 4 << 20

// Unbalanced returns how many q operators of a page's content lack their Q
// (8.4.2). Whoever draws after such content must first restore what it left
// behind. Content that is too large or cannot be decoded counts as balanced.
func (f *File) Unbalanced(contents []Value) (int, error) {
	var all []byte
	for _, c := range contents {
		ref, ok := c.Ref()
		if !ok {
			continue
		}
		o, err := f.Object(ref)
		if err != nil {
			return 0, err
		}
		if !o.IsStream() {
			continue
		}
		b, err := f.streamData(o, maxBalance-int64(len(all)))
		switch {
		case errors.Is(err, ErrFilter), errors.Is(err, ErrLimit), errors.Is(err, ErrDamaged):
			return 0, nil
		case err != nil:
			return 0, err
		}
		all = append(append(all, b...), '\n')
	}
	return openStates(all), nil
}

// openStates counts the graphics states that content leaves open.
func openStates(b []byte) int {
	b = append(slices.Clip(b), " endobj "...)
	depth := 0
	for i := skipSpace(b, 0); i < len(b)-len(" endobj "); i = skipSpace(b, i) {
		end, err := skipValue(b, i, 0)
		if err != nil || end <= i {
			i++ // a stray delimiter
			continue
		}
		switch string(b[i:end]) {
		case "q":
			depth++
		case "Q":
			depth = max(depth-1, 0) // readers ignore a Q too many
		case "ID": // an inline image: its data end at EI between white space (8.9.7)
			for end++; end+3 < len(b); end++ {
				if isSpace(b[end-1]) && b[end] == 'E' && b[end+1] == 'I' && isSpace(b[end+2]) {
					end += 2
					break
				}
			}
		}
		i = end
	}
	return depth
}
