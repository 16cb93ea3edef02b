// Package password detects passwords that are easily guessed or known to have leaked.
package password

import (
	"crypto/sha1" //nolint:gosec // the form in which leaked passwords are published, not a protection
	_ "embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"unicode"
)

// common contains the most common passwords of six or more characters, in lower case and sorted. It is taken from
// @zxcvbn-ts/language-common 4.1.3 (MIT, see common.LICENSE).
//
//go:embed common.txt
var common string

var commonLines = sync.OnceValue(func() []string { return strings.Split(strings.TrimSuffix(common, "\n"), "\n") })

// Common reports whether a password is one of the most common ones, ignoring case, repetition, and leading or trailing
// digits and symbols. It also returns true for repetitions of a short string, and for sequences of letters or digits.
func Common(password string) bool {
	p := strings.ToLower(strings.TrimSpace(password))
	core := strings.TrimFunc(p, func(r rune) bool { return !unicode.IsLetter(r) })
	return isCommon(p) || isCommon(core) || isCommon(shortestPeriod(p)) || shortestPeriod(p) != p && len(shortestPeriod(p)) < 6 || isSequence(p)
}

func isCommon(p string) bool {
	_, ok := slices.BinarySearch(commonLines(), p)
	return ok
}

// isSequence reports whether the characters of p are consecutive, in ascending or descending order.
func isSequence(p string) bool {
	r := []rune(p)
	if len(r) < 2 {
		return false
	}
	step := r[1] - r[0]
	for i := range r[1:] {
		if r[i+1]-r[i] != step || step != 1 && step != -1 {
			return false
		}
	}
	return true
}

// shortestPeriod returns the shortest string of which p is a repetition.
func shortestPeriod(p string) string {
	if i := strings.Index((p + p)[min(1, len(p)):], p) + 1; i > 0 && i < len(p) {
		return p[:i]
	}
	return p
}

// WithoutWords removes from a password the words that attackers try first, such as the service's name and the user's
// data. Words of fewer than four characters are not removed.
func WithoutWords(password string, words ...string) string {
	p := strings.ToLower(password)
	all := []string{"countersign"}
	for _, w := range words {
		w = strings.ToLower(w)
		all = append(all, w)
		all = append(all, strings.FieldsFunc(w, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })...)
	}
	slices.SortFunc(all, func(a, b string) int { return len(b) - len(a) })
	for _, w := range all {
		if len(w) >= 4 {
			p = strings.ReplaceAll(p, w, "")
		}
	}
	return p
}

// maxLine is the maximum length of a line in a file of leaked passwords, in bytes.
const maxLine = 128

// Leaked reports whether a password is listed in a file of leaked passwords. The file contains sorted lines with the
// SHA-1 hash in upper-case hex, followed by :count, as published by Have I Been Pwned. Leaked searches the file
// without loading it into memory.
func Leaked(path, password string) (bool, error) {
	f, err := os.Open(path) //nolint:gosec // the operator specifies the file
	if err != nil {
		return false, fmt.Errorf("open leaked passwords: %w", err)
	}
	defer func() { _ = f.Close() }()
	size, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return false, fmt.Errorf("read leaked passwords: %w", err)
	}
	sum := sha1.Sum([]byte(password)) //nolint:gosec // see above
	want := strings.ToUpper(hex.EncodeToString(sum[:]))
	for lo, hi := int64(0), size; lo < hi; {
		middle := lo + (hi-lo)/2
		start, line, err := lineAt(f, middle)
		if err != nil {
			return false, fmt.Errorf("read leaked passwords: %w", err)
		}
		if start >= hi {
			hi = middle
			continue
		}
		switch hash, _, _ := strings.Cut(line, ":"); strings.Compare(hash, want) {
		case 0:
			return true, nil
		case -1:
			lo = start + int64(len(line)) + 1
		default:
			hi = middle
		}
	}
	return false, nil
}

// lineAt returns the first line that begins at or after an offset. If there is none, start is after the end of the
// file.
func lineAt(f io.ReaderAt, at int64) (start int64, line string, err error) {
	start = max(at-1, 0) // a line begins at the offset only if a newline precedes it
	b := make([]byte, 2*maxLine)
	n, err := f.ReadAt(b, start)
	if err != nil && !errors.Is(err, io.EOF) {
		return 0, "", err
	}
	whole := errors.Is(err, io.EOF)
	text := string(b[:n])
	if at > 0 {
		before, after, ok := strings.Cut(text, "\n")
		if !ok && whole {
			return start + int64(n) + 1, "", nil
		}
		if !ok {
			return 0, "", errors.New("a line is too long")
		}
		start, text = start+int64(len(before))+1, after
	}
	line, _, ok := strings.Cut(text, "\n")
	if !ok && !whole {
		return 0, "", errors.New("a line is too long")
	}
	return start, line, nil
}
