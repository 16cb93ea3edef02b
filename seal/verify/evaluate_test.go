package verify

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"fmt"
	"math/big"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"countersign/seal/archive1"
	"countersign/seal/cms"
	"countersign/seal/trust"
)

// certificates returns one self-signed certificate for each source. A source is "ocsp", "crl", or empty for no
// revocation information.
func certificates(t *testing.T, sources ...string) []*x509.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	var out []*x509.Certificate
	for i, source := range sources {
		tmpl := &x509.Certificate{SerialNumber: big.NewInt(int64(i + 1)), Subject: pkix.Name{CommonName: fmt.Sprint("C", i)}}
		switch source {
		case "ocsp":
			tmpl.OCSPServer = []string{"http://ocsp.example.org"}
		case "crl":
			tmpl.CRLDistributionPoints = []string{"http://crl.example.org/crl"}
		}
		der, err := x509.CreateCertificate(rand.Reader, tmpl, tmpl, key.Public(), key)
		require.NoError(t, err)
		c, err := x509.ParseCertificate(der)
		require.NoError(t, err)
		out = append(out, c)
	}
	return out
}

// TestPAdESLevel checks that the content of the seal determines the level (EN 319 142-1, 6).
func TestPAdESLevel(t *testing.T) {
	t.Parallel()
	own, document := stamp{}, stamp{Document: true}
	for _, tt := range []struct {
		stamps     []stamp
		statements bool
		want       string
	}{
		{nil, false, "B-B"},
		{nil, true, "B-B"},
		{[]stamp{document}, true, "B-B"},
		{[]stamp{own}, false, "B-T"},
		{[]stamp{document, own}, false, "B-T"},
		{[]stamp{own}, true, "B-LT"},
		{[]stamp{document, own}, true, "B-LTA"},
		{[]stamp{document, document, own}, true, "B-LTA"},
	} {
		require.Equal(t, tt.want, padesLevel(trust.Evaluation{HasStatements: tt.statements}, trustInput{Stamps: tt.stamps}), "%+v", tt)
	}
}

// TestFindingsOfStamps checks that the findings include the last document time-stamp and every untrusted one.
func TestFindingsOfStamps(t *testing.T) {
	t.Parallel()
	confirmed, untrusted := trust.Finding{Status: trust.Trusted, Code: trust.CodeConfirmed}, trust.Finding{Status: trust.Untrusted, Code: trust.CodeUnknown}
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	own, document := stamp{Time: at}, stamp{Document: true}
	for name, tt := range map[string]struct {
		stamps []stamp
		found  []trust.Finding
		want   []Code
	}{
		"none":               {nil, nil, []Code{"timestamp.absent", "archive_timestamp.absent"}},
		"its own":            {[]stamp{own}, []trust.Finding{confirmed}, []Code{"timestamp.confirmed", "archive_timestamp.absent"}},
		"the document's":     {[]stamp{document}, []trust.Finding{confirmed}, []Code{"archive_timestamp.confirmed", "timestamp.absent"}},
		"both":               {[]stamp{document, own}, []trust.Finding{confirmed, untrusted}, []Code{"archive_timestamp.confirmed", "timestamp.untrusted"}},
		"several":            {[]stamp{document, document, own}, []trust.Finding{confirmed, confirmed, confirmed}, []Code{"archive_timestamp.confirmed", "timestamp.confirmed"}},
		"an old one is bad":  {[]stamp{document, document, own}, []trust.Finding{confirmed, untrusted, confirmed}, []Code{"archive_timestamp.confirmed", "archive_timestamp.untrusted", "timestamp.confirmed"}},
		"the last is bad":    {[]stamp{document, document, own}, []trust.Finding{untrusted, confirmed, confirmed}, []Code{"archive_timestamp.untrusted", "timestamp.confirmed"}},
		"an old unknown one": {[]stamp{document, document}, []trust.Finding{confirmed, {Status: trust.Unknown, Code: trust.CodeNotConfirmed}}, []Code{"archive_timestamp.confirmed", "timestamp.absent"}},
	} {
		var r Report
		r.addStamps(tt.stamps, tt.found)
		var got []Code
		for _, f := range r.Findings {
			got = append(got, f.Code)
		}
		require.Equal(t, tt.want, got, name)
		if strings.Contains(fmt.Sprint(got), " timestamp.absent") || got[0] == "timestamp.absent" {
			require.Nil(t, r.StampedAt, name)
		} else {
			require.Equal(t, &at, r.StampedAt, name)
		}
	}
}

