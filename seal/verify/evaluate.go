package verify

import (
	"maps"
	"slices"
	"strings"
	"time"

	"countersign/seal/trust"
)

// trustInput is the input for trust decisions. It was read from the sealed file and is internally valid: signatures and
// digests are correct, and chains are as complete as the file allows. Only the question of trust remains.
type trustInput struct {
	Chain    certChain      `json:"chain,omitempty"`  // chain of the seal, starting with the signer
	SealedAt time.Time      `json:"sealedAt"`         // time claimed in the record
	KeyID    string         `json:"keyId,omitempty"`  // key ID of the record
	Key      *publicKey     `json:"key,omitempty"`    // key of the record; nil if the record cannot be read
	Stamps   []stamp        `json:"stamps,omitempty"` // outermost first; the signature's own, if any, is last
	Evidence trust.Evidence `json:"evidence"`         // from the increments after the seal, oldest first
	// Extended reports whether the file has increments, which should contain evidence.
	Extended bool `json:"extended,omitempty"`
}

type stamp struct {
	Chain    certChain `json:"chain"` // chain of the authority, starting with the signer
	Time     time.Time `json:"time"`
	Document bool      `json:"document,omitempty"` // covers the entire file; otherwise only the signature
}

// now returns the current time. Without a clock it returns the zero time, at which no certificate is valid.
func (o Options) now() time.Time {
	if o.Now == nil {
		return time.Time{}
	}
	return o.Now()
}

// applyTrust adds the findings that depend on the verification's trust options.
func (r *Report) applyTrust(j trustInput, opt Options) {
	in := trust.Seal{Certificates: j.Chain, Claimed: j.SealedAt, RecordKeyID: j.KeyID, Evidence: j.Evidence}
	if j.Key != nil {
		in.RecordKey = j.Key.PublicKey
	}
	for _, s := range j.Stamps {
		in.Stamps = append(in.Stamps, trust.Stamp{Certificates: s.Chain, Time: s.Time})
	}
	found := opt.Trust.Evaluate(in, opt.now())
	r.SealedBy = found.By
	r.addStamps(j.Stamps, found.Stamps)
	r.addRevocation(found, j.Extended)
	r.addTrust(CheckCertificate, found.Sealer)
	if j.Key != nil {
		r.addTrust(CheckManifestKey, found.RecordKey)
	}
	r.Level = padesLevel(found, j)
}

// addTrust adds the finding for a check that depends on trust.
func (r *Report) addTrust(check string, f trust.Finding) {
	code := Code(check + "." + f.Code)
	named := values{
		"name": f.Name, "issuer": f.Issuer, "time": f.Time, "at": f.At, "from": f.From, "to": f.To, "reason": f.Reason, "kid": f.Name,
	}
	text := findings[indexOf(code)].text
	maps.DeleteFunc(named, func(k string, _ any) bool { return !strings.Contains(text, "{"+k+"}") })
	r.add(code, named)
}

// addStamps adds the findings about time-stamps. If several document time-stamps are all confirmed, it adds only a
// finding about the last one.
func (r *Report) addStamps(stamps []stamp, found []trust.Finding) {
	document := false
	for i := range stamps {
		s, f := &stamps[i], found[i]
		switch {
		case !s.Document:
			r.StampedAt = &s.Time
			r.addTrust(CheckTimestamp, f)
		case !document || f.Status == trust.Untrusted:
			r.addTrust(CheckArchive, f)
		}
		document = document || s.Document
	}
	if r.StampedAt == nil {
		r.add("timestamp.absent", nil)
	}
	if !document {
		r.add("archive_timestamp.absent", nil)
	}
}

// addRevocation adds the finding about revocation. The argument embedded reports whether the file should contain a
// statement.
func (r *Report) addRevocation(found trust.Evaluation, embedded bool) {
	if found.Revocation.Code == trust.CodeNothing && embedded {
		r.add("revocation.not_offered", nil)
		return
	}
	r.addTrust(CheckRevocation, found.Revocation)
}

// padesLevel returns the PAdES baseline level (EN 319 142-1, 6).
func padesLevel(found trust.Evaluation, j trustInput) string {
	switch {
	case !slices.ContainsFunc(j.Stamps, func(s stamp) bool { return !s.Document }):
		return "B-B"
	case !found.HasStatements:
		return "B-T"
	case len(j.Stamps) < 2:
		return "B-LT"
	}
	return "B-LTA"
}
