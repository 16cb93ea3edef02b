package pdf

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"
)

var errLoneR = errors.New("pdf: R without two numbers before it")

// References calls visit for every indirect reference in v, at any depth. What
// one reader reads as a reference and another does not is an error.
func (v Value) References(visit func(Ref) error) error {
	if ref, ok := v.Ref(); ok { // else it ends with a delimiter, or holds none
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

// RepeatedKey returns a key that stands twice in the dictionary v itself, #xx
// decoded, with different values, and "" if none does. Readers differ in which of
// the two counts. Old versions of pdfTeX repeat keys with the same value.
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

// maxUndefined bounds how many references to missing objects a file may have.
const maxUndefined = 4096

// maxGeneration is the last generation that an object can have (7.5.4).
const maxGeneration = 65_534

// withLocation says in which object or trailer an error was found.
func withLocation(err error, format string, args ...any) error {
	if errors.Is(err, ErrLimit) {
		return err
	}
	return damaged("%w: %w", fmt.Errorf(format, args...), err)
}

type undefined struct {
	live    bitset
	used    map[int]int // generations other than 0 of what exists
	missing map[int]int // generations of what does not
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
	case exists || ref.Num == 0: // no reader takes anything for object 0
		return nil
	case ref.Gen > maxGeneration:
		return fmt.Errorf("%d is not a generation number", ref.Gen)
	case len(u.missing) >= maxUndefined:
		return fmt.Errorf("%w: more than %d references to missing objects", ErrLimit, maxUndefined)
	}
	u.missing[ref.Num] = ref.Gen
	return nil
}

// numberBefore reads the object number of "12 0 " from its end.
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

// spaceBefore returns where the white space begins that ends at b[end].
func spaceBefore(b []byte, end int) int {
	for end > 0 && IsSpace(b[end-1]) {
		end--
	}
	return end
}

// digitsBefore returns where the digits begin that end at b[end].
func digitsBefore(b []byte, end int) int {
	i := end
	for i > 0 && b[i-1]-'0' <= 9 && end-i < maxDigits {
		i--
	}
	return i
}
