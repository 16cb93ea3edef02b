package pdf

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
)

var errLoneR = errors.New("pdf: R without two numbers before it")

// References calls visit for every indirect reference in v, at any depth. What
// one reader takes for a reference and another does not is an error.
func (v Value) References(visit func(Ref) error) error {
	if ref, ok := v.Ref(); ok { // else it ends with a delimiter, or holds none
		return visit(ref)
	}
	for i := 0; i < len(v); {
		switch c := v[i]; {
		case isSpace(c), c == '%':
			i = skipSpace(v, i)
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
		case isDelimiter(c) && c != '/':
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
	for i++; i < len(v) && isRegular(v[i]); {
		i++
	}
	return i, nil
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
		i = skipSpace(v, i)
		if i+1 >= len(v) {
			return "", errEnd
		}
		if v[i] == '>' {
			break
		}
		end := i + 1
		for end < len(v) && isRegular(v[end]) {
			end++
		}
		start := skipSpace(v, end)
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

// maxUndefined bounds how many references to nothing a file may have.
const maxUndefined = 4096

// maxGeneration is the last generation that an object can have (7.5.4).
const maxGeneration = 65_534

// Undefined returns the references in a file to objects that do not exist, with
// their generations, in order, and the highest object number that is mentioned
// anywhere. They mean null (7.3.10), but an object that is appended later, or
// found by a reader that looks for objects by itself, would define them.
//
// It looks at the newest version of every object, whether anything refers to it
// or not, and at all trailers. A number with two generations is an error: at most
// one of them can be defined.
func (f *File) Undefined(ctx context.Context) ([]Ref, int, error) {
	u := undefined{used: map[int]int{}, missing: map[int]int{}}
	err := f.entries(func(num int, e entry) error {
		if u.live.add(num); e.gen != 0 && e.kind == entryInUse {
			u.used[num] = e.gen
		}
		return nil
	})
	if err != nil {
		return nil, 0, err
	}
	for i := range f.sections {
		for _, s := range []*section{&f.sections[i], f.sections[i].hybrid} {
			if s == nil {
				continue
			}
			for _, e := range s.trailer {
				if err := e.Value.References(u.visit); err != nil {
					return nil, 0, where(err, "trailer at byte %d", s.at)
				}
			}
			for _, r := range s.ranges {
				u.highest = max(u.highest, r.first+r.count-1)
			}
		}
	}
	count := 0
	err = f.Objects(func(o Object) error {
		if count++; count%64 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		if err := o.Value.References(u.visit); err != nil {
			return where(err, "object %d", o.Ref.Num)
		}
		return nil
	})
	if err != nil {
		return nil, 0, err
	}
	refs := make([]Ref, 0, len(u.missing))
	for num, gen := range u.missing {
		refs = append(refs, Ref{num, gen})
	}
	slices.SortFunc(refs, func(a, b Ref) int { return cmp.Compare(a.Num, b.Num) })
	return refs, u.highest, nil
}

// where says in which object or trailer an error was found.
func where(err error, format string, args ...any) error {
	if errors.Is(err, ErrLimit) {
		return err
	}
	return damaged("%w: %w", fmt.Errorf(format, args...), err)
}

type undefined struct {
	live    numbers
	used    map[int]int // generations other than 0 of what exists
	missing map[int]int // generations of what does not
	highest int
}

func (u *undefined) visit(ref Ref) error {
	if ref.Num > u.highest {
		if ref.Num > maxObjectNum {
			return fmt.Errorf("%d is no object number", ref.Num)
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
		return fmt.Errorf("%d is no generation of an object", ref.Gen)
	case len(u.missing) >= maxUndefined:
		return fmt.Errorf("%w: more than %d references to nothing", ErrLimit, maxUndefined)
	}
	u.missing[ref.Num] = ref.Gen
	return nil
}

// HighestHeader returns the highest number in what looks like the header of an
// object ("12 0 obj"), listed or not: a reader that looks for objects by itself
// finds these, too.
func (f *File) HighestHeader(ctx context.Context) (int, error) {
	const piece, most = 256 << 10, 32 // a header has at most so many bytes
	highest := 0
	buf := make([]byte, piece+most)
	for at := int64(0); at < f.size; at += piece {
		if ctx.Err() != nil {
			return 0, ctx.Err()
		}
		b := buf[:min(piece+most, f.size-at)]
		if err := readFull(f.in.r, b, at); err != nil {
			return 0, err
		}
		for i := 0; ; i += 3 {
			k := bytes.Index(b[i:], []byte("obj"))
			if k < 0 {
				break
			}
			i += k
			if n, ok := numberBefore(b[:i]); ok && n <= maxObjectNum {
				highest = max(highest, n)
			}
		}
	}
	return highest, nil
}

// numberBefore reads the object number of "12 0 " from its end.
func numberBefore(b []byte) (int, bool) {
	digits := func() (start, end int) {
		end = len(b)
		for len(b) > 0 && b[len(b)-1]-'0' <= 9 && end-len(b) < maxDigits {
			b = b[:len(b)-1]
		}
		return len(b), end
	}
	space := func() bool {
		n := len(b)
		b = bytes.TrimRight(b, "\x00\t\n\f\r ")
		return len(b) < n
	}
	space()
	gen, end := digits()
	if gen == end || !space() {
		return 0, false
	}
	all := b
	start, end := digits()
	n, _, ok := scanUint(all[start:end], 0)
	return n, ok
}
