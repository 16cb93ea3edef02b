package verify

import (
	"fmt"
	"io"
	"slices"
	"time"

	"countersign/seal/trust"
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
	CheckAttachments  = "attachments" // only if signers attached files
	CheckAuditChain   = "audit_chain"
	CheckRecorded     = "recorded" // by the service's own API only
)

// Finding is the outcome of one check: by code and values for programs, and
// explained in a line of English.
type Finding struct {
	Check  string            `json:"check"`
	Code   Code              `json:"code"`
	Status Status            `json:"status"`
	Detail string            `json:"detail"`
	Values map[string]string `json:"values,omitempty"` // values in the text of the line; times in RFC 3339
}

// Verdict is the overall result of a report.
type Verdict string

// The verdicts. If several apply, the first in this list is used.
const (
	// VerdictNotSealed: the file does not contain a seal of this service.
	VerdictNotSealed Verdict = "not_sealed"
	// VerdictBroken: the sealed content was changed, or its seal is not valid.
	VerdictBroken Verdict = "broken"
	// VerdictUntrusted: the seal is valid but depends on a certificate or key that is not trusted here.
	VerdictUntrusted Verdict = "untrusted"
	// VerdictAltered: the sealed revision is valid, but other content was added to the file.
	VerdictAltered Verdict = "altered"
	// VerdictValid: every byte was written by the service or signed by a trusted authority.
	VerdictValid Verdict = "valid"
)

// Report is the result of verifying a file.
type Report struct {
	Verdict  Verdict   `json:"verdict"`
	Summary  string    `json:"summary"` // the verdict in a sentence
	Findings []Finding `json:"findings"`

	// The document's own statements. They are reliable only if the verdict is valid.
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

	// Record is the sealed record, read once and verified. It is present if the verdict is valid or untrusted;
	// Record.Confirmed distinguishes them.
	Record *Record `json:"record,omitempty"`
	// Additions describes the bytes after the longest prefix of the file that its service wrote, if there are any.
	Additions *Additions `json:"additions,omitempty"`
	// Signatures are the signatures of a file without a seal, without a verdict.
	Signatures []OtherSignature `json:"signatures,omitempty"`
}

// Additions are bytes of a sealed file that the service did not write.
type Additions struct {
	From  int64 `json:"from"`  // offset of their start, which is the length of the valid file before them
	Bytes int64 `json:"bytes"` // how many
	// Kind is the apparent kind: annotations, form, signature, pages, saved (all of these by another program) or
	// unknown.
	Kind string `json:"kind"`
}

// OtherSignature is a signature in a file without a seal. It is not verified.
type OtherSignature struct {
	Field  string `json:"field,omitempty"`  // the form field's name
	Format string `json:"format"`           // the SubFilter
	By     string `json:"by,omitempty"`     // the signer's name in the certificate; empty if unreadable
	Issuer string `json:"issuer,omitempty"` // the issuer's name in that certificate
	// At is the time that the signature claims.
	At *time.Time `json:"at,omitempty"`
	// Covers is the end of the covered bytes. WholeFile reports that no bytes follow them.
	Covers    int64 `json:"covers"`
	WholeFile bool  `json:"wholeFile"`
}

// OK reports whether the document is valid.
func (r Report) OK() bool { return r.Verdict == VerdictValid }

// Status returns the outcome of one check, the worst if there are several, and
// Absent if it was not made.
func (r Report) Status(check string) Status {
	ranked, worst := []Status{Absent, Passed, Untrusted, Failed}, 0
	for _, f := range r.Findings {
		if f.Check == check {
			worst = max(worst, slices.Index(ranked, f.Status))
		}
	}
	return ranked[worst]
}

// Has reports whether the report holds a finding of that code.
func (r Report) Has(code Code) bool {
	return slices.ContainsFunc(r.Findings, func(f Finding) bool { return f.Code == code })
}

func (r *Report) add(code Code, v values) { r.Findings = append(r.Findings, newFinding(code, v)) }

// isAboutAdditions reports whether a check concerns the bytes after the sealed revision.
func isAboutAdditions(check string) bool { return check == CheckLaterChanges || check == CheckArchive }

