package sealing_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"

	"github.com/gowebpki/jcs"
	"github.com/stretchr/testify/require"

	"countersign/seal"
	"countersign/seal/verify"
	"countersign/test/kit/sealkit"
)

// TestTampering alters a sealed file in every relevant way, and checks that each alteration results in its own finding.
func TestTampering(t *testing.T) {
	t.Parallel()
	k := sealkit.NewFixture(t)
	original := sealkit.SimplePDF(3)
	_, b := sealkit.Sealed(t, k.Sealer(t), sealkit.Job(t, original))
	flip := func(at int) []byte {
		c := bytes.Clone(b)
		c[at] ^= 0x01
		return c
	}
	after := func(mark string) int {
		i := bytes.Index(b[len(original):], []byte(mark))
		require.Positive(t, i, mark)
		return len(original) + i + len(mark)
	}
	m := sealkit.ByteRange.FindSubmatch(b)
	require.NotNil(t, m)
	gap, err := strconv.Atoi(string(m[1]))
	require.NoError(t, err)
	text := bytes.Index(original, []byte("(Page)"))
	tests := []struct {
		name  string
		bytes []byte
		check string // check that must fail
		sound string // check that must not fail
		want  verify.Verdict
	}{
		{"original", flip(text + 1), verify.CheckOriginal, verify.CheckAuditChain, verify.VerdictBroken},
		{"original, as a change of the file", flip(text + 1), verify.CheckDigest, verify.CheckSignature, verify.VerdictBroken},
		{"stamp", flip(after("/SMask ") + 200), verify.CheckDigest, verify.CheckOriginal, verify.VerdictBroken},
		{"manifest", flip(after("application#2Fjose+json") + 200), verify.CheckManifest, verify.CheckOriginal + "-", verify.VerdictBroken},
		{"signature value", flip(signatureValueAt(t, b, gap)), verify.CheckSignature, verify.CheckDigest, verify.VerdictBroken},
		{"byte range", bytes.Replace(b, m[0], bytes.Replace(m[0], []byte("/ByteRange[0"), []byte("/ByteRange[1"), 1), 1), verify.CheckSignature, "", verify.VerdictBroken},
		{"truncated", b[:len(b)-200], verify.CheckByteRange, "", verify.VerdictBroken},
		{"bytes appended", append(bytes.Clone(b), "% more\n%%EOF\n"...), verify.CheckLaterChanges, verify.CheckDigest, verify.VerdictAltered},
		{"increment that hides a page", hidePage(t, b), verify.CheckLaterChanges, verify.CheckDigest, verify.VerdictAltered},
		{"increment that changes the form", changeForm(t, b), verify.CheckLaterChanges, verify.CheckDigest, verify.VerdictAltered},
		{"no seal", original, verify.CheckSignature, "", verify.VerdictNotSealed},
		{"no PDF", []byte("hello"), verify.CheckStructure, "", verify.VerdictNotSealed},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := sealkit.Verified(t, tt.bytes, k.Trust())
			require.Equal(t, tt.want, r.Verdict, sealkit.TextOf(t, r))
			require.False(t, r.OK())
			require.Nil(t, r.Record, "no content of an invalid document may be reported")
			if tt.want != verify.VerdictNotSealed {
				require.Equal(t, verify.Failed, r.Status(tt.check), sealkit.TextOf(t, r))
			}
			if tt.sound != "" {
				require.NotEqual(t, verify.Failed, r.Status(tt.sound), sealkit.TextOf(t, r))
			}
		})
	}
}

// signatureValueAt returns the position of the last digit of the signature value.
func signatureValueAt(t *testing.T, b []byte, gap int) int {
	t.Helper()
	_, der := sealkit.SignatureOf(t, b)
	return gap + 2*len(der) - 1
}

// increment appends objects in a well-formed update.
func increment(t *testing.T, b []byte, objects map[int]string) []byte {
	t.Helper()
	m := startxref.FindSubmatch(b)
	require.NotNil(t, m)
	out := bytes.NewBuffer(bytes.Clone(b))
	offsets := map[int]int{}
	highest := 0
	for n, body := range objects {
		offsets[n] = out.Len()
		fmt.Fprintf(out, "%d 0 obj\n%s\nendobj\n", n, body)
		highest = max(highest, n)
	}
	at := out.Len()
	out.WriteString("xref\n")
	for n, off := range offsets {
		fmt.Fprintf(out, "%d 1\n%010d 00000 n \n", n, off)
	}
	fmt.Fprintf(out, "trailer\n<</Size %d/Root 1 0 R/Prev %s>>\nstartxref\n%d\n%%%%EOF\n", max(highest+1, 5000), m[1], at)
	return out.Bytes()
}

