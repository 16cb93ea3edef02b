package seal

import (
	"cmp"
	"context"
	"crypto"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"

	"countersign/pdf"
	"countersign/seal/cms"
	"countersign/seal/manifest"
	"countersign/seal/rejection"
	"countersign/seal/trust"
	"countersign/seal/verify"
)

// ServiceName is the default name of the service on certificates, in records and in the line at the foot of each page.
const ServiceName = "Countersign"

// Config configures a Sealer. New validates it.
type Config struct {
	Signer         crypto.Signer       // sealing key, P-256 or RSA
	Chain          []*x509.Certificate // certificate chain, leaf first
	ManifestSigner crypto.Signer       // P-256 key that signs the manifest (ES256)
	ManifestKeyID  string              // kid of the manifest key in /.well-known/jwks.json
	TSAURL         string              // RFC 3161 time-stamp authority; empty disables time-stamps
	// TSAOptional lets Seal continue without a time-stamp if the authority does not respond. Result.Pending then
	// reports this, and Renew can add a time-stamp later. After the authority has timed out, Seal does not contact it
	// for a minute. If TSAOptional is false, Seal instead fails, and can be retried.
	TSAOptional bool
	// LongTerm adds validation data and a document time-stamp (B-LTA) at sealing time.
	LongTerm    bool
	HTTPClient  *http.Client // client for the time-stamp authority, OCSP and CRLs
	ServiceName string       // printed name; empty means the constant ServiceName
	Now         func() time.Time
	Rand        io.Reader
	TempDir     string
}

// Sealer seals documents. It is safe for concurrent use.
type Sealer struct {
	cfg      Config
	signer   *cms.Signer
	tsa      *authority // nil if time-stamps are disabled
	name     string     // name of the sealer, as displayed by PDF readers
	contents int        // bytes reserved for the signature
	codes    qrCache
	// Entries of the signature dictionary; see verify.SealMark.
	chain, stamp string
}

// New validates the configuration and creates a trial signature, so that an invalid or expired key is reported at
// startup rather than when the last signer has signed.
func New(cfg Config) (*Sealer, error) {
	if cfg.Now == nil || cfg.Rand == nil {
		return nil, errors.New("seal: a clock and a source of randomness are required")
	}
	if cfg.ManifestSigner == nil {
		return nil, errors.New("seal: a manifest key is required")
	}
	if cfg.ServiceName == "" {
		cfg.ServiceName = ServiceName
	}
	signer, err := cms.NewSigner(cfg.Signer, cfg.Chain, cfg.Rand)
	if err != nil {
		return nil, fmt.Errorf("seal: %w", err)
	}
	if err := trust.CheckUsage(signer.Certificate(), true); err != nil { // no verifier would trust its seals
		return nil, fmt.Errorf("seal: the certificate may not be used for sealing: %w", err)
	}
	s := &Sealer{cfg: cfg, signer: signer, name: cmp.Or(signer.Certificate().Subject.CommonName, cfg.ServiceName), contents: 4096}
	for _, c := range cfg.Chain {
		s.contents += len(c.Raw)
	}
	s.chain, s.stamp = verify.UpperHex(verify.ChainHash(cfg.Chain)), verify.StampNone
	if cfg.TSAURL != "" {
		if cfg.HTTPClient == nil {
			return nil, errors.New("seal: a time-stamp authority requires an HTTP client")
		}
		s.tsa = &authority{Authority: cms.Authority{URL: cfg.TSAURL, Client: cfg.HTTPClient, Rand: cfg.Rand}, now: cfg.Now}
		s.contents += 12 << 10
		s.stamp = verify.StampRequired
		if cfg.TSAOptional {
			s.stamp = verify.StampOptional
		}
	}
	if cfg.LongTerm && s.tsa == nil {
		return nil, errors.New("seal: long-term seals require a time-stamp authority")
	}
	return s, s.Trial()
}