// conclude derives the verdict from the findings.
func (r *Report) conclude() {
	slices.SortStableFunc(r.Findings, func(a, b Finding) int { return indexOf(a.Code) - indexOf(b.Code) })
	r.Verdict = VerdictValid
	altered := false
	for _, f := range r.Findings {
		switch {
		case f.Code == "signature.none" || f.Code == "structure.not_pdf":
			r.Verdict = VerdictNotSealed
		case f.Status == Failed && isAboutAdditions(f.Check):
			altered = true
		case f.Status == Failed:
			r.Verdict = VerdictBroken
		case f.Status == Untrusted && r.Verdict == VerdictValid:
			r.Verdict = VerdictUntrusted
		}
	}
	if altered && r.Verdict == VerdictValid {
		r.Verdict = VerdictAltered
	}
	switch r.Verdict {
	case VerdictValid, VerdictUntrusted:
		if r.Record != nil {
			r.Record.Confirmed = r.Verdict == VerdictValid
		}
	case VerdictAltered, VerdictBroken, VerdictNotSealed:
		r.Record = nil
	}
	if r.Verdict != VerdictAltered && r.Verdict != VerdictUntrusted {
		r.Additions = nil
	}
	r.Summary = r.summarise()
}

func (r *Report) summarise() string {
	switch r.Verdict {
	case VerdictValid:
		return fmt.Sprintf("Sealed by %s. The file is unchanged except for updates by this service.", trust.Printable(r.SealedBy))
	case VerdictUntrusted:
		if r.Additions != nil {
			return "Content was added to the sealed document, whose seal is not trusted here: " + r.firstUntrusted()
		}
		return "Sealed and unchanged, but not trusted here: " + r.firstUntrusted()
	case VerdictAltered:
		return "This file contains the sealed document, but content was added afterwards. Extract the sealed document to see what was signed."
	case VerdictNotSealed:
		if len(r.Signatures) > 0 {
			return "This file was not sealed by this service. It contains other signatures, which were not verified."
		}
		return "This file was not sealed by this service."
	case VerdictBroken:
		switch {
		case r.Has("signature.rewritten"):
			return "This file was sealed by this service, but another program has rewritten it. Request the file as it was sealed."
		case r.Has("signature.rewritten_unknown"):
			return "This file appears to have been sealed by a party that is not trusted here, and another program has rewritten it. Request the file as it was sealed."
		}
	}
	return "The sealed content was changed, or the seal is not valid."
}

// firstUntrusted explains why the document is not trusted: by its sealer, if
// that is the reason.
func (r *Report) firstUntrusted() string {
	why := ""
	for _, f := range r.Findings {
		if f.Status == Untrusted && (why == "" || f.Check == CheckCertificate) {
			why = f.Detail
		}
	}
	return why
}

// WriteText writes the report as text, one line per finding.
func (r Report) WriteText(w io.Writer) error {
	marks := map[Status]string{Passed: "✓", Failed: "✗", Untrusted: "?", Absent: "–"}
	for _, f := range r.Findings {
		if _, err := fmt.Fprintf(w, "%s %-18s %s\n", marks[f.Status], f.Check, f.Detail); err != nil {
			return err
		}
	}
	for _, s := range r.Signatures {
		if _, err := fmt.Fprintf(w, "  %s\n", s.sentence()); err != nil {
			return err
		}
	}
	if r.Record != nil {
		for _, s := range r.Record.Signers {
			if s.PagesShown {
				continue
			}
			if _, err := fmt.Fprintf(w, "%s %-18s This service did not show the pages to %q.\n", marks[Absent], "appearance", s.Name); err != nil {
				return err
			}
		}
	}
	verdict := map[Verdict]string{
		VerdictValid: "VALID", VerdictUntrusted: "NOT TRUSTED HERE", VerdictAltered: "ALTERED", VerdictBroken: "BROKEN", VerdictNotSealed: "NOT SEALED",
	}[r.Verdict]
	_, err := fmt.Fprintf(w, "\n%s: %s\n", verdict, r.Summary)
	return err
}

func (s OtherSignature) sentence() string {
	by, covers := s.By, fmt.Sprintf("its first %d bytes", s.Covers)
	if by == "" {
		by = "a signer whose certificate cannot be read"
	}
	if s.WholeFile {
		covers = "the whole file"
	}
	return fmt.Sprintf("Signature (%s) by %s over %s.", s.Format, by, covers)
}

// FirstFailure returns the detail of the first failed check, or the summary.
func (r *Report) FirstFailure() string {
	for _, f := range r.Findings {
		if f.Status == Failed {
			return f.Detail
		}
	}
	return r.Summary
}
