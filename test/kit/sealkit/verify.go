package sealkit

import (
	"bytes"
	"context"
	"encoding/hex"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"countersign/seal/rejection"
	"countersign/seal/trust"
	"countersign/seal/verify"
)

// Trust returns verification options that trust the fixture's sealing key.
func (k Fixture) Trust() verify.Options {
	sealer := trust.PinnedCertificate(k.Config.Chain[0])
	if k.CA != nil {
		sealer = trust.IssuedBy(k.CA, "")
	}
	return verify.Options{Now: k.Config.Now, Trust: trust.Policy{
		Sealers: []trust.Sealer{sealer}, Stampers: k.TSA,
		RecordKeys: map[string]trust.RecordKey{k.Config.ManifestKeyID: {Key: k.Config.ManifestSigner.Public()}},
	}}
}

// Verified returns the verification report for a PDF.
func Verified(t testing.TB, b []byte, opt verify.Options) verify.Report {
	t.Helper()
	r, err := verify.File(context.Background(), bytes.NewReader(b), int64(len(b)), opt)
	require.NoError(t, err)
	return r
}

// TextOf returns a report in text form.
func TextOf(t testing.TB, r verify.Report) string {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, r.WriteText(&b))
	return b.String()
}

// RejectionCode returns the code of the rejection in err.
func RejectionCode(t *testing.T, err error) string {
	t.Helper()
	var r *rejection.Error
	require.ErrorAs(t, err, &r)
	return r.Code
}

// ByteRange matches the byte range of a signature.
var ByteRange = regexp.MustCompile(`/ByteRange\[0 (\d+) (\d+) (\d+) *\]`)

// SignatureOf returns the last signature and the bytes that it covers. It does not use the service's parser.
func SignatureOf(t *testing.T, b []byte) (covered, der []byte) {
	t.Helper()
	all := ByteRange.FindAllSubmatch(b, -1)
	require.NotEmpty(t, all)
	m := all[len(all)-1]
	var n [3]int
	for i := range n {
		var err error
		n[i], err = strconv.Atoi(string(m[i+1]))
		require.NoError(t, err)
	}
	require.Equal(t, len(b), n[1]+n[2], "the range ends with the file")
	require.Equal(t, byte('<'), b[n[0]])
	require.Equal(t, byte('>'), b[n[1]-1])
	require.True(t, bytes.HasSuffix(b[:n[0]], []byte("/Contents")), "the gap is exactly /Contents")
	der, err := hex.DecodeString(string(b[n[0]+1 : n[1]-1]))
	require.NoError(t, err)
	der = trimPadding(t, der)
	return append(append([]byte(nil), b[:n[0]]...), b[n[1]:]...), der
}

// trimPadding returns b up to the encoded length of its DER value. The rest must be zero.
func trimPadding(t *testing.T, b []byte) []byte {
	t.Helper()
	require.Equal(t, []byte{0x30, 0x82}, b[:2])
	n := int(b[2])<<8 + int(b[3]) + 4
	require.Empty(t, bytes.Trim(b[n:], "\x00"), "zero padding")
	return b[:n]
}

// CheckIndependently verifies a sealed file with other programs.
func CheckIndependently(t *testing.T, k Fixture, file string, b []byte) {
	t.Helper()
	out, err := Run(t, "qpdf", "--check", file)
	require.NoError(t, err, out)
	require.NotContains(t, out, "WARNING")

	out, err = Run(t, "pdfsig", file)
	require.NoError(t, err, out)
	require.Contains(t, out, "Signature is Valid")
	require.Contains(t, out, "Total document signed")
	require.NotContains(t, out, "Not total")

	out, err = Run(t, "mutool", "sign", "-v", file)
	require.NoError(t, err, out)
	require.Contains(t, out, "document is unchanged since signing")

	covered, der := SignatureOf(t, b)
	dir := t.TempDir()
	tbs, sig := filepath.Join(dir, "tbs.bin"), filepath.Join(dir, "sig.der")
	require.NoError(t, os.WriteFile(tbs, covered, 0o600))
	require.NoError(t, os.WriteFile(sig, der, 0o600))
	out, err = Run(t, "openssl", "cms", "-verify", "-cades", "-binary", "-inform", "DER", "-in", sig, "-content", tbs,
		"-CAfile", k.CAFile, "-purpose", "any", "-no_check_time", "-out", "/dev/null")
	require.NoError(t, err, out)
}
