package verify

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"countersign/seal/trust"
)

// Code identifies one result of one check, for programs and translators. It begins with the name of the check. Codes
// are never renamed.
type Code string

// finding defines a code with its status and its text, which contains placeholders such as {name}.
type finding struct {
	code   Code
	status Status
	text   string
}

// findings lists every code with its English text, in the order of the checks.
var findings = []finding{
	{"structure.readable", Passed, "A readable PDF of {bytes} bytes."},
	{"structure.not_pdf", Absent, "The file is not a PDF."},

	{"signature.none", Absent, "The file does not contain a seal of this service."},
	{"signature.remains", Failed, "The file contains parts of a seal, but not its signature."},
	{"signature.rewritten", Failed, "{name} sealed this file for envelope {envelope}, but another program has rewritten it, so it cannot be verified. Request the file as it was sealed."},
	{"signature.rewritten_unknown", Failed, "{name}, who is not trusted here, appears to have sealed this file for envelope {envelope}, but another program has rewritten it, so it cannot be verified. Request the file as it was sealed."},
	{"signature.does_not_fit", Failed, "The apparent seal signature at byte {offset} does not match the file: {reason}."},
	{"signature.several", Failed, "The file contains {count} signatures that claim to be its seal."},
	{"signature.malformed", Failed, "The signature is not in the format of a seal: {reason}."},
	{"signature.wrong", Failed, "The signature is not valid: {reason}."},
	{"signature.sound", Passed, "Signed by {name} (PAdES, {algorithm})."},

	{"byte_range.whole", Passed, "The signature covers the whole file except the signature itself."},
	{"byte_range.earlier", Passed, "The signature covers the first {end} bytes (the file as it was sealed) except the signature itself; {bytes} bytes were added later."},
	{"byte_range.cut_off", Failed, "The file is truncated: the seal covers {end} bytes, but the file has only {bytes}."},

	{"digest.unchanged", Passed, "The sealed bytes are unchanged."},
	{"digest.changed", Failed, "The file was changed after it was sealed."},

	{"timestamp.confirmed", Passed, "{name} confirms {time}."},
	{"timestamp.not_confirmed", Absent, "{name} states {time}, which is not confirmed: no trusted time-stamp authority is configured here."},
	{"timestamp.absent", Absent, "The signature has no time-stamp."},
	{"timestamp.malformed", Failed, "The time-stamp cannot be read: {reason}."},
	{"timestamp.wrong", Failed, "The time-stamp does not belong to this signature: {reason}."},
	{"timestamp.missing", Failed, "The time-stamp that the seal requires was removed."},
	{"timestamp.untrusted", Untrusted, "{name} states {time}, but is not trusted here."},
	{"timestamp.times_fall", Untrusted, "{name} states {time}, but the seal already existed at {at}."},
	{"timestamp.before_seal", Untrusted, "{name} states {time}, but according to the record the document was sealed later, at {at}."},
	{"timestamp.not_valid_then", Untrusted, "{name} states {time}, but its certificate was valid from {from} to {to}, which does not include {at}."},
	{"timestamp.wrong_usage", Untrusted, "{name} states {time}, but its certificate may not issue time-stamps: {reason}."},
	{"timestamp.revoked", Untrusted, "{name} states {time}, but the certificate of {reason} was revoked at {at}."},

	{"revocation.good", Passed, "According to the embedded revocation data, the certificate was not revoked when the document was sealed."},
	{"revocation.absent", Absent, "The revocation status of the certificate is unknown: the file contains no revocation data."},
	{"revocation.not_offered", Absent, "The revocation status of the certificate is unknown: the file contains certificates, but no revocation data about them."},
	{"revocation.authority_unknown", Absent, "The revocation status of the certificate is unknown: the file contains no revocation data about {name}, one of its issuers."},
	{"revocation.older", Absent, "The revocation status of the certificate is unknown: the embedded revocation data is from {time}, before the document was sealed."},
	{"revocation.not_proven", Absent, "The certificate was not revoked at {time}, but no confirmed time-stamp proves that the document was sealed before then."},
	{"revocation.revoked", Untrusted, "The certificate of {name} was revoked at {time}, and no confirmed time-stamp proves that the document was sealed before then."},

	{"later_changes.none", Passed, "Nothing was added after the seal."},
	{"later_changes.archive", Passed, "Only validation data and time-stamps were added after the seal."},
	{"later_changes.annotations", Failed, "Starting at byte {offset}, another program added {bytes} bytes: comments or marks on pages (object {object})."},
	{"later_changes.form", Failed, "Starting at byte {offset}, another program added {bytes} bytes: values of form fields (object {object})."},
	{"later_changes.signature", Failed, "Starting at byte {offset}, another program added {bytes} bytes: a signature (object {object})."},
	{"later_changes.pages", Failed, "Starting at byte {offset}, another program added {bytes} bytes that change pages (object {object})."},
	{"later_changes.saved", Failed, "Starting at byte {offset}, another program added {bytes} bytes when it saved the file (object {object})."},
	{"later_changes.unknown", Failed, "Starting at byte {offset}, {bytes} bytes were added that this service does not write: {reason}."},

	{"archive_timestamp.confirmed", Passed, "A document time-stamp of {name} confirms the whole file at {time}."},
	{"archive_timestamp.not_confirmed", Absent, "A document time-stamp of {name} states {time}, which is not confirmed: no trusted time-stamp authority is configured here."},
	{"archive_timestamp.absent", Absent, "The file has no document time-stamp."},
	{"archive_timestamp.untrusted", Untrusted, "A document time-stamp of {name} states {time}, but {name} is not trusted here."},
	{"archive_timestamp.times_fall", Untrusted, "A document time-stamp of {name} states {time}, but the time-stamp already existed at {at}."},
	{"archive_timestamp.before_seal", Untrusted, "A document time-stamp of {name} states {time}, but according to the record the document was sealed later, at {at}."},
	{"archive_timestamp.not_valid_then", Untrusted, "A document time-stamp of {name} states {time}, but its certificate was valid from {from} to {to}, which does not include {at}."},
	{"archive_timestamp.wrong_usage", Untrusted, "A document time-stamp of {name} states {time}, but its certificate may not issue time-stamps: {reason}."},
	{"archive_timestamp.revoked", Untrusted, "A document time-stamp of {name} states {time}, but the certificate of {reason} was revoked at {at}."},

	{"certificate.pinned", Passed, "Sealed by {name}, whose certificate or key is pinned here."},
	{"certificate.trusted", Passed, "Sealed by {name}, whose certificate was issued under {issuer}."},
	{"certificate.untrusted", Untrusted, "The certificate of {name} is valid, but neither it nor any of its issuers is trusted here."},
	{"certificate.other_organisation", Untrusted, "The certificate belongs to {name}; only \"{reason}\" is trusted here."},
	{"certificate.wrong_usage", Untrusted, "The certificate of {name} may not be used for sealing: {reason}."},
	{"certificate.not_valid_then", Untrusted, "The certificate was valid from {from} to {to}, which does not include {at}."},
	{"certificate.revoked_here", Untrusted, "The key of {name} was revoked here as of {time} ({reason}), and no confirmed time-stamp proves that the document was sealed before then."},

	{"manifest.signed", Passed, "The seal record (envelope {envelope}) is signed with key \"{kid}\"."},
	{"manifest.missing", Failed, "The seal record cannot be read: {reason}."},
	{"manifest.malformed", Failed, "The seal record is not valid: {reason}."},
	{"manifest.contradiction", Failed, "The seal record contradicts itself or the file: {reason}."},

	{"manifest_key.published", Passed, "The record's key \"{kid}\" matches the published key."},
	{"manifest_key.covered", Passed, "The seal, which is trusted, covers the record and its key."},
	{"manifest_key.unknown", Untrusted, "The record's key \"{kid}\" is not among the keys trusted here."},
	{"manifest_key.not_covered", Untrusted, "No trusted seal or key confirms the record's key."},
	{"manifest_key.revoked_here", Untrusted, "The record's key \"{kid}\" was revoked as of {time} ({reason}), and no confirmed time-stamp proves that the document was sealed before then."},
	{"manifest_key.other", Failed, "The record was signed with a different key than the one published as \"{kid}\"."},

	{"original.found", Passed, "Bytes {from} to {to} are the original, SHA-256 {sha256}."},
	{"original.prepared", Passed, "Bytes {from} to {to}, added before anyone viewed the document, remove the content that the record lists. They were reproduced and are identical."},
	{"original.rewritten", Passed, "The original is attached as {name}, SHA-256 {sha256}; the document was rewritten from it."},
	{"original.prepared_otherwise", Failed, "The document was not created from the original in the way that the seal record states: {reason}."},
	{"original.missing", Failed, "The original cannot be separated from the additions: {reason}."},
	{"original.changed", Failed, "The original inside the file does not match the seal record."},

	{"attachments.found", Passed, "{count} files attached by signers match the seal record."},
	{"attachments.missing", Failed, "The embedded file {name}, which the seal record lists, cannot be read: {reason}."},
	{"attachments.changed", Failed, "The embedded file {name} does not match the seal record."},

	{"audit_chain.complete", Passed, "The chain of {events} events is intact and ends in {head}."},
	{"audit_chain.missing", Failed, "The audit chain is missing, because the seal record is missing."},
	{"audit_chain.broken", Failed, "The audit chain is broken: {reason}."},

	{"recorded.same", Passed, "The file is identical to the one stored by this service."},
	{"recorded.earlier", Passed, "The envelope, the original and the audit chain match this service's records; the stored file has other time-stamps."},
	{"recorded.other", Failed, "This service has recorded a different original or a different audit chain for this envelope."},
	{"recorded.unknown", Absent, "This service has no record of the envelope."},
}

