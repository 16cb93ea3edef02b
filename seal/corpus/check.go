package main

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/gowebpki/jcs"

	"countersign/seal"
	"countersign/seal/admission"
	"countersign/seal/rejection"
	"countersign/seal/sealkey"
	"countersign/seal/trust"
	"countersign/seal/verify"
)

// checker admits, seals and verifies files.
type checker struct {
	sealer *seal.Sealer
	verify verify.Options
	limits admission.Limits
	dir    string // directory for temporary files
	caFile string
	ink    []byte
	keep   string // directory for copies of failing files; empty to discard them
}

// toolTime is the timeout for one run of an external program.
const toolTime = 90 * time.Second

func newChecker() (*checker, error) {
	for _, tool := range []string{"pdfsig", "pdftoppm", "pdfinfo", "qpdf", "mutool", "openssl"} {
		if _, err := exec.LookPath(tool); err != nil {
			return nil, fmt.Errorf("%w: %s", errTool, tool)
		}
	}
	dir, err := os.MkdirTemp("", "corpus")
	if err != nil {
		return nil, err
	}
	c := &checker{dir: dir, limits: admission.DefaultLimits(), caFile: filepath.Join(dir, "ca.pem"), ink: signaturePNG()}
	ca, cert, key, err := sealkey.SelfSigned("Corpus", time.Now(), rand.Reader)
	if err != nil {
		return nil, err
	}
	signer, chain, err := sealkey.LoadPEM(append(cert, ca...), key)
	if err != nil {
		return nil, err
	}
	record, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	c.sealer, err = seal.New(seal.Config{
		Signer: signer, Chain: chain, ManifestSigner: record, ManifestKeyID: "k1", ServiceName: "Corpus", Now: time.Now, Rand: rand.Reader,
	})
	if err != nil {
		return nil, err
	}
	c.verify = verify.Options{Now: time.Now, Trust: trust.Policy{
		Sealers: []trust.Sealer{trust.PinnedCertificate(chain[0])}, RecordKeys: map[string]trust.RecordKey{"k1": {Key: record.Public()}},
	}}
	return c, os.WriteFile(c.caFile, ca, 0o600)
}

func (c *checker) close() { _ = os.RemoveAll(c.dir) }

type result struct{ counts, failures []string }

func (r *result) count(format string, args ...any) {
	r.counts = append(r.counts, fmt.Sprintf(format, args...))
}

func (r *result) fail(format string, args ...any) {
	r.failures = append(r.failures, fmt.Sprintf(format, args...))
}

func (c *checker) check(ctx context.Context, in input) (r result) {
	defer func() {
		if p := recover(); p != nil {
			r.fail("panic: %v", p)
		}
	}()
	b, err := in.read()
	if err != nil {
		r.fail("%v", err)
		return r
	}
	dir, err := os.MkdirTemp(c.dir, "file")
	if err != nil {
		r.fail("%v", err)
		return r
	}
	defer func() {
		if c.keep != "" && len(r.failures) > 0 {
			_ = os.Rename(dir, filepath.Join(c.keep, fmt.Sprintf("%s-%d", filepath.Base(in.name), in.seed)))
		}
		_ = os.RemoveAll(dir)
	}()
	original := filepath.Join(dir, "original.pdf")
	if err := os.WriteFile(original, b, 0o600); err != nil {
		r.fail("%v", err)
		return r
	}
	kind := "as it is"
	if in.seed != 0 {
		kind = "damaged"
	}
	info, err := admission.Admit(ctx, bytes.NewReader(b), int64(len(b)), c.limits)
	var rejected *rejection.Error
	switch {
	case errors.As(err, &rejected):
		r.count("%s: rejected: %s", kind, rejected.Code)
		c.rejected(ctx, &r, original, rejected)
		return r
	case err != nil:
		r.fail("admission: %v", err)
		return r
	}
	r.count("%s: admitted", kind)
	for _, w := range info.Warnings {
		r.count("%s: warned of: %s", kind, w.Code)
	}
	c.seal(ctx, &r, kind, dir, original, b, info)
	return r
}

// rejected compares a rejection with the results of other programs. If all three programs read the file without an
// error or warning, the file is not damaged, and the rejection is reported as a failure.
func (c *checker) rejected(ctx context.Context, r *result, original string, rejected *rejection.Error) {
	switch rejected.Code {
	case rejection.PDFNeedsRepair, rejection.PDFTruncated, rejection.NotAPDF, rejection.PDFTooComplex:
	default:
		return // the rejection is due to policy rather than damage
	}
	if complaint := c.complaint(ctx, original); complaint == "" {
		r.fail("rejected, although qpdf, MuPDF and Poppler can read the file: %s", rejected.Message)
	}
}

