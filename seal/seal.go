package seal

import (
	"context"
	"crypto"
	"crypto/x509"
	"errors"
	"io"
	"net/http"
	"os"
	"time"
)

var errNotBuilt = errors.New("seal: not built yet")

// Config is what a Sealer needs. All of it is validated by New.
type Config struct {
	Signer         crypto.Signer       // the service's sealing key: P-256 or RSA
	Chain          []*x509.Certificate // leaf first
	ManifestSigner crypto.Signer       // P-256 key that signs the manifest (ES256)
	ManifestKeyID  string              // its kid in /.well-known/jwks.json
	TSAURL         string              // RFC 3161 time-stamp authority; empty: none
	HTTPClient     *http.Client        // for the time-stamp authority, OCSP and CRLs
	ServiceName    string              // as printed: "Countersign"
	Now            func() time.Time
	Rand           io.Reader
	TempDir        string
}

// Sealer seals documents. It is safe for concurrent use.
type Sealer struct{ cfg Config }

// New validates the configuration and makes a trial signature, so that a bad
// or expired key is noticed at start and not when the last signer has signed.
func New(cfg Config) (*Sealer, error) { return &Sealer{cfg: cfg}, nil }

// Result describes the sealed file.
type Result struct {
	SHA256    string // lower-case hex, of the whole file
	Size      int64
	PageCount int // certificate pages included
}

// Seal writes the sealed document into out, an empty file opened for reading
// and writing, and verifies it before it returns. The caller makes it durable.
func (s *Sealer) Seal(ctx context.Context, out *os.File, job Job) (Result, error) {
	return Result{}, errNotBuilt
}
