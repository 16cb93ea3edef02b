package archive1_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"countersign/seal/archive1"
)

// vector is a test vector: an increment whose bytes must never change.
type vector struct {
	name     string
	revision archive1.Revision
	evidence archive1.Evidence
	nonce    byte
	issuers  byte
	token    string
	want     string // SHA-256 hash of the increment with its time-stamp
}

func vectors() []vector {
	table := archive1.Revision{
		Size: 41290, Start: 40100, Next: 42, Root: archive1.Object{Num: 1}, Catalog: "<</Type /Catalog\n/Pages 2 0 R\n/AcroForm <</Fields 34 0 R\n/SigFlags 3\n>>\n>>",
		Info: "7 0 R", ID: "<00112233445566778899AABBCCDDEEFF>", Fields: archive1.Object{Num: 34}, Listed: "9 0 R 27 0 R",
	}
	again := table
	again.DSS, again.Certs, again.OCSPs, again.CRLs = 44, []int{42, 43}, []int{50}, []int{51, 52}
	stream := archive1.Revision{
		Size: 9_000_000_000, Start: 8_999_999_000, Stream: true, Next: 8000, Root: archive1.Object{Num: 17, Gen: 3}, Catalog: "<</Type/Catalog>>",
		ID: "(\\(odd\\)\x00)", Fields: archive1.Object{Num: 7999},
	}
	evidence := archive1.Evidence{
		Certs:      [][]byte{{0x30, 0x01, 0xFF}, {0x30, 0x00}},
		Statements: []archive1.Statement{{DER: []byte{0x30, 0x02, 1, 2}}, {CRL: true, DER: []byte{0x30, 0x01, 9}}},
	}
	return []vector{
		{"table", table, evidence, 0x5A, 0xC3, "\x30\x03abc", "fa48c40560ede4933a225ab76357690060ab86c888c6d7008d6252a64bd9f7ea"},
		{"table, continued, nothing new", again, archive1.Evidence{}, 1, 2, "\x30\x00", "c3817d706d355d40f06803d3ca01308dd54644e1abf8483d02e41d474eb8b194"},
		{"table, continued", again, evidence, 0xFF, 0, "\x30\x01\x00", "6b216f77963c1114d2ab4a3f91adcc935e7374a304fabe83b5f2187600bb0abc"},
		{"stream, no fields before", stream, evidence, 0, 0xFF, "\x30\x02xy", "05c521b20ea37622b38c61d2f0c768f6b264c8ac752b8c4348ec5b85598aba90"},
	}
}

func (v vector) write(t testing.TB) archive1.Increment {
	t.Helper()
	inc, err := archive1.Write(v.revision, v.evidence, [16]byte(bytes.Repeat([]byte{v.nonce}, 16)), [32]byte(bytes.Repeat([]byte{v.issuers}, 32)))
	require.NoError(t, err)
	hex.Encode(inc.Bytes[inc.Contents+1:], []byte(v.token))
	return inc
}

// TestGolden checks that the output of this frozen package does not change. Any difference would invalidate files that
// were sealed earlier. Write archive2 instead of changing the output.
func TestGolden(t *testing.T) {
	t.Parallel()
	for _, v := range vectors() {
		sum := sha256.Sum256(v.write(t).Bytes)
		require.Equal(t, v.want, hex.EncodeToString(sum[:]), v.name)
	}
}

// file is a revision filled with spaces, followed by an increment.
type file struct {
	size  int64
	after []byte
}

func (f file) ReadAt(b []byte, at int64) (int, error) {
	n := copy(b, f.after[min(int64(len(f.after)), at-f.size):])
	return n, nil
}

func TestMatch_AcceptsWrittenIncrements(t *testing.T) {
	t.Parallel()
	for _, v := range vectors() {
		inc := v.write(t)
		f := file{v.revision.Size, append(bytes.Clone(inc.Bytes), "more"...)}
		size := f.size + int64(len(f.after))
		streams, err := archive1.Scan(f, size, v.revision, 1000)
		require.NoError(t, err, v.name)
		var want [][]byte
		want = append(want, v.evidence.Certs...)
		for _, s := range v.evidence.Statements {
			want = append(want, s.DER)
		}
		require.Equal(t, want, streams, v.name)
		got, found, err := archive1.Match(f, size, v.revision, v.evidence)
		require.NoError(t, err, v.name)
		require.Equal(t, inc.Revision, got.Revision, v.name)
		require.Equal(t, v.token, string(found.Contents[:len(v.token)]), v.name)
		require.Empty(t, bytes.Trim(found.Contents[len(v.token):], "\x00"), v.name)
		require.Equal(t, bytes.Repeat([]byte{v.issuers}, 32), found.Issuers[:], v.name)
	}
}

