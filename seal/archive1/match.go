package archive1

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strconv"
)

// ErrForeign is wrapped by errors about bytes that Write did not produce.
var ErrForeign = errors.New("not written by this service")

func foreignAt(at int64, what string) error {
	return fmt.Errorf("%s at byte %d (%w)", what, at, ErrForeign)
}

const maxStreams = 256 // maximum number of streams in one increment

// Scan reads the streams at the beginning of an increment, first the certificates and then the statements. It limits
// their total size to the budget, in bytes.
func Scan(in io.ReaderAt, size int64, r Revision, budget int) ([][]byte, error) {
	var out [][]byte
	for at, num := r.Size, r.Next; ; num++ {
		head := make([]byte, min(128, size-at))
		if _, err := in.ReadAt(head, at); err != nil && !errors.Is(err, io.EOF) {
			return nil, err
		}
		rest, ok := bytes.CutPrefix(head, []byte(strconv.Itoa(num)+" 0 obj\n<</Filter/ASCIIHexDecode/Length "))
		if !ok {
			return out, nil
		}
		digits, _, ok := bytes.Cut(rest, []byte(">"))
		n, err := strconv.Atoi(string(digits))
		if !ok || err != nil || n < 1 || n%2 == 0 || n > 2*budget+1 || len(out) >= maxStreams {
			return nil, foreignAt(at, "validation data of an unexpected size")
		}
		begin := strconv.Itoa(num) + " 0 obj\n" + streamHead(n/2)
		if !bytes.HasPrefix(head, []byte(begin)) {
			return nil, foreignAt(at, "unexpected validation data")
		}
		at += int64(len(begin))
		end := streamTail + "\nendobj\n"
		if at+int64(n-1+len(end)) > size {
			return nil, foreignAt(at, "truncated validation data")
		}
		b := make([]byte, n-1+len(end))
		if _, err := in.ReadAt(b, at); err != nil && !errors.Is(err, io.EOF) {
			return nil, err
		}
		der := make([]byte, (n-1)/2)
		if _, err := hex.Decode(der, b[:n-1]); err != nil || string(b[n-1:]) != end {
			return nil, foreignAt(at, "unexpected validation data")
		}
		out = append(out, der)
		budget -= len(der)
		at += int64(len(b))
	}
}

// Found contains the parts of an increment that can be read only from the file.
type Found struct {
	Contents []byte         // content of the time-stamp's placeholder, a token followed by zeros
	Issuers  [hashSize]byte // see Write
}

// Match compares the content of a file after a revision with the output that Write produces for the same evidence.
func Match(in io.ReaderAt, size int64, r Revision, e Evidence) (Increment, Found, error) {
	var nonce [NonceSize]byte
	var found Found
	blank, err := Write(r, e, nonce, found.Issuers)
	if err != nil {
		return blank, found, err
	}
	if size-r.Size < int64(len(blank.Bytes)) {
		return blank, found, foreignAt(r.Size, "too few bytes for an increment with this validation data")
	}
	got := make([]byte, len(blank.Bytes))
	if _, err := in.ReadAt(got, r.Size); err != nil && !errors.Is(err, io.EOF) {
		return blank, found, err
	}
	if _, err := hex.Decode(nonce[:], got[blank.Nonce:blank.Nonce+2*NonceSize]); err != nil {
		return blank, found, foreignAt(r.Size+int64(firstDifference(got, blank.Bytes)), "unexpected content")
	}
	if _, err := hex.Decode(found.Issuers[:], got[blank.Issuers:blank.Issuers+2*hashSize]); err != nil {
		return blank, found, foreignAt(r.Size+int64(firstDifference(got, blank.Bytes)), "unexpected content")
	}
	want, err := Write(r, e, nonce, found.Issuers)
	if err != nil {
		return want, found, err
	}
	found.Contents = make([]byte, TokenSize)
	hole := got[want.Contents+1 : want.End-1]
	if _, err := hex.Decode(found.Contents, hole); err != nil || !bytes.Equal(hex.AppendEncode(nil, found.Contents), hole) {
		return want, found, foreignAt(r.Size+int64(want.Contents), "a time-stamp in an unexpected form")
	}
	copy(want.Bytes[want.Contents+1:], hole)
	if !bytes.Equal(got, want.Bytes) {
		return want, found, foreignAt(r.Size+int64(firstDifference(got, want.Bytes)), "unexpected content")
	}
	return want, found, nil
}

func firstDifference(a, b []byte) int {
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return i
		}
	}
	return min(len(a), len(b))
}
