package seal_test

import (
	"bytes"
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/pem"
	"io"
	"math/big"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/ocsp"

	"countersign/seal"
	"countersign/seal/verify"
	"countersign/test/kit"
)

// authority is a certificate authority that answers for its certificates, and
// a time-stamp authority run by openssl.
type authority struct {
	key   *ecdsa.PrivateKey
	cert  *x509.Certificate
	roots *x509.CertPool
	ocsp  *httptest.Server
	tsa   *kit.TSA

	revoked atomic.Bool
	useCRL  bool
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	a := &authority{roots: x509.NewCertPool()}
	var err error
	a.key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	start := now.AddDate(0, 0, -1) // before the job is sealed; openssl's time-stamps bear the present time
	tmpl := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "Test authority"}, NotBefore: start, NotAfter: start.AddDate(20, 0, 0),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageCRLSign | x509.KeyUsageDigitalSignature,
	}
	der, err := x509.CreateCertificate(rand.Reader, tmpl, tmpl, a.key.Public(), a.key)
	require.NoError(t, err)
	a.cert, err = x509.ParseCertificate(der)
	require.NoError(t, err)
	a.roots.AddCert(a.cert)
	a.ocsp = httptest.NewServer(http.HandlerFunc(a.answerStatus))
	t.Cleanup(a.ocsp.Close)
	c, key := a.issue(t, "Test time-stamp authority", 3, asn1.ObjectIdentifier{1, 3, 6, 1, 5, 5, 7, 3, 8}, true)
	a.tsa = kit.ServeTSA(t, c, a.cert, key)
	return a
}

func (a *authority) issue(t *testing.T, name string, serial int64, usage asn1.ObjectIdentifier, online bool) (*x509.Certificate, *ecdsa.PrivateKey) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	tmpl := &x509.Certificate{
		SerialNumber: big.NewInt(serial), Subject: pkix.Name{CommonName: name}, NotBefore: a.cert.NotBefore, NotAfter: a.cert.NotBefore.AddDate(5, 0, 0),
		KeyUsage: x509.KeyUsageDigitalSignature,
	}
	value, err := asn1.Marshal([]asn1.ObjectIdentifier{usage})
	require.NoError(t, err)
	tmpl.ExtraExtensions = []pkix.Extension{{Id: asn1.ObjectIdentifier{2, 5, 29, 37}, Critical: true, Value: value}}
	if online && a.useCRL {
		tmpl.CRLDistributionPoints = []string{a.ocsp.URL + "/crl"}
	} else if online {
		tmpl.OCSPServer = []string{a.ocsp.URL}
	}
	der, err := x509.CreateCertificate(rand.Reader, tmpl, a.cert, key.Public(), a.key)
	require.NoError(t, err)
	c, err := x509.ParseCertificate(der)
	require.NoError(t, err)
	return c, key
}

func (a *authority) answerStatus(w http.ResponseWriter, r *http.Request) {
	present := time.Now()
	if r.URL.Path == "/crl" {
		list := &x509.RevocationList{Number: big.NewInt(1), ThisUpdate: present, NextUpdate: present.Add(time.Hour)}
		if a.revoked.Load() {
			list.RevokedCertificateEntries = []x509.RevocationListEntry{{SerialNumber: big.NewInt(2), RevocationTime: present.AddDate(-9, 0, 0)}}
		}
		der, err := x509.CreateRevocationList(rand.Reader, list, a.cert, a.key)
		if err == nil {
			_, _ = w.Write(der)
		}
		return
	}
	body, _ := io.ReadAll(r.Body)
	req, err := ocsp.ParseRequest(body)
	if err != nil {
		http.Error(w, "bad", http.StatusBadRequest)
		return
	}
	answer := ocsp.Response{Status: ocsp.Good, SerialNumber: req.SerialNumber, ThisUpdate: present, NextUpdate: present.Add(time.Hour), IssuerHash: crypto.SHA256}
	if a.revoked.Load() {
		answer.Status, answer.RevokedAt = ocsp.Revoked, present.AddDate(-9, 0, 0)
	}
	der, err := ocsp.CreateResponse(a.cert, a.cert, answer, a.key)
	if err == nil {
		_, _ = w.Write(der)
	}
}

// keys returns a sealing key under the authority, with its time-stamps.
func (a *authority) keys(t *testing.T) sealerFixture {
	t.Helper()
	k := newSealerFixture(t)
	c, key := a.issue(t, "Countersign", 2, asn1.ObjectIdentifier{1, 3, 6, 1, 5, 5, 7, 3, 36}, true)
	k.cfg.Signer, k.cfg.Chain = key, []*x509.Certificate{c, a.cert}
	k.cfg.TSAURL, k.cfg.HTTPClient = a.tsa.URL, &http.Client{Timeout: time.Minute}
	k.cfg.Now = time.Now
	k.ca, k.tsa = a.cert, a.roots
	require.NoError(t, os.WriteFile(k.caFile, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.cert.Raw}), 0o600))
	return k
}

