package seal_test

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/gowebpki/jcs"
	"github.com/stretchr/testify/require"

	"countersign/pdf"
	"countersign/seal"
	"countersign/seal/sealkey"
)

// now is the time at which everything happens.
var now = time.Date(2026, 11, 21, 7, 0, 0, 123456000, time.UTC)

func clock() time.Time { return now }

// sealerFixture is a sealing key with its authority, written where openssl finds it.
type sealerFixture struct {
	cfg    seal.Config
	ca     *x509.Certificate // under which sealers are trusted; nil: the one of cfg is pinned
	tsa    *x509.CertPool    // nil: time-stamps are not confirmed
	caFile string
}

func newSealerFixture(t testing.TB) sealerFixture {
	t.Helper()
	ca, cert, key, err := sealkey.SelfSigned("Countersign", now, rand.Reader)
	require.NoError(t, err)
	signer, chain, err := sealkey.LoadPEM(append(cert, ca...), key)
	require.NoError(t, err)
	manifest, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	k := sealerFixture{
		cfg: seal.Config{
			Signer: signer, Chain: chain, ManifestSigner: manifest, ManifestKeyID: "k1", ServiceName: "Countersign",
			Now: clock, Rand: rand.Reader,
		},
		ca:     chain[len(chain)-1],
		caFile: filepath.Join(t.TempDir(), "ca.pem"),
	}
	require.NoError(t, os.WriteFile(k.caFile, ca, 0o600))
	return k
}

func (k sealerFixture) sealer(t testing.TB) *seal.Sealer {
	t.Helper()
	s, err := seal.New(k.cfg)
	require.NoError(t, err)
	return s
}

// chain returns audit events as package models makes them.
func chain(t testing.TB, events ...map[string]any) (raw []json.RawMessage, head string) {
	t.Helper()
	head = fmt.Sprintf("%064d", 0)
	for i, e := range events {
		e["seq"], e["prevHash"] = i+1, head
		e["id"], e["envelopeId"] = fmt.Sprintf("00000000-0000-4000-8000-%012d", i+1), envelopeID
		for _, k := range []string{"ip", "userAgent", "detail"} {
			if _, ok := e[k]; !ok {
				e[k] = nil
			}
		}
		plain, err := json.Marshal(e)
		require.NoError(t, err)
		canonical, err := jcs.Transform(plain)
		require.NoError(t, err)
		sum := sha256.Sum256(canonical)
		head = hex.EncodeToString(sum[:])
		e["hash"] = head
		plain, err = json.Marshal(e)
		require.NoError(t, err)
		canonical, err = jcs.Transform(plain)
		require.NoError(t, err)
		raw = append(raw, canonical)
	}
	return raw, head
}

const (
	envelopeID = "3f0c1f6e-9f5d-4c4c-8b1f-2a6d0f3f7b11"
	documentID = "9a2f4c5e-0b1d-4b7a-9e55-6d1c2b3a4f50"
	adaID      = "b5a7a1de-6a53-4c1e-9f3b-0c8d2e4f6a10"
	jomoID     = "c6b8b2ef-7b64-4d2f-8a4c-1d9e3f5a7b21"
)

