package pdf

import (
	"bytes"
	"context"
	"fmt"
	"slices"
)

// RepairProblem returns the reason why Poppler could display objects other than the listed ones, or "" if there is no
// such reason. If a file refers to an object that it lacks, Poppler scans the file for all objects, and uses the last
// one with each number. A seal defines the missing objects, so the signer could see different text in Poppler than the
// sealed file shows.
func (f *File) RepairProblem(ctx context.Context, lacking []Ref) (string, error) {
	if len(lacking) == 0 || f.UsesXRefStream() { // Poppler does not scan
		return "", nil
	}
	const piece = 256 << 10
	buf := make([]byte, min(piece+overlapSize, f.size))
	for at := int64(0); at < f.size; at += piece {
		if ctx.Err() != nil {
			return "", ctx.Err()
		}
		b := buf[:min(int64(len(buf)), f.size-at)]
		if err := readFull(f.in.r, b, at); err != nil {
			return "", err
		}
		problem, err := f.repairProblem(b, at, lacking)
		if err != nil || problem != "" {
			return problem, err
		}
	}
	return "", nil
}

// overlapSize is the number of bytes of the next piece that are also examined.
const overlapSize = 4 << 10

// repairProblem examines a piece of the file that begins at offset at.
func (f *File) repairProblem(b []byte, at int64, lacking []Ref) (string, error) {
	for i := 0; ; i += 3 {
		k := bytes.Index(b[i:], []byte("obj"))
		if k < 0 {
			return "", nil
		}
		i += k
		begin, num, gen, ok := headerBefore(b[:i])
		if !ok || num > maxObjectNum || begin == 0 && at > 0 { // a header at 0 was examined with the previous piece
			continue
		}
		e, err := f.lookup(num)
		if err != nil {
			return "", err
		}
		pos := at + int64(begin)
		isOlder := e.kind == entryInUse && pos <= e.offset+headerSize && gen <= e.gen
		isLacking := e.kind == entryFree && slices.ContainsFunc(lacking, func(r Ref) bool { return r.Num == num })
		if isLacking || e.kind != entryFree && !isOlder {
			return fmt.Sprintf("refers to a missing object, and contains an unlisted object %d, at byte %d", num, pos), nil
		}
	}
}

// headerBefore parses "12 0 " at the end of b, and returns its start and both numbers.
func headerBefore(b []byte) (begin, num, gen int, ok bool) {
	i := spaceBefore(b, len(b))
	second := digitsBefore(b, i)
	j := spaceBefore(b, second)
	begin = digitsBefore(b, j)
	num, _, ok1 := scanUint(b[:j], begin)
	gen, _, ok2 := scanUint(b[:i], second)
	return begin, num, gen, ok1 && ok2 && j < second
}