// complaint returns the first error or warning of another program about a file, or "" if there is none.
func (c *checker) complaint(ctx context.Context, file string) string {
	for _, args := range [][]string{{"qpdf", "--check", file}, {"pdfinfo", file}, {"mutool", "draw", "-q", "-F", "trace", "-o", "/dev/null", file, "1"}} {
		out, err := tool(ctx, args...)
		for _, line := range strings.Split(out, "\n") {
			low := strings.ToLower(line)
			if strings.Contains(low, "icc support") {
				continue
			}
			if strings.HasPrefix(low, "warning") || strings.Contains(low, "error") {
				return args[0] + ": " + line
			}
		}
		if err != nil {
			return args[0] + ": " + err.Error()
		}
	}
	return ""
}

// tool runs an external program and returns its output.
func tool(ctx context.Context, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, toolTime)
	defer cancel()
	out, err := exec.CommandContext(ctx, args[0], args[1:]...).CombinedOutput() //nolint:gosec // the programs that are named above
	if ctx.Err() != nil {
		err = ctx.Err()
	}
	return string(out), err
}

func (c *checker) seal(ctx context.Context, r *result, kind, dir, original string, b []byte, info admission.Info) {
	job := c.job(b, info)
	name := filepath.Join(dir, "sealed.pdf")
	out, err := os.Create(name) //nolint:gosec // in this program's own folder
	if err != nil {
		r.fail("%v", err)
		return
	}
	defer func() { _ = out.Close() }()
	sealed, err := c.sealer.Seal(ctx, out, job)
	if err != nil {
		r.fail("sealing: %v", err)
		return
	}
	r.count("%s: sealed", kind)
	report, err := verify.File(ctx, out, sealed.Size, c.verify)
	if err != nil || report.Verdict != verify.VerdictValid {
		r.fail("verification by countersign: %s %v %v", report.Verdict, err, report.Findings)
	} else {
		r.count("%s: verified by countersign", kind)
	}
	c.others(ctx, r, kind, dir, original, name)
	c.pixels(ctx, r, kind, dir, original, name, job, info)
}

// others verifies the sealed file with four other programs.
func (c *checker) others(ctx context.Context, r *result, kind, dir, original, name string) {
	says := func(program, want string, args ...string) {
		out, err := tool(ctx, append([]string{program}, args...)...)
		if err != nil || !strings.Contains(out, want) {
			r.fail("%s: %v %.300q", program, err, out)
			return
		}
		r.count("%s: verified by %s", kind, program)
	}
	says("pdfsig", "Signature is Valid", name)
	says("mutool", "document is unchanged since signing", "sign", "-v", name)
	before, after := 0, 0
	if _, err := tool(ctx, "qpdf", "--check", name); err != nil {
		after = severity(err)
		_, err := tool(ctx, "qpdf", "--check", original)
		before = severity(err)
	}
	if after > before {
		r.fail("qpdf reports a more severe problem than before sealing")
	} else {
		r.count("%s: verified by qpdf", kind)
	}
	b, err := os.ReadFile(filepath.Clean(name)) // in this program's own folder
	if err != nil {
		r.fail("%v", err)
		return
	}
	covered, der, err := signature(b)
	if err != nil {
		r.fail("byte range: %v", err)
		return
	}
	tbs, sig := filepath.Join(dir, "tbs"), filepath.Join(dir, "sig")
	if err := errors.Join(os.WriteFile(tbs, covered, 0o600), os.WriteFile(sig, der, 0o600)); err != nil { //nolint:gosec // in this program's own folder
		r.fail("%v", err)
		return
	}
	says("openssl", "uccessful", "cms", "-verify", "-cades", "-binary", "-inform", "DER", "-in", sig, "-content", tbs,
		"-CAfile", c.caFile, "-purpose", "any", "-out", "/dev/null")
}

// severity ranks the exit status of qpdf: success, then warnings (status 3), then errors (status 2).
func severity(err error) int {
	var exit *exec.ExitError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &exit) && exit.ExitCode() == 3:
		return 1
	}
	return 2
}

var byteRange = regexp.MustCompile(`/ByteRange\[0 (\d+) (\d+) (\d+) *\]`)

