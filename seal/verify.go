package seal

import (
	"context"
	"crypto"
	"crypto/x509"
	"io"
	"time"
)

// Status is the outcome of one check.
type Status string

// The outcomes. Untrusted means sound, but signed by someone not trusted here.
const (
	Passed    Status = "passed"
	Failed    Status = "failed"
	Untrusted Status = "untrusted"
	Absent    Status = "absent"
)

// Finding is the outcome of one check, explained in a line.
type Finding struct {
	Check  string `json:"check"`
	Status Status `json:"status"`
	Detail string `json:"detail"`
}

// Report is everything that Verify found.
type Report struct {
	Findings []Finding `json:"findings"`
}

// OK reports whether every check passed.
func (r Report) OK() bool { return false }

// WriteText writes the report for people, a line per finding.
func (r Report) WriteText(w io.Writer) error { return errNotBuilt }

// VerifyOptions say whom to trust. The zero value trusts nobody: a sound
// document is then reported as "untrusted", not as broken.
type VerifyOptions struct {
	Roots        *x509.CertPool
	ManifestKeys map[string]crypto.PublicKey // by kid; as published in jwks.json
	Now          func() time.Time
}

// Verify examines a sealed PDF, offline and from its bytes alone.
func Verify(ctx context.Context, r io.ReaderAt, size int64, opt VerifyOptions) (Report, error) {
	return Report{}, errNotBuilt
}
