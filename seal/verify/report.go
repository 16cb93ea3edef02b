package verify

import (
	"fmt"
	"io"
	"slices"
	"time"

	"countersign/seal/trust"
)

// Status is the result of one check.
type Status string

// Values of Status. Untrusted means valid, but signed by a party that is not trusted here.
const (
	Passed    Status = "passed"
	Failed    Status = "failed"
	Untrusted Status = "untrusted"
	Absent    Status = "absent" // optional and not present
)

// Names of the checks, in the order in which they are reported.
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
	CheckAttachments  = "attachments" // reported only if signers attached files
	CheckAuditChain   = "audit_chain"
	CheckRecorded     = "recorded" // reported only by the service's own API
)

// Finding is the result of one check. It has a code and values for programs, and a text in English.
type Finding struct {
	Check  string            `json:"check"`
	Code   Code              `json:"code"`
	Status Status            `json:"status"`
	Detail string            `json:"detail"`
	Values map[string]string `json:"values,omitempty"` // values in Detail; times are in RFC 3339 format
}

// Verdict is the overall result of a report.
type Verdict string

// Values of Verdict. If several apply, the first in this list is used.
const (
	// VerdictNotSealed means that the file does not contain a seal of this service.
	VerdictNotSealed Verdict = "not_sealed"
	// VerdictBroken means that the sealed content was changed, or that its seal is not valid.
	VerdictBroken Verdict = "broken"
	// VerdictUntrusted means that the seal is valid but depends on a certificate or key that is not trusted here.
	VerdictUntrusted Verdict = "untrusted"
	// VerdictAltered means that the sealed revision is valid, but that other content was added to the file.
	VerdictAltered Verdict = "altered"
	// VerdictValid means that every byte was written by the service or signed by a trusted authority.
	VerdictValid Verdict = "valid"
)

// Report is the result of verifying a file.
type Report struct {
	Verdict  Verdict   `json:"verdict"`
	Summary  string    `json:"summary"` // verdict in one sentence
	Findings []Finding `json:"findings"`

	// The following fields are claims in the document. They are reliable only if the verdict is valid.
	EnvelopeID     string     `json:"envelopeId,omitempty"`
	DocumentID     string     `json:"documentId,omitempty"`
	Subject        string     `json:"subject,omitempty"`
	OriginalSHA256 string     `json:"originalSha256,omitempty"`
	ChainHead      string     `json:"chainHead,omitempty"`
	Events         int        `json:"events,omitempty"`
	SealedBy       string     `json:"sealedBy,omitempty"`
	SealedAt       *time.Time `json:"sealedAt,omitempty"`
	StampedAt      *time.Time `json:"stampedAt,omitempty"` // time confirmed by a time-stamp authority
	Level          string     `json:"level,omitempty"`     // PAdES baseline level: B-B, B-T, B-LT or B-LTA
	SHA256         string     `json:"sha256,omitempty"`    // hash of the complete file

	// Record is the verified seal record. It is present if the verdict is valid or untrusted. Record.Confirmed
	// distinguishes these verdicts.
	Record *Record `json:"record,omitempty"`
	// Additions describes the bytes, if any, that follow the longest prefix of the file written by the service.
	Additions *Additions `json:"additions,omitempty"`
	// Signatures lists the signatures in a file without a seal. They are not verified.
	Signatures []OtherSignature `json:"signatures,omitempty"`
}

// Additions describes the bytes of a sealed file that the service did not write.
type Additions struct {
	From  int64 `json:"from"`  // offset of the first byte, which is also the size of the valid file before it
	Bytes int64 `json:"bytes"` // number of bytes
	// Kind is the apparent kind of the additions. It is annotations, form, signature, pages or saved for additions by
	// another program, and otherwise unknown.
	Kind string `json:"kind"`
}

// OtherSignature is a signature in a file without a seal. It is not verified.
type OtherSignature struct {
	Field  string `json:"field,omitempty"`  // name of the form field
	Format string `json:"format"`           // SubFilter of the signature
	By     string `json:"by,omitempty"`     // name of the signer in the certificate; empty if unreadable
	Issuer string `json:"issuer,omitempty"` // name of the issuer in that certificate
	// At is the time claimed by the signature.
	At *time.Time `json:"at,omitempty"`
	// Covers is the offset at which the covered bytes end. WholeFile reports whether they extend to the end of the
	// file.
	Covers    int64 `json:"covers"`
	WholeFile bool  `json:"wholeFile"`
}

// OK reports whether the document is valid.
func (r Report) OK() bool { return r.Verdict == VerdictValid }

// Status returns the result of one check. If the check has several findings, it returns the worst status. If the check
// was not performed, it returns Absent.
func (r Report) Status(check string) Status {
	ranked, worst := []Status{Absent, Passed, Untrusted, Failed}, 0
	for _, f := range r.Findings {
		if f.Check == check {
			worst = max(worst, slices.Index(ranked, f.Status))
		}
	}
	return ranked[worst]
}

// Has reports whether the report contains a finding with the given code.
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
	r.Summary = r.summarize()
}

func (r *Report) summarize() string {
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

// firstUntrusted returns the reason why the document is not trusted. It prefers the finding about the sealer.
func (r *Report) firstUntrusted() string {
	why := ""
	for _, f := range r.Findings {
		if f.Status == Untrusted && (why == "" || f.Check == CheckCertificate) {
			why = f.Detail
		}
	}
	return why
}

// WriteText writes the report as text, with one line per finding.
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