// job is a two-signer envelope over the original; more is what else happened to it.
func job(t testing.TB, original []byte, more ...map[string]any) seal.Job {
	t.Helper()
	sum := sha256.Sum256(original)
	hash := hex.EncodeToString(sum[:])
	at := func(minute int) time.Time { return now.Add(time.Duration(minute) * time.Minute) }
	stamp := func(minute int) string { return at(minute).Format("2006-01-02T15:04:05.000000Z") }
	event := func(name, actor string, minute int, ip string, detail map[string]any) map[string]any {
		e := map[string]any{"event": name, "actor": actor, "timestamp": stamp(minute), "detail": detail}
		if ip != "" {
			e["ip"] = ip
		}
		return e
	}
	pages := pagesOf(original)
	ada, jomo := "signer:"+adaID, "signer:"+jomoID
	all := []map[string]any{
		event("envelope.created", "app:demo", -90, "203.0.113.7", nil),
		event("document.added", "app:demo", -90, "203.0.113.7", map[string]any{"documentId": documentID, "sha256": hash, "pageCount": pages, "order": 1}),
	}
	for _, detail := range more {
		all = append(all, event("document.prepared", "app:demo", -90, "203.0.113.7", detail))
	}
	all = append(all,
		event("envelope.sent", "app:demo", -89, "203.0.113.7", nil),
		event("invitation.sent", "system", -89, "", map[string]any{"channel": "email"}),
		event("signer.viewed", ada, -60, "198.51.100.23", nil),
		event("otp.requested", ada, -59, "198.51.100.23", map[string]any{"channel": "email"}),
		event("otp.verified", ada, -58, "198.51.100.23", nil),
		event("consent.given", ada, -57, "198.51.100.23", nil),
		event("page_viewed", ada, -56, "198.51.100.23", map[string]any{"page": 1, "dwellMs": 41200}),
		event("signer.signed", ada, -55, "198.51.100.23", nil),
		event("signer.viewed", jomo, -30, "2001:db8:85a3::8a2e:370:7334", nil),
		event("consent.given", jomo, -29, "2001:db8:85a3::8a2e:370:7334", nil),
		event("signer.signed", jomo, -28, "2001:db8:85a3::8a2e:370:7334", nil),
	)
	events, head := chain(t, all...)
	return seal.Job{
		Original: bytes.NewReader(original), Size: int64(len(original)), OriginalSHA256: hash,
		Envelope: seal.Envelope{
			ID: envelopeID, TenantID: "acme", Subject: "Master services agreement with Ærø Skibsværft A/S",
			CreatedAt: at(-90), SentAt: at(-89), OriginalHash: hash,
		},
		Document:  seal.Document{ID: documentID, Name: "agreement.pdf", SHA256: hash, Order: 1, PageCount: pages},
		Documents: []seal.Document{{ID: documentID, Name: "agreement.pdf", SHA256: hash, Order: 1, PageCount: pages}},
		Values: []seal.Value{
			{FieldID: "f1", SignerID: adaID, Kind: seal.Signature, Page: 1, X: 72, Y: 600, W: 180, H: 48, PNG: signaturePNG(t, 600, 160)},
			{FieldID: "f2", SignerID: adaID, Kind: seal.Text, Page: 1, X: 72, Y: 500, W: 200, H: 20, Text: "Ada Lovelace"},
			{FieldID: "f3", SignerID: adaID, Kind: seal.Date, Page: 1, X: 300, Y: 600, W: 100, H: 20, Text: "2026-11-21"},
			{FieldID: "f4", SignerID: jomoID, Kind: seal.Checkbox, Page: 1, X: 300, Y: 500, W: 16, H: 16, Checked: true},
			{FieldID: "f5", SignerID: jomoID, Kind: seal.Initial, Page: 1, X: 420, Y: 600, W: 60, H: 30, PNG: signaturePNG(t, 200, 100)},
		},
		Signers: []seal.Signer{
			{
				ID: adaID, Name: "Ada Lovelace", Email: "ada@example.org", AuthMethod: "email_otp", ConsentAt: at(-57), ConsentVersion: "2026-01",
				VerifiedAt: at(-58), SignedAt: at(-55), IP: "198.51.100.23", Order: 1,
				UserAgent: "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.1 Safari/605.1.15",
			},
			{
				ID: jomoID, Name: "李小龍 · محمد الفاتح", Email: "jomo@example.org", Phone: "+4512345678", AuthMethod: "none", ConsentAt: at(-29),
				ConsentVersion: "2026-01", SignedAt: at(-28), IP: "2001:db8:85a3::8a2e:370:7334", UserAgent: "Mozilla/5.0 (iPhone)", Order: 2,
			},
		},
		Events: events, ChainHead: head, VerifyURL: "https://sign.example.org/verify/" + envelopeID, SealedAt: now,
	}
}

// pagesOf counts the pages of a PDF, 1 if it cannot be read.
func pagesOf(b []byte) int {
	f, err := pdf.Open(bytes.NewReader(b), int64(len(b)), pdf.DefaultLimits())
	if err != nil {
		return 1
	}
	n, err := f.Walk(func(*pdf.Page) error { return nil })
	if err != nil {
		return 1
	}
	return n
}

// signaturePNG is a signature on a transparent ground.
func signaturePNG(t testing.TB, w, h int) []byte {
	t.Helper()
	img := image.NewNRGBA(image.Rect(0, 0, w, h))
	for i := range 4000 {
		p := float64(i) / 4000
		x := (0.05 + 0.9*p) * float64(w)
		y := (0.5 + 0.35*math.Sin(p*23)*math.Cos(p*5)) * float64(h)
		for dx := -2; dx <= 2; dx++ {
			for dy := -2; dy <= 2; dy++ {
				img.SetNRGBA(int(x)+dx, int(y)+dy, color.NRGBA{20, 30, 90, uint8(255 - 40*(dx*dx+dy*dy)/2)})
			}
		}
	}
	var b bytes.Buffer
	require.NoError(t, png.Encode(&b, img))
	return b.Bytes()
}

// sealed seals and returns the file's name and bytes.
func sealed(t testing.TB, s *seal.Sealer, j seal.Job) (string, []byte) {
	t.Helper()
	out, err := os.Create(filepath.Join(t.TempDir(), "sealed.pdf"))
	require.NoError(t, err)
	defer func() { require.NoError(t, out.Close()) }()
	res, err := s.Seal(context.Background(), out, j)
	require.NoError(t, err)
	b, err := os.ReadFile(out.Name())
	require.NoError(t, err)
	sum := sha256.Sum256(b)
	require.Equal(t, hex.EncodeToString(sum[:]), res.SHA256)
	require.EqualValues(t, len(b), res.Size)
	return out.Name(), b
}

// run executes a tool that must be installed and returns its output.
func run(t testing.TB, name string, args ...string) (string, error) {
	t.Helper()
	_, err := exec.LookPath(name)
	require.NoError(t, err, "%s must be installed", name)
	out, err := exec.CommandContext(context.Background(), name, args...).CombinedOutput()
	return string(out), err
}
