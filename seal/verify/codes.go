package verify

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"countersign/seal/trust"
)

// Code names one outcome of one check for programs and translators. It begins
// with the check's name. Codes are never renamed.
type Code string

// finding is what a code says: its status, and its sentence with {values} in it.
type finding struct {
	code   Code
	status Status
	text   string
}

// findings lists every code with its English sentence, in the order of the checks.
var findings = []finding{
	{"structure.readable", Passed, "A readable PDF of {bytes} bytes."},
	{"structure.not_pdf", Absent, "The file is not a PDF."},

	{"signature.none", Absent, "The file carries no seal of this service."},
	{"signature.remains", Failed, "Parts of a seal are in the file, but no signature as the seal writes it."},
	{"signature.rewritten", Failed, "Another program has rewritten this file, which {name} sealed for the envelope {envelope}. Nothing in it can be verified: ask for the original file."},
	{"signature.rewritten_unknown", Failed, "Another program has rewritten this file, which {name}, who is not trusted here, seems to have sealed for the envelope {envelope}. Nothing in it can be verified: ask for the original file."},
	{"signature.does_not_fit", Failed, "What looks like the seal's signature, at byte {offset}, does not fit the file: {reason}."},
	{"signature.several", Failed, "{count} signatures in the file claim to be its seal."},
	{"signature.malformed", Failed, "The signature is not written as the seal writes it: {reason}."},
	{"signature.wrong", Failed, "The signature is not sound: {reason}."},
	{"signature.sound", Passed, "Signed by {name} (PAdES, {algorithm})."},

	{"byte_range.whole", Passed, "The signature covers the whole file but itself."},
	{"byte_range.earlier", Passed, "The signature covers the first {end} bytes, the file as it was sealed, but itself; {bytes} bytes were added later."},
	{"byte_range.cut_off", Failed, "The file is cut off: the seal covers {end} bytes, but the file has only {bytes}."},

	{"digest.unchanged", Passed, "No byte was changed since it was sealed."},
	{"digest.changed", Failed, "The file was changed after it was sealed."},

	{"timestamp.confirmed", Passed, "{name} confirms {time}."},
	{"timestamp.not_confirmed", Absent, "{name} says {time}; no time-stamp authority is named here that would confirm it."},
	{"timestamp.absent", Absent, "No time-stamp authority confirmed the time."},
	{"timestamp.malformed", Failed, "The time-stamp cannot be read: {reason}."},
	{"timestamp.wrong", Failed, "The time-stamp is not of this signature: {reason}."},
	{"timestamp.missing", Failed, "The time-stamp that the seal demands was removed."},
	{"timestamp.untrusted", Untrusted, "{name} says {time}, but is not trusted here."},
	{"timestamp.times_fall", Untrusted, "{name} says {time}, but the seal was there at {at} already."},
	{"timestamp.before_seal", Untrusted, "{name} says {time}, but the record says that the document was sealed at {at}, later."},
	{"timestamp.not_valid_then", Untrusted, "{name} says {time}, but its certificate was valid from {from} to {to}, which does not cover {at}."},
	{"timestamp.wrong_usage", Untrusted, "{name} says {time}, but its certificate is not one of a time-stamp authority: {reason}."},
	{"timestamp.revoked", Untrusted, "{name} says {time}, but the certificate of {reason} was revoked at {at}."},

	{"revocation.good", Passed, "The authority's embedded statements say that the certificate was not revoked when the document was sealed."},
	{"revocation.absent", Absent, "Whether the certificate was revoked is not known: no revocation data is embedded."},
	{"revocation.not_offered", Absent, "Whether the certificate was revoked is not known: certificates are embedded, but no statement about them."},
	{"revocation.authority_unknown", Absent, "Whether the certificate was revoked is not known: there is no statement about {name}, an authority of it."},
	{"revocation.older", Absent, "Whether the certificate was revoked is not known: the embedded statement is of {time}, before the document was sealed."},
	{"revocation.not_proven", Absent, "The certificate was not revoked at {time}, but no time-stamp that is confirmed here proves that the document was sealed before."},
	{"revocation.revoked", Untrusted, "The certificate of {name} was revoked at {time}, and no time-stamp that is confirmed here proves that the document was sealed before."},

	{"later_changes.none", Passed, "Nothing was added after the seal."},
	{"later_changes.archive", Passed, "Only validation data and time-stamps were added after the seal."},
	{"later_changes.annotations", Failed, "From byte {offset} on, another program added {bytes} bytes: comments or marks on pages (object {object})."},
	{"later_changes.form", Failed, "From byte {offset} on, another program added {bytes} bytes: values of form fields (object {object})."},
	{"later_changes.signature", Failed, "From byte {offset} on, another program added {bytes} bytes: a signature (object {object})."},
	{"later_changes.pages", Failed, "From byte {offset} on, another program added {bytes} bytes, which change pages (object {object})."},
	{"later_changes.saved", Failed, "From byte {offset} on, another program added {bytes} bytes when it saved the file (object {object})."},
	{"later_changes.unknown", Failed, "From byte {offset} on, {bytes} bytes were added that this service does not write: {reason}."},

	{"archive_timestamp.confirmed", Passed, "A document time-stamp of {name} confirms everything at {time}."},
	{"archive_timestamp.not_confirmed", Absent, "A document time-stamp of {name} says {time}; no time-stamp authority is named here that would confirm it."},
	{"archive_timestamp.absent", Absent, "No document time-stamp was added."},
	{"archive_timestamp.untrusted", Untrusted, "A document time-stamp of {name} says {time}, but it is not trusted here."},
	{"archive_timestamp.times_fall", Untrusted, "A document time-stamp of {name} says {time}, but it was there at {at} already."},
	{"archive_timestamp.before_seal", Untrusted, "A document time-stamp of {name} says {time}, but the record says that the document was sealed at {at}, later."},
	{"archive_timestamp.not_valid_then", Untrusted, "A document time-stamp of {name} says {time}, but its certificate was valid from {from} to {to}, which does not cover {at}."},
	{"archive_timestamp.wrong_usage", Untrusted, "A document time-stamp of {name} says {time}, but its certificate is not one of a time-stamp authority: {reason}."},
	{"archive_timestamp.revoked", Untrusted, "A document time-stamp of {name} says {time}, but the certificate of {reason} was revoked at {at}."},

	{"certificate.pinned", Passed, "Sealed by {name}, whose certificate or key is known here."},
	{"certificate.trusted", Passed, "Sealed by {name}, whose certificate was issued under {issuer}."},
	{"certificate.untrusted", Untrusted, "The certificate of {name} is sound, but neither it nor an authority of it is trusted here."},
	{"certificate.other_organisation", Untrusted, "The certificate is of {name}; trusted here is exactly \"{reason}\"."},
	{"certificate.wrong_usage", Untrusted, "The certificate of {name} may not seal: {reason}."},
	{"certificate.not_valid_then", Untrusted, "The certificate was valid from {from} to {to}, which does not cover {at}."},
	{"certificate.revoked_here", Untrusted, "The key of {name} was revoked here from {time} on ({reason}), and no time-stamp that is confirmed here proves that the document was sealed before."},

	{"manifest.signed", Passed, "The seal record (envelope {envelope}) is signed with key \"{kid}\"."},
	{"manifest.missing", Failed, "The seal record cannot be read: {reason}."},
	{"manifest.malformed", Failed, "The seal record is not sound: {reason}."},
	{"manifest.contradiction", Failed, "The seal record contradicts itself or the file: {reason}."},

	{"manifest_key.published", Passed, "The record's key \"{kid}\" is the published one."},
	{"manifest_key.covered", Passed, "The seal, which is trusted, covers the record and its key."},
	{"manifest_key.unknown", Untrusted, "The record's key \"{kid}\" is not among the keys trusted here."},
	{"manifest_key.not_covered", Untrusted, "Nothing that is trusted here vouches for the record's key."},
	{"manifest_key.revoked_here", Untrusted, "The record's key \"{kid}\" was revoked from {time} on ({reason}), and no time-stamp that is confirmed here proves that the document was sealed before."},
	{"manifest_key.other", Failed, "The record was signed with another key than the one published as \"{kid}\"."},

	{"original.found", Passed, "Bytes {from} to {to} are the original, SHA-256 {sha256}."},
	{"original.prepared", Passed, "Bytes {from} to {to} take out of it, before it was read, what the record lists: they were written again and are the same."},
	{"original.rewritten", Passed, "The original was opened with a password; it is attached as {name}, SHA-256 {sha256}."},
	{"original.prepared_otherwise", Failed, "The document was not made of the original as the seal record says: {reason}."},
	{"original.missing", Failed, "The original cannot be told from what was added: {reason}."},
	{"original.changed", Failed, "The original inside the file is not the one that the seal record names."},

	{"attachments.found", Passed, "{count} embedded files are those that signers gave, as the seal record names them."},
	{"attachments.missing", Failed, "The embedded file {name} that the seal record names cannot be read: {reason}."},
	{"attachments.changed", Failed, "The embedded file {name} is not the one that the seal record names."},

	{"audit_chain.complete", Passed, "All {events} events are in order; the chain ends in {head}."},
	{"audit_chain.missing", Failed, "There is no audit chain: the seal record is missing."},
	{"audit_chain.broken", Failed, "The audit chain is broken: {reason}."},

	{"recorded.same", Passed, "It is the file that this service keeps of the envelope."},
	{"recorded.earlier", Passed, "The envelope, its original and its audit chain are those on record here; the file has other time-stamps than the one kept here."},
	{"recorded.other", Failed, "This service has another original or another audit chain on record for this envelope."},
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

// indexOf is the place of a code in the list, -1 if it is none.
func indexOf(code Code) int {
	return slices.IndexFunc(findings, func(f finding) bool { return f.code == code })
}

// values are what a finding's sentence names. Numbers, times and others are
// written by valuesOf.
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

// newFinding returns the finding of a code.
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

// singulars are the words of a finding's sentence that follow a number, for the number 1.
var singulars = map[string][]string{
	"bytes": {"{bytes} bytes were", "{bytes} byte was", "{bytes} bytes", "{bytes} byte"},
	"end":   {"first {end} bytes", "first byte", "{end} bytes", "{end} byte"},
	"count": {
		"{count} signatures in the file claim to be its seal", "{count} signature in the file claims to be its seal",
		"{count} embedded files are those that signers gave, as the seal record names them", "{count} embedded file is the one that a signer gave, as the seal record names it",
	},
	"events": {"All {events} events are", "The one event is"},
}

// singular returns the sentence for numbers that are 1.
func singular(text string, v map[string]string) string {
	for name, words := range singulars {
		if v[name] == "1" {
			text = strings.NewReplacer(words...).Replace(text)
		}
	}
	return text
}

// Moment writes a time for people, "–" if there is none.
func Moment(t time.Time) string {
	if t.IsZero() {
		return "–"
	}
	return t.UTC().Format("2006-01-02 15:04:05 UTC")
}