// signature finds the last signature without using the service's own code.
func signature(b []byte) (covered, der []byte, err error) {
	all := byteRange.FindAllSubmatch(b, -1)
	if len(all) == 0 {
		return nil, nil, errors.New("none")
	}
	var n [3]int
	for i := range n {
		if n[i], err = strconv.Atoi(string(all[len(all)-1][i+1])); err != nil {
			return nil, nil, err
		}
	}
	if n[0]+2 > n[1] || n[1]+n[2] != len(b) {
		return nil, nil, errors.New("does not end with the file")
	}
	if der, err = hex.DecodeString(string(b[n[0]+1 : n[1]-1])); err != nil || len(der) < 4 {
		return nil, nil, fmt.Errorf("no signature: %w", err)
	}
	end := int(der[2])<<8 + int(der[3]) + 4
	if end > len(der) || len(bytes.Trim(der[end:], "\x00")) > 0 {
		return nil, nil, errors.New("missing zero padding")
	}
	return append(append([]byte(nil), b[:n[0]]...), b[n[1]:]...), der[:end], nil
}

// job returns a job with a signature and text on the first and last page.
func (c *checker) job(b []byte, info admission.Info) seal.Job {
	const envelope, document, signer = "3f0c1f6e-9f5d-4c4c-8b1f-2a6d0f3f7b11", "9a2f4c5e-0b1d-4b7a-9e55-6d1c2b3a4f50", "b5a7a1de-6a53-4c1e-9f3b-0c8d2e4f6a10"
	sum := sha256.Sum256(b)
	hash := hex.EncodeToString(sum[:])
	now := time.Now().UTC().Truncate(time.Microsecond)
	events, head := chain(envelope, document, hash, signer, now)
	doc := seal.Document{ID: document, Name: "file.pdf", SHA256: hash, Order: 1, PageCount: len(info.Pages)}
	job := seal.Job{
		Original: bytes.NewReader(b), Size: int64(len(b)), OriginalSHA256: hash,
		Envelope: seal.Envelope{ID: envelope, TenantID: "corpus", Subject: "Corpus", CreatedAt: now, SentAt: now, OriginalHash: hash},
		Facts:    seal.DecodeFacts(info.Facts.Encode()), Document: doc, Documents: []seal.Document{doc},
		Signers: []seal.Signer{{ID: signer, Name: "Ada Lovelace", Email: "ada@example.org", AuthMethod: "none", ConsentAt: now, ConsentVersion: "1", SignedAt: now, IP: "192.0.2.1", Order: 1}},
		Events:  events, ChainHead: head, VerifyURL: "https://sign.example.org/verify/" + envelope, SealedAt: now,
	}
	pages := []int{1}
	if len(info.Pages) > 1 {
		pages = append(pages, len(info.Pages))
	}
	for _, page := range pages {
		size := info.Pages[page-1]
		w, h := size.Width/3, size.Height/20
		job.Values = append(job.Values,
			seal.Value{FieldID: fmt.Sprint("s", page), SignerID: signer, Kind: seal.Signature, Page: page, X: w, Y: size.Height / 2, W: w, H: h, PNG: c.ink},
			seal.Value{FieldID: fmt.Sprint("t", page), SignerID: signer, Kind: seal.Text, Page: page, X: w, Y: size.Height/2 + 2*h, W: w, H: h, Text: "Ada Lovelace"},
		)
	}
	return job
}

// chain returns an audit chain, and its head, for a document signed by one person.
func chain(envelope, document, hash, signer string, signed time.Time) (events []json.RawMessage, head string) {
	head = strings.Repeat("0", 64)
	for i, e := range []map[string]any{
		{"event": "envelope.created", "actor": "app:corpus"},
		{"event": "document.added", "actor": "app:corpus", "detail": map[string]any{"documentId": document, "sha256": hash, "order": 1}},
		{"event": "signer.signed", "actor": "signer:" + signer},
	} {
		e["id"], e["envelopeId"], e["seq"], e["prevHash"] = fmt.Sprint(i), envelope, i+1, head
		e["timestamp"], e["ip"], e["userAgent"] = signed.Format("2006-01-02T15:04:05.000000Z"), nil, nil
		if e["detail"] == nil {
			e["detail"] = nil
		}
		sum := sha256.Sum256(canonical(e))
		head = hex.EncodeToString(sum[:])
		e["hash"] = head
		events = append(events, canonical(e))
	}
	return events, head
}

func canonical(v any) []byte {
	b, err := json.Marshal(v)
	if err == nil {
		b, err = jcs.Transform(b)
	}
	if err != nil {
		panic(err)
	}
	return b
}

func signaturePNG() []byte {
	img := image.NewNRGBA(image.Rect(0, 0, 300, 80))
	for i := range 3000 {
		p := float64(i) / 3000
		x, y := int((0.05+0.9*p)*300), int((0.5+0.35*math.Sin(p*23))*80)
		for d := range 9 {
			img.SetNRGBA(x+d%3, y+d/3, color.NRGBA{20, 30, 90, 255})
		}
	}
	var b bytes.Buffer
	_ = png.Encode(&b, img) // a bytes.Buffer never fails
	return b.Bytes()
}
