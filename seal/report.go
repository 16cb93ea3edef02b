package seal

import (
	"fmt"
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
	Absent    Status = "absent" // optional, and not there
)

// The checks, in the order in which they are reported.
const (
	CheckStructure    = "structure"
	CheckSignature    = "signature"
	CheckByteRange    = "byte_range"
	CheckDigest       = "digest"
	CheckCertificate  = "certificate"
	CheckTimestamp    = "timestamp"
	CheckRevocation   = "revocation"
	CheckLaterChanges = "later_changes"
	CheckArchive      = "archive_timestamp"
	CheckManifest     = "manifest"
	CheckManifestKey  = "manifest_key"
	CheckOriginal     = "original"
	CheckAuditChain   = "audit_chain"
)

// Finding is the outcome of one check, explained in a line.
type Finding struct {
	Check  string `json:"check"`
	Status Status `json:"status"`
	Detail string `json:"detail"`
}

// Verdict sums a report up.
type Verdict string

// The verdicts. A document is broken if any check failed; it is untrusted if
// it is sound but rests on a certificate or key that is not trusted here.
const (
	VerdictValid     Verdict = "valid"
	VerdictUntrusted Verdict = "untrusted"
	VerdictBroken    Verdict = "broken"
)

// Report is everything that Verify found.
type Report struct {
	Verdict  Verdict   `json:"verdict"`
	Findings []Finding `json:"findings"`

	// What the document says of itself. Worth believing if the verdict is valid.
	EnvelopeID     string     `json:"envelopeId,omitempty"`
	DocumentID     string     `json:"documentId,omitempty"`
	Subject        string     `json:"subject,omitempty"`
	OriginalSHA256 string     `json:"originalSha256,omitempty"`
	ChainHead      string     `json:"chainHead,omitempty"`
	Events         int        `json:"events,omitempty"`
	SealedBy       string     `json:"sealedBy,omitempty"`
	SealedAt       *time.Time `json:"sealedAt,omitempty"`
	StampedAt      *time.Time `json:"stampedAt,omitempty"` // by a time-stamp authority
	Level          string     `json:"level,omitempty"`     // PAdES baseline: B-B, B-T, B-LT or B-LTA
	SHA256         string     `json:"sha256,omitempty"`    // of the whole file
}

// OK reports whether every check passed.
func (r Report) OK() bool { return r.Verdict == VerdictValid }

// Status returns the outcome of one check, Absent if it was not made.
func (r Report) Status(check string) Status {
	for _, f := range r.Findings {
		if f.Check == check {
			return f.Status
		}
	}
	return Absent
}

func (r *Report) add(check string, s Status, format string, args ...any) {
	r.Findings = append(r.Findings, Finding{check, s, fmt.Sprintf(format, args...)})
}

func (r *Report) conclude() {
	r.Verdict = VerdictValid
	for _, f := range r.Findings {
		switch f.Status {
		case Failed:
			r.Verdict = VerdictBroken
			return
		case Untrusted:
			r.Verdict = VerdictUntrusted
		case Passed, Absent:
		}
	}
}

// WriteText writes the report for people, a line per finding.
func (r Report) WriteText(w io.Writer) error {
	marks := map[Status]string{Passed: "✓", Failed: "✗", Untrusted: "?", Absent: "–"}
	for _, f := range r.Findings {
		if _, err := fmt.Fprintf(w, "%s %-18s %s\n", marks[f.Status], f.Check, f.Detail); err != nil {
			return err
		}
	}
	verdict := map[Verdict]string{
		VerdictValid:     "VALID: sealed, unchanged, and by someone trusted here.",
		VerdictUntrusted: "NOT TRUSTED HERE: sealed and unchanged, but the signer is not among those trusted here.",
		VerdictBroken:    "BROKEN: this is not what was sealed, or the seal is not sound.",
	}[r.Verdict]
	_, err := fmt.Fprintf(w, "\n%s\n", verdict)
	return err
}