// TestFindingsOfRevocation checks that the findings distinguish statements that do not exist from statements that were
// not requested.
func TestFindingsOfRevocation(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		code     string
		embedded bool
		want     Code
	}{
		{trust.CodeNothing, false, "revocation.absent"}, {trust.CodeNothing, true, "revocation.not_offered"}, {trust.CodeGood, true, "revocation.good"}, {trust.CodeGood, false, "revocation.good"},
	} {
		var r Report
		r.addRevocation(trust.Evaluation{Revocation: trust.Finding{Code: tt.code}}, tt.embedded)
		require.True(t, r.Has(tt.want), "%+v", tt)
		require.Len(t, r.Findings, 1)
	}
}

// TestFindingsNameOnlyWhatTheirSentenceNames checks that a finding omits values that its text does not contain.
func TestFindingsNameOnlyWhatTheirSentenceNames(t *testing.T) {
	t.Parallel()
	var r Report
	r.addTrust(CheckCertificate, trust.Finding{Code: trust.CodeIssued, Name: "Ada", Issuer: "CA", Reason: "none", Time: time.Now()})
	require.Equal(t, map[string]string{"name": "Ada", "issuer": "CA"}, r.Findings[0].Values)
}

// TestExamination_RoundTrip checks that an examination from another process is received unchanged, and that an invalid
// certificate or key results in an error.
func TestExamination_RoundTrip(t *testing.T) {
	t.Parallel()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	c := certificates(t, "", "ocsp", "crl")
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	in := trustInput{
		Chain: c[:2], SealedAt: at, KeyID: "k", Key: &publicKey{&key.PublicKey},
		Stamps:   []stamp{{Chain: c[1:], Time: at, Document: true}, {Chain: c[:1], Time: at.Add(1)}},
		Evidence: trust.Evidence{OCSPs: [][]byte{[]byte("o")}, CRLs: [][]byte{[]byte("c")}}, Extended: true,
	}
	for _, sent := range []trustInput{in, {}} {
		b, err := json.Marshal(sent)
		require.NoError(t, err)
		var arrived trustInput
		require.NoError(t, json.Unmarshal(b, &arrived))
		require.Equal(t, sent, arrived)
	}
	p384, err := ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	require.NoError(t, err)
	other, err := json.Marshal(trustInput{Key: &publicKey{&p384.PublicKey}})
	require.NoError(t, err)
	for name, wire := range map[string]string{
		"chain": `{"chain":["bm8="]}`, "stamp": `{"stamps":[{"chain":["bm8="]}]}`, "key": `{"key":"bm8="}`, "key of another curve": string(other),
		"no list": `{"chain":"bm8="}`, "no octets": `{"key":1}`,
	} {
		require.Error(t, json.Unmarshal([]byte(wire), new(trustInput)), name)
	}
}

// TestExaminationTime checks that the time limit increases by one second per 32 MiB for a file that is read in parts.
func TestExaminationTime(t *testing.T) {
	t.Parallel()
	for size, want := range map[int64]time.Duration{
		0: 10 * time.Second, 64 << 20: 10 * time.Second, 64<<20 + 1: 12 * time.Second, 96<<20 - 1: 12 * time.Second, 96 << 20: 13 * time.Second, 1 << 30: 42 * time.Second,
	} {
		require.Equal(t, want, ExaminationTime(size), "%d", size)
	}
}

