// Command bench measures sealing against the floor: copying the file while
// hashing it, and one P-256 signature.
package main

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"time"

	"countersign/seal"
)

func main() {
	if err := run(context.Background(), os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, w io.Writer) error {
	dir, err := os.MkdirTemp("", "bench-seal")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	s, err := newSealer()
	if err != nil {
		return err
	}
	for _, d := range documents() {
		name := filepath.Join(dir, "in.pdf")
		b := d.build()
		sum := sha256.Sum256(b)
		if err := os.WriteFile(name, b, 0o600); err != nil {
			return err
		}
		size := int64(len(b))
		b = nil
		in, err := os.Open(name)
		if err != nil {
			return err
		}
		job := newJob(in, size, hex.EncodeToString(sum[:]), d.pages)
		n := 15
		floor, err := median(n, dir, func(out *os.File) error { return floorOnce(in, out, size, s.key) })
		if err != nil {
			return err
		}
		took, err := median(n, dir, func(out *os.File) error { _, err := s.Seal(ctx, out, job); return err })
		if err != nil {
			return err
		}
		fmt.Fprintf(w, "%-20s %9d bytes  floor %8.2f ms  seal %8.2f ms  ratio %.2f\n", d.name, size, ms(floor), ms(took), float64(took)/float64(floor))
		_ = in.Close()
	}
	return nil
}

func ms(d time.Duration) float64 { return float64(d) / 1e6 }

func median(n int, dir string, fn func(*os.File) error) (time.Duration, error) {
	var all []time.Duration
	for range n {
		out, err := os.CreateTemp(dir, "out")
		if err != nil {
			return 0, err
		}
		start := time.Now()
		err = fn(out)
		all = append(all, time.Since(start))
		_ = out.Close()
		_ = os.Remove(out.Name())
		if err != nil {
			return 0, err
		}
	}
	slices.Sort(all)
	return all[n/2], nil
}

func floorOnce(in io.ReaderAt, out *os.File, size int64, key *ecdsa.PrivateKey) error {
	h := sha256.New()
	buf := make([]byte, 256<<10)
	if _, err := io.CopyBuffer(struct{ io.Writer }{io.MultiWriter(h, out)}, io.NewSectionReader(in, 0, size), buf); err != nil {
		return err
	}
	_, err := ecdsa.SignASN1(rand.Reader, key, h.Sum(nil))
	return err
}

type sealer struct {
	*seal.Sealer
	key *ecdsa.PrivateKey
}

func newSealer() (*sealer, error) {
	ca, cert, keyPEM, err := seal.SelfSigned("Countersign", time.Now(), rand.Reader)
	if err != nil {
		return nil, err
	}
	key, chain, err := seal.LoadPEM(append(cert, ca...), keyPEM)
	if err != nil {
		return nil, err
	}
	ec, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	s, err := seal.New(seal.Config{Signer: key, Chain: chain, ManifestSigner: ec, ManifestKeyID: "k", Now: time.Now, Rand: rand.Reader})
	return &sealer{s, ec}, err
}

func newJob(in io.ReaderAt, size int64, hash string, pages int) seal.Job {
	now := time.Now()
	j := seal.Job{
		Original: in, Size: size, OriginalSHA256: hash, SealedAt: now, ChainHead: hash,
		Envelope:  seal.Envelope{ID: "3f0c1f6e-9f5d-4c4c-8b1f-2a6d0f3f7b11", Subject: "Agreement", CreatedAt: now, SentAt: now, OriginalHash: hash},
		Document:  seal.Document{ID: "d", Name: "agreement.pdf", SHA256: hash, Order: 1, PageCount: pages},
		VerifyURL: "https://sign.example.org/verify/3f0c1f6e-9f5d-4c4c-8b1f-2a6d0f3f7b11",
	}
	j.Documents = []seal.Document{j.Document}
	picture := scrawl()
	for i := range 2 {
		id := fmt.Sprintf("signer-%d", i)
		j.Signers = append(j.Signers, seal.Signer{ID: id, Name: "Ada Lovelace", Email: "ada@example.org", AuthMethod: "email_otp", ConsentAt: now, SignedAt: now, IP: "203.0.113.7", Order: 1})
		j.Values = append(j.Values,
			seal.Value{FieldID: id + "a", SignerID: id, Kind: seal.Signature, Page: pages, X: 72, Y: 500, W: 180, H: 48, PNG: picture},
			seal.Value{FieldID: id + "b", SignerID: id, Kind: seal.Date, Page: pages, X: 300, Y: 500, W: 100, H: 20, Text: "2026-11-21"})
	}
	j.Events, j.ChainHead = events(14)
	return j
}

func scrawl() []byte {
	img := image.NewNRGBA(image.Rect(0, 0, 600, 160))
	for i := range 4000 {
		p := float64(i) / 4000
		x, y := int(30+540*p), int(80+56*math.Sin(p*23))
		for dx := range 4 {
			for dy := range 4 {
				img.SetNRGBA(x+dx, y+dy, color.NRGBA{20, 30, 90, 255})
			}
		}
	}
	var b bytes.Buffer
	_ = png.Encode(&b, img)
	return b.Bytes()
}
