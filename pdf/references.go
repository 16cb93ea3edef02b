package pdf

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"
)

var errLoneR = errors.New("pdf: R without two numbers before it")

// References calls visit for every indirect reference in v, at any depth. It returns an error for content that only
// some programs interpret as a reference.
func (v Value) References(visit func(Ref) error) error {
	if ref, ok := v.Ref(); ok { // any other value that contains references ends with a delimiter
		return visit(ref)
	}
	for i := 0; i < len(v); {
		switch c := v[i]; {
		case IsSpace(c), c == '%':
			i = SkipSpace(v, i)
		case c == '(':
			end, err := skipLiteral(v, i)
			if err != nil {
				return err
			}
			i = end
		case c == '<' && i+1 < len(v) && v[i+1] != '<':
			for i < len(v) && v[i] != '>' {
				i++
			}
			i++
		case c == '<':
			i += 2
		case IsDelimiter(c) && c != '/':
			i++
		default:
			end, err := skipToken(v, i)
			if err != nil {
				return err
			}
			token := v[i:end]
			if ref, ok := token.Ref(); ok {
				if err := visit(ref); err != nil {
					return err
				}
			} else if c != '/' && (string(token) == "R" || c < 'A' && bytes.IndexByte(token, 'R') >= 0) {
				return errLoneR
			}
			i = end
		}
	}
	return nil
}

// skipToken returns the end of a name, keyword, number or reference.
func skipToken(v Value, i int) (int, error) {
	if c := v[i]; c >= '0' && c <= '9' {
		end, err := skipNumberOrRef(v, i)
		if err == nil || !errors.Is(err, errEnd) {
			return end, err
		}
	}
	return skipRegular(v, i+1), nil
}

// RepeatedKey returns a key, with #xx decoded, that occurs twice with different values in the dictionary v itself, or
// "" if there is none. Programs differ in which of the values they use. Old versions of pdfTeX repeat keys, but with
// the same value.
func (v Value) RepeatedKey() (string, error) {
	if !v.IsDict() {
		return "", nil
	}
	var keys []Entry
	for i := 2; ; {
		i = SkipSpace(v, i)
		if i+1 >= len(v) {
			return "", errEnd
		}
		if v[i] == '>' {
			break
		}
		end := skipRegular(v, i+1)
		start := SkipSpace(v, end)
		key := decodeName(v[i+1 : end])
		var err error
		if i, err = skipValue(v, start, 1); err != nil {
			return "", err
		}
		keys = append(keys, Entry{key, v[start:i]})
	}
	slices.SortStableFunc(keys, func(a, b Entry) int { return cmp.Compare(a.Key, b.Key) })
	for i := 1; i < len(keys); i++ {
		if keys[i].Key == keys[i-1].Key && !bytes.Equal(keys[i].Value, keys[i-1].Value) {
			return keys[i].Key, nil
		}
	}
	return "", nil
}

// maxUndefined is the maximum number of missing objects that a file may refer to.
const maxUndefined = 4096

// maxGeneration is the highest generation number of an object (7.5.4).
const maxGeneration = 65_534

// withLocation adds the object or trailer in which an error was found.
func withLocation(err error, format string, args ...any) error {
	if errors.Is(err, ErrLimit) {
		return err
	}
	return damaged("%w: %w", fmt.Errorf(format, args...), err)
}

type undefined struct {
	live    bitset
	used    map[int]int // nonzero generations of existing objects
	missing map[int]int // generations of missing objects
	highest int
}

func (u *undefined) visit(ref Ref) error {
	if ref.Num > u.highest {
		if ref.Num > maxObjectNum {
			return fmt.Errorf("%d is not an object number", ref.Num)
		}
		u.highest = ref.Num
	}
	gen, exists := u.missing[ref.Num]
	if u.live.has(ref.Num) {
		gen, exists = u.used[ref.Num], true
	}
	switch {
	case exists && gen != ref.Gen:
		return fmt.Errorf("object %d is used with two generations", ref.Num)
	case exists || ref.Num == 0: // no program interprets anything as object 0
		return nil
	case ref.Gen > maxGeneration:
		return fmt.Errorf("%d is not a generation number", ref.Gen)
	case len(u.missing) >= maxUndefined:
		return fmt.Errorf("%w: more than %d references to missing objects", ErrLimit, maxUndefined)
	}
	u.missing[ref.Num] = ref.Gen
	return nil
}

// numberBefore returns the object number in "12 0 " at the end of b.
func numberBefore(b []byte) (int, bool) {
	i := spaceBefore(b, len(b))
	gen := digitsBefore(b, i)
	j := spaceBefore(b, gen)
	if gen == i || j == gen {
		return 0, false
	}
	n, _, ok := scanUint(b[:j], digitsBefore(b, j))
	return n, ok
}

// spaceBefore returns the start of the white space that ends before b[end].
func spaceBefore(b []byte, end int) int {
	for end > 0 && IsSpace(b[end-1]) {
		end--
	}
	return end
}

// digitsBefore returns the start of the digits that end before b[end].
func digitsBefore(b []byte, end int) int {
	i := end
	for i > 0 && b[i-1]-'0' <= 9 && end-i < maxDigits {
		i--
	}
	return i
}