func hidePage(t *testing.T, b []byte) []byte {
	t.Helper()
	out := increment(t, b, map[int]string{2: "<</Type/Pages/Kids[10 0 R]/Count 1>>"})
	file := filepath.Join(t.TempDir(), "hidden.pdf")
	require.NoError(t, os.WriteFile(file, out, 0o600))
	msg, err := sealkit.Run(t, "pdfinfo", file)
	require.NoError(t, err, msg)
	require.Regexp(t, `Pages:\s+1\n`, msg, "the attack must work on other readers")
	return out
}

// changeForm adds a field to the form.
func changeForm(t *testing.T, b []byte) []byte {
	t.Helper()
	m := regexp.MustCompile(`/AcroForm <</Fields (\d+) 0 R`).FindSubmatch(b)
	require.NotNil(t, m)
	fields, err := strconv.Atoi(string(m[1]))
	require.NoError(t, err)
	list := regexp.MustCompile(`\n` + string(m[1]) + ` 0 obj\n\[([^\]]*)\]`).FindSubmatch(b)
	require.NotNil(t, list)
	return increment(t, b, map[int]string{
		fields: "[" + string(list[1]) + " 4000 0 R]",
		4000:   "<</FT/Tx/T(x)/V(more)/Type/Annot/Subtype/Widget/Rect[0 0 100 100]>>",
	})
}

func TestForeignManifestKeyIsFound(t *testing.T) {
	t.Parallel()
	k, other := sealkit.NewFixture(t), sealkit.NewFixture(t)
	_, b := sealkit.Sealed(t, k.Sealer(t), sealkit.Job(t, sealkit.SimplePDF(1)))
	trust := k.Trust()
	trust.Trust.RecordKeys = other.Trust().Trust.RecordKeys // the same key ID with another key
	r := sealkit.Verified(t, b, trust)
	require.Equal(t, verify.Failed, r.Status(verify.CheckManifestKey))
	require.Equal(t, verify.VerdictBroken, r.Verdict)
}

// forgeLast changes the last event and recomputes all hashes, as an attacker could.
func forgeLast(t *testing.T, j *seal.Job, member string, value any) {
	t.Helper()
	last := len(j.Events) - 1
	var e map[string]any
	require.NoError(t, json.Unmarshal(j.Events[last], &e))
	e[member] = value
	delete(e, "hash")
	write := func() []byte {
		plain, err := json.Marshal(e)
		require.NoError(t, err)
		canonical, err := jcs.Transform(plain)
		require.NoError(t, err)
		return canonical
	}
	sum := sha256.Sum256(write())
	j.ChainHead = hex.EncodeToString(sum[:])
	e["hash"] = j.ChainHead
	j.Events[last] = write()
}

// TestChainTampering checks that records with an invalid audit chain are not sealed.
func TestChainTampering(t *testing.T) {
	t.Parallel()
	k := sealkit.NewFixture(t)
	s := k.Sealer(t)
	tests := []struct {
		name   string
		change func(j *seal.Job)
	}{
		{"event changed", func(j *seal.Job) {
			j.Events[2] = bytes.Replace(j.Events[2], []byte("203.0.113.7"), []byte("203.0.113.8"), 1)
		}},
		{"event removed", func(j *seal.Job) { j.Events = append(j.Events[:2], j.Events[3:]...) }},
		{"events swapped", func(j *seal.Job) { j.Events[2], j.Events[3] = j.Events[3], j.Events[2] }},
		{"end cut off", func(j *seal.Job) { j.Events = j.Events[:len(j.Events)-1] }},
		{"another head", func(j *seal.Job) { j.ChainHead = j.OriginalSHA256 }},
		{"link to another event", func(j *seal.Job) { forgeLast(t, j, "prevHash", j.OriginalSHA256) }},
		{"event of another envelope", func(j *seal.Job) { forgeLast(t, j, "envelopeId", "00000000-0000-4000-8000-000000000099") }},
		{"another number", func(j *seal.Job) { forgeLast(t, j, "seq", 99) }},
		{"another beginning", func(j *seal.Job) { j.Events = j.Events[:1]; forgeLast(t, j, "event", "signer.signed") }},
		{"nobody signed", func(j *seal.Job) { j.Events = j.Events[:1]; forgeLast(t, j, "actor", "system") }},
		{"nothing", func(j *seal.Job) { j.Events, j.ChainHead = nil, fmt.Sprintf("%064d", 0) }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			j := sealkit.Job(t, sealkit.SimplePDF(1))
			tt.change(&j)
			out, err := os.Create(filepath.Join(t.TempDir(), "out.pdf"))
			require.NoError(t, err)
			defer func() { require.NoError(t, out.Close()) }()
			_, err = s.Seal(t.Context(), out, j)
			require.ErrorContains(t, err, "audit_chain")
		})
	}
}
