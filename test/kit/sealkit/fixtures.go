// Package sealkit provides test data and tools for sealing, such as keys, jobs, PDFs, other PDF programs, and a
// time-stamp authority.
package sealkit

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
	"image/draw"
	"image/png"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gowebpki/jcs"
	"github.com/stretchr/testify/require"

	"countersign/pdf"
	"countersign/seal"
	"countersign/seal/admission"
	"countersign/seal/manifest"
	"countersign/seal/picture"
	"countersign/seal/sealkey"
)

// Now is the time of sealing in tests.
var Now = time.Date(2026, 11, 21, 7, 0, 0, 123456000, time.UTC)

// Clock returns Now.
func Clock() time.Time { return Now }

// Fixture is a sealing configuration with a key and its authority.
type Fixture struct {
	Config seal.Config
	CA     *x509.Certificate // trusted authority of the sealer, or nil if the certificate in Config is pinned
	TSA    *x509.CertPool    // nil if time-stamps are not verified
	CAFile string
}

// NewFixture returns a fixture with a self-signed sealing key.
func NewFixture(t testing.TB) Fixture {
	t.Helper()
	ca, cert, key, err := sealkey.SelfSigned("Countersign", Now, rand.Reader)
	require.NoError(t, err)
	signer, chain, err := sealkey.LoadPEM(append(cert, ca...), key)
	require.NoError(t, err)
	manifest, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	k := Fixture{
		Config: seal.Config{
			Signer: signer, Chain: chain, ManifestSigner: manifest, ManifestKeyID: "k1", ServiceName: "Countersign",
			Now: Clock, Rand: rand.Reader,
		},
		CA:     chain[len(chain)-1],
		CAFile: filepath.Join(t.TempDir(), "ca.pem"),
	}
	require.NoError(t, os.WriteFile(k.CAFile, ca, 0o600))
	return k
}

// Sealer returns a sealer with the fixture's configuration.
func (k Fixture) Sealer(t testing.TB) *seal.Sealer {
	t.Helper()
	s, err := seal.New(k.Config)
	require.NoError(t, err)
	return s
}

