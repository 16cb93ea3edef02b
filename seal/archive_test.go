package seal_test

import (
	"bytes"
	"context"
	"crypto/x509"
	"encoding/asn1"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"countersign/seal"
	"countersign/seal/verify"
	"countersign/test/kit"
	"countersign/test/kit/sealkit"
)

func TestTimestamp(t *testing.T) {
	t.Parallel()
	a := sealkit.NewAuthority(t)
	k := a.Keys(t)
	file, b := sealkit.Sealed(t, k.Sealer(t), sealkit.Job(t, sealkit.SimplePDF(1)))
	sealkit.CheckIndependently(t, k, file, b)
	r := sealkit.Verified(t, b, k.Trust())
	require.True(t, r.OK(), sealkit.TextOf(t, r))
	require.Equal(t, "B-T", r.Level)
	require.Equal(t, verify.Passed, r.Status(verify.CheckTimestamp))
	require.WithinDuration(t, time.Now(), *r.StampedAt, time.Minute)

	other := k.Trust()
	other.Trust.Stampers = x509.NewCertPool()
	r = sealkit.Verified(t, b, other)
	require.Equal(t, verify.Untrusted, r.Status(verify.CheckTimestamp), sealkit.TextOf(t, r))
	require.Equal(t, verify.VerdictUntrusted, r.Verdict)
}

func TestTimestampAuthorityDown(t *testing.T) {
	t.Parallel()
	a := sealkit.NewAuthority(t)
	a.TSA.Down.Store(true)
	k := a.Keys(t)
	out, err := os.Create(filepath.Join(t.TempDir(), "out.pdf"))
	require.NoError(t, err)
	defer func() { require.NoError(t, out.Close()) }()
	_, err = k.Sealer(t).Seal(t.Context(), out, sealkit.Job(t, sealkit.SimplePDF(1)))
	require.ErrorContains(t, err, "503", "the level must never decrease silently")

	k.Config.TSAOptional = true
	s := k.Sealer(t)
	require.NoError(t, out.Truncate(0))
	res, err := s.Seal(t.Context(), out, sealkit.Job(t, sealkit.SimplePDF(1)))
	require.NoError(t, err)
	require.True(t, res.Pending)

	a.TSA.Down.Store(false)
	b := renewed(t, s, readAll(t, out, res.Size))
	r := sealkit.Verified(t, b, k.Trust())
	require.True(t, r.OK(), sealkit.TextOf(t, r))
	require.Equal(t, verify.Passed, r.Status(verify.CheckArchive))
}

// TestTimestampAuthorityGoesDown checks that the seal matches its signature dictionary if the authority becomes
// unavailable after the first request.
func TestTimestampAuthorityGoesDown(t *testing.T) {
	t.Parallel()
	a := sealkit.NewAuthority(t)
	for _, optional := range []bool{false, true} {
		a.TSA.Down.Store(false)
		k := a.Keys(t)
		k.Config.TSAOptional = optional
		s := k.Sealer(t)
		_, b := sealkit.Sealed(t, s, sealkit.Job(t, sealkit.SimplePDF(1)))
		require.Equal(t, verify.Passed, sealkit.Verified(t, b, k.Trust()).Status(verify.CheckTimestamp))
		a.TSA.Down.Store(true)
		out, err := os.Create(filepath.Join(t.TempDir(), "out.pdf"))
		require.NoError(t, err)
		res, err := s.Seal(t.Context(), out, sealkit.Job(t, sealkit.SimplePDF(1)))
		if optional {
			require.NoError(t, err)
			require.True(t, res.Pending)
		} else {
			require.ErrorContains(t, err, "no time-stamp")
		}
		require.NoError(t, out.Close())
	}
}