func TestTimestamp(t *testing.T) {
	t.Parallel()
	a := newAuthority(t)
	k := a.keys(t)
	file, b := sealed(t, k.sealer(t), job(t, simplePDF(1)))
	checkIndependently(t, k, file, b)
	r := verified(t, b, k.trust())
	require.True(t, r.OK(), textOf(t, r))
	require.Equal(t, "B-T", r.Level)
	require.Equal(t, verify.Passed, r.Status(verify.CheckTimestamp))
	require.WithinDuration(t, time.Now(), *r.StampedAt, time.Minute)

	other := k.trust()
	other.Trust.Stampers = x509.NewCertPool()
	r = verified(t, b, other)
	require.Equal(t, verify.Untrusted, r.Status(verify.CheckTimestamp), textOf(t, r))
	require.Equal(t, verify.VerdictUntrusted, r.Verdict)
}

func TestTimestampAuthorityDown(t *testing.T) {
	t.Parallel()
	a := newAuthority(t)
	a.tsa.Down.Store(true)
	k := a.keys(t)
	out, err := os.Create(filepath.Join(t.TempDir(), "out.pdf"))
	require.NoError(t, err)
	defer func() { require.NoError(t, out.Close()) }()
	_, err = k.sealer(t).Seal(t.Context(), out, job(t, simplePDF(1)))
	require.ErrorContains(t, err, "503", "never a silent downgrade")

	k.cfg.TSAOptional = true
	s := k.sealer(t)
	require.NoError(t, out.Truncate(0))
	res, err := s.Seal(t.Context(), out, job(t, simplePDF(1)))
	require.NoError(t, err)
	require.False(t, res.Stamped)

	a.tsa.Down.Store(false)
	b := renewed(t, s, readAll(t, out, res.Size))
	r := verified(t, b, k.trust())
	require.True(t, r.OK(), textOf(t, r))
	require.Equal(t, verify.Passed, r.Status(verify.CheckArchive))
}

// TestTimestampAuthorityGoesDown: after the first request, a seal without the authority's response is what its
// dictionary declares.
func TestTimestampAuthorityGoesDown(t *testing.T) {
	t.Parallel()
	a := newAuthority(t)
	for _, optional := range []bool{false, true} {
		a.tsa.Down.Store(false)
		k := a.keys(t)
		k.cfg.TSAOptional = optional
		s := k.sealer(t)
		_, b := sealed(t, s, job(t, simplePDF(1)))
		require.Equal(t, verify.Passed, verified(t, b, k.trust()).Status(verify.CheckTimestamp))
		a.tsa.Down.Store(true)
		out, err := os.Create(filepath.Join(t.TempDir(), "out.pdf"))
		require.NoError(t, err)
		res, err := s.Seal(t.Context(), out, job(t, simplePDF(1)))
		if optional {
			require.NoError(t, err)
			require.False(t, res.Stamped)
			require.True(t, res.Pending)
		} else {
			require.ErrorContains(t, err, "no time-stamp")
		}
		require.NoError(t, out.Close())
	}
}

// TestTimestampAuthorityHangs: a seal that can do without it asks it once a minute, and again
// as soon as it has answered anybody.
func TestTimestampAuthorityHangs(t *testing.T) {
	t.Parallel()
	for _, known := range []bool{false, true} {
		a := newAuthority(t)
		k := a.keys(t)
		h := &slowClient{}
		k.cfg.TSAOptional, k.cfg.Now, k.cfg.HTTPClient = true, h.now, &http.Client{Transport: h}
		s := k.sealer(t)
		seal := func(stamped bool, asked int32) []byte {
			t.Helper()
			before := h.asked.Load()
			_, b := sealed(t, s, job(t, simplePDF(1)))
			require.Equal(t, stamped, verified(t, b, k.trust()).StampedAt != nil)
			require.Equal(t, asked, h.asked.Load()-before)
			return b
		}
		if known {
			seal(true, 2) // once for its certificates
		}
		a.tsa.Down.Store(true)
		for range 2 { // an authority that fails immediately is tried each time
			seal(false, 1)
		}
		h.takes.Store(int64(30 * time.Second))
		seal(false, 1)
		seal(false, 0)
		h.later.Add(int64(time.Minute))
		seal(false, 1)
		h.takes.Store(0)
		a.tsa.Down.Store(false)
		b := seal(false, 0)
		renewed(t, s, b)
		seal(true, 1)
	}
}