// Chain returns audit events in the format of package models.
func Chain(t testing.TB, events ...map[string]any) (raw []json.RawMessage, head string) {
	t.Helper()
	head = fmt.Sprintf("%064d", 0)
	for i, e := range events {
		e["seq"], e["prevHash"] = i+1, head
		e["id"], e["envelopeId"] = fmt.Sprintf("00000000-0000-4000-8000-%012d", i+1), EnvelopeID
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

// The IDs of the envelope that Job returns, its document and its signers.
const (
	EnvelopeID = "3f0c1f6e-9f5d-4c4c-8b1f-2a6d0f3f7b11"
	DocumentID = "9a2f4c5e-0b1d-4b7a-9e55-6d1c2b3a4f50"
	AdaID      = "b5a7a1de-6a53-4c1e-9f3b-0c8d2e4f6a10"
	JomoID     = "c6b8b2ef-7b64-4d2f-8a4c-1d9e3f5a7b21"
)

// Job returns the sealing job of an envelope with two signers and the given document. The events in more are added to
// its audit trail.
func Job(t testing.TB, original []byte, more ...map[string]any) seal.Job {
	t.Helper()
	sum := sha256.Sum256(original)
	hash := hex.EncodeToString(sum[:])
	at := func(minute int) time.Time { return Now.Add(time.Duration(minute) * time.Minute) }
	stamp := func(minute int) string { return at(minute).Format("2006-01-02T15:04:05.000000Z") }
	event := func(name, actor string, minute int, ip string, detail map[string]any) map[string]any {
		e := map[string]any{"event": name, "actor": actor, "timestamp": stamp(minute), "detail": detail}
		if ip != "" {
			e["ip"] = ip
		}
		return e
	}
	pages := PagesOf(original)
	ada, jomo := "signer:"+AdaID, "signer:"+JomoID
	all := []map[string]any{
		event("envelope.created", "app:demo", -90, "203.0.113.7", nil),
		event("document.added", "app:demo", -90, "203.0.113.7", map[string]any{"documentId": DocumentID, "sha256": hash, "pageCount": pages, "order": 1}),
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
	events, head := Chain(t, all...)
	return seal.Job{
		Original: bytes.NewReader(original), Size: int64(len(original)), OriginalSHA256: hash,
		Envelope: seal.Envelope{
			ID: EnvelopeID, TenantID: "acme", Subject: "Master services agreement with Ærø Skibsværft A/S",
			CreatedAt: at(-90), SentAt: at(-89), OriginalHash: hash,
		},
		Document:  seal.Document{ID: DocumentID, Name: "agreement.pdf", SHA256: hash, Order: 1, PageCount: pages},
		Documents: []seal.Document{{ID: DocumentID, Name: "agreement.pdf", SHA256: hash, Order: 1, PageCount: pages}},
		Values: []seal.Value{
			{FieldID: "f1", SignerID: AdaID, Kind: seal.Signature, Page: 1, X: 72, Y: 600, W: 180, H: 48, PNG: SignaturePNG(t, 600, 160)},
			{FieldID: "f2", SignerID: AdaID, Kind: seal.Text, Page: 1, X: 72, Y: 500, W: 200, H: 20, Text: "Ada Lovelace"},
			{FieldID: "f3", SignerID: AdaID, Kind: seal.Date, Page: 1, X: 300, Y: 600, W: 100, H: 20, Text: "2026-11-21"},
			{FieldID: "f4", SignerID: JomoID, Kind: seal.Checkbox, Page: 1, X: 300, Y: 500, W: 16, H: 16, Checked: true},
			{FieldID: "f5", SignerID: JomoID, Kind: seal.Initial, Page: 1, X: 420, Y: 600, W: 60, H: 30, PNG: SignaturePNG(t, 200, 100)},
		},
		Signers: []seal.Signer{
			{
				ID: AdaID, Name: "Ada Lovelace", Email: "ada@example.org", AuthMethod: "email_otp", ConsentAt: at(-57), ConsentVersion: "2026-01",
				VerifiedAt: at(-58), SignedAt: at(-55), IP: "198.51.100.23", Order: 1,
				UserAgent: "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.1 Safari/605.1.15",
			},
			{
				ID: JomoID, Name: "李小龍 · محمد الفاتح", Email: "jomo@example.org", Phone: "+4512345678", AuthMethod: "none", ConsentAt: at(-29),
				ConsentVersion: "2026-01", SignedAt: at(-28), IP: "2001:db8:85a3::8a2e:370:7334", UserAgent: "Mozilla/5.0 (iPhone)", Order: 2,
			},
		},
		Events: events, ChainHead: head, VerifyURL: "https://sign.example.org/verify/" + EnvelopeID, SealedAt: Now,
	}
}

// PagesOf returns the number of pages of a PDF, or 1 if it cannot be parsed.
func PagesOf(b []byte) int {
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

// SignaturePNG returns a picture of a signature on a transparent background.
func SignaturePNG(t testing.TB, w, h int) []byte {
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

// Sealed seals a job, and returns the path and content of the file.
func Sealed(t testing.TB, s *seal.Sealer, j seal.Job) (string, []byte) {
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

// Run runs a tool, which must be installed, and returns its output.
func Run(t testing.TB, name string, args ...string) (string, error) {
	t.Helper()
	_, err := exec.LookPath(name)
	require.NoError(t, err, "%s must be installed", name)
	out, err := exec.CommandContext(context.Background(), name, args...).CombinedOutput()
	return string(out), err
}

// Admitted returns the result of admitting an uploaded PDF.
func Admitted(t testing.TB, b []byte) admission.Info {
	t.Helper()
	info, err := admission.Admit(t.Context(), strings.NewReader(string(b)), int64(len(b)), admission.DefaultLimits())
	require.NoError(t, err)
	return info
}

// WithPrevious adds predecessors to a signer, and the events that record them. Each predecessor opened the link
// before being replaced.
func WithPrevious(t *testing.T, j seal.Job, signer int, reason string, names ...string) seal.Job {
	t.Helper()
	s := j.Signers[signer]
	var events []map[string]any
	for _, raw := range j.Events {
		var e map[string]any
		require.NoError(t, json.Unmarshal(raw, &e))
		delete(e, "hash")
		if e["event"] == "signer.viewed" && e["actor"] == "signer:"+s.ID {
			at := e["timestamp"]
			until, err := time.Parse(time.RFC3339Nano, at.(string))
			require.NoError(t, err)
			for i, name := range names {
				was := seal.PreviousSigner{Name: name, Email: strings.ToLower(strings.Fields(name)[0]) + "@before.example.org", Until: until, Reason: reason}
				s.Previous = append(s.Previous, was)
				by, event := "app:demo", "signer.replaced"
				if i%2 == 1 {
					by, event = "signer:"+s.ID, "signer.delegated"
				}
				events = append(events, map[string]any{"event": "signer.viewed", "actor": "signer:" + s.ID, "timestamp": at}, map[string]any{
					"event": event, "actor": by, "timestamp": at, "detail": map[string]any{"signerId": s.ID, "person": i + 2},
				})
			}
		}
		events = append(events, e)
	}
	j.Signers = append([]seal.Signer{}, j.Signers...)
	j.Signers[signer] = s
	j.Events, j.ChainHead = Chain(t, events...)
	return j
}

// PlainEvents returns the events of a chain without their hashes, to build a new chain.
func PlainEvents(t *testing.T, raw []json.RawMessage) []map[string]any {
	t.Helper()
	var out []map[string]any
	for _, r := range raw {
		var e map[string]any
		require.NoError(t, json.Unmarshal(r, &e))
		delete(e, "hash")
		out = append(out, e)
	}
	return out
}

// WithParts sets the roles of signers, both in the record and in the events of their signatures.
func WithParts(t *testing.T, j seal.Job, parts ...seal.Part) seal.Job {
	t.Helper()
	j.Signers = append([]seal.Signer{}, j.Signers...)
	var events []map[string]any
	for _, raw := range j.Events {
		var e map[string]any
		require.NoError(t, json.Unmarshal(raw, &e))
		delete(e, "hash")
		for i, p := range parts {
			if j.Signers[i].Part = p; e["event"] == "signer.signed" && e["actor"] == "signer:"+j.Signers[i].ID {
				e["detail"] = PartDetail(p)
			}
		}
		events = append(events, e)
	}
	j.Events, j.ChainHead = Chain(t, events...)
	return j
}

// PartDetail returns the event detail that describes a role.
func PartDetail(p seal.Part) map[string]any {
	d := map[string]any{}
	if p.Kind != "" {
		d["kind"] = p.Kind
	}
	if p.WitnessFor != "" {
		d["witnessFor"] = p.WitnessFor
	}
	return d
}

// Hosted is the role of an in-person signer.
var Hosted = seal.Part{Kind: "in_person", Host: &seal.Host{Name: "Hal Abelson", Email: "hal@host.example.org"}}

// LogoPicture returns a red logo on a transparent background.
func LogoPicture(w, h int) *image.NRGBA {
	img := image.NewNRGBA(image.Rect(0, 0, w, h))
	draw.Draw(img, image.Rect(w/8, h/4, 7*w/8, 3*h/4), image.NewUniform(color.NRGBA{R: 0x7a, G: 0x1f, B: 0x3d, A: 255}), image.Point{}, draw.Src)
	return img
}

// BrandedJob returns the job of a sender with a color and a logo.
func BrandedJob(t *testing.T, language string) seal.Job {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, png.Encode(&b, LogoPicture(400, 80)))
	logo, err := picture.Logo(b.Bytes())
	require.NoError(t, err)
	j := Job(t, SimplePDF(1))
	j.Logo, j.Color, j.Language = logo, "#7a1f3d", language
	return j
}

// Record returns a valid record of two documents and two signers, of whom one has signed.
func Record(t *testing.T) manifest.Manifest {
	t.Helper()
	one, two := strings.Repeat("1", 64), strings.Repeat("2", 64)
	sum := sha256.Sum256([]byte(one + two))
	signed := Now.Add(-time.Hour)
	events, head := Chain(t,
		map[string]any{"event": "envelope.created", "actor": "app:x", "timestamp": Now},
		map[string]any{"event": "document.added", "actor": "app:x", "timestamp": Now, "detail": map[string]any{"documentId": "d1", "sha256": one, "order": 1}},
		map[string]any{"event": "document.added", "actor": "app:x", "timestamp": Now, "detail": map[string]any{"documentId": "d2", "sha256": two, "order": 2}},
		map[string]any{"event": "signer.signed", "actor": "signer:a", "timestamp": signed},
	)
	return manifest.Manifest{
		Type: manifest.Type, Version: 1, SealedAt: Now, Document: "d1", Envelope: manifest.Envelope{ID: EnvelopeID, OriginalHash: hex.EncodeToString(sum[:])},
		All:     []manifest.File{{ID: "d1", Order: 1, SHA256: one, PageCount: 3}, {ID: "d2", Order: 2, SHA256: two, PageCount: 1}},
		Signers: []manifest.Signer{{ID: "a", SignedAt: &signed}, {ID: "b"}}, Audit: manifest.Audit{Head: head, Events: events},
		Original: manifest.Placement{SHA256: one, Size: 5, As: "prefix"}, Pages: 4, CertificatePage: 4,
	}
}