// TestTimestampAuthorityHangs checks that a sealer with an optional time-stamp contacts a hanging authority only once a
// minute until the authority responds to a request.
func TestTimestampAuthorityHangs(t *testing.T) {
	t.Parallel()
	for _, known := range []bool{false, true} {
		a := sealkit.NewAuthority(t)
		k := a.Keys(t)
		h := &slowClient{}
		k.Config.TSAOptional, k.Config.Now, k.Config.HTTPClient = true, h.now, &http.Client{Transport: h}
		s := k.Sealer(t)
		seal := func(stamped bool, asked int32) []byte {
			t.Helper()
			before := h.requests.Load()
			_, b := sealkit.Sealed(t, s, sealkit.Job(t, sealkit.SimplePDF(1)))
			require.Equal(t, stamped, sealkit.Verified(t, b, k.Trust()).StampedAt != nil)
			require.Equal(t, asked, h.requests.Load()-before)
			return b
		}
		if known {
			seal(true, 2) // one of the requests is only for the authority's certificates
		}
		a.TSA.Down.Store(true)
		for range 2 { // an authority that fails immediately is contacted for each seal
			seal(false, 1)
		}
		h.delay.Store(int64(30 * time.Second))
		seal(false, 1)
		seal(false, 0)
		h.later.Add(int64(time.Minute))
		seal(false, 1)
		h.delay.Store(0)
		a.TSA.Down.Store(false)
		b := seal(false, 0)
		renewed(t, s, b)
		seal(true, 1)
	}
}

// slowClient is a client with its own clock. Each response advances the clock by some time.
type slowClient struct {
	requests     atomic.Int32
	delay, later atomic.Int64 // duration of a response, and offset of the clock, in nanoseconds
}

func (c *slowClient) now() time.Time { return time.Now().Add(time.Duration(c.later.Load())) }

func (c *slowClient) RoundTrip(r *http.Request) (*http.Response, error) {
	c.requests.Add(1)
	c.later.Add(c.delay.Load())
	return http.DefaultTransport.RoundTrip(r)
}

func readAll(t *testing.T, r io.ReaderAt, size int64) []byte {
	t.Helper()
	b, err := io.ReadAll(io.NewSectionReader(r, 0, size))
	require.NoError(t, err)
	return b
}

func renewed(t *testing.T, s *seal.Sealer, b []byte) []byte {
	t.Helper()
	out, err := os.Create(filepath.Join(t.TempDir(), "renewed.pdf"))
	require.NoError(t, err)
	defer func() { require.NoError(t, out.Close()) }()
	res, err := s.Renew(context.Background(), bytes.NewReader(b), int64(len(b)), out)
	require.NoError(t, err)
	return readAll(t, out, res.Size)
}

// TestRenew_WithoutNewValidationData checks a renewal that needs no further validation data, because all certificates
// are in the file and their authority publishes no statements. Such a renewal must consist only of its time-stamp.
func TestRenew_WithoutNewValidationData(t *testing.T) {
	t.Parallel()
	a := sealkit.NewAuthority(t)
	c, key := a.Issue(t, "Test time-stamp authority", 4, asn1.ObjectIdentifier{1, 3, 6, 1, 5, 5, 7, 3, 8}, false)
	a.TSA = kit.ServeTSA(t, c, a.Cert, key)
	k := a.Keys(t)
	s := k.Sealer(t)
	_, b := sealkit.Sealed(t, s, sealkit.Job(t, sealkit.SimplePDF(1)))
	for range 3 {
		b = renewed(t, s, b)
		r := sealkit.Verified(t, b, k.Trust())
		require.Equal(t, verify.Passed, r.Status(verify.CheckArchive), sealkit.TextOf(t, r))
	}
}