// TestMatchRejectsEveryOtherByte checks that a file does not match if any byte is changed. The exceptions are the
// time-stamp, the second half of the nonce and the hash of the issuers, which other code checks.
func TestMatchRejectsEveryOtherByte(t *testing.T) {
	t.Parallel()
	for _, v := range vectors() {
		inc := v.write(t)
		free := func(at int) bool {
			return at > inc.Contents && at < inc.End-1 || at >= inc.Nonce+16 && at < inc.Nonce+32 || at >= inc.Issuers && at < inc.Issuers+64
		}
		size := v.revision.Size + int64(len(inc.Bytes))
		for at := range inc.Bytes {
			if free(at) {
				continue
			}
			changed := bytes.Clone(inc.Bytes)
			changed[at] ^= 1
			f := file{v.revision.Size, changed}
			if streams, err := archive1.Scan(f, size, v.revision, 1000); err != nil || !same(streams, v.evidence) {
				continue
			}
			_, _, err := archive1.Match(f, size, v.revision, v.evidence)
			require.ErrorIs(t, err, archive1.ErrForeign, "%s: byte %d of %q", v.name, at, inc.Bytes[max(0, at-20):at+1])
		}
		short := file{v.revision.Size, inc.Bytes[:len(inc.Bytes)-1]}
		_, _, err := archive1.Match(short, size-1, v.revision, v.evidence)
		require.ErrorIs(t, err, archive1.ErrForeign)
		upper := bytes.Clone(inc.Bytes)
		copy(upper[inc.Contents+1:], strings.ToUpper("abcdef"))
		_, _, err = archive1.Match(file{v.revision.Size, upper}, size, v.revision, v.evidence)
		require.ErrorIs(t, err, archive1.ErrForeign, "upper-case digits in the time-stamp must be rejected")
	}
}

func same(streams [][]byte, e archive1.Evidence) bool {
	if len(streams) != len(e.Certs)+len(e.Statements) {
		return false
	}
	for i, s := range streams {
		want := e.Certs
		if i >= len(e.Certs) {
			want = [][]byte{e.Statements[i-len(e.Certs)].DER}
			if !bytes.Equal(s, want[0]) {
				return false
			}
			continue
		}
		if !bytes.Equal(s, want[i]) {
			return false
		}
	}
	return true
}

// TestScanIsBounded checks that Scan spends time and memory on a declared size only if the file actually contains that
// many bytes.
func TestScanIsBounded(t *testing.T) {
	t.Parallel()
	r := vectors()[0].revision
	for _, head := range []string{
		"42 0 obj\n<</Filter/ASCIIHexDecode/Length 2000000001>>\nstream\n", "42 0 obj\n<</Filter/ASCIIHexDecode/Length 2003>>\nstream\n",
		"42 0 obj\n<</Filter/ASCIIHexDecode/Length -1>>\nstream\n", "42 0 obj\n<</Filter/ASCIIHexDecode/Length 12>>\nstream\n",
		"42 0 obj\n<</Filter/ASCIIHexDecode/Length 03>>\nstream\n30>", "42 0 obj\n<</Filter/ASCIIHexDecode/Length 3>>\nstream\n30>\nendstream\nendob",
	} {
		_, err := archive1.Scan(file{r.Size, []byte(head)}, r.Size+int64(len(head)), r, 1000)
		require.ErrorIs(t, err, archive1.ErrForeign, head)
	}
	var many strings.Builder
	for n := range 300 {
		many.WriteString(strings.Replace("42 0 obj\n<</Filter/ASCIIHexDecode/Length 3>>\nstream\n30>\nendstream\nendobj\n", "42", strconv.Itoa(42+n), 1))
	}
	_, err := archive1.Scan(file{r.Size, []byte(many.String())}, r.Size+int64(many.Len()), r, 1000)
	require.ErrorIs(t, err, archive1.ErrForeign)
}