// Trial creates a signature and a manifest, checks them, and discards them. It returns an error if sealing would
// currently fail, for example because the certificate has expired.
func (s *Sealer) Trial() error {
	now, leaf := s.cfg.Now(), s.signer.Certificate()
	if now.Before(leaf.NotBefore) || now.After(leaf.NotAfter) {
		return fmt.Errorf("seal: the certificate is valid only from %s to %s", verify.Moment(leaf.NotBefore), verify.Moment(leaf.NotAfter))
	}
	digest := sha256.Sum256([]byte("trial"))
	var signed *cms.Signed
	der, err := s.signer.Sign(context.Background(), digest, nil)
	if err == nil {
		signed, err = cms.ParseStrict(der)
	}
	if err == nil {
		err = signed.Verify(digest[:])
	}
	if err != nil {
		return fmt.Errorf("seal: test signature: %w", err)
	}
	b, err := manifest.Sign(manifest.Manifest{Type: manifest.Type}, s.cfg.ManifestSigner, s.cfg.ManifestKeyID, s.cfg.Rand)
	if err != nil {
		return err
	}
	_, _, _, err = manifest.Open(b)
	return err
}

// NotAfter returns the end of the sealing certificate's validity period, for warnings and metrics.
func (s *Sealer) NotAfter() time.Time { return s.signer.Certificate().NotAfter }

// Result describes the sealed file.
type Result struct {
	SHA256    string // hash of the complete file, in lower-case hex
	Size      int64
	PageCount int // including the certificate pages
	// Pending reports whether the request for a time-stamp failed, so that Renew can add a time-stamp later.
	Pending bool
	// TimestampedUntil is the end of the validity period of the document time-stamp's certificate. It is zero if there
	// is no document time-stamp.
	TimestampedUntil time.Time
}

// Seal writes the sealed document into out, an empty file opened for reading and writing, and verifies it before
// returning. The caller must sync the file.
func (s *Sealer) Seal(ctx context.Context, out *os.File, job Job) (Result, error) {
	if err := job.validate(); err != nil {
		return Result{}, err
	}
	if info, err := out.Stat(); err != nil || info.Size() != 0 {
		return Result{}, errors.Join(errors.New("seal: the output file is not empty"), err)
	}
	f, err := openOriginal(&job)
	if err != nil {
		return Result{}, err
	}
	d, err := s.drawOn(&job, f)
	if err != nil {
		return Result{}, fmt.Errorf("seal: %w", err)
	}
	defer func() { d.w.Free() }() // no goroutine reads it anymore
	if err := s.prepareStamp(ctx, d.assembly); err != nil {
		return Result{}, fmt.Errorf("seal: %w", err)
	}
	done, err := d.write(ctx, out)
	if err != nil {
		return Result{}, err
	}
	return s.finish(ctx, out, d.assembly, done)
}

// openOriginal opens the file to seal. It rejects encrypted and signed files.
func openOriginal(job *Job) (*pdf.File, error) {
	f, err := pdf.Open(job.Original, job.Size, pdf.DefaultLimits())
	if err != nil {
		return nil, fmt.Errorf("seal: %w", err)
	}
	if !f.Trailer().Get("Encrypt").IsNull() { // the additions would have to be encrypted as well
		return nil, rejection.New(rejection.PDFEncrypted, "The PDF is encrypted.")
	}
	signed, err := verify.IsSigned(f)
	if err != nil {
		return nil, fmt.Errorf("seal: %w", err)
	}
	if signed { // drawing on it would invalidate its signatures
		return nil, rejection.New(rejection.DocumentSigned, "The PDF already contains a digital signature.")
	}
	return f, nil
}

// sealing is the state of one document during sealing.
type sealing struct {
	*assembly

	mentions *pdf.ReferenceScan // collects the original's references; nil if they are already known
}

// drawOn starts the incremental update of the original.
func (s *Sealer) drawOn(job *Job, f *pdf.File) (*sealing, error) {
	w, err := pdf.NewIncrement(f)
	if err != nil {
		return nil, err
	}
	known := job.Facts != nil && f.Fits(job.Facts.mentioned)
	var mentions *pdf.ReferenceScan
	if !known {
		if mentions, err = f.ReferenceScan(); err != nil {
			return nil, err
		}
	}
	a, err := s.newAssembly(job, w, f)
	if err != nil {
		return nil, err
	}
	if known {
		a.lineless, a.known = job.Facts.lineless, true
		if err := w.DefineUndefined(job.Facts.mentioned); err != nil {
			return nil, err
		}
	}
	return &sealing{assembly: a, mentions: mentions}, nil
}