// TestLongTerm checks that a seal created as B-LTA stays valid after two renewals.
func TestLongTerm(t *testing.T) {
	t.Parallel()
	for _, useCRL := range []bool{false, true} {
		for name, original := range map[string][]byte{"table": sealkit.SimplePDF(2), "hybrid": sealkit.HybridPDF()} {
			t.Run(name+strconv.FormatBool(useCRL), func(t *testing.T) {
				t.Parallel()
				a := sealkit.NewAuthority(t)
				a.UseCRL = useCRL
				k := a.Keys(t)
				k.Config.LongTerm = true
				s := k.Sealer(t)
				_, b := sealkit.Sealed(t, s, sealkit.Job(t, original))
				for range 3 {
					r := sealkit.Verified(t, b, k.Trust())
					require.True(t, r.OK(), sealkit.TextOf(t, r))
					require.Equal(t, "B-LTA", r.Level, sealkit.TextOf(t, r))
					require.Equal(t, verify.Passed, r.Status(verify.CheckRevocation))
					require.Equal(t, verify.Passed, r.Status(verify.CheckArchive))
					checkLongTerm(t, k, b)
					later := renewed(t, s, b)
					require.True(t, bytes.HasPrefix(later, b))
					b = later
				}
				changed := bytes.Clone(b)
				changed[len(b)-len(b)/64] ^= 1
				require.NotEqual(t, verify.VerdictValid, sealkit.Verified(t, changed, k.Trust()).Verdict)
				more := append(bytes.Clone(b), "% more\n"...)
				require.Equal(t, verify.VerdictAltered, sealkit.Verified(t, more, k.Trust()).Verdict)
			})
		}
	}
}

// checkLongTerm verifies the seal and the last time-stamp with independent programs.
func checkLongTerm(t *testing.T, k sealkit.Fixture, b []byte) {
	t.Helper()
	dir := t.TempDir()
	file, tbs, token := filepath.Join(dir, "lta.pdf"), filepath.Join(dir, "tbs.bin"), filepath.Join(dir, "token.der")
	require.NoError(t, os.WriteFile(file, b, 0o600))
	out, err := sealkit.Run(t, "qpdf", "--check", file)
	require.NoError(t, err, out)
	out, err = sealkit.Run(t, "pdfsig", file)
	require.NoError(t, err, out)
	require.Contains(t, out, "Signature is Valid")
	covered, der := sealkit.SignatureOf(t, b)
	require.NoError(t, os.WriteFile(tbs, covered, 0o600))
	require.NoError(t, os.WriteFile(token, der, 0o600))
	out, err = sealkit.Run(t, "openssl", "ts", "-verify", "-token_in", "-in", token, "-data", tbs, "-CAfile", k.CAFile)
	require.NoError(t, err, out)
}

func TestRevokedCertificateIsNotArchived(t *testing.T) {
	t.Parallel()
	a := sealkit.NewAuthority(t)
	k := a.Keys(t)
	s := k.Sealer(t)
	_, b := sealkit.Sealed(t, s, sealkit.Job(t, sealkit.SimplePDF(1)))
	a.Revoked.Store(true)
	out, err := os.Create(filepath.Join(t.TempDir(), "renewed.pdf"))
	require.NoError(t, err)
	defer func() { require.NoError(t, out.Close()) }()
	_, err = s.Renew(t.Context(), bytes.NewReader(b), int64(len(b)), out)
	require.ErrorContains(t, err, "revoked")
}

// TestRenew_AlteredFile_IsRejected checks that additions to a sealed file are detected before any authority is
// contacted, and that nothing is written.
func TestRenew_AlteredFile_IsRejected(t *testing.T) {
	t.Parallel()
	a := sealkit.NewAuthority(t)
	k := a.Keys(t)
	s := k.Sealer(t)
	_, b := sealkit.Sealed(t, s, sealkit.Job(t, sealkit.SimplePDF(1)))
	b = append(b, "% more\n"...)
	a.TSA.Down.Store(true)
	out, err := os.Create(filepath.Join(t.TempDir(), "renewed.pdf"))
	require.NoError(t, err)
	defer func() { require.NoError(t, out.Close()) }()
	_, err = s.Renew(t.Context(), bytes.NewReader(b), int64(len(b)), out)
	require.ErrorContains(t, err, "the document to renew is altered")
	info, err := out.Stat()
	require.NoError(t, err)
	require.Zero(t, info.Size())
}
