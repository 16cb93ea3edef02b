package pdf

import (
	"bytes"
	"context"
	"fmt"
	"slices"
)

// RepairProblem returns why a program that misses an object of the file would show other objects in place of the listed
// ones, or "". In that case poppler searches the file for all objects, and takes the last one of each number. A seal
// defines the missing objects, so the signer in such a program would see a different text than in the sealed file.
func (f *File) RepairProblem(ctx context.Context, lacking []Ref) (string, error) {
	if len(lacking) == 0 || f.UsesXRefStream() { // it looks for none
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

// overlapSize is how much of the next piece is looked at.
const overlapSize = 4 << 10

// repairProblem looks at a piece of the file that begins at a position.
func (f *File) repairProblem(b []byte, at int64, lacking []Ref) (string, error) {
	for i := 0; ; i += 3 {
		k := bytes.Index(b[i:], []byte("obj"))
		if k < 0 {
			return "", nil
		}
		i += k
		begin, num, gen, ok := headerBefore(b[:i])
		if !ok || num > maxObjectNum || begin == 0 && at > 0 { // the last: the piece before holds all of it
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
			return fmt.Sprintf("lacks an object to which it refers, and holds an object %d, at byte %d, that is not listed", num, pos), nil
		}
	}
}

// headerBefore reads "12 0 " from its end, and returns where it begins.
func headerBefore(b []byte) (begin, num, gen int, ok bool) {
	i := spaceBefore(b, len(b))
	second := digitsBefore(b, i)
	j := spaceBefore(b, second)
	begin = digitsBefore(b, j)
	num, _, ok1 := scanUint(b[:j], begin)
	gen, _, ok2 := scanUint(b[:i], second)
	return begin, num, gen, ok1 && ok2 && j < second
}
