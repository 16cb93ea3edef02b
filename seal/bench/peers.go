package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"

	"github.com/pdfcpu/pdfcpu/pkg/api"
	"github.com/pdfcpu/pdfcpu/pkg/pdfcpu"
	"github.com/pdfcpu/pdfcpu/pkg/pdfcpu/model"
	"github.com/pdfcpu/pdfcpu/pkg/pdfcpu/types"
)

// peer is another program that writes or signs PDFs. No peer performs all steps of a seal.
type peer struct {
	name string
	run  func(ctx context.Context, in, out string) error
}

type peers struct {
	dir  string
	list []peer
}

var errNotInstalled = errors.New("not installed")

func newPeers(ctx context.Context, dir string) (*peers, error) {
	model.ConfigPath = "disable"
	file := func(name string) string { return filepath.Join(dir, name) }
	// If these tools are missing, the other programs have no key and report an error.
	_ = exec.CommandContext(ctx, "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", //nolint:gosec // in this program's own directory
		"-keyout", file("key.pem"), "-out", file("cert.pem"), "-subj", "/CN=Countersign", "-days", "30").Run()
	_ = exec.CommandContext(ctx, "openssl", "pkcs12", "-export", "-inkey", file("key.pem"), "-in", file("cert.pem"), //nolint:gosec // likewise
		"-name", "Countersign", "-passout", "pass:secret", "-out", file("key.p12")).Run()
	nss := file("nss")
	if err := os.Mkdir(nss, 0o700); err != nil {
		return nil, err
	}
	_ = exec.CommandContext(ctx, "certutil", "-N", "-d", nss, "--empty-password").Run()                        //nolint:gosec // in this program's own directory
	_ = exec.CommandContext(ctx, "pk12util", "-i", file("key.p12"), "-d", nss, "-W", "secret", "-K", "").Run() //nolint:gosec // likewise
	return &peers{dir, []peer{
		{"pdfcpu stamp", stamp},
		{"pdfcpu WriteIncrement", writeIncrement},
		{"mutool sign", func(ctx context.Context, in, out string) error {
			n, err := fieldNumber(in)
			if err != nil {
				return err
			}
			return command(ctx, "mutool", "sign", "-s", file("key.p12"), "-P", "secret", "-o", out, in, strconv.Itoa(n))
		}},
		{"pdfsig -add-signature", func(ctx context.Context, in, out string) error {
			return command(ctx, "pdfsig", "-nssdir", nss, "-add-signature", "-nick", "Countersign", in, out)
		}},
		{"podofosign", func(ctx context.Context, in, out string) error {
			return command(ctx, "podofosign", "-in", in, "-out", out, "-cert", file("cert.pem"), "-pkey", file("key.pem"), "-digest", "SHA256")
		}},
	}}, nil
}

func (p *peers) median(ctx context.Context, one peer, in string, rounds int) (time.Duration, error) {
	var all []time.Duration
	// pdfsig fails occasionally, because it reserves only the length of its trial signature, and the length of ECDSA
	// signatures varies.
	for tries := 0; len(all) < rounds; tries++ {
		out := filepath.Join(p.dir, "peer.pdf")
		start := time.Now()
		err := one.run(ctx, in, out)
		took := time.Since(start)
		info, statErr := os.Stat(out)
		_ = os.Remove(out)
		if err == nil && (statErr != nil || info.Size() < 1000) {
			err = errors.New("no output was written")
		}
		if err == nil {
			all = append(all, took)
		} else if tries >= 4*rounds || errors.Is(err, errNotInstalled) {
			return 0, err
		}
	}
	return median(all), nil
}

func command(ctx context.Context, name string, args ...string) error {
	if _, err := exec.LookPath(name); err != nil {
		return errNotInstalled
	}
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	out, err := exec.CommandContext(ctx, name, args...).CombinedOutput() //nolint:gosec // the peers named in this file
	if err != nil {
		return fmt.Errorf("failed: %w: %.120s", err, bytes.TrimSpace(out))
	}
	return nil
}

// fieldNumber returns the object number of the empty signature field, which is the last field.
func fieldNumber(in string) (int, error) {
	b, err := os.ReadFile(in) //nolint:gosec // written by prepare
	if err != nil {
		return 0, err
	}
	i := bytes.LastIndex(b, []byte(" 0 obj\n<</Type/Annot"))
	if i < 0 {
		return 0, errors.New("no signature field")
	}
	start := bytes.LastIndexByte(b[:i], '\n') + 1
	return strconv.Atoi(string(b[start:i]))
}

func stamp(_ context.Context, in, out string) error {
	wm, err := api.TextWatermark("Sealed", "points:8, position:bl, rotation:0, scale:1 abs", true, false, types.POINTS)
	if err != nil {
		return err
	}
	return api.AddWatermarksFile(in, out, nil, wm, model.NewDefaultConfiguration())
}

func writeIncrement(ctx context.Context, in, out string) error {
	r, err := os.Open(in) //nolint:gosec // written by prepare
	if err != nil {
		return err
	}
	defer func() { _ = r.Close() }()
	w, err := os.Create(out) //nolint:gosec // in this program's own directory
	if err != nil {
		return err
	}
	defer func() { _ = w.Close() }()
	conf := model.NewDefaultConfiguration()
	conf.Optimize = false
	c, err := pdfcpu.ReadWithContext(ctx, r, conf)
	if err != nil {
		return err
	}
	if _, err := r.Seek(0, io.SeekStart); err != nil {
		return err
	}
	if _, err := io.Copy(w, r); err != nil {
		return err
	}
	root, err := c.Catalog()
	if err != nil {
		return err
	}
	root["PageMode"] = types.Name("UseNone")
	c.Write.Increment = true
	c.Write.Offset = c.Read.FileSize
	c.Write.ObjNrs = []int{c.Root.ObjectNumber.Value()}
	return api.WriteIncrement(c, w)
}