// TestPlan checks that each certificate occurs only once, and that there is one request for each certificate whose
// authority publishes revocations and whose issuer is present.
func TestPlan(t *testing.T) {
	t.Parallel()
	c := certificates(t, "ocsp", "crl", "", "ocsp", "ocsp")
	questions := func(q []StatementRequest) (out []string) {
		for _, x := range q {
			out = append(out, x.Certificate.Subject.CommonName+x.Issuer.Subject.CommonName)
		}
		return out
	}
	ders := func(chain ...*x509.Certificate) [][]byte { return derOf(chain) }
	a := Archive{listed: map[string]bool{}, Budget: 1000, pending: []*cms.Signed{
		{Certificates: []*x509.Certificate{c[0], c[1], c[2]}}, {Certificates: []*x509.Certificate{c[3], c[1], c[4]}},
	}}
	certs, asked := a.Plan()
	require.Equal(t, ders(c[0], c[1], c[2], c[3], c[4]), certs)
	require.Equal(t, []string{"C0C1", "C1C2", "C3C1"}, questions(asked))

	a.next(archive1.Revision{Size: 7}, archive1.Evidence{Certs: ders(c[0], c[1]), Statements: []archive1.Statement{{DER: make([]byte, 30)}}},
		&cms.Token{Signed: &cms.Signed{Certificates: []*x509.Certificate{c[1], c[0], c[2]}}})
	require.EqualValues(t, 7, a.Revision.Size)
	require.Equal(t, 1, a.Stamps)
	require.Equal(t, 1000-len(c[0].Raw)-len(c[1].Raw)-30, a.Budget)
	certs, asked = a.Plan()
	require.Equal(t, ders(c[2]), certs)
	require.Equal(t, []string{"C1C0", "C0C2"}, questions(asked))
}

// TestArchiveOf checks that a revision can be extended only if everything that the next increment repeats is readable.
func TestArchiveOf(t *testing.T) {
	t.Parallel()
	build := func(form, fields, trailer string) (Archive, error) {
		b := smallPDF(map[int]string{1: "<</AcroForm " + form + ">>", 2: fields})
		b = []byte(strings.Replace(string(b), "/Root 1 0 R", "/Root 1 0 R"+trailer, 1))
		return archiveOf(&sealedRevision{signatureDict: signatureDict{end: int64(len(b))}, file: opened(t, b)})
	}
	const id = "/ID[<AA><BB>]"
	a, err := build("<</Fields 2 0 R>>", "[5 0 R 6 0 R]", id+"/Info 3 0 R")
	require.NoError(t, err)
	require.Equal(t, "5 0 R 6 0 R", a.Revision.Listed)
	require.Equal(t, "3 0 R", a.Revision.Info)
	require.Equal(t, "<AA>", a.Revision.ID)
	require.Equal(t, archive1.Object{Num: 2}, a.Revision.Fields)
	require.Equal(t, archive1.Object{Num: 1}, a.Revision.Root)
	require.Equal(t, 9000, a.Revision.Next)
	require.Equal(t, maxEvidence, a.Budget)
	require.False(t, a.Revision.Stream)
	a, err = build("<</Fields 2 0 R>>", "[]", id)
	require.NoError(t, err)
	require.Empty(t, a.Revision.Info)
	for name, tt := range map[string][3]string{
		"no ID":                        {"<</Fields 2 0 R>>", "[]", ""},
		"half an ID":                   {"<</Fields 2 0 R>>", "[]", "/ID[<AA>]"},
		"an ID that is no list":        {"<</Fields 2 0 R>>", "[]", "/ID<AA>"},
		"fields in the form itself":    {"<</Fields[5 0 R]>>", "[]", id},
		"fields that are no list":      {"<</Fields 2 0 R>>", "<<>>", id},
		"no form":                      {"5", "[]", id},
		"validation data in it before": {"<</Fields 2 0 R>>/DSS<<>>", "[]", id},
	} {
		_, err := build(tt[0], tt[1], tt[2])
		require.Error(t, err, name)
	}
}