// Codes lists the codes in the order of the checks.
func Codes() []Code {
	out := make([]Code, len(findings))
	for i, f := range findings {
		out[i] = f.code
	}
	return out
}

// indexOf returns the index of a code in the list, or -1 if it is absent.
func indexOf(code Code) int {
	return slices.IndexFunc(findings, func(f finding) bool { return f.code == code })
}

// values contains the values for the placeholders in a finding's text.
type values map[string]any

func valuesOf(v values) map[string]string {
	if len(v) == 0 {
		return nil
	}
	out := make(map[string]string, len(v))
	for k, x := range v {
		switch x := x.(type) {
		case string:
			out[k] = trust.Printable(x)
		case int:
			out[k] = strconv.Itoa(x)
		case int64:
			out[k] = strconv.FormatInt(x, 10)
		case time.Time:
			out[k] = x.UTC().Format(time.RFC3339)
		case error:
			out[k] = trust.Printable(strings.TrimPrefix(x.Error(), "seal: "))
		case interface{ String() string }:
			out[k] = trust.Printable(x.String())
		default:
			panic("seal: a finding's value of an unexpected type")
		}
	}
	return out
}

func newFinding(code Code, v values) Finding {
	i := indexOf(code)
	if i < 0 {
		panic("seal: unknown code " + string(code))
	}
	f := findings[i]
	check, _, _ := strings.Cut(string(code), ".")
	out := Finding{Check: check, Code: code, Status: f.status, Values: valuesOf(v)}
	pairs := make([]string, 0, 2*len(out.Values))
	for k, x := range out.Values {
		if t, ok := v[k].(time.Time); ok {
			x = Moment(t)
		}
		pairs = append(pairs, "{"+k+"}", x)
	}
	out.Detail = strings.NewReplacer(pairs...).Replace(singular(f.text, out.Values))
	return out
}

// singulars maps the name of a value to the replacements in the message for the value 1.
var singulars = map[string][]string{
	"bytes": {"{bytes} bytes were", "{bytes} byte was", "{bytes} bytes", "{bytes} byte"},
	"end":   {"first {end} bytes", "first byte", "{end} bytes", "{end} byte"},
	"count": {
		"{count} signatures that claim", "{count} signature that claims",
		"{count} files attached by signers match", "{count} file attached by a signer matches",
	},
	"events": {"{events} events", "{events} event"},
}

// singular returns the text with singular forms for values that are 1.
func singular(text string, v map[string]string) string {
	for name, words := range singulars {
		if v[name] == "1" {
			text = strings.NewReplacer(words...).Replace(text)
		}
	}
	return text
}

// Moment returns a time in human-readable form, or "–" for the zero time.
func Moment(t time.Time) string {
	if t.IsZero() {
		return "–"
	}
	return t.UTC().Format("2006-01-02 15:04:05 UTC")
}
