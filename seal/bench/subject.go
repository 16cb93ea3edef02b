package main

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"io"
	"math"
	"os"
	"time"

	"countersign/seal"
	"countersign/seal/sealkey"
)

// floorSingleThread performs the minimum work for any seal: reading, hashing, writing and signing the original,
// optionally with the added bytes.
func floorSingleThread(in io.ReaderAt, out *os.File, size int64, added []byte, key *ecdsa.PrivateKey) error {
	h := sha256.New()
	both := struct{ io.Writer }{io.MultiWriter(h, out)}
	if _, err := io.CopyBuffer(both, io.NewSectionReader(in, 0, size), make([]byte, 256<<10)); err != nil {
		return err
	}
	if _, err := both.Write(added); err != nil {
		return err
	}
	_, err := ecdsa.SignASN1(rand.Reader, key, h.Sum(nil))
	return err
}

// floorTwoThreads is like floorSingleThread, but hashes in a separate goroutine, as Seal does.
func floorTwoThreads(in io.ReaderAt, out *os.File, size int64, key *ecdsa.PrivateKey) error {
	const room = 4
	spare, full := make(chan []byte, room), make(chan []byte, room)
	for range room {
		spare <- make([]byte, 256<<10)
	}
	hashed := make(chan []byte)
	go func() {
		h := sha256.New()
		for b := range full {
			h.Write(b)
			spare <- b[:cap(b)]
		}
		hashed <- h.Sum(nil)
	}()
	var err error
	for at := int64(0); at < size && err == nil; {
		b := <-spare
		b = b[:min(int64(len(b)), size-at)]
		if _, err = in.ReadAt(b, at); err == nil {
			_, err = out.WriteAt(b, at)
		}
		at += int64(len(b))
		full <- b
	}
	close(full)
	digest := <-hashed
	if err != nil {
		return err
	}
	_, err = ecdsa.SignASN1(rand.Reader, key, digest)
	return err
}

type sealer struct {
	*seal.Sealer
	key *ecdsa.PrivateKey
}

func newSealer() (*sealer, error) {
	ca, cert, keyPEM, err := sealkey.SelfSigned("Countersign", time.Now(), rand.Reader)
	if err != nil {
		return nil, err
	}
	key, chain, err := sealkey.LoadPEM(append(bytes.Clone(cert), ca...), keyPEM)
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

// newJob returns a job with two signers, each with a signature and a date on the last page.
func newJob(in io.ReaderAt, size int64, hash string, pages int) seal.Job {
	now := time.Now().UTC().Truncate(time.Microsecond)
	const envelope = "3f0c1f6e-9f5d-4c4c-8b1f-2a6d0f3f7b11"
	j := seal.Job{
		Original: in, Size: size, OriginalSHA256: hash, SealedAt: now,
		Envelope:  seal.Envelope{ID: envelope, Subject: "Agreement", CreatedAt: now, SentAt: now, OriginalHash: hash},
		Document:  seal.Document{ID: "d", Name: "agreement.pdf", SHA256: hash, Order: 1, PageCount: pages},
		VerifyURL: "https://sign.example.org/verify",
	}
	j.Documents = []seal.Document{j.Document}
	for i, picture := range [][]byte{signaturePNG(23), signaturePNG(17)} {
		id := fmt.Sprintf("signer-%d", i)
		j.Signers = append(j.Signers, seal.Signer{
			ID: id, Name: "Ada Lovelace", Email: "ada@example.org", AuthMethod: "email_otp", ConsentAt: now, SignedAt: now, IP: "203.0.113.7", Order: 1,
		})
		j.Values = append(j.Values,
			seal.Value{FieldID: id + "a", SignerID: id, Kind: seal.Signature, Page: pages, X: 72, Y: 500 + 60*float64(i), W: 180, H: 48, PNG: picture},
			seal.Value{FieldID: id + "b", SignerID: id, Kind: seal.Date, Page: pages, X: 300, Y: 500 + 60*float64(i), W: 100, H: 20, Text: "2026-11-21"})
	}
	j.Events, j.ChainHead = events(14, hash, now)
	return j
}

func signaturePNG(waves float64) []byte {
	img := image.NewNRGBA(image.Rect(0, 0, 400, 120))
	for i := range 4000 {
		p := float64(i) / 4000
		x, y := int(20+360*p), int(60+40*math.Sin(p*waves))
		for dx := range 3 {
			for dy := range 3 {
				img.SetNRGBA(x+dx, y+dy, color.NRGBA{20, 30, 90, 255})
			}
		}
	}
	var b bytes.Buffer
	_ = png.Encode(&b, img) // a bytes.Buffer never fails
	return b.Bytes()
}