// write writes the complete file except for the signature.
func (d *sealing) write(ctx context.Context, out *os.File) (verify.Prefix, error) {
	// Hashing takes the longest. It therefore runs concurrently with copying the original, building the additions, and
	// reading the seal and the pages.
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	c := newCopier(out, d.job, d.mentions)
	hashed, record := make(chan error, 1), make(chan *verify.OpenedRecord, 1)
	go func() { hashed <- c.hash(ctx) }()
	found, err := d.writeParts(ctx, out, c, record)
	if err != nil {
		cancel()
		if late := <-hashed; !errors.Is(late, context.Canceled) { // hashing ended before it was canceled
			err = errors.Join(err, late)
		}
		return verify.Prefix{}, fmt.Errorf("seal: %w", err)
	}
	if err := <-hashed; err != nil {
		return verify.Prefix{}, fmt.Errorf("seal: %w", err)
	}
	if hex.EncodeToString(c.done.Original) != d.job.sha256() {
		return verify.Prefix{}, rejection.New(rejection.OriginalChanged, "The original differs from the uploaded file: its hash has changed.")
	}
	c.done.Record, c.done.Found = <-record, found
	return c.done, nil
}

// writeParts copies the original, builds and writes the additions, and reads all pages of the result. The seal record
// is opened concurrently.
func (d *sealing) writeParts(ctx context.Context, out *os.File, c *copier, record chan<- *verify.OpenedRecord) (*verify.Found, error) {
	if err := c.copy(ctx); err != nil {
		return nil, err
	}
	if d.mentions != nil {
		m, err := d.mentions.Find(ctx)
		if err != nil {
			return nil, err
		}
		if err := d.w.DefineUndefined(m); err != nil {
			return nil, err
		}
	}
	if err := d.build(ctx); err != nil {
		return nil, err
	}
	go func() { record <- verify.OpenRecord(d.record) }()
	if err := c.end(d.ending()); err != nil {
		return nil, err
	}
	found, err := verify.Find(ctx, out, d.w.Offset())
	if err != nil {
		return nil, err
	}
	return found, found.ReadPages(ctx)
}

func (j *Job) validate() error {
	switch {
	case j.Original == nil || j.Size <= 0:
		return errors.New("seal: the original is missing")
	case len(j.OriginalSHA256) != 2*sha256.Size || strings.ToLower(j.OriginalSHA256) != j.OriginalSHA256:
		return errors.New("seal: the hash of the original is not a SHA-256 hash in lowercase hexadecimal")
	case j.Prepared != nil && (len(j.Prepared.SHA256) != 2*sha256.Size || j.Prepared.Size != j.Size || j.Prepared.UploadSize <= 0):
		return errors.New("seal: the description of the prepared file is missing")
	case j.Prepared != nil && j.Prepared.As == manifest.Rewritten && j.Prepared.Upload == nil:
		return errors.New("seal: the original of the rewritten file is missing")
	case j.Envelope.ID == "" || j.SealedAt.IsZero():
		return errors.New("seal: envelope and time are required")
	}
	return nil
}

// ending returns the additions, complete except for the signature.
func (a *assembly) ending() sealTail {
	base := a.w.Offset() - int64(len(a.w.Bytes()))
	a.sig.fill(a.w.Bytes(), base, a.w.Offset())
	return sealTail{bytes: a.w.Bytes(), signature: a.sig.contents - base}
}

// readPages opens a file, reads every page, and returns the number of pages.
func readPages(ctx context.Context, r io.ReaderAt, size int64) (int, error) {
	f, err := pdf.Open(r, size, pdf.DefaultLimits())
	if err != nil {
		return 0, err
	}
	return f.Walk(func(*pdf.Page) error { return ctx.Err() })
}

// embeddedPDF returns the dictionary of an embedded file stream that contains an uncompressed PDF.
func (a *assembly) embeddedPDF(size int64) pdf.Value {
	return fmt.Appendf(nil, "<</Type/EmbeddedFile/Subtype/application#2Fpdf/Length %d/Params%s>>", size, a.fileParams(size))
}

func pdfDate(t time.Time) string { return t.UTC().Format("D:20060102150405Z") }