// slowClient is a client on whose clock each answer takes a while.
type slowClient struct {
	asked        atomic.Int32
	takes, later atomic.Int64 // in nanoseconds; how far its clock is ahead
}

func (c *slowClient) now() time.Time { return time.Now().Add(time.Duration(c.later.Load())) }

func (c *slowClient) RoundTrip(r *http.Request) (*http.Response, error) {
	c.asked.Add(1)
	c.later.Add(c.takes.Load())
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

// TestLongTerm: B-LTA at once, then renewed twice; the seal stays valid.
func TestLongTerm(t *testing.T) {
	t.Parallel()
	for _, useCRL := range []bool{false, true} {
		for name, original := range map[string][]byte{"table": simplePDF(2), "hybrid": hybridPDF()} {
			t.Run(name+strconv.FormatBool(useCRL), func(t *testing.T) {
				t.Parallel()
				a := newAuthority(t)
				a.useCRL = useCRL
				k := a.keys(t)
				k.cfg.LongTerm = true
				s := k.sealer(t)
				_, b := sealed(t, s, job(t, original))
				for range 3 {
					r := verified(t, b, k.trust())
					require.True(t, r.OK(), textOf(t, r))
					require.Equal(t, "B-LTA", r.Level, textOf(t, r))
					require.Equal(t, verify.Passed, r.Status(verify.CheckRevocation))
					require.Equal(t, verify.Passed, r.Status(verify.CheckArchive))
					checkLongTerm(t, k, b)
					later := renewed(t, s, b)
					require.True(t, bytes.HasPrefix(later, b))
					b = later
				}
				changed := bytes.Clone(b)
				changed[len(b)-len(b)/64] ^= 1
				require.NotEqual(t, verify.VerdictValid, verified(t, changed, k.trust()).Verdict)
				more := append(bytes.Clone(b), "% more\n"...)
				require.Equal(t, verify.VerdictAltered, verified(t, more, k.trust()).Verdict)
			})
		}
	}
}

// checkLongTerm lets other programs judge the seal and the last time-stamp.
func checkLongTerm(t *testing.T, k sealerFixture, b []byte) {
	t.Helper()
	dir := t.TempDir()
	file, tbs, token := filepath.Join(dir, "lta.pdf"), filepath.Join(dir, "tbs.bin"), filepath.Join(dir, "token.der")
	require.NoError(t, os.WriteFile(file, b, 0o600))
	out, err := run(t, "qpdf", "--check", file)
	require.NoError(t, err, out)
	out, err = run(t, "pdfsig", file)
	require.NoError(t, err, out)
	require.Contains(t, out, "Signature is Valid")
	covered, der := signatureOf(t, b)
	require.NoError(t, os.WriteFile(tbs, covered, 0o600))
	require.NoError(t, os.WriteFile(token, der, 0o600))
	out, err = run(t, "openssl", "ts", "-verify", "-token_in", "-in", token, "-data", tbs, "-CAfile", k.caFile)
	require.NoError(t, err, out)
}

func TestRevokedCertificateIsNotArchived(t *testing.T) {
	t.Parallel()
	a := newAuthority(t)
	k := a.keys(t)
	s := k.sealer(t)
	_, b := sealed(t, s, job(t, simplePDF(1)))
	a.revoked.Store(true)
	out, err := os.Create(filepath.Join(t.TempDir(), "renewed.pdf"))
	require.NoError(t, err)
	defer func() { require.NoError(t, out.Close()) }()
	_, err = s.Renew(t.Context(), bytes.NewReader(b), int64(len(b)), out)
	require.ErrorContains(t, err, "revoked")
}

// TestAlteredIsNotRenewed: additions to a sealed file are found before any authority is contacted, and nothing is
// written.
func TestAlteredIsNotRenewed(t *testing.T) {
	t.Parallel()
	a := newAuthority(t)
	k := a.keys(t)
	s := k.sealer(t)
	_, b := sealed(t, s, job(t, simplePDF(1)))
	b = append(b, "% more\n"...)
	a.tsa.Down.Store(true)
	out, err := os.Create(filepath.Join(t.TempDir(), "renewed.pdf"))
	require.NoError(t, err)
	defer func() { require.NoError(t, out.Close()) }()
	_, err = s.Renew(t.Context(), bytes.NewReader(b), int64(len(b)), out)
	require.ErrorContains(t, err, "the document to renew is altered")
	info, err := out.Stat()
	require.NoError(t, err)
	require.Zero(t, info.Size())
}
